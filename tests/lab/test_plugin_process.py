"""Reading a page of metrics; the process itself is started by test_plugin_faults.py."""

from longshore_lab.plugin_process import read_series

PAGE = """\
# HELP longshore_fallback_total [ALPHA] Decisions that the policy did not make, by the reason.
# TYPE longshore_fallback_total counter
longshore_fallback_total{profile="longshore",reason="nan"} 3
longshore_model_info{name="a b",version="1"} 1

longshore_decision_duration_seconds_sum{profile="longshore"} 1.5e-05
"""


def test_series_are_read_with_their_labels() -> None:
    assert read_series(PAGE) == {
        'longshore_fallback_total{reason="nan"}': 3.0,
        'longshore_model_info{name="a b",version="1"}': 1.0,
        "longshore_decision_duration_seconds_sum": 1.5e-05,
    }
