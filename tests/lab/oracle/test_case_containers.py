"""Containers: requests, limits, ports and pod-level resources as the API server stores them."""

from fractions import Fraction

from longshore_lab.oracle.case_containers import CPU_MILLIS, MEMORY_MILLIBYTES

SUFFIXES = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "m": Fraction(1, 1000), "M": 10**6, "G": 10**9}


def _amount(text):
    for suffix, factor in SUFFIXES.items():
        if text.endswith(suffix):
            return Fraction(text.removesuffix(suffix)) * factor
    return Fraction(text)


def _containers(pod):
    return [*pod["spec"]["containers"], *pod["spec"].get("initContainers", ())]


def _requests(container):
    return container.get("resources", {}).get("requests", {})


def test_tables_state_the_amounts_of_their_texts():
    assert all(_amount(text) * 1000 == millis for text, millis in CPU_MILLIS.items())
    assert all(_amount(text) * 1000 == amount for text, amount in MEMORY_MILLIBYTES.items())


def test_limits_are_at_least_the_requests(pods):
    for pod in pods:
        for container in _containers(pod):
            requests, limits = _requests(container), container.get("resources", {}).get("limits", {})
            assert limits.keys() <= requests.keys()
            for name, text in requests.items():
                if name in limits:
                    assert _amount(text) <= _amount(limits[name])
                if "/" in name or name.startswith("hugepages-"):
                    assert limits[name] == text


def test_huge_pages_come_with_cpu_or_memory(pods):
    for pod in pods:
        for resources in (*map(_requests, _containers(pod)), pod["spec"].get("resources", {}).get("requests", {})):
            assert "hugepages-2Mi" not in resources or not {"cpu", "memory"}.isdisjoint(resources)


def test_pod_level_requests_cover_all_containers(pods):
    num_seen = 0
    for pod in pods:
        level = pod["spec"].get("resources")
        if level is None:
            continue
        num_seen += 1
        assert level["requests"].keys() <= {"cpu", "memory", "hugepages-2Mi"}
        assert level.get("limits", {}).keys() <= level["requests"].keys()
        for name in level["requests"].keys() & {"cpu", "memory"}:
            total = sum(_amount(_requests(container).get(name, "0")) for container in _containers(pod))
            assert _amount(level["requests"][name]) >= total
    assert num_seen > 50


def test_ports_are_unique_and_fit_the_host_network(pods):
    for pod in pods:
        ports = [port for container in _containers(pod) for port in container.get("ports", ())]
        assert len({(port["containerPort"], port["protocol"]) for port in ports}) == len(ports)
        assert {port["protocol"] for port in ports} <= {"TCP", "UDP", "SCTP"}
        if "hostNetwork" in pod["spec"]:
            assert all(port["hostPort"] == port["containerPort"] for port in ports)
