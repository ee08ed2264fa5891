"""Every Python snippet of the guides runs as it stands; those of extend.md are files (test_outside_package.py)."""

import re
from pathlib import Path

import pytest

GUIDES = Path(__file__).parents[1] / "docs" / "guides"
SNIPPETS = [
    pytest.param(code, id=f"{path.name}-{number}")
    for path in sorted(GUIDES.glob("*.md"))
    if path.name != "extend.md"
    for number, code in enumerate(re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL))
]


@pytest.mark.parametrize("code", SNIPPETS)
def test_snippets_run(code: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch):
    if "Live-v0" in code:
        monkeypatch.setenv("KUBECONFIG", str(request.getfixturevalue("local_cluster").kubeconfig))
    names: dict[str, object] = {}
    exec(compile(code, "guide", "exec"), names)
    assert names["terminated"] is True or names["truncated"] is True
