"""What all tests share: how a missing component is answered, and hypothesis' settings."""

import os
from collections.abc import Callable

import hypothesis
import pytest

from cluster_support import built_programs, cluster_namespace, local_cluster

__all__ = ["built_programs", "cluster_namespace", "local_cluster"]
"""Fixtures that are written elsewhere."""

# No deadline: on two shared cores a slow example says nothing about the code. In CI the examples are the same every
# time, so that a red run can be repeated; the random search over many seeds is the job of `longshore bench oracle`.
hypothesis.settings.register_profile("local", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "local")


def answer_missing_component(name: str, provided_by: str, is_there: bool) -> None:
    """Go on if the component is there; otherwise skip and name the command that provides it, or fail in CI."""
    if is_there:
        return
    message = f"`{name}` is missing; `{provided_by}` provides it"
    if os.environ.get("CI"):
        pytest.fail(f"{message} (in CI a missing component is a failure)", pytrace=False)
    pytest.skip(message)


@pytest.fixture(scope="session")
def require_component() -> Callable[[str, str, bool], None]:
    """Give tests `require_component(name, provided_by, is_there)`, for what a plain `make setup` does not install."""
    return answer_missing_component
