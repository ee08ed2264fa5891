"""Tests of applications: their pods look as a Deployment's do, and their sizes are as frequent as they should be."""

from collections import Counter

import pytest

from longshore.core.words.labels import Requirement
from longshore.core.words.pod import Owner
from longshore.workloads.apps import SIZE_WEIGHTS, SIZES, draw_sizes, generated, make_app, make_apps, mean_share
from longshore.workloads.draw import Draw
from longshore.workloads.machines import make_node


def test_pods_of_an_application_share_spec_owner_and_labels() -> None:
    app = make_app("web", cpu_millis=100, memory_mib=64, labels={"tier": "front"})
    one, other = app.pod(1), app.pod(2)
    assert one.spec is other.spec
    assert one.key != other.key
    assert one.spec.owner == Owner("apps/v1", "ReplicaSet", app.replica_set)
    assert {"app": "web", "tier": "front"}.items() <= dict(one.spec.labels).items()


def test_the_controller_selects_by_app_and_template() -> None:
    app = make_app("web", cpu_millis=100, memory_mib=64, labels={"tier": "front"})
    selector = app.controller.selector
    assert selector is not None
    assert [requirement.key for requirement in selector.requirements] == ["app", "pod-template-hash"]
    assert selector.requirements[0] == Requirement("app", "In", ("web",))


def test_templates_have_hashes_of_their_own() -> None:
    names = [f"app-{number:03d}" for number in range(500)]
    assert (
        len({dict(make_app(name, cpu_millis=1, memory_mib=1).spec.labels)["pod-template-hash"] for name in names})
        == 500
    )


def test_generated_names_are_short_and_never_repeat() -> None:
    names = [generated(number) for number in range(3000)]
    assert names[0] == "bbbbb"
    assert len(set(names)) == 3000
    assert {len(name) for name in names} == {5}
    assert len(generated(27**5)) == 6


@pytest.mark.parametrize("count", [5, 12, 40])
@pytest.mark.parametrize("seed", range(3))
def test_sizes_are_as_frequent_as_their_weights_whatever_the_seed(count: int, seed: int) -> None:
    shares: Counter[tuple[int, int]] = Counter()
    for size in draw_sizes(Draw("any", seed), count):
        shares[size.cpu_millis, size.memory_mib] += size.weight  # type: ignore[assignment]
    assert [shares[size] for size in SIZES] == pytest.approx(SIZE_WEIGHTS)


def test_mean_share_is_of_the_scarcer_resource() -> None:
    apps = make_apps(Draw("any", 0), 10)
    wide = [make_node("a", cpu=10, memory_mib=10**6)]
    assert mean_share(apps, wide) == pytest.approx(0.8375 / 10)
    narrow = [make_node("a", cpu=1000, memory_mib=10240)]
    assert mean_share(apps, narrow) == pytest.approx(0.8375 * 2048 / 10240)
