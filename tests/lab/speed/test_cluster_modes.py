"""The schedulers that are measured: how each is configured. They run in `tests/lab/commands/test_bench_cluster.py`."""

from pathlib import Path

from longshore.policies.bundle_folder import read_folder
from longshore_lab.speed.cluster_modes import MODES, OURS, STOCK, plugin_config, write_random_bundle


def test_modes_are_those_of_upstream_and_ours():
    assert MODES == ("stock", "stock-sampled", "plugin", "plugin-fallback", "standalone")
    assert set(MODES) == {*STOCK, *OURS}


def test_plugin_config_is_the_delivered_one_for_the_measured_pods(tmp_path: Path):
    (profile,) = plugin_config(tmp_path)["profiles"]
    assert profile["schedulerName"] == "measured"
    for point in ("preScore", "score"):
        assert profile["plugins"][point].keys() == {"enabled"}, "the other score plugins stay"
        assert [one["name"] for one in profile["plugins"][point]["enabled"]] == ["Longshore"]
    assert profile["pluginConfig"] == [
        {"name": "Longshore", "args": {"modelPath": str(tmp_path.resolve()), "deadline": "1s"}}
    ]


def test_random_bundle_is_a_wide_network_and_always_the_same(tmp_path: Path):
    one, other = (read_folder(write_random_bundle(tmp_path / name)) for name in ("one", "other"))
    assert one.tensors["encode.weight"].shape == (len(one.features), 32)
    assert all((one.tensors[name] == other.tensors[name]).all() for name in one.tensors)
    assert one.num_nodes is None
