"""Where readings come from, by name.

Each entry is one file of this room: a class that yields what was measured on the nodes, with its time (`base.Source`).
Other packages add entries by the entry point group `longshore.telemetry`. Who reads a source follows it by `follow.py`.
"""

from longshore.core.words.registry import Registry

REGISTRY = Registry(
    "telemetry source",
    {
        "file": "longshore.telemetry.file:FileSource",
    },
    "longshore.telemetry",
)
