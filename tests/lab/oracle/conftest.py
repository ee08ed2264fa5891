"""One series of cases for all tests of the generator's parts."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from longshore_lab.oracle.cases import make_case


@pytest.fixture(scope="session")
def cases() -> list[dict[str, Any]]:
    """Make 3,000 cases of one series."""
    return [make_case(1, index) for index in range(3000)]


@pytest.fixture(scope="session")
def pods(cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give every pod of every case: those to place and those that exist."""
    return [pod for case in cases for pod in (case["pod"], *(item for item in case["items"] if item["kind"] == "Pod"))]


@pytest.fixture(scope="session")
def items_of_kind(cases: list[dict[str, Any]]) -> Callable[[str], Iterator[dict[str, Any]]]:
    """Give a function that yields all objects of one kind."""
    return lambda kind: (item for case in cases for item in case["items"] if item["kind"] == kind)
