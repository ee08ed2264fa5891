"""Tests of ImageLocality: images that the node has, by size and by how many nodes have them."""

import pytest

from longshore.core.words.pod import Container, Volume
from policies.plugins.scoring import score
from support.builders import make_node, make_pod

NAME = "ImageLocality"
MIB = 1024 * 1024


@pytest.mark.parametrize(
    ("size_mib", "want"),
    [
        pytest.param(600, 28, id="half of the nodes have it: 300 MiB, 277 of 977 above the least"),
        pytest.param(46, 0, id="the least that counts"),
        pytest.param(20, 0, id="less than counts"),
        pytest.param(2000, 100, id="the most that counts"),
        pytest.param(9000, 100, id="more than counts"),
    ],
)
def test_a_large_image_that_is_there_scores_high(size_mib: int, want: int) -> None:
    nodes = (make_node("has").image("app:1", size_mib * MIB), make_node("has-not"))
    scores = score(NAME, *nodes, make_pod("new").image("app:1"))
    assert scores == ({"has": want, "has-not": 0},) * 2


def test_an_image_that_every_node_has_counts_with_its_full_size() -> None:
    nodes = (make_node(name).image("app:1", 600 * MIB) for name in "ab")
    assert score(NAME, *nodes, make_pod("new").image("app:1")).raw == {"a": 59, "b": 59}


def test_an_image_without_a_tag_is_the_latest() -> None:
    node = make_node("a").image("example.com:5000/app:latest", 1000 * MIB)
    assert score(NAME, node, make_pod("new").image("example.com:5000/app")).raw == {"a": 100}


def test_the_most_that_counts_grows_with_the_containers() -> None:
    node = make_node("a").image("app:1", 1000 * MIB)
    pod = make_pod("new").spec(containers=(Container("app:1"), Container("other:1")))
    # 1000 - 23 of 2000 - 23 MiB.
    assert score(NAME, node, pod).raw == {"a": 49}


def test_init_containers_and_image_volumes_count() -> None:
    node = make_node("a").image("tool:1", 500 * MIB).image("model:2", 500 * MIB)
    pod = make_pod("new").spec(
        init_containers=(Container("tool:1"),), containers=(Container("app:1"),), volumes=(Volume("image", "model:2"),)
    )
    assert score(NAME, node, pod).raw == {"a": 49}
    assert score(NAME, node, make_pod("new").image("app:1")).raw == {"a": 0}


def test_a_cluster_without_images_scores_nothing() -> None:
    assert score(NAME, make_node("a"), make_pod("new")).normalized == {"a": 0}
