"""Links between pages lead somewhere, to the heading that they name."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HIDDEN = {"node_modules", "build", "dist", "runs"}
PAGES = sorted(
    path
    for path in ROOT.rglob("*.md")
    if not any(part.startswith(".") or part in HIDDEN for part in path.relative_to(ROOT).parts)
)
LINK = re.compile(r"\]\(([^)\s]+)\)")
OUTSIDE = ("http://", "https://", "mailto:")


def headings(page: Path) -> set[str]:
    """Return a page's headings as links spell them."""
    found = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in found}


def dead_links(page: Path) -> list[str]:
    """Return the links of a page that lead nowhere; code is no link."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    dead = []
    for link in LINK.findall(text):
        if link.startswith(OUTSIDE):
            continue
        path, _, heading = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists() or (heading and target.suffix == ".md" and heading not in headings(target)):
            dead.append(link)
    return dead


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert dead_links(page) == []


def test_dead_links_are_found(tmp_path: Path) -> None:
    (tmp_path / "there.md").write_text("# One thing\n")
    page = tmp_path / "page.md"
    page.write_text("[a](there.md) [b](there.md#one-thing) [c](gone.md) [d](there.md#another) [e](https://x.org)\n")
    assert dead_links(page) == ["gone.md", "there.md#another"]
