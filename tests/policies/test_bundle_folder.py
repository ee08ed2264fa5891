"""Bundles on disk: read within limits, written whole or not at all, and nothing of the user's is overwritten."""

import subprocess
import sys
from pathlib import Path

import pytest

from longshore.core.words.errors import InputError, LongshoreError
from longshore.policies import bundle_folder as module
from longshore.policies.bundle_folder import find_bundles, read_files, read_folder, write_files, write_folder
from support.bundle_samples import make_bundle, make_dial


def files_of(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_bundle_is_three_files_that_read_back(tmp_path: Path):
    write_folder(tmp_path / "runs" / "mine", make_bundle())
    assert files_of(tmp_path / "runs" / "mine") == ["README.md", "policy.json", "weights.safetensors"]
    assert files_of(tmp_path / "runs") == ["mine"]
    assert read_folder(tmp_path / "runs" / "mine").name == "sample"


def test_a_bundle_is_replaced_whole(tmp_path: Path):
    write_folder(tmp_path / "mine", make_bundle())
    write_folder(tmp_path / "mine", make_dial(name="second"))
    assert read_folder(tmp_path / "mine").name == "second"
    assert files_of(tmp_path / "mine") == ["README.md", "policy.json", "weights.safetensors"]
    assert files_of(tmp_path) == ["mine"]


def test_an_empty_folder_is_taken(tmp_path: Path):
    write_folder(tmp_path, make_bundle())
    assert read_folder(tmp_path).name == "sample"


def test_a_name_that_no_folder_can_have_is_a_sentence(tmp_path: Path):
    with pytest.raises(InputError, match="File name too long"):
        write_folder(tmp_path / ("x" * 300), make_bundle())


@pytest.mark.parametrize("is_folder", [True, False])
def test_what_is_no_bundle_is_left_alone(tmp_path: Path, is_folder: bool):
    target = tmp_path / "thesis"
    text = target / "chapter.tex" if is_folder else target
    text.parent.mkdir(exist_ok=True)
    text.write_text("years of work")
    with pytest.raises(InputError, match="exists and holds more"):
        write_folder(target, make_bundle())
    assert text.read_text() == "years of work"


def test_a_bundle_beside_other_files_is_left_alone(tmp_path: Path):
    write_folder(tmp_path, make_bundle())
    (tmp_path / "checkpoint").write_text("hours of work")
    with pytest.raises(InputError, match="holds more than a bundle"):
        write_folder(tmp_path, make_bundle(name="second"))
    assert read_folder(tmp_path).name == "sample"


def test_a_failure_leaves_the_old_bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write_folder(tmp_path / "mine", make_bundle())

    def fail(_path: Path, _data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "_write", fail)
    with pytest.raises(LongshoreError, match="No space left"):
        write_folder(tmp_path / "mine", make_bundle(name="second"))
    assert read_folder(tmp_path / "mine").name == "sample"
    assert files_of(tmp_path) == ["mine"]


def test_a_failed_exchange_puts_the_old_bundle_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write_folder(tmp_path / "mine", make_bundle())
    rename = Path.rename

    def fail(path: Path, target: Path) -> Path:
        if path.name.endswith(".part"):
            raise OSError(5, "Input/output error")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", fail)
    monkeypatch.setattr(module, "_exchange", lambda *_: False)
    with pytest.raises(LongshoreError, match="Input/output error"):
        write_folder(tmp_path / "mine", make_bundle(name="second"))
    assert read_folder(tmp_path / "mine").name == "sample"
    assert files_of(tmp_path) == ["mine"]


KILLED = """
import os, signal, sys, warnings
from pathlib import Path
from longshore.core.words.errors import InputError
from longshore.policies import bundle_folder
from support.bundle_samples import make_bundle

target, can_exchange = Path(sys.argv[1]) / "mine", sys.argv[2] == "True"
new = make_bundle(name="second")
if not can_exchange:
    bundle_folder._exchange = lambda *_: False

def write(last):
    lines = 0
    def trace(frame, event, _):
        nonlocal lines
        if frame.f_code.co_filename != bundle_folder.__file__:
            return None
        lines += event == "line"
        if lines > last:
            os.kill(os.getpid(), signal.SIGKILL)
        return trace
    sys.settrace(trace)
    bundle_folder.write_folder(target, new)
    os._exit(0)

warnings.simplefilter("ignore")  # of threads that numpy has
for last in range(200):
    bundle_folder.write_folder(target, make_bundle(name="first"))
    child = os.fork() or write(last)
    is_killed = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    try:
        print(bundle_folder.read_folder(target).name)
    except InputError as error:
        print(f"{error.message}; {error.hint}")
    if not is_killed:
        break
"""


def killed_at_every_line(folder: Path, can_exchange: bool) -> list[str]:
    """Return what is read after a process that replaces `first` by `second` was killed, for each of its lines."""
    (folder / "runs").mkdir()
    command = [sys.executable, "-c", KILLED, str(folder / "runs"), str(can_exchange)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1])
    return done.stdout.splitlines()


