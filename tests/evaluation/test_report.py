"""The report: one file that parses, holds every number, refers to nothing outside, and is the same every time."""

import dataclasses
import re
from html import escape
from html.parser import HTMLParser

import numpy as np
import pytest

from longshore.core.words.errors import InputError
from longshore.core.words.trace import Create, Trace
from longshore.evaluation.base import Bound
from longshore.evaluation.comparison import Comparison, Row
from longshore.evaluation.html import DASH, number
from longshore.evaluation.metrics import METRICS
from longshore.evaluation.report import Limits, latency_limits, render_report
from longshore.evaluation.report_page import best_policies
from longshore.evaluation.report_plots import _striped, plot_intervals, same_curves, time_average
from longshore.evaluation.report_svg import assign_styles
from longshore.evaluation.series import Series
from longshore.evaluation.statistics import Interval
from support.builders import make_node, make_pod

NAN = float("nan")
VOID = {"meta", "br"}
POLICIES = ("kube-default", "best-fit", "energy-latency")


class Balance(HTMLParser):
    """Remembers what is open, and every identifier."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.identifiers: list[str] = []
        self.references: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            if name == "id":
                self.identifiers.append(value or "")
            self.references += re.findall(r"url\(#([^)]+)\)", value or "")
            if name == "href" and (value or "").startswith("#"):
                self.references.append((value or "")[1:])

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def parse(text: str) -> Balance:
    """Read a page and check that everything that was opened was closed."""
    parser = Balance()
    parser.feed(text)
    parser.close()
    assert parser.open == []
    return parser


def make_row(policy: str, mean: float, *, is_baseline: bool = False, width: float = 0.5, pending: float = 0.0) -> Row:
    """A policy of which every metric is `mean`, but `pending`."""
    found = Interval(mean, mean - width, mean + width)
    difference = Interval(mean - 10.0, mean - 10.5, mean - 9.5)
    return Row(
        policy=policy,
        metrics=dict.fromkeys(METRICS, found) | {"pending": Interval(pending, pending, pending)},
        differences={} if is_baseline else dict.fromkeys(METRICS, difference),
        values=dict.fromkeys(METRICS, (mean,)),
        decisions_per_second=1234.5,
    )


def make_comparison(workload: str = "test1") -> Comparison:
    """Three policies and three kinds of bounds."""
    rows = tuple(make_row(policy, 10.0 + 2.0 * i, is_baseline=i == 0) for i, policy in enumerate(POLICIES))
    return Comparison(
        workload=workload,
        parameters={"cycles": 2},
        objective="el-rl",
        filters="upstream",
        nodes=3,
        seeds=tuple(range(10)),
        lag_seconds=2.5,
        baseline="kube-default",
        level=0.95,
        rows=rows,
        bounds={
            "reward": Bound("reward", 15.0, "beam(4096)", is_reached=True),
            "active_nodes": Bound("active_nodes", 9.0, "dp", is_exact=True, is_reached=True),
            "watts": Bound("watts", None, "none: no method for <this>"),
        },
    )


def make_series(
    policy: str = "kube-default", *, workload: str = "test1", num_nodes: int = 3, steps: int = 70
) -> Series:
    """Pods that come one a second and go round the nodes."""
    placed = np.eye(num_nodes, dtype=np.int32)[np.arange(steps) % num_nodes]
    pods = placed.cumsum(axis=0, dtype=np.int32)
    return Series(
        workload=workload,
        policy=policy,
        objective="el-rl",
        seed=0,
        start=0.0,
        end=float(steps),
        node_names=tuple(f"node-{i}" for i in range(num_nodes)),
        times=np.arange(steps, dtype=np.float64),
        kinds=("create",) * steps,
        pods_per_node=pods,
        active_nodes=(pods > 0).sum(axis=1).astype(np.int32),
        latency_ms=np.where(np.arange(steps) % 5 == 0, np.nan, 10.0 + np.arange(steps) % 30),
        cpu_variance=np.zeros(steps),
        watts=np.full(steps, 100.0),
        watts_idle_off=np.full(steps, 50.0),
        running=pods.sum(axis=1),
        waiting=np.zeros(steps, np.int32),
        reward=np.ones(steps),
        is_placed=np.ones(steps, bool),
        is_success=np.arange(steps) % 4 != 0,
        metrics=dict.fromkeys(METRICS, 1.0),
    )


@pytest.fixture(scope="module")
def full() -> str:
    """A report with everything in it."""
    return render_report(
        [make_comparison()],
        [make_series(policy) for policy in POLICIES],
        command="longshore compare --workload test1 <&>",
        date="2025-01-02",
        limits={"test1": Limits((20.0,), (30.0,))},
    )


def test_report_parses_with_unique_identifiers_that_exist(full: str) -> None:
    parser = parse(full)
    assert len(parser.identifiers) == len(set(parser.identifiers))
    assert parser.references
    assert set(parser.references) <= set(parser.identifiers)


def test_report_names_everything(full: str) -> None:
    for name in (*POLICIES, *METRICS, "2025-01-02", "longshore compare --workload test1 &lt;&amp;&gt;", "10 (0 to 9)"):
        assert name in full
    for text in ("upstream", "el-rl", "2.5 s", "cycles=2", "beam(4096)", "optimum", "best found", ">soft<", ">hard<"):
        assert text in full
    assert all(escape(metric.definition) in full for metric in METRICS.values())


def test_report_draws_intervals_overlays_and_a_card_for_each_policy(full: str) -> None:
    assert full.count('role="img"') == 6 + 4 + len(POLICIES)


def test_report_refers_to_nothing_outside_and_runs_nothing(full: str) -> None:
    assert not re.search(r"https?:|//[a-z]|@import|\bsrc=", full)
    assert parse(full).tags.isdisjoint({"script", "link", "img", "iframe", "object", "image"})


def test_report_is_the_same_every_time() -> None:
    one, other = (render_report([make_comparison()], [make_series("best-fit")], date="2025-01-02") for _ in range(2))
    assert one == other


def test_report_escapes_what_comes_from_outside() -> None:
    name = "<script>alert('$x$ & $y$')</script>"
    comparison = dataclasses.replace(
        make_comparison(name), rows=(make_row(name, 1.0),), objective=name, filters=name, parameters={name: name}
    )
    run = dataclasses.replace(make_series(name, workload=name), objective=name, node_names=(name, "b", "c"))
    text = render_report([comparison], [run], command=name, date=name)
    parser = parse(text)
    assert "<script" not in text
    assert "script" not in parser.tags
    assert "$x$ &amp; $y$" in text


def test_report_shows_a_dash_for_what_is_not_known() -> None:
    row = make_row("kube-default", 3.0, is_baseline=True)
    unknown = Interval(NAN, NAN, NAN)
    row = dataclasses.replace(row, metrics=dict.fromkeys(METRICS, unknown), decisions_per_second=NAN)
    text = render_report([dataclasses.replace(make_comparison(), rows=(row,))], [])
    parse(text)
    assert f"<td>{DASH}</td>" in text
    assert "nan" not in re.sub(r"<style>.*</style>", "", text, flags=re.DOTALL).lower()
    assert "none: no method for &lt;this&gt;" in text


def test_report_of_one_seed_has_means_without_intervals() -> None:
    rows = tuple(make_row(policy, 4.0 + i, is_baseline=i == 0, width=NAN) for i, policy in enumerate(POLICIES))
    text = render_report([dataclasses.replace(make_comparison(), rows=rows, seeds=(7,))], [])
    parse(text)
    assert "1 (7)" in text
    assert f"[{DASH}]" in text


def test_report_without_series_has_tables_only_and_without_comparisons_runs_only() -> None:
    tables = render_report([make_comparison()], [])
    runs = render_report([], [make_series(), make_series("best-fit", workload="test2")])
    assert "Policy by policy" not in tables
    assert "Means with intervals" not in runs
    assert runs.count("Policy by policy") == 2
    parse(runs)


def test_report_of_many_nodes_draws_shades() -> None:
    text = render_report([], [make_series(num_nodes=40)])
    parse(text)
    assert "full colour = " in text
    assert "data:image/png;base64" in text


def test_report_of_a_long_run_stays_small() -> None:
    assert len(render_report([], [make_series(steps=20_000)])) < 300_000


def test_report_of_an_empty_run_draws_nothing() -> None:
    parse(render_report([], [make_series(steps=0)]))


def test_report_without_readings_has_no_latency() -> None:
    run = make_series()
    text = render_report([], [dataclasses.replace(run, latency_ms=np.full(len(run.times), np.nan))])
    assert "latency (ms)" not in text


def test_report_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="no comparisons and no series"):
        render_report([], [])


def test_limits_are_each_value_of_the_pods_once() -> None:
    pods = [make_pod(f"pod-{i}").latency(20.0, 30.0 + i % 2).build() for i in range(4)] + [make_pod("plain").build()]
    trace = Trace((make_node("a").build(),), tuple(Create(float(i), pod) for i, pod in enumerate(pods)))
    assert latency_limits(trace) == Limits((20.0,), (30.0, 31.0))


@pytest.mark.parametrize(
    ("value", "want_text"),
    [
        (None, DASH),
        (NAN, DASH),
        (float("inf"), DASH),
        (-0.0, "0"),
        (26.0, "26"),
        (1.83249, "1.832"),
        (-0.0213, "\N{MINUS SIGN}0.0213"),
        (0.0000213, "2.13e\N{MINUS SIGN}5"),
        (1234.5678, "1,235"),
        (1234567.8, "1,234,568"),
    ],
)
def test_number_has_four_digits_that_count(value: float | None, want_text: str) -> None:
    assert number(value) == want_text


def test_best_policies_follow_the_metrics_direction() -> None:
    rows = [make_row("a", 1.0), make_row("b", 2.0), make_row("c", 2.0 + 1e-12)]
    assert best_policies(rows, "reward") == {"b", "c"}
    assert best_policies(rows, "active_nodes") == {"a"}
    assert best_policies(rows, "placements") == set()
    assert best_policies(rows[1:], "reward") == set()


def test_styles_differ_between_policies_and_the_baseline_has_its_own() -> None:
    names = [f"policy-{i}" for i in range(30)]
    styles = assign_styles(["kube-default", *names, "policy-3"], "kube-default")
    assert styles["kube-default"].variable == "baseline"
    assert len({(style.variable, style.dashes) for style in styles.values()}) == 31


def test_same_curves_are_told() -> None:
    x = np.arange(3.0)
    curves = {"a": (x, x), "b": (x, x + 1.0), "c": (x, x + 1e-12), "d": (x[:2], x[:2])}
    assert same_curves(curves) == [["a", "c"]]


def test_lines_on_one_another_show_in_turns() -> None:
    x = np.arange(3.0)
    curves = {"a": (x, x), "b": (x, x + 1.0), "c": (x, x)}
    own = _striped(curves, assign_styles(curves, "a"))
    assert own["a"].dashes == own["c"].dashes == (5.0, 5.0)
    assert (own["a"].offset, own["c"].offset) == (0.0, 5.0)
    assert own["b"] == assign_styles(curves, "a")["b"]


def test_the_first_styles_all_have_their_own_dashes() -> None:
    styles = assign_styles(["kube-default", *(f"policy-{i}" for i in range(8))], "kube-default")
    assert len({style.dashes for style in styles.values()}) == 9
    assert styles["kube-default"].dashes == ()


def test_a_bound_is_drawn_only_where_it_holds() -> None:
    comparison = make_comparison()
    waiting = dataclasses.replace(comparison, rows=(*comparison.rows, make_row("lazy", 1.0, pending=0.5)))
    styles = assign_styles([row.policy for row in waiting.rows], "kube-default")

    drawn = [plot_intervals(one, "active_nodes", styles, "p") or "" for one in (comparison, waiting)]
    assert [figure.count("stroke-width: 1.2") for figure in drawn] == [1, 0]
    assert "no line, since a policy left pods waiting: optimum" in render_report([waiting], [])
    assert "no line" not in render_report([comparison], [])


def test_long_names_of_nodes_stay_different_in_the_report() -> None:
    names = tuple(f"ip-10-0-1-2{i}.eu-central-1.compute.internal" for i in range(3))
    text = render_report([], [dataclasses.replace(make_series(), node_names=names)])
    assert [name for name in ("ip-10-0-1-20", "ip-10-0-1-21", "ip-10-0-1-22") if f">{name}.…<" in text] == [
        "ip-10-0-1-20",
        "ip-10-0-1-21",
        "ip-10-0-1-22",
    ]


def test_report_begins_with_the_verdict(full: str) -> None:
    assert full.index("the best of these policies, earns 14") < full.index("<table>")


def test_time_average_weighs_by_time() -> None:
    run = dataclasses.replace(make_series(steps=2), times=np.array([0.0, 90.0]), end=100.0)
    # The window is a twentieth: 5 of 100 s.
    found = time_average(run, np.array([1.0, 3.0]), np.array([50.0, 92.0, 100.0]))
    assert found == pytest.approx([1.0, (3 * 1.0 + 2 * 3.0) / 5, 3.0])
