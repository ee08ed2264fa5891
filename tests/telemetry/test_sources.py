"""`--readings NAME:ARGUMENT`: which source is meant, what it is called, and what is refused."""

from pathlib import Path

import pytest

from longshore.core.words.errors import InputError
from longshore.telemetry import REGISTRY
from longshore.telemetry.base import SourceReadings
from longshore.telemetry.sources import find_sources


class Probe:
    """A source of another package that remembers its argument."""

    def __init__(self, argument: str) -> None:
        self.argument = argument

    async def read(self) -> SourceReadings:
        return SourceReadings()


@pytest.fixture
def _outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(REGISTRY.__dict__, "_targets", {**REGISTRY.table, "probe": f"{__name__}:Probe"})


async def read_problem(choice: str) -> str:
    (source,) = find_sources([choice]).values()
    return (await source.read()).problem or ""


@pytest.mark.parametrize(
    ("choice", "path"),
    [
        ("file:none.json", "none.json"),
        ("file:/a:b/none.json", "/a:b/none.json"),
        ("file:file:none", "file:none"),
        ("none.json", "none.json"),
        ("none", "none"),
        ("/a:b/none", "/a:b/none"),
        ("v1.0:none", "v1.0:none"),
    ],
)
async def test_a_file_is_chosen_by_name_or_by_its_path(choice: str, path: str, tmp_path: Path) -> None:
    assert f"cannot read `{path}`" in await read_problem(choice)


@pytest.mark.usefixtures("_outside")
def test_a_source_of_another_package_gets_all_that_stands_after_its_name() -> None:
    (probe,) = find_sources(["probe:http://a:80/b"]).values()
    assert probe.argument == "http://a:80/b"  # type: ignore[attr-defined]


@pytest.mark.usefixtures("_outside")
def test_sources_keep_their_order_and_two_of_a_kind_get_numbers() -> None:
    assert list(find_sources(["file:b", "probe:x", "a.json", "file:c"])) == ["file", "probe", "file-2", "file-3"]


async def test_a_source_of_the_users_own_is_named_by_its_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "from longshore.telemetry.base import SourceReadings\n"
        "class Mine:\n"
        "    def __init__(self, argument): self.argument = argument\n"
        "    async def read(self): return SourceReadings(problem=f'asked for {self.argument}')\n"
    )
    sources = find_sources([f"{path}:Mine:http://a:80/b", f"{path}:Mine:x"])
    assert list(sources) == ["Mine", "Mine-2"]
    assert (await sources["Mine"].read()).problem == "asked for http://a:80/b"


def test_nothing_chosen_is_no_source() -> None:
    assert find_sources([]) == {}


@pytest.mark.parametrize(
    ("choice", "hint"),
    [
        ("prom:http", "`file:prom:http`"),
        ("today:readings.json", "`file:today:readings.json`"),
        ("file:", "file:readings.json"),
        ("", "file:readings.json"),
        (":x", "`file::x`"),
    ],
)
def test_what_names_no_source_is_refused_with_what_to_write(choice: str, hint: str) -> None:
    with pytest.raises(InputError, match="expected one of: `file:…`, or the path of a file") as caught:
        find_sources([choice])
    assert hint in (caught.value.hint or "")
