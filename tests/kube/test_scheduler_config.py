"""Tests of what is said about a KubeSchedulerConfiguration, and that our own files are beyond reproach."""

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from longshore.kube.scheduler_config import Finding, findings

CONFIG = Path(__file__).parents[2] / "scheduler" / "config"

ONE_PROFILE: dict[str, Any] = yaml.safe_load((CONFIG / "profile-replace.yaml").read_text(encoding="utf-8"))
TWO_PROFILES: dict[str, Any] = yaml.safe_load((CONFIG / "profile-plugin.yaml").read_text(encoding="utf-8"))

ALL = [{"name": "*"}]
LIGHT = [{"name": "Longshore", "weight": 1500}]
"""As much as the others together have at most."""
BACKWARDS = [{"name": "DefaultBinder"}, {"name": "Longshore"}]


def changed(path: str, value: Any, base: dict[str, Any] = ONE_PROFILE) -> list[Finding]:
    """Return what is found after setting one place, such as `profiles.0.schedulerName`; None removes it."""
    content: Any = copy.deepcopy(base)
    place = content
    *way, last = path.split(".")
    for step in way:
        place = place[int(step)] if isinstance(place, list) else place.setdefault(step, {})
    if value is None:
        del place[last]
    elif isinstance(place, list):
        place.append(value)
    else:
        place[last] = value
    return findings(yaml.safe_dump(content).encode())


@pytest.mark.parametrize("file", sorted(CONFIG.glob("*.yaml")), ids=lambda file: file.name)
def test_our_own_files_are_good(file: Path) -> None:
    assert findings(file.read_bytes()) == []


@pytest.mark.parametrize(
    ("path", "value", "where", "message"),
    [
        ("apiVersion", None, "apiVersion", "missing"),
        ("apiVersion", "kubescheduler.config.k8s.io/v1beta3", "apiVersion", "stopped reading in 1.29"),
        ("apiVersion", "kubescheduler.config.k8s.io/v1alpha1", "apiVersion", "stopped reading"),
        ("apiVersion", "v1", "apiVersion", "expected `kubescheduler.config.k8s.io/v1`"),
        ("kind", "Pod", "kind", "expected `KubeSchedulerConfiguration`"),
        ("metricsBindAddress", "0.0.0.0:1", "metricsBindAddress", "no such field"),
        ("percentageOfNodesToScore", 101, "percentageOfNodesToScore", "from 0 to 100"),
        ("profiles", {"a": 1}, "profiles", "expected a list"),
        ("profiles.0.plugins.score", [1], "profiles[0].plugins.score", "expected a mapping"),
        ("profiles.0.plugins.scores", {}, "profiles[0].plugins.scores", "no such field"),
        ("profiles.0.percentageOfNodesToScore", "all", "profiles[0].percentageOfNodesToScore", "from 0 to 100"),
        ("profiles.0.pluginConfig", None, "profiles[0].pluginConfig", "it needs at least `modelPath`"),
        ("profiles.0.pluginConfig.0.args", {}, "profiles[0].pluginConfig[0].args.modelPath", "missing"),
        ("profiles.0.pluginConfig.0.args.deadline", "1d", "profiles[0].pluginConfig[0].args.deadline", "a duration"),
        ("profiles.0.pluginConfig.1", {"name": "Longshore"}, "profiles[0].pluginConfig", "arguments 2 times"),
        ("profiles.0.plugins.preScore", None, "profiles[0].plugins.preScore", "never rank anything"),
        ("profiles.0.plugins.score", None, "profiles[0].plugins.score", "would not be used"),
        ("profiles.0.plugins.score.disabled", ALL, "profiles[0].plugins.score", "nothing is left to rank"),
        ("profiles.0.plugins", None, "profiles[0].plugins", "enabled nowhere"),
        ("profiles.0.plugins.bind.enabled", [{"name": "EBSLimits"}], "profiles[0].plugins.bind.enabled", "is no more"),
        ("profiles.0.plugins.score.enabled.1", {"name": "Longshore"}, "profiles[0].plugins.score.enabled", "2 times"),
    ],
)  # fmt: skip
def test_errors_say_where_and_what(path: str, value: Any, where: str, message: str) -> None:
    found = [one for one in changed(path, value) if one.level == "error"]
    assert [one.path for one in found if message in one.message] == [where], found


