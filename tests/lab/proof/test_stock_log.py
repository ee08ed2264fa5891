"""What is read from the log of stock kube-scheduler."""

from pathlib import Path

from longshore_lab.proof.stock_log import LogTail, final_scores

LOG = """\
I0730 21:00:00.000001 1 schedule_one.go:120] "Attempting to schedule pod" pod="ns/p"
I0730 21:00:00.000002 1 schedule_one.go:1050] "Calculated node's final score for pod" pod="ns/p" node="a" score=201
I0730 21:00:00.000003 1 schedule_one.go:1050] "Calculated node's final score for pod" pod="ns/p" node="b.c" score=-3
I0730 21:00:00.000004 1 schedule_one.go:1050] "Calculated node's final score for pod" pod="ns/other" node="a" score=7
I0730 21:00:00.000005 1 schedule_one.go:1050] "Calculated node's final score for pod" pod="ns/p" node="a" score=200
"""


def test_scores_are_those_of_the_pod_and_of_its_last_attempt() -> None:
    assert final_scores(LOG, "ns/p") == {"a": 200, "b.c": -3}
    assert final_scores(LOG, "ns/nobody") == {}


def test_a_tail_begins_where_the_log_ended(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("before\n")
    tail = LogTail(log)
    with log.open("a") as file:
        file.write("after ü\n")
    assert tail.read() == "after ü\n"
