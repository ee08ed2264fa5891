"""Quantities: exact, rounded up, capped, and refused by name."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longshore.core.words.errors import QuantityError
from longshore.core.words.quantity import INT64_MAX, NANOS_PER_UNIT, parse_nanos, to_millis, to_units

SCALES = {
    **{suffix: Fraction(10) ** power for suffix, power in zip("num", (-9, -6, -3), strict=True)},
    "": Fraction(1),
    **{suffix: Fraction(10) ** (3 * i) for i, suffix in enumerate("kMGTPE", start=1)},
    **{f"{suffix}i": Fraction(2) ** (10 * i) for i, suffix in enumerate("KMGTPE", start=1)},
}


@st.composite
def well_formed(draw: st.DrawFn) -> tuple[str, Fraction]:
    """Draw a text and the number that it stands for."""
    digits = st.text("0123456789", max_size=20)
    number = draw(
        st.one_of(
            digits.filter(bool),
            st.builds("{}.{}".format, digits.filter(bool), digits),
            digits.filter(bool).map(".{}".format),
        )
    )
    sign = draw(st.sampled_from(["", "+", "-"]))
    if draw(st.booleans()):
        suffix = draw(st.sampled_from(sorted(SCALES)))
        scale = SCALES[suffix]
    else:
        power = draw(st.integers(-40, 40))
        suffix = f"{draw(st.sampled_from('eE'))}{power:{draw(st.sampled_from(['', '+']))}d}"
        scale = Fraction(10) ** power
    whole, _, fraction = number.partition(".")
    value = Fraction(int(whole + fraction), 10 ** len(fraction)) * scale
    return f"{sign}{number}{suffix}", -value if sign == "-" else value


@given(well_formed())
def test_parse_is_exact_for_any_well_formed_text(case: tuple[str, Fraction]) -> None:
    text, value = case
    nanos = min(math.ceil(abs(value) * NANOS_PER_UNIT), INT64_MAX * NANOS_PER_UNIT)
    assert parse_nanos(text) == (nanos if value >= 0 else -nanos)


@pytest.mark.parametrize("suffix", SCALES)
def test_parse_knows_every_suffix(suffix: str) -> None:
    assert parse_nanos(f"3{suffix}") == 3 * SCALES[suffix] * NANOS_PER_UNIT


# What upstream's ParseQuantity(text).MilliValue() and .Value() give (k8s.io/apimachinery v0.36.3).
UPSTREAM = {
    "0.5m": (1, 1),
    "1n": (1, 1),
    "0.1n": (1, 1),
    "1e-100": (1, 1),
    "0.0000000001": (1, 1),
    "1.0000000001": (1001, 2),
    "1.123456789012345678": (1124, 2),
    "0": (0, 0),
    "-0": (0, 0),
    "0e5": (0, 0),
    "1.": (1000, 1),
    "1.G": (10**12, 10**9),
    ".5": (500, 1),
    "0000.5": (500, 1),
    "1E1": (10_000, 10),
    "1e+3": (10**6, 1000),
    "1.5E3": (1_500_000, 1500),
    "0.5Ki": (512_000, 512),
    "0.0001Ki": (103, 1),
    "5P": (5 * 10**18, 5 * 10**15),
    "-1": (-1000, -1),
}


@pytest.mark.parametrize("text", UPSTREAM)
def test_parse_agrees_with_upstream(text: str) -> None:
    nanos = parse_nanos(text)
    assert (to_millis(nanos), to_units(nanos)) == UPSTREAM[text]


def test_sums_are_rounded_once() -> None:
    half = parse_nanos("0.5m")
    assert to_millis(3 * half) == 2
    assert 3 * to_millis(half) == 3


@pytest.mark.parametrize("text", ["9223372036854775807", "8Ei", "9Ei", "100E", "1e19", "1e100"])
def test_parse_caps_at_int64_units(text: str) -> None:
    assert to_units(parse_nanos(text)) == INT64_MAX


@pytest.mark.parametrize("convert", [to_millis, to_units])
def test_sums_are_capped_at_int64(convert: object) -> None:
    assert convert(3 * parse_nanos("8Ei")) == INT64_MAX


@given(st.integers(0, 2**70))
def test_rounding_never_gives_less_than_was_asked(nanos: int) -> None:
    assert to_millis(nanos) == min(math.ceil(Fraction(nanos, 10**6)), INT64_MAX)
    assert to_units(nanos) == min(math.ceil(Fraction(nanos, 10**9)), INT64_MAX)


REFUSED = {
    "nothing": "",
    "words": "abc",
    "two points": "1.2.3",
    "a unit beyond the suffix": "1KiB",
    "a space before": " 1",
    "a space after": "1 ",
    "a space within": "1 Ki",
    "a line break": "1\n",
    "two signs": "++1",
    "opposite signs": "+-1",
    "a sign alone": "-",
    "a point alone": ".",
    "a suffix alone": "Ki",
    "Arabic digits": "\u0661",
    "full-width digits": "\uff11",
    "a superscript digit": "1²",
    "an exponent without digits": "1e",
    "an exponent and a suffix": "1e3Ki",
    "an exponent that would fill the memory": "1e999999999",
    "an exponent beyond any use": "1e101",
    "small k with i": "1ki",
    "large K alone": "1K",
    "a suffix with an exponent": "1k3",
    "hexadecimal": "0x10",
    "underscores": "1_000",
    "commas": "1,000",
    "not a number": "NaN",
    "infinity": "Infinity",
    "more digits than anybody needs": "1" * 5000,
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_parse_refuses_by_name(text: str) -> None:
    with pytest.raises(QuantityError) as caught:
        parse_nanos(text)
    assert f"`{text}`" in caught.value.message
    assert "500m" in str(caught.value.hint)


@given(st.text(max_size=12))
def test_parse_gives_a_number_or_a_refusal_for_any_text(text: str) -> None:
    try:
        nanos = parse_nanos(text)
    except QuantityError as error:
        assert f"`{text}`" in error.message
    else:
        assert abs(nanos) <= INT64_MAX * NANOS_PER_UNIT
