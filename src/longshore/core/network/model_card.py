"""The model card of a policy: what it optimises, how it was trained, its results, its limits, how to use it.

Markdown with the front matter that the Hugging Face hub reads; for people, nothing reads it back.
"""

from collections.abc import Mapping

import msgspec

from longshore.core.network.bundle import BundleFacts, Interval


def render_card(bundle: BundleFacts) -> str:
    """Return the card as Markdown."""
    sections = [
        _front_matter(bundle),
        _head(bundle),
        _training(bundle),
        _results(bundle),
        _limits(bundle),
        _use(bundle),
    ]
    return "\n".join(sections)


def plain(value: object) -> str:
    """Return a value of the provenance as one line."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {plain(part)}" for name, part in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(plain(part) for part in value)
    return f"{value:.6g}" if isinstance(value, float) else " ".join(str(value).split())


def figure_text(figure: float | Interval) -> str:
    """Return a result as text, with its interval where there is one."""
    if isinstance(figure, Interval):
        return f"{figure.mean:.6g} [{figure.low:.6g}, {figure.high:.6g}]"
    return f"{figure:.6g}"


def _front_matter(bundle: BundleFacts) -> str:
    workload = plain(bundle.provenance.get("workload", "unknown"))
    metrics = [
        {"type": name, "value": figure.mean if isinstance(figure, Interval) else figure}
        for name, figure in bundle.metrics.items()
    ]
    result = {"task": {"type": "reinforcement-learning"}, "dataset": {"name": workload, "type": workload}}
    fields: dict[str, object] = {
        "library_name": "longshore",
        "tags": ["reinforcement-learning", "kubernetes", "scheduling"],
    }
    if metrics:
        fields["model-index"] = [{"name": bundle.name, "results": [result | {"metrics": metrics}]}]
    # JSON is YAML, and quotes whatever needs quotes.
    lines = [f"{name}: {msgspec.json.encode(value).decode()}" for name, value in fields.items()]
    return "\n".join(["---", *lines, "---", ""])


def _head(bundle: BundleFacts) -> str:
    size = "clusters of any size" if bundle.num_nodes is None else f"clusters of exactly {bundle.num_nodes} nodes"
    lines = [
        f"# {bundle.name}",
        "",
        f"A longshore policy: it scores the nodes of a Kubernetes cluster for a pod, in {size}.",
        "",
        f"- **It optimises** `{bundle.objective}`.",
        f"- **It runs behind** the filters `{bundle.filters}`: a node that they refuse is never chosen.",
    ]
    if bundle.may_defer:
        lines.append("- **It may leave a pod waiting** although a node has room: where every node scores below 0.")
    if bundle.prior is not None:
        lines.append(f"- **It corrects** the heuristic `{bundle.prior}`: it began as that heuristic.")
    if bundle.preference:
        weights = ", ".join(f"`{one.term}` {one.weight:g}" for one in bundle.preference)
        lines.append(f"- **Its weights can be given at run time**; by default {weights}.")
    return "\n".join([*lines, ""])


def _training(bundle: BundleFacts) -> str:
    rows = [f"| {_cell(name)} | {_cell(plain(value))} |" for name, value in bundle.provenance.items()]
    table = ["| what | value |", "|---|---|", *rows] if rows else ["Nothing was recorded."]
    return "\n".join(["## How it was trained", "", *table, ""])


def _results(bundle: BundleFacts) -> str:
    rows = [f"| {_cell(name)} | {figure_text(figure)} |" for name, figure in bundle.metrics.items()]
    has_intervals = any(isinstance(figure, Interval) for figure in bundle.metrics.values())
    table = ["| metric | mean [interval] |" if has_intervals else "| metric | value |", "|---|---|", *rows]
    return "\n".join(["## Results", "", *(table if rows else ["None were recorded."]), ""])


def _limits(bundle: BundleFacts) -> str:
    bounds = zip(bundle.features, bundle.envelope.low, bundle.envelope.high, strict=True)
    return "\n".join(
        [
            "## Limits",
            "",
            "It has met these values in training; outside of them its scores are guesses.",
            "",
            "| feature | smallest | largest |",
            "|---|---|---|",
            *(f"| `{spec}` | {low:.4g} | {high:.4g} |" for spec, low, high in bounds),
            "",
        ]
    )


def _use(bundle: BundleFacts) -> str:
    lines = [
        "## How to use it",
        "",
        "`DIR` is the folder that this file is in.",
        "",
        "```",
        "longshore models show DIR",
        "longshore models verify DIR",
        "longshore compare --policies kube-default,DIR",
    ]
    if bundle.preference:
        first = bundle.preference[0].term
        lines.append(f"longshore compare --policies kube-default,DIR@{first}=1")
    return "\n".join([*lines, "```", ""])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
