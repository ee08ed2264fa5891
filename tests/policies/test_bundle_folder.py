"""Bundles on disk: read within limits, written whole or not at all, and nothing of the user's is overwritten."""

from pathlib import Path

import pytest

from longshore.core.errors import InputError, LongshoreError
from longshore.policies import bundle_folder as module
from longshore.policies.bundle_folder import find_bundles, read_files, read_folder, write_files, write_folder
from policy_samples import make_dial, make_policy


def files_of(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_bundle_is_three_files_that_read_back(tmp_path: Path):
    write_folder(tmp_path / "runs" / "mine", make_policy())
    assert files_of(tmp_path / "runs" / "mine") == ["README.md", "policy.json", "weights.safetensors"]
    assert files_of(tmp_path / "runs") == ["mine"]
    assert read_folder(tmp_path / "runs" / "mine").name == "sample"


def test_a_bundle_is_replaced_whole(tmp_path: Path):
    write_folder(tmp_path / "mine", make_policy())
    write_folder(tmp_path / "mine", make_dial(name="second"))
    assert read_folder(tmp_path / "mine").name == "second"
    assert files_of(tmp_path / "mine") == ["README.md", "policy.json", "weights.safetensors"]
    assert files_of(tmp_path) == ["mine"]


def test_an_empty_folder_is_taken(tmp_path: Path):
    write_folder(tmp_path, make_policy())
    assert read_folder(tmp_path).name == "sample"


@pytest.mark.parametrize("is_folder", [True, False])
def test_what_is_no_bundle_is_left_alone(tmp_path: Path, is_folder: bool):
    target = tmp_path / "thesis"
    text = target / "chapter.tex" if is_folder else target
    text.parent.mkdir(exist_ok=True)
    text.write_text("years of work")
    with pytest.raises(InputError, match="exists and holds more"):
        write_folder(target, make_policy())
    assert text.read_text() == "years of work"


def test_a_bundle_beside_other_files_is_left_alone(tmp_path: Path):
    write_folder(tmp_path, make_policy())
    (tmp_path / "checkpoint").write_text("hours of work")
    with pytest.raises(InputError, match="holds more than a bundle"):
        write_folder(tmp_path, make_policy(name="second"))
    assert read_folder(tmp_path).name == "sample"


def test_a_failure_leaves_the_old_bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write_folder(tmp_path / "mine", make_policy())

    def fail(_path: Path, _data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "_write", fail)
    with pytest.raises(LongshoreError, match="No space left"):
        write_folder(tmp_path / "mine", make_policy(name="second"))
    assert read_folder(tmp_path / "mine").name == "sample"
    assert files_of(tmp_path) == ["mine"]


def test_a_failed_exchange_puts_the_old_bundle_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write_folder(tmp_path / "mine", make_policy())
    rename = Path.rename

    def fail(path: Path, target: Path) -> Path:
        if path.name.endswith(".part"):
            raise OSError(5, "Input/output error")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(LongshoreError, match="Input/output error"):
        write_folder(tmp_path / "mine", make_policy(name="second"))
    assert read_folder(tmp_path / "mine").name == "sample"
    assert files_of(tmp_path) == ["mine"]


@pytest.mark.parametrize(("name", "size"), [("policy.json", 1024**2), ("weights.safetensors", 64 * 1024**2)])
def test_a_file_over_the_limit_is_not_even_read(tmp_path: Path, name: str, size: int, monkeypatch: pytest.MonkeyPatch):
    write_folder(tmp_path / "mine", make_policy())
    with (tmp_path / "mine" / name).open("r+b") as file:
        file.truncate(size + 1)
    monkeypatch.setattr(module, "read_bundle", lambda _files: pytest.fail("it was read"))
    with pytest.raises(InputError, match=f"`{name}` has {size + 1} bytes"):
        read_folder(tmp_path / "mine")


def test_a_refusal_names_the_folder_and_says_what_to_do(tmp_path: Path):
    write_folder(tmp_path / "mine", make_policy())
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
        write_folder(tmp_path / name, make_policy())
    (tmp_path / "empty").mkdir()
    assert find_bundles(tmp_path) == [tmp_path / "a" / "deep", tmp_path / "b"]
    assert find_bundles(tmp_path / "b") == [tmp_path / "b"]
    with pytest.raises(InputError, match="no folder"):
        find_bundles(tmp_path / "nothing")


def test_files_are_read_and_written_as_they_are(tmp_path: Path):
    write_folder(tmp_path / "first", make_policy())
    (tmp_path / "first" / "README.md").write_text("by hand")
    files = read_files(tmp_path / "first")
    write_files(tmp_path / "second", files)
    assert files["README.md"] == b"by hand"
    assert read_files(tmp_path / "second") == files


def test_files_of_a_bundle_that_is_refused_are_not_given(tmp_path: Path):
    write_folder(tmp_path / "mine", make_policy())
    (tmp_path / "mine" / "weights.safetensors").write_bytes(b"none")
    with pytest.raises(InputError, match=r"bundle `.*mine`: .*cut off"):
        read_files(tmp_path / "mine")
