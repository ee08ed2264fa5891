"""The model card says what the policy is, in Markdown that does not break and front matter that parses."""

from typing import Any

import yaml

from longshore.core.network.model_card import render_card
from support.bundle_samples import make_bundle, make_dial, make_fixed, make_hybrid


def front_matter(text: str) -> Any:
    _, head, _ = text.split("---\n", 2)
    return yaml.safe_load(head)


def test_the_front_matter_names_workload_and_results():
    (entry,) = front_matter(render_card(make_bundle(name='a: "b" #c')))["model-index"]
    assert entry["name"] == 'a: "b" #c'
    (result,) = entry["results"]
    assert result["dataset"]["name"] == "test1"
    assert {"type": "reward", "value": 1.5} in result["metrics"]


def test_a_card_without_results_has_front_matter_still():
    text = render_card(make_bundle(metrics={}, provenance={}))
    assert front_matter(text)["library_name"] == "longshore"
    assert "None were recorded" in text


def test_the_card_says_what_it_optimises_and_how_it_does():
    text = render_card(make_bundle())
    assert "`el-rl`" in text
    assert "| reward | 1.5 [1.25, 1.75] |" in text
    assert "| learner | dqn |" in text
    assert "| `node_is_on@2` | 0 | 0.5 |" in text
    assert "longshore compare --policies kube-default,DIR" in text


def test_the_card_names_prior_size_and_dial():
    assert "`kube-default`: it began as" in render_card(make_hybrid("kube-default"))
    assert "exactly 4 nodes" in render_card(make_fixed(4))
    assert "DIR@latency=1" in render_card(make_dial())


def test_the_card_warns_of_a_policy_that_lets_pods_wait():
    assert "may leave a pod waiting" in render_card(make_bundle(may_defer=True))
    assert "may leave a pod waiting" not in render_card(make_bundle())


def test_values_cannot_break_the_tables():
    text = render_card(make_bundle(provenance={"note": "a | b\n## c", "seeds": [1, 2]}))
    assert "| note | a \\| b ## c |" in text
    assert "| seeds | 1, 2 |" in text
