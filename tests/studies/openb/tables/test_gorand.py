"""The stream against what Go itself prints (`math/rand` of Go 1.26; the stream is frozen since Go 1)."""

import hashlib

import pytest

from longshore.core.words.errors import InputError
from longshore_studies.openb.tables.gorand import GoRand, cooked

FIRST_INTS = {
    42: [3440579354231278675, 608747136543856411],
    0: [8717895732742165505, 2259404117704393152],
    -7: [747107023976529931, 7084732931963018726],
    1 << 40: [5470237361722394362, 6322525149314491254],
}


def test_cooked_is_gos_table() -> None:
    digest = hashlib.sha256(cooked().astype("<u8").tobytes()).hexdigest()
    assert digest == "1928503b93a563e491119a5889baba73d1605b90b63634c14a408805797a7c7b"


@pytest.mark.parametrize("seed", FIRST_INTS)
def test_int63_follows_the_seed(seed: int) -> None:
    stream = GoRand(seed)
    assert [stream.int63(), stream.int63()] == FIRST_INTS[seed]


def test_int63_keeps_on_past_the_register() -> None:
    stream = GoRand(42)
    for _ in range(5000):
        stream.int63()
    assert stream.int63() == 1238941933323314595


def test_bounded_numbers_take_every_way_of_go() -> None:
    stream = GoRand(42)
    stream.int63()
    stream.int63()
    assert [stream.int31n(bound) for bound in (10, 16, 2147483647)] == [8, 14, 94099423]
    assert [stream.intn(bound) for bound in (8152, (1 << 33) + 5, 1 << 40)] == [5857, 921614981, 585391986368]
    assert stream.uint64() == 12756335378660268676


def test_bounded_numbers_refuse_the_draws_that_go_refuses() -> None:
    stream = GoRand(3)
    small = [stream.int31n((1 << 30) + 1) for _ in range(6)]
    assert small == [470452779, 918335916, 698121144, 1005960747, 752280866, 750220327]
    large = [stream.intn((1 << 62) + 1) for _ in range(3)]
    assert large == [4397698935759010225, 4606591545819498401, 3698521211491942941]


def test_shuffle_and_perm_are_gos() -> None:
    stream = GoRand(7)
    permutation = stream.perm(5000)
    items = list(range(5000))
    stream.shuffle(items)
    assert sorted(permutation) == sorted(items) == list(range(5000))
    assert sum(index * item for index, item in enumerate(permutation)) == 31442331371
    assert sum(index * item for index, item in enumerate(items)) == 31223932081
    assert stream.int63() == 7277325293924344450


@pytest.mark.parametrize("bound", [0, -1, 1 << 63])
def test_impossible_bound_is_refused(bound: int) -> None:
    with pytest.raises(InputError, match="bound"):
        GoRand(1).intn(bound)