@pytest.mark.parametrize(
    ("path", "value", "where", "message"),
    [
        ("profiles.0.schedulerName", "mine", "profiles", "no profile is called `default-scheduler`"),
        ("profiles", [], "profiles", "no profile enables the plugin Longshore"),
        ("profiles.0.plugins.score.enabled", LIGHT, "profiles[0].plugins.score", "it is one voice among 9 others"),
        ("profiles.0.plugins.filter", None, "profiles[0].plugins", "not enabled in filter: GPUs and hard latency"),
        ("profiles.0.plugins.bind.disabled", None, "profiles[0].plugins.bind", "binds before Longshore could"),
        ("profiles.0.plugins.bind.enabled", BACKWARDS, "profiles[0].plugins.bind", "binds before Longshore could"),
    ],
)
def test_warnings_are_not_errors(path: str, value: Any, where: str, message: str) -> None:
    (found,) = changed(path, value)
    assert (found.level, found.path) == ("warning", where)
    assert message in found.message


def test_a_weight_just_above_all_others_decides() -> None:
    assert changed("profiles.0.plugins.score.enabled", [{"name": "Longshore", "weight": 1501}]) == []


def test_weights_of_others_count() -> None:
    heavy = [{"name": "NodeResourcesFit", "weight": 20_000}, {"name": "Longshore", "weight": 1_000_000}]
    (found,) = changed("profiles.0.plugins.score.enabled", heavy)
    assert found.hint == "a weight above 2001400 lets it decide alone, and the others rest"


def test_stock_plugins_disabled_everywhere_do_not_score() -> None:
    (found,) = changed("profiles.0.plugins.multiPoint", {"disabled": ALL})
    assert "nothing is left to rank" in found.message


def test_multi_point_enables_all_points() -> None:
    content = copy.deepcopy(ONE_PROFILE)
    everywhere = [{"name": "NodeResourcesFit"}, {"name": "Longshore", "weight": 101}]
    plugins = {"multiPoint": {"enabled": everywhere, "disabled": ALL}}
    content["profiles"][0]["plugins"] = plugins
    assert findings(yaml.safe_dump(content).encode()) == []


def test_a_shadow_that_nobody_sees_is_pointed_out() -> None:
    shadow = yaml.safe_load((CONFIG / "profile-shadow.yaml").read_text(encoding="utf-8"))
    (found,) = changed("profiles.0.pluginConfig.0.args.decisionLog", None, shadow)
    assert found.level == "warning"
    assert "shadow without a `decisionLog`" in found.message


def test_profiles_with_one_name_are_refused() -> None:
    (found,) = changed("profiles.1.schedulerName", "default-scheduler", TWO_PROFILES)
    assert (found.level, found.path) == ("error", "profiles[1]")


def test_profiles_without_a_name_are_refused() -> None:
    found = changed("profiles.1.schedulerName", None, TWO_PROFILES)
    assert [one.path for one in found] == ["profiles[1].schedulerName"]


def test_profiles_with_different_queues_are_refused() -> None:
    (found,) = changed("profiles.0.plugins", {"queueSort": {"enabled": [{"name": "Coscheduling"}]}}, TWO_PROFILES)
    assert (found.level, found.path) == ("error", "profiles[1].plugins.queueSort")


def test_profiles_with_different_arguments_of_the_queue_are_refused() -> None:
    content = copy.deepcopy(TWO_PROFILES)
    for profile in content["profiles"]:
        profile.setdefault("plugins", {})["queueSort"] = {"enabled": [{"name": "Coscheduling"}]}
    content["profiles"][1]["pluginConfig"].append({"name": "Coscheduling", "args": {"permitWaitingTimeSeconds": 3}})
    (found,) = findings(yaml.safe_dump(content).encode())
    assert (found.level, found.path) == ("error", "profiles[1].pluginConfig")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "got 0 documents"),
        (b"a: 1\n---\nb: 2\n", "got 2 documents"),
        (b"- 1\n", "got a list"),
        (b"a: [", "not YAML"),
        (b"\xff\xfe\x00", "not YAML"),
    ],
)
def test_what_is_no_configuration_is_refused(data: bytes, message: str) -> None:
    (found,) = findings(data)
    assert found.level == "error"
    assert message in found.message


def test_a_star_without_quotes_is_explained() -> None:
    (found,) = findings(b"profiles:\n- plugins:\n    score:\n      disabled:\n      - name: *\n")
    assert found.hint is not None
    assert '"*"' in found.hint


def test_errors_come_before_warnings() -> None:
    found = findings(yaml.safe_dump({**ONE_PROFILE, "profiles": [], "nonsense": 1}).encode())
    assert [one.level for one in found] == ["error", "warning"]
