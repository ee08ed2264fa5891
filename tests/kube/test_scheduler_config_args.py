"""Tests of the arguments of the plugin: what is refused, by the name of the field, and the fields of the Go struct."""

import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from longshore.kube.scheduler_config_args import FIELDS, argument_problems, duration_seconds

GO_STRUCT = Path(__file__).parents[2] / "scheduler" / "longshore" / "arguments.go"


def test_good_arguments_have_no_problem() -> None:
    arguments = {
        "modelPath": "/model",
        "deadline": "5ms",
        "shadow": True,
        "readingsFile": "/readings",
        "readingsMaxAge": "1m30s",
        "onMissingReadings": "wait",
        "envelopeTolerance": 1,
        "decisionLog": "https://longshore:8000/decisions",
        "circuit": {"failures": 3, "openFor": "1m"},
        "eventInterval": "5m",
        "decisionLogMaxSize": "1Gi",
        "memoryLimit": "1Gi",
        "stateFolder": "/state",
        "decisionLogTokenFile": "/token",
        "decisionLogCAFile": "/ca.crt",
        "modelDigests": [f"sha256:{'0' * 64}"],
        "preference": {"watts": 1, "fragmentation": 0.25},
    }
    assert argument_problems(arguments) == []


@pytest.mark.parametrize(
    "registry",
    [
        {"url": "https://models.example/models/el-rl/live/", "pollInterval": "1m", "tokenFile": "/t", "caFile": "/ca"},
        {"url": "http://127.0.0.1:8090/models/el-rl/live"},
        {"url": "http://[::1]:8090/models/el-rl/live"},
        {"url": "http://models/el-rl/live", "allowPlainHTTP": True},
    ],
    ids=lambda registry: registry["url"],
)
def test_a_registry_takes_the_place_of_the_folder(registry: dict[str, Any]) -> None:
    assert argument_problems({"registry": {"cacheFolder": "/c", **registry}}) == []


@pytest.mark.parametrize(
    ("registry", "field", "message"),
    [
        ({"cacheFolder": "/c"}, "registry.url", "missing"),
        ({"url": "https://m/live"}, "registry.cacheFolder", "missing"),
        ({"url": "https://m/live", "cacheFolder": "c"}, "registry.cacheFolder", "an absolute path"),
        ({"url": "m/live", "cacheFolder": "/c"}, "registry.url", "an address such as"),
        ({"url": "https://me:secret@m/live", "cacheFolder": "/c"}, "registry.url", "without user"),
        ({"url": "https://m/live?x", "cacheFolder": "/c"}, "registry.url", "query"),
        (
            {"url": "http://10.0.0.1/live", "cacheFolder": "/c"},
            "registry.url",
            "expected https, or allowPlainHTTP: true",
        ),
        ({"url": "https://m/live", "cacheFolder": "/c", "pollInterval": "1s"}, "registry.pollInterval", "at least 2s"),
        ({"uri": "https://m/live", "url": "https://m/live", "cacheFolder": "/c"}, "registry.uri", "no such field"),
        ("https://m/live", "registry", "expected a mapping"),
    ],
)
def test_a_wrong_registry_names_the_field(registry: Any, field: str, message: str) -> None:
    first = argument_problems({"registry": registry})[0] if isinstance(registry, dict) else None
    first = first or argument_problems({"modelPath": "/m", "registry": registry})[0]
    assert first.field == field
    assert message in first.message


def test_a_folder_and_an_address_are_one_too_many() -> None:
    (problem,) = argument_problems({"modelPath": "/m", "registry": {"url": "https://m/live", "cacheFolder": "/c"}})
    assert (problem.field, problem.hint) == ("registry.url", "leave one out")


