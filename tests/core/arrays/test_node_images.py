"""Images on nodes: a change of one node's images is a change for all nodes that have them."""

from hypothesis import given
from hypothesis import strategies as st

from longshore.core.arrays.node_images import NodeImages
from longshore.core.words.node import Image
from support.builders import make_node

MB = 1024 * 1024
SETS = st.lists(st.lists(st.sampled_from("abc"), unique=True), min_size=1, max_size=4)


def nodes_with(names: list[list[str]]) -> list:
    return [make_node(str(i))._with(images=images(have)).build() for i, have in enumerate(names)]


def images(names: list[str]) -> tuple[Image, ...]:
    return tuple(Image((name,), 900 * MB) for name in names)


@given(SETS, st.lists(st.sampled_from("abc"), unique=True))
def test_a_changed_node_is_as_if_it_had_always_been_so(before: list[list[str]], after: list[str]) -> None:
    changed = NodeImages(nodes_with(before))
    names = changed.put(0, images(before[0]), images(after))
    fresh = NodeImages(nodes_with([after, *before[1:]]))
    assert changed.is_empty == fresh.is_empty
    for name in "abc":
        assert changed.weights((name,), 1) == fresh.weights((name,), 1)
    assert names == (set() if images(before[0]) == images(after) else {*before[0], *after})


def test_an_image_that_half_of_the_nodes_have_counts_half() -> None:
    assert NodeImages(nodes_with([["a"], []])).weights(("a",), 1) == [43, 0]
