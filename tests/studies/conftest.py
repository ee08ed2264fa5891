"""What the tests of studies share."""

from collections.abc import Iterator

import jax
import pytest


@pytest.fixture(autouse=True)
def _optimised_programs() -> Iterator[None]:
    """Compile with all optimisations: what is compiled here runs for longer than that takes."""
    jax.config.update("jax_disable_most_optimizations", False)
    yield
    jax.config.update("jax_disable_most_optimizations", True)
