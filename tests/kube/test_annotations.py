"""Tests of the table of annotations: all ours have our prefix, and the thesis' names are kept."""

import pytest

from longshore.core.words.pod import LATENCY_HARD_ANNOTATIONS, LATENCY_SOFT_ANNOTATIONS
from longshore.kube import annotations

NAMES = {
    name: value
    for name, value in vars(annotations).items()
    if name.isupper() and not name.startswith("_") and isinstance(value, str)
}


def test_our_annotations_have_our_prefix_and_differ() -> None:
    assert NAMES
    assert all(value.startswith("longshore.dev/") for value in NAMES.values())
    assert len(set(NAMES.values())) == len(NAMES)


def test_latency_limits_keep_the_names_of_the_thesis() -> None:
    assert LATENCY_SOFT_ANNOTATIONS == ("longshore.dev/latency-soft-limit-ms", "latencySoftConstraint")
    assert LATENCY_HARD_ANNOTATIONS == ("longshore.dev/latency-hard-limit-ms", "latencyHardConstraint")


SLIPS = {
    "a wrong word": ("longshore.dev/wats", False, "; did you mean `longshore.dev/watts`?"),
    "an underscore": ("longshore.dev/gpu_count", True, "; did you mean `longshore.dev/gpu-count`?"),
    "of the other kind": ("longshore.dev/latency-hard-limit-ms", False, "`longshore.dev/latency-ms`?"),
    "nothing like it": ("longshore.dev/xyzzy", True, "means nothing on a pod"),
}


@pytest.mark.parametrize(("key", "is_pod", "says"), SLIPS.values(), ids=SLIPS)
def test_a_key_that_looks_like_ours_is_named_with_the_nearest(key: str, is_pod: bool, says: str) -> None:
    (sentence,) = annotations.unknown_keys([key, "example.org/wats"], is_pod=is_pod)
    assert sentence.startswith(f"`{key}` means nothing on a ")
    assert sentence.endswith(says)


def test_keys_of_ours_and_of_others_are_fine() -> None:
    assert annotations.unknown_keys(["longshore.dev/watts", "wats", "latencyHardConstraint"], is_pod=False) == ()
