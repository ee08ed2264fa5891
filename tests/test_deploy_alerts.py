"""The alerts: promtool finds them right, each fires when it should, and they speak of metrics that there are."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from longshore_lab.build import require_program
from support.deploy import CHART, DEPLOY, ROOT, built_promtool

__all__ = ["built_promtool"]

ALERTS = CHART / "files" / "alerts.yaml"
TESTS = DEPLOY / "alerts.test.yaml"


def promtool(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(require_program("promtool")), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def alerts() -> dict[str, str]:
    """Return the expression of every alert."""
    groups = yaml.safe_load(ALERTS.read_text(encoding="utf-8"))["groups"]
    return {rule["alert"]: rule["expr"] for group in groups for rule in group["rules"]}


@pytest.mark.usefixtures("built_promtool")
def test_promtool_takes_the_rules() -> None:
    done = promtool("check", "rules", "--lint=all", "--lint-fatal", str(ALERTS))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.usefixtures("built_promtool")
def test_the_alerts_fire_when_they_should() -> None:
    done = promtool("test", "rules", str(TESTS))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.usefixtures("built_promtool")
def test_an_alert_that_never_fires_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "chart" / "longshore" / "files"
    folder.mkdir(parents=True)
    text = ALERTS.read_text(encoding="utf-8")
    (folder / "alerts.yaml").write_text(text.replace("> 0.05", "> 5"))
    tests = tmp_path / TESTS.name
    tests.write_text(TESTS.read_text(encoding="utf-8"))
    done = promtool("test", "rules", str(tests))
    assert done.returncode != 0
    assert "LongshoreFallbackRate" in done.stdout + done.stderr


def test_every_alert_is_tested_firing_and_silent() -> None:
    cases = [case for test in yaml.safe_load(TESTS.read_text())["tests"] for case in test["alert_rule_test"]]
    firing = {case["alertname"] for case in cases if case.get("exp_alerts")}
    silent = {case["alertname"] for case in cases if not case.get("exp_alerts")}
    assert firing == silent == set(alerts())


def test_the_alerts_speak_of_metrics_that_there_are() -> None:
    files = (ROOT / "scheduler" / "longshore" / "metrics.go", ROOT / "src" / "longshore" / "scheduling" / "metrics.py")
    known = {name for file in files for name in re.findall(r'"(longshore_\w+)"', file.read_text(encoding="utf-8"))}
    read = {name for text in alerts().values() for name in re.findall(r"longshore_\w+", text)}
    assert {name.removesuffix("_count") for name in read} <= known
