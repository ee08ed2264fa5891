"""Where readings come from, by name.

Each entry is one file of this room: a class that yields what was measured on the nodes, with its time (`base.Source`),
and that is made with one argument, the text after the name in `--readings NAME:ARGUMENT` (`sources.py`). Other packages
add entries by the entry point group `longshore.telemetry`. Who reads sources follows them by `follow.py`.
"""

from longshore.core.words.registry import Registry

REGISTRY = Registry(
    "telemetry source",
    {
        "file": "longshore.telemetry.file:FileSource",
    },
    "longshore.telemetry",
)