def test_whoever_is_killed_leaves_the_old_bundle_or_the_new_one(tmp_path: Path):
    found = killed_at_every_line(tmp_path, can_exchange=True)
    assert len(found) > 20
    assert found == sorted(found)
    assert set(found) == {"first", "second"}


def test_where_folders_cannot_change_places_the_message_says_where_the_old_bundle_is(tmp_path: Path):
    found = killed_at_every_line(tmp_path, can_exchange=False)
    others = set(found) - {"first", "second"}
    assert others
    assert all("does not exist, expected a bundle; writing it was cut off" in text for text in others)
    left = Path(others.pop().split("`")[3])
    assert read_folder(left).name == "first"


@pytest.mark.parametrize(("name", "size"), [("policy.json", 1024**2), ("weights.safetensors", 64 * 1024**2)])
def test_a_file_over_the_limit_is_not_even_read(tmp_path: Path, name: str, size: int, monkeypatch: pytest.MonkeyPatch):
    write_folder(tmp_path / "mine", make_bundle())
    with (tmp_path / "mine" / name).open("r+b") as file:
        file.truncate(size + 1)
    monkeypatch.setattr(module, "read_bundle", lambda _files: pytest.fail("it was read"))
    with pytest.raises(InputError, match=f"`{name}` has {size + 1} bytes"):
        read_folder(tmp_path / "mine")


def test_a_refusal_names_the_folder_and_says_what_to_do(tmp_path: Path):
    write_folder(tmp_path / "mine", make_bundle())
    (tmp_path / "mine" / "weights.safetensors").unlink()
    with pytest.raises(InputError, match=r"mine`: the bundle has no `weights\.safetensors`") as caught:
        read_folder(tmp_path / "mine")
    assert caught.value.hint


def test_what_is_no_folder_is_refused(tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="is a file"):
        read_folder(tmp_path / "file")
    with pytest.raises(InputError, match="does not exist"):
        read_folder(tmp_path / "nothing")


def test_bundles_are_found_below_a_folder(tmp_path: Path):
    for name in ("b", "a/deep", ".hidden/c"):
        write_folder(tmp_path / name, make_bundle())
    (tmp_path / "empty").mkdir()
    assert find_bundles(tmp_path) == [tmp_path / "a" / "deep", tmp_path / "b"]
    assert find_bundles(tmp_path / "b") == [tmp_path / "b"]
    with pytest.raises(InputError, match="no folder"):
        find_bundles(tmp_path / "nothing")


def test_files_are_read_and_written_as_they_are(tmp_path: Path):
    write_folder(tmp_path / "first", make_bundle())
    (tmp_path / "first" / "README.md").write_text("by hand")
    files = read_files(tmp_path / "first")
    write_files(tmp_path / "second", files)
    assert files["README.md"] == b"by hand"
    assert read_files(tmp_path / "second") == files


def test_files_of_a_bundle_that_is_refused_are_not_given(tmp_path: Path):
    write_folder(tmp_path / "mine", make_bundle())
    (tmp_path / "mine" / "weights.safetensors").write_bytes(b"none")
    with pytest.raises(InputError, match=r"bundle `.*mine`: .*cut off"):
        read_files(tmp_path / "mine")
