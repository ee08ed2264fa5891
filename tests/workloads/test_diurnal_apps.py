"""Tests of the applications with traits."""

import pytest

from longshore.workloads.diurnal_apps import NAMESPACES, TRAITS, limit_rare, make_apps, make_services
from longshore.workloads.draw import Draw


def test_the_default_share_hands_out_every_trait() -> None:
    apps, _ = make_apps(Draw("any", 0), 40, 0.4)
    special = [app for app in apps if any(_differs(app, fields.fields(_name(app))) for fields in TRAITS)]
    assert len(special) == 16
    for trait in TRAITS:
        assert any(_differs(app, trait.fields(_name(app))) for app in special), trait.name


def test_rare_applications_stay_below_their_share() -> None:
    apps, rare = make_apps(Draw("any", 0), 40, 0.4)
    assert rare
    limited = limit_rare(apps, rare, 0.001)
    total = sum(app.weight for app in apps)
    assert all(limited[number].weight <= 0.001 * total for number in rare)
    assert all(limited[number] == app for number, app in enumerate(apps) if number not in rare)


def test_host_ports_are_each_applications_own() -> None:
    apps, _ = make_apps(Draw("any", 0), 100, 1.0)
    ports = [app.spec.host_ports[0].port for app in apps if app.spec.host_ports]
    assert len(ports) == len(set(ports)) > 1


def test_services_select_their_application() -> None:
    apps, _ = make_apps(Draw("any", 0), 9, 0.0)
    services = make_services(apps)
    assert [service.name for service in services] == ["app-000", "app-003", "app-006"]
    assert all(
        set(service.selector or ()) <= set(app.spec.labels) for service, app in zip(services, apps[::3], strict=True)
    )


@pytest.mark.parametrize("trait", TRAITS, ids=lambda trait: trait.name)
def test_traits_live_in_known_namespaces(trait: object) -> None:
    fields = trait.fields("app-001")  # type: ignore[attr-defined]
    assert fields.get("namespace", "default") in {namespace.name for namespace in NAMESPACES}


def _name(app: object) -> str:
    return dict(app.spec.labels)["app"]  # type: ignore[attr-defined]


def _differs(app: object, fields: dict[str, object]) -> bool:
    """Say whether the application has the fields of a trait."""
    spec = app.spec  # type: ignore[attr-defined]
    return all((spec.host_ports if name == "ports" else getattr(spec, name)) == value for name, value in fields.items())
