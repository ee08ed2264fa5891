"""What the tests of this room share."""

from collections.abc import Iterator

import pytest

from training.tiny import quick_compilation


@pytest.fixture(autouse=True)
def _quick_compilation() -> Iterator[None]:
    with quick_compilation():
        yield
