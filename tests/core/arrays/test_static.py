"""Constraints that depend on the class and the node only: tolerations, node affinity, volume zones, images."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from longshore.core.arrays.encode import encode
from longshore.core.arrays.static import (
    Demand,
    RowTable,
    StaticPart,
    StaticRows,
    named_nodes,
    selected,
    tolerates,
    untainted,
)
from longshore.core.words.errors import LongshoreError
from longshore.core.words.labels import Requirement
from longshore.core.words.node import Image, Taint
from longshore.core.words.objects import Objects
from longshore.core.words.pod import Container, NodePreference, NodeSelectorTerm, PodSpec, Toleration, Volume
from support.builders import NodeBuilder, PodBuilder, make_node, make_pod, make_snapshot

MB = 1024 * 1024


def rows(*nodes: NodeBuilder, **fields: object) -> StaticRows:
    snapshot = make_snapshot(*nodes, **fields)
    return StaticRows(snapshot.nodes, Objects.of(snapshot))


def mask(static: StaticRows, index: int) -> list[bool]:
    return [bool(value) for value in static.masks.rows[index]]


def weights(static: StaticRows, index: int) -> list[int]:
    return static.weights.rows[index]


def spec_of(pod: PodBuilder) -> PodSpec:
    return pod.build().spec


class TolerationCase(NamedTuple):
    """A toleration against the taint `key=value:NoSchedule`."""

    toleration: Toleration
    want_tolerated: bool


TOLERATIONS = {
    "equal value": TolerationCase(Toleration("key", "Equal", "value", "NoSchedule"), True),
    "no operator means equal": TolerationCase(Toleration("key", "", "value", "NoSchedule"), True),
    "another value": TolerationCase(Toleration("key", "Equal", "other", "NoSchedule"), False),
    "another key": TolerationCase(Toleration("other", "Exists"), False),
    "another effect": TolerationCase(Toleration("key", "Exists", "", "NoExecute"), False),
    "no effect means all effects": TolerationCase(Toleration("key", "Equal", "value"), True),
    "exists, whatever the value": TolerationCase(Toleration("key", "Exists"), True),
    "exists without a key tolerates everything": TolerationCase(Toleration("", "Exists"), True),
    "exists without a key, of this effect": TolerationCase(Toleration("", "Exists", "", "NoSchedule"), True),
    "exists without a key, of another effect": TolerationCase(Toleration("", "Exists", "", "PreferNoSchedule"), False),
    "equal without a key compares values of any key": TolerationCase(Toleration("", "Equal", "value"), True),
    "the comparison operators are off in 1.36": TolerationCase(Toleration("key", "Gt", "0"), False),
    "an unknown operator": TolerationCase(Toleration("key", "Near", "value"), False),
}


@pytest.mark.parametrize("case", TOLERATIONS.values(), ids=TOLERATIONS)
def test_tolerates_follows_upstream(case: TolerationCase) -> None:
    assert tolerates([case.toleration], Taint("key", "value", "NoSchedule")) is case.want_tolerated


def test_tolerates_needs_one_of_the_tolerations() -> None:
    taint = Taint("key")
    assert tolerates([Toleration("other", "Exists"), Toleration("key", "Exists")], taint)
    assert not tolerates([], taint)


def test_taints_mask_needs_every_taint_tolerated_but_the_preferring() -> None:
    static = rows(
        make_node("clean"),
        make_node("dirty").taint("dirty"),
        make_node("both").taint("dirty").taint("old", effect="NoExecute"),
        make_node("only-prefers").taint("slow", effect="PreferNoSchedule"),
    )
    assert mask(static, static.mask(untainted, PodSpec())) == [True, False, False, True]
    tolerant = spec_of(make_pod("a").toleration("dirty"))
    assert mask(static, static.mask(untainted, tolerant)) == [True, True, False, True]


def test_taint_weight_counts_the_preferring_taints_that_are_not_tolerated() -> None:
    static = rows(
        make_node("clean"),
        make_node("hard").taint("dirty"),
        make_node("one").taint("slow", effect="PreferNoSchedule"),
        make_node("two").taint("slow", effect="PreferNoSchedule").taint("old", effect="PreferNoSchedule"),
    )
    assert weights(static, static.taint_weight(PodSpec())) == [0, 0, 1, 2]
    tolerant = spec_of(make_pod("a").toleration("slow"))
    assert weights(static, static.taint_weight(tolerant)) == [0, 0, 0, 1]


def test_taint_weight_ignores_tolerations_of_other_effects() -> None:
    static = rows(make_node("one").taint("slow", effect="PreferNoSchedule"))
    spec = spec_of(make_pod("a").toleration("slow", effect="NoSchedule"))
    assert weights(static, static.taint_weight(spec)) == [1]


def test_taints_of_unknown_effects_are_passed_over() -> None:
    static = rows(make_node("odd").taint("a", effect="NoIdea"), make_node("empty").taint("a", effect=""))
    assert mask(static, static.mask(untainted, PodSpec())) == [True, True]
    assert static.weights.rows[static.taint_weight(PodSpec())] == [0, 0]


class TermCase(NamedTuple):
    """A node selector term against the node `node-a` with the label `disk=ssd`."""

    term: NodeSelectorTerm
    want_match: bool


def on_labels(*requirements: Requirement) -> NodeSelectorTerm:
    return NodeSelectorTerm(expressions=requirements)


def on_fields(*requirements: Requirement) -> NodeSelectorTerm:
    return NodeSelectorTerm(fields=requirements)


def named(*names: str, operator: str = "In") -> Requirement:
    return Requirement("metadata.name", operator, names)


SSD, HDD = Requirement("disk", "In", ("ssd",)), Requirement("disk", "In", ("hdd",))

TERMS = {
    "an empty term matches nothing": TermCase(NodeSelectorTerm(), False),
    "labels that match": TermCase(on_labels(SSD), True),
    "labels must all match": TermCase(on_labels(SSD, HDD), False),
    "the name": TermCase(on_fields(named("node-a")), True),
    "another name": TermCase(on_fields(named("node-b")), False),
    "not another name": TermCase(on_fields(named("node-b", operator="NotIn")), True),
    "not this name": TermCase(on_fields(named("node-a", operator="NotIn")), False),
    "labels and fields must both match": TermCase(NodeSelectorTerm((SSD,), (named("node-b"),)), False),
    "labels and fields that match": TermCase(NodeSelectorTerm((SSD,), (named("node-a"),)), True),
    "a field with two values cannot be parsed": TermCase(on_fields(named("node-a", "node-b")), False),
    "a field without values cannot be parsed": TermCase(on_fields(named()), False),
    "a field with another operator cannot be parsed": TermCase(on_fields(named("node-a", operator="Exists")), False),
    "one field that cannot be parsed spoils the term": TermCase(
        on_fields(named("node-a"), named(operator="NotIn")), False
    ),
    "a number that cannot be parsed": TermCase(on_labels(Requirement("disk", "Gt", ("many",))), False),
    "one value that cannot be parsed spoils the term": TermCase(
        on_labels(Requirement("disk", "In", ("ssd", "no label!"))), False
    ),
    "NotIn with a value that cannot be parsed matches nothing": TermCase(
        on_labels(Requirement("disk", "NotIn", ("no label!",))), False
    ),
    "a missing key that cannot be parsed matches nothing": TermCase(
        on_labels(SSD, Requirement("no key!", "DoesNotExist")), False
    ),
    "NotIn without values cannot be parsed": TermCase(on_labels(Requirement("disk", "NotIn")), False),
    "Exists with values cannot be parsed": TermCase(on_labels(Requirement("disk", "Exists", ("ssd",))), False),
    "an unknown field reads as empty": TermCase(on_fields(Requirement("spec.x", "In", ("",))), True),
    "an unknown field is not a value": TermCase(on_fields(Requirement("spec.x", "In", ("y",))), False),
}


@pytest.mark.parametrize("case", TERMS.values(), ids=TERMS)
def test_a_term_of_node_affinity_follows_upstream(case: TermCase) -> None:
    static = rows(make_node("node-a").label("disk", "ssd"))
    assert mask(static, static.mask(selected, PodSpec(node_affinity=(case.term,)))) == [case.want_match]


AFFINITIES = {
    "no requirement": (PodSpec(), [True, True]),
    "node selector": (PodSpec(node_selector=(("disk", "ssd"),)), [True, False]),
    "node selector on a missing key": (PodSpec(node_selector=(("none", ""),)), [False, False]),
    "required but with no terms": (PodSpec(node_affinity=()), [False, False]),
    "required with an empty term": (PodSpec(node_affinity=(NodeSelectorTerm(),)), [False, False]),
    "a term that cannot be parsed leaves the others": (
        PodSpec(node_affinity=(on_labels(Requirement("disk", "NotIn", ("no label!",))), on_labels(SSD))),
        [True, False],
    ),
    "one of the terms is enough": (PodSpec(node_affinity=(on_labels(HDD), on_labels(SSD))), [True, True]),
    "selector and affinity must both hold": (
        PodSpec(node_selector=(("disk", "ssd"),), node_affinity=(on_labels(HDD),)),
        [False, False],
    ),
}


@pytest.mark.parametrize(("spec", "want_mask"), AFFINITIES.values(), ids=AFFINITIES)
def test_affinity_mask_follows_upstream(spec: PodSpec, want_mask: list[bool]) -> None:
    static = rows(make_node("a").label("disk", "ssd"), make_node("b").label("disk", "hdd"))
    assert mask(static, static.mask(selected, spec)) == want_mask


def test_affinity_weight_adds_the_preferences_that_match() -> None:
    static = rows(make_node("a").label("disk", "ssd"), make_node("b").label("disk", "hdd"), make_node("c"))
    wishes = (
        NodePreference(10, on_labels(SSD)),
        NodePreference(5, on_labels(Requirement("disk", "Exists"))),
        NodePreference(100, NodeSelectorTerm()),
    )
    assert weights(static, static.affinity_weight(PodSpec(node_preferences=wishes))) == [15, 5, 0]


NAMED = {
    "no affinity": (None, None),
    "no terms": ((), None),
    "labels only leave it open": ((on_labels(SSD),), None),
    "one term with a name": ((on_fields(named("a")),), {"a"}),
    "terms add up": ((on_fields(named("a")), on_fields(named("b"))), {"a", "b"}),
    "one open term opens all": ((on_fields(named("a")), on_labels(SSD)), None),
    "fields of one term must agree": ((on_fields(named("a", "b"), named("b", "c")),), {"b"}),
    "fields that contradict leave nothing": ((on_fields(named("a"), named("b")),), set()),
    "NotIn names nobody": ((on_fields(named("a", operator="NotIn")),), None),
    "other fields name nobody": ((on_fields(Requirement("spec.x", "In", ("a",))),), None),
}


@pytest.mark.parametrize(("terms", "want"), NAMED.values(), ids=NAMED)
def test_named_nodes_are_those_left_before_any_filter(
    terms: tuple[NodeSelectorTerm, ...] | None, want: set[str] | None
) -> None:
    assert named_nodes(PodSpec(node_affinity=terms)) == want


def wants_images(*images: str, init: tuple[str, ...] = (), volumes: tuple[str, ...] = ()) -> PodSpec:
    return PodSpec(
        containers=tuple(Container(image=image) for image in images),
        init_containers=tuple(Container(image=image) for image in init),
        volumes=tuple(Volume("image", image) for image in volumes),
    )


# Nodes: `a` has all of app (500 MB) and big (3000 MB); `b` has app; `c` and `d` have nothing of use.
# app is on 2 of 4 nodes, so that it counts for 250 MB; big is on 1 of 4 nodes and counts for 750 MB.
# One container: 100 * (bytes - 23 MB) / (1000 MB - 23 MB), rounded down.
IMAGES = {
    "one image on half of the nodes": (wants_images("app:1"), [23, 23, 0, 0]),
    "a large image on one node": (wants_images("big:1"), [74, 0, 0, 0]),
    "two containers: twice the bound": (wants_images("app:1", "big:1"), [49, 11, 0, 0]),
    "init containers count": (wants_images("app:1", init=("big:1",)), [49, 11, 0, 0]),
    "image volumes count for bytes but not for the bound": (wants_images("app:1", volumes=("big:1",)), [100, 23, 0, 0]),
    "the same image twice counts twice": (wants_images("big:1", "big:1"), [74, 0, 0, 0]),
    "below 23 MB nothing counts": (wants_images("tiny:1"), [0, 0, 0, 0]),
    "an unknown image": (wants_images("none:1"), [0, 0, 0, 0]),
    "no tag means latest": (wants_images("registry:5000/tool"), [0, 0, 0, 2]),
}


@pytest.mark.parametrize(("spec", "want_scores"), IMAGES.values(), ids=IMAGES)
def test_image_weight_follows_the_formula(spec: PodSpec, want_scores: list[int]) -> None:
    static = rows(
        make_node("a").image("app:1", 500 * MB).image("big:1", 3000 * MB),
        make_node("b").image("app:1", 500 * MB),
        make_node("c").image("tiny:1", 90 * MB),
        make_node("d").image("registry:5000/tool:latest", 200 * MB),
    )
    assert weights(static, static.image_weight(spec)) == want_scores


def test_image_weight_knows_all_names_of_an_image() -> None:
    image = Image(("app:1", "app@sha256:abc"), 1000 * MB)
    node = make_node("a")
    static = rows(node._with(images=(image,)))
    for name in image.names:
        assert weights(static, static.image_weight(wants_images(name))) == [100]


def test_image_weight_is_neutral_where_no_node_has_images() -> None:
    assert rows(make_node("a")).image_weight(wants_images("app")) == 0


def test_row_table_keeps_equal_rows_once_and_row_zero_neutral() -> None:
    table = RowTable(2, neutral=True)
    assert table.index("same as neutral", lambda: [True, True]) == 0
    first = table.index("first", lambda: [True, False])
    assert table.index("again", lambda: [True, False]) == first == 1
    assert table.index("second", lambda: [False, False]) == 2
    assert table.rows == [[True, True], [True, False], [False, False]]


def test_row_table_makes_a_row_once_per_key() -> None:
    table, made = RowTable(1, neutral=0), []

    def make() -> list[int]:
        made.append(1)
        return [7]

    assert table.index("key", make) == table.index("key", make)
    assert made == [1]


@given(st.lists(st.tuples(st.integers(0, 5), st.lists(st.integers(0, 1), min_size=3, max_size=3)), max_size=12))
def test_row_table_gives_back_the_row_that_was_made(pairs: list[tuple[int, list[int]]]) -> None:
    table, first = RowTable(3, neutral=0), {}
    for key, row in pairs:
        first.setdefault(key, row)
        assert table.rows[table.index(key, lambda row=row: row)] == first[key]
    assert len({tuple(row) for row in table.rows}) == len(table.rows)


def test_row_table_keeps_equal_rows_apart_where_nodes_may_change() -> None:
    table = RowTable(2, neutral=True, merges_equal=False)
    assert [table.index(key, lambda: [True, True]) for key in ("a", "b", "a")] == [1, 2, 1]


def test_a_changed_node_is_judged_anew_by_what_made_the_row() -> None:
    static = rows(make_node("a"), make_node("b"))
    row = static.mask(selected, make_pod("x").node_selector("disk", "ssd").build().spec)
    assert mask(static, row) == [False, False]
    static.put_node(1, make_node("b").label("disk", "ssd").build())
    assert static.masks.judges[row]([0, 1]) == [False, True]


def test_classes_that_ask_for_the_same_share_a_row_and_others_do_not() -> None:
    static = rows(make_node("a"), make_node("b"))
    asks = [lambda spec, _objects: Demand(spec.namespace, lambda node, _labels: node.name == "a") for _ in range(2)]
    first = static.mask(asks[0], PodSpec("x"))
    assert static.mask(asks[0], PodSpec("x", labels=(("a", "b"),))) == first
    assert len(static.masks.judges) == 1
    static.mask(asks[1], PodSpec("x"))  # another filter's key may read the same by chance
    static.mask(asks[0], PodSpec("y"))
    assert len(static.masks.rows) == 2  # all are equal


def test_a_part_that_was_not_compiled_is_named() -> None:
    part = StaticPart("Mine", untainted)
    with pytest.raises(LongshoreError, match="without the static part of the filter `Mine`"):
        part.mask(encode(make_snapshot(make_node("a"), make_pod("p"))).arrays, np.asarray(0))