@pytest.mark.parametrize(
    ("arguments", "field", "message"),
    [
        ({}, "modelPath", "missing"),
        ({"modelPath": "model"}, "modelPath", "an absolute path"),
        ({"deadlin": "5ms"}, "deadlin", "no such field"),
        ({"deadline": "0s"}, "deadline", "a duration above 0 and at most 5s"),
        ({"deadline": "20s"}, "deadline", "a duration above 0 and at most 5s"),
        ({"deadline": 20}, "deadline", "got 20, expected a duration"),
        ({"readingsMaxAge": "long"}, "readingsMaxAge", "a duration above 0"),
        ({"mixWeight": 0.5}, "mixWeight", "no such argument any more"),
        ({"stockPluginConfig": []}, "stockPluginConfig", "no such argument any more"),
        ({"envelopeTolerance": True}, "envelopeTolerance", "a number from 0 to 1"),
        ({"shadow": "yes"}, "shadow", "true or false"),
        ({"envelopeTolerance": -0.5}, "envelopeTolerance", "a number from 0 to 1"),
        ({"circuit": {"failure": 3}}, "circuit.failure", "no such field"),
        ({"circuit": {"failures": 0}}, "circuit.failures", "1 or more"),
        ({"circuit": 5}, "circuit", "expected a mapping"),
        ({"decisionLog": "http:///decisions"}, "decisionLog", "an address such as"),
        ({"eventInterval": "1ms"}, "eventInterval", "a duration of at least 1s"),
        ({"decisionLogMaxSize": "0"}, "decisionLogMaxSize", "an amount above 0"),
        ({"memoryLimit": "0"}, "memoryLimit", "an amount above 0"),
        ({"memoryLimit": "much"}, "memoryLimit", "an amount above 0"),
        ({"memoryLimit": True}, "memoryLimit", "an amount above 0"),
        ({"stateFolder": "state"}, "stateFolder", "an absolute path"),
        ({"preference": {"watts": -1}}, "preference", "weights of 0 or more by term"),
        ({"preference": {"watts": "much"}}, "preference", "weights of 0 or more by term"),
        ({"preference": {"watts": 0}}, "preference", "at least one weight above 0"),
        ({"modelDigests": ["md5:1"]}, "modelDigests", "a list of `sha256:`"),
        ({"modelDigests": f"sha256:{'0' * 64}"}, "modelDigests", "a list of `sha256:`"),
        ({"decisionLogTokenFile": "/t"}, "decisionLogTokenFile", "decisionLog is no address"),
        ({"decisionLog": "/log", "decisionLogCAFile": "/c"}, "decisionLogCAFile", "decisionLog is no address"),
        (
            {"decisionLog": "http://10.0.0.1/d", "decisionLogTokenFile": "/t"},
            "decisionLogTokenFile",
            "could read the token",
        ),
        ([1], "", "expected a mapping"),
    ],
)
def test_wrong_arguments_name_the_field(arguments: Any, field: str, message: str) -> None:
    if isinstance(arguments, dict) and field != "modelPath":
        arguments = {"modelPath": "/model", **arguments}
    (problem,) = argument_problems(arguments)
    assert problem.field == field
    assert message in problem.message


def test_a_misspelt_field_names_the_right_one() -> None:
    (problem,) = argument_problems({"modelPath": "/m", "circuit": {"openfor": "1s"}})
    assert problem.hint == "did you mean `circuit.openFor`?"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("20ms", Fraction(1, 50)),
        ("1m30s", 90),
        ("1.5h", 5400),
        (".5s", Fraction(1, 2)),
        ("0", 0),
        ("-2s", -2),
        ("20", None),
        ("", None),
        ("1 s", None),
        (20, None),
    ],
)
def test_durations_are_read_as_go_does(text: object, seconds: Fraction | None) -> None:
    assert duration_seconds(text) == seconds


def test_the_go_struct_has_the_same_fields() -> None:
    found = re.findall(r'`json:"(\w+)"`', GO_STRUCT.read_text(encoding="utf-8"))
    own = [name for name in FIELDS if name not in ("apiVersion", "kind")]  # of every Kubernetes object
    assert found == [*own, *FIELDS["registry"], *FIELDS["circuit"]]
