"""Figures as SVG that lives inside a page: colours are the page's variables, so that light and dark are one drawing.

matplotlib draws with fixed colours; each stands for a CSS variable and is replaced by it. Nothing here depends on the
clock or on a global figure: the same input gives the same bytes.
"""

import io
import re
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from html import escape
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from longshore.evaluation.colours import BASELINE, COLOURS, GRID, INK, MUTED, variables

FONT_SIZE = 9.5

# As many as colours: lines that cross or touch differ in both. The baseline's is solid.
_DASHES: tuple[tuple[float, ...], ...] = (
    (5.0, 1.5),
    (1.6, 1.2),
    (6.0, 1.4, 1.4, 1.4),
    (9.0, 3.0),
    (3.0, 3.0),
    (6.0, 1.4, 1.4, 1.4, 1.4, 1.4),
    (1.2, 3.0),
    (12.0, 1.5, 3.0, 1.5),
)
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
_SETTINGS: dict[Any, Any] = {
    # Text stays text: small, searchable, and read aloud.
    "svg.fonttype": "none",
    "svg.image_inline": True,
    "font.family": ["DejaVu Sans"],
    "font.size": FONT_SIZE,
    # A name with two `$` is a name, not a formula.
    "text.parse_math": False,
    "axes.unicode_minus": True,
    "axes.formatter.useoffset": False,
    "path.simplify": True,
}


@dataclass(frozen=True)
class Style:
    """How one policy looks, in every plot."""

    variable: str
    """The CSS variable of its colour, without dashes."""
    colour: str
    """Of the light page."""
    dashes: tuple[float, ...]
    """On and off, in line widths; empty = solid."""
    marker: str
    offset: float = 0.0
    """Where in its dashes the line begins, in line widths."""

    @property
    def covered(self) -> float:
        """Which share of the line its dashes cover."""
        return sum(self.dashes[::2]) / sum(self.dashes) if self.dashes else 1.0


def assign_styles(policies: Iterable[str], baseline: str) -> dict[str, Style]:
    """Give every policy a look of its own, by order; colours repeat after eight, then with other dashes."""
    styles: dict[str, Style] = {}
    number = 0
    for policy in dict.fromkeys(policies):
        if policy == baseline:
            styles[policy] = Style("baseline", BASELINE[0], (), _MARKERS[0])
            continue
        turn, colour = divmod(number, len(COLOURS))
        dashes = _DASHES[(number + turn) % len(_DASHES)]
        styles[policy] = Style(f"policy-{colour}", COLOURS[colour][0], dashes, _MARKERS[number % len(_MARKERS)])
        number += 1
    return styles


def make_figure(width: float, height: float) -> Figure:
    """Return an empty figure of so many CSS pixels; it must be filled and rendered under `settings`."""
    # SVG counts 72 points to the inch and a page shows one unit of the view box as one pixel.
    return Figure(figsize=(width / 72.0, height / 72.0), dpi=72.0, facecolor="none", layout="constrained")


def settings() -> AbstractContextManager[None]:
    """Return the drawing settings as a context, whatever the user's own are."""
    plain: dict[Any, Any] = {name: value for name, value in mpl.rcParamsDefault.items() if name != "backend"}
    return mpl.rc_context(plain | _SETTINGS)


def dress(axes: Axes, *, x_label: str = "", y_label: str = "", grid: str = "y") -> None:
    """Draw axes in the page's colours, without a frame."""
    axes.set_facecolor("none")
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(GRID)
    axes.tick_params(colors=MUTED, labelcolor=INK, labelsize=FONT_SIZE - 0.5, length=2.5)
    axes.set_axisbelow(True)
    axes.grid(visible=True, axis=grid, color=GRID, linewidth=0.7)  # type: ignore[arg-type]
    axes.set_xlabel(x_label, color=MUTED)
    axes.set_ylabel(y_label, color=MUTED)


def render(figure: Figure, name: str, description: str) -> str:
    """Return a figure as an `<svg>` element; `name` must be its own within the page, `description` is its text."""
    buffer = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": name}):
        FigureCanvasSVG(figure)
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    text = buffer.getvalue().decode()
    text = text[text.index("<svg") :].strip()
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    text = _own_identifiers(text, name)
    text = re.sub(r' (?:style|fill|stroke)="[^"]*"', _with_variables, text)
    # Of the root only the view box: in HTML it needs no namespaces, and its size is the page's business.
    head, body = text.split(">", 1)
    view_box = re.search(r'viewBox="[^"]*"', head)
    box = "" if view_box is None else view_box.group()
    return f'<svg {box} role="img" aria-label="{escape(description)}">{_compact(body)}'


def _own_identifiers(text: str, name: str) -> str:
    """Drop identifiers that nothing refers to, and make the others unique within the page."""
    used = set(re.findall(r'(?:href="|url\()#([^")]+)', text))

    def keep(found: re.Match[str]) -> str:
        return f' id="{name}-{found.group(1)}"' if found.group(1) in used else ""

    text = re.sub(r' id="([^"]+)"', keep, text)
    text = re.sub(r'xlink:href="#', f'href="#{name}-', text)
    return re.sub(r"url\(#", f"url(#{name}-", text).replace("xlink:href=", "href=")


def _with_variables(attribute: re.Match[str]) -> str:
    return re.sub(r"#[0-9a-f]{6}\b", lambda found: _USES.get(found.group(), found.group()), attribute.group())


def _compact(text: str) -> str:
    """Leave out comments, line breaks, and digits of paths finer than a hundredth of a pixel."""
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r"\s*\n\s*", " ", text)
    return re.sub(r' d="[^"]*"', lambda path: re.sub(r"(\.\d{2})\d+", r"\1", path.group()), text)


_USES = {light: f"var(--{name})" for name, (light, _) in variables().items()}
