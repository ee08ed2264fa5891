"""Tests of cgroups, on folders that look like both versions of the kernel's."""

from pathlib import Path

from longshore_lab.cluster.real import cgroups


def version_1(root: Path) -> Path:
    for name in ("cpu", "cpuset", "memory", "unified"):
        (root / name).mkdir()
        (root / name / "cgroup.procs").write_text("")
    (root / "cpu,cpuacct").symlink_to(root / "cpu")
    (root / "elsewhere").mkdir()
    for name, value in (("cpuset.cpus", "0-1"), ("cpuset.mems", "0")):
        (root / "cpuset" / name).write_text(value)
    return root


def test_version_1_has_one_hierarchy_for_each_controller(tmp_path: Path) -> None:
    found = [path.name for path in cgroups.hierarchies(version_1(tmp_path))]
    assert found == ["cpu", "cpuset", "memory", "unified"]


def test_version_2_has_one_hierarchy(tmp_path: Path) -> None:
    (tmp_path / "cgroup.controllers").write_text("cpu memory")
    assert cgroups.hierarchies(tmp_path) == [tmp_path]


def test_a_cgroup_is_made_in_every_hierarchy_and_removed_again(tmp_path: Path) -> None:
    root = version_1(tmp_path)
    cgroups.create("/longshore-x/0", root)
    assert all((path / "longshore-x" / "0").is_dir() for path in cgroups.hierarchies(root))
    (root / "memory" / "longshore-x" / "0" / "kubepods" / "pod1").mkdir(parents=True)
    (root / "memory" / "longshore-y").mkdir()
    cgroups.remove("/longshore-x", root)
    assert list(root.rglob("longshore-*")) == [root / "memory" / "longshore-y"]


def test_removing_what_is_not_there_is_no_error(tmp_path: Path) -> None:
    cgroups.remove("/longshore-x", version_1(tmp_path))


def test_version_2_hands_every_controller_on(tmp_path: Path) -> None:
    (tmp_path / "cgroup.controllers").write_text("memory")
    cgroups.create("/longshore-x", tmp_path)
    assert (tmp_path / "cgroup.subtree_control").read_text() == "+memory"
