"""Every colour can be read on its page."""

import re

import pytest

from longshore.evaluation.colours import colour_variables, variables

PAGES = {False: "#ffffff", True: "#16191d"}
LINES_CONTRAST = 3.0
"""WCAG's least for what is drawn."""


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("is_dark", [False, True])
@pytest.mark.parametrize("name", [name for name in variables() if name != "grid"])
def test_a_colour_stands_out_on_its_page(name: str, is_dark: bool) -> None:
    assert contrast(variables()[name][is_dark], PAGES[is_dark]) >= LINES_CONTRAST


@pytest.mark.parametrize("is_dark", [False, True])
def test_every_variable_is_declared_once_with_the_colour_of_its_page(is_dark: bool) -> None:
    declared = re.findall(r"--([\w-]+): (#[0-9a-f]{6});", colour_variables(is_dark=is_dark))
    assert dict(declared) == {name: pair[is_dark] for name, pair in variables().items()}
    assert len(declared) == len(variables())
