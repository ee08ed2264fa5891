"""Progress goes to stderr and leaves stdout alone."""

import pytest

from longshore.cli.progress import training, training_line
from longshore.training.run.logs import Record
from longshore.training.run.loop import Report


def test_a_training_is_told_in_a_line() -> None:
    scalars = {"steps_per_second": 12345.6, "return": 98.7654}
    record = Record(chunk=2, decided=100, seconds=1.0, scalars=scalars, seeds={}, actions=[])
    line = training_line(Report(record, share=0.5, best=118.6, seconds_left=7.4))
    assert line == "12,346 steps/s, return 98.765, best 118.6, 7 s left"


def test_the_time_left_is_not_told_before_it_is_known() -> None:
    record = Record(1, 100, 1.0, {"steps_per_second": 1.0, "return": 1.0}, {}, [])
    assert "left" not in training_line(Report(record, 0.1, 1.0, float("nan")))


def test_training_notes_remarks_and_lines_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    record = Record(1, 100, 1.0, {"steps_per_second": 1.0, "return": 1.0}, {}, [])
    with training() as (advance, tell):
        tell("compiling")
        advance(Report(record, 0.25, 1.0, float("nan")))
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == ["compiling …", " 25%  1 steps/s, return 1, best 1"]
