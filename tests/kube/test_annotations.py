"""Tests of the table of annotations: all ours have our prefix, and the thesis' names are kept."""

from longshore.core.words.pod import LATENCY_HARD_ANNOTATION, LATENCY_SOFT_ANNOTATION
from longshore.kube import annotations

NAMES = {name: value for name, value in vars(annotations).items() if name.isupper()}


def test_our_annotations_have_our_prefix_and_differ() -> None:
    assert NAMES
    assert all(value.startswith("longshore.dev/") for value in NAMES.values())
    assert len(set(NAMES.values())) == len(NAMES)


def test_latency_limits_keep_the_names_of_the_thesis() -> None:
    assert (LATENCY_SOFT_ANNOTATION, LATENCY_HARD_ANNOTATION) == ("latencySoftConstraint", "latencyHardConstraint")
