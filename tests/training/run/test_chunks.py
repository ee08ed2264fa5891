"""The training loop: where it stands after every chunk, and when it gives up."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from longshore.core.words.errors import LongshoreError
from longshore.training.run.chunks import Standing, first_keys, train_chunks
from training.tiny import prepare_once, tiny_plan


def begun() -> tuple[Any, Standing]:
    prepared = prepare_once(tiny_plan("evolution"))
    return prepared, Standing(prepared.program.init(prepared.data, first_keys(prepared.plan)))


def test_every_chunk_is_told_until_all_is_done() -> None:
    prepared, standing = begun()
    found = list(train_chunks(prepared, prepared.data, standing))
    assert [one.chunks for one in found] == list(range(1, prepared.chunks + 1))
    assert [one.is_finished for one in found] == [False] * (len(found) - 1) + [True]
    assert [one.share(prepared) for one in found] == [one.chunks / prepared.chunks for one in found]
    assert all(one.decisions_per_second > 0 for one in found)
    assert [one.decided for one in found] == sorted({one.decided for one in found})


def test_training_goes_on_from_where_it_stands() -> None:
    prepared, standing = begun()
    whole = list(train_chunks(prepared, prepared.data, standing))[-1]
    _, standing = begun()
    for standing in train_chunks(prepared, prepared.data, standing):  # noqa: B020
        if standing.chunks == 2:
            break
    parted = list(train_chunks(prepared, prepared.data, standing))[-1]
    assert (parted.chunks, parted.decided) == (whole.chunks, whole.decided)
    for name, leaf in whole.state.best.items():
        np.testing.assert_array_equal(parted.state.best[name], leaf)


def test_training_gives_up_where_nothing_is_placed_for_long() -> None:
    prepared, standing = begun()
    program = SimpleNamespace(
        chunk=lambda _data, state: (state, {"decided": np.array([0])}), updates=1, is_population=True
    )
    idle = train_chunks(replace(prepared, program=program, chunks=10_000), prepared.data, standing)
    params = prepared.data.bank.params
    steps_of_a_trace = params.event_time.shape[1] + params.pod_class.shape[1]
    for _ in range(4 * steps_of_a_trace + 1):
        assert not next(idle).is_finished
    with pytest.raises(LongshoreError, match="no pod could be placed"):
        next(idle)
