"""The colours of pages and plots, each a CSS variable with a value for light pages and one for dark ones."""

from collections.abc import Mapping

INK = "#1b1e23"
MUTED = "#5d6570"
GRID = "#dfe3e8"

_PLAIN = {"ink": (INK, "#e8eaed"), "muted": (MUTED, "#a2abb6"), "grid": (GRID, "#353b43")}
# Okabe and Ito's colours, the pale ones darkened and yellow left out so that thin lines show on white; then two of Paul
# Tol's. (light page, dark page)
COLOURS = (
    ("#0072b2", "#58aef0"),
    ("#d55e00", "#ff8d52"),
    ("#009e73", "#35c79d"),
    ("#b65a8f", "#e79cc6"),
    ("#c08000", "#f2b632"),
    ("#3c9bd6", "#9ad4fa"),
    ("#882255", "#d9699f"),
    ("#7d7d1f", "#c5c55c"),
)
# The baseline is what the others are seen against.
BASELINE = ("#4c5560", "#c3cad3")


def colour_variables(*, is_dark: bool) -> str:
    """Return the CSS declarations of every colour that a plot uses."""
    return " ".join(f"--{name}: {pair[is_dark]};" for name, pair in variables().items())


def variables() -> Mapping[str, tuple[str, str]]:
    """Return every colour by its variable: (light page, dark page)."""
    policies = {f"policy-{number}": pair for number, pair in enumerate(COLOURS)}
    return _PLAIN | {"baseline": BASELINE} | policies
