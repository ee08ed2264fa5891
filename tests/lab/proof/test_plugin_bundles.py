"""Bundles that are spoilt: each is refused for what was done to it, and put in place at once."""

import errno
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from longshore.core.network.bundle_files import WEIGHTS_FILE
from longshore.core.words.errors import InputError
from longshore.policies.bundle_folder import read_folder
from longshore_lab.proof import plugin_bundles as bundles


@pytest.fixture
def model(tmp_path: Path) -> bundles.ModelLink:
    made = bundles.ModelLink(tmp_path)
    made.put(bundles.packing_bundle())
    return made


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (bundles.truncated, "cut off"),
        (bundles.unknown_feature, "colour"),
        (bundles.newer_format, "99"),
        (bundles.random_bytes, "policy.json"),
        (bundles.nan_weights, "not finite"),
        (bundles.deleted, "does not exist"),
        (bundles.not_a_folder, "is a file"),
    ],
)
def test_a_spoilt_bundle_is_refused_for_what_was_done(
    model: bundles.ModelLink, damage: Callable[[Path], None], says: str
) -> None:
    model.spoil(damage)
    with pytest.raises(InputError) as raised:
        read_folder(model.path)
    assert says in str(raised.value)


def test_unreadable_weights_are_an_io_error(model: bundles.ModelLink) -> None:
    model.spoil(bundles.unreadable)
    with pytest.raises(OSError, match="Input/output error") as raised:
        (model.path / WEIGHTS_FILE).read_bytes()
    assert raised.value.errno == errno.EIO


def test_a_pipe_is_no_regular_file(model: bundles.ModelLink) -> None:
    model.spoil(bundles.pipe)
    assert (model.path / WEIGHTS_FILE).is_fifo()


def test_overflowing_weights_are_finite(model: bundles.ModelLink) -> None:
    model.spoil(bundles.overflowing)
    policy = read_folder(model.path)
    assert policy.name == "overflowing"
    assert all(np.isfinite(tensor).all() for tensor in policy.tensors.values())


def test_the_good_bundle_stays_as_it_was(model: bundles.ModelLink) -> None:
    before = model.path.resolve()
    model.spoil(bundles.truncated)
    assert model.path.resolve() != before
    assert read_folder(before).name == "packing"
