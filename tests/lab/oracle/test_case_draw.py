"""The draws: bounds, distinct choices, and how much of the stream they use."""

from random import Random

from longshore_lab.oracle.case_draw import pick, pick_count, pick_distinct, pick_each


def test_pick_reaches_every_option():
    draw = Random("pick").random
    assert {pick(draw, "abc") for _ in range(100)} == set("abc")


def test_pick_count_includes_both_ends():
    draw = Random("count").random
    assert {pick_count(draw, 2, 4) for _ in range(100)} == {2, 3, 4}


def test_pick_each_keeps_the_order():
    draw = Random("each").random
    assert pick_each(draw, "abc", 1.0) == ["a", "b", "c"]
    assert pick_each(draw, "abc", 0.0) == []


def test_pick_distinct_never_repeats_a_position():
    draw = Random("distinct").random
    for _ in range(50):
        assert sorted(pick_distinct(draw, (1, 2, 3), 5)) == [1, 2, 3]
        assert len(set(pick_distinct(draw, (1, 2, 3), 2))) == 2
