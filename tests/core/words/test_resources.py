"""What a pod asks for in all, by upstream's rules; every number was worked out by hand."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longshore.core.words.pod import Container, PodSpec, ResourceNanos
from longshore.core.words.quantity import parse_nanos
from longshore.core.words.resources import amount, is_scalar_resource, pod_requests

MIB = 1024 * 1024
DEFAULT_CPU, DEFAULT_MEMORY = 100, 200 * MIB


def nanos(cpu: str | None = None, memory: str | None = None, **others: str) -> ResourceNanos:
    named = {name.replace("__", "/").replace("_", "-"): text for name, text in others.items()}
    texts = {"cpu": cpu, "memory": memory} | named
    return tuple(sorted((name, parse_nanos(text)) for name, text in texts.items() if text is not None))


def asks(cpu: str | None = None, memory: str | None = None, **others: str) -> Container:
    return Container(requests=nanos(cpu, memory, **others))


def sidecar(cpu: str | None = None, memory: str | None = None) -> Container:
    return asks(cpu, memory)._replace(is_sidecar=True)


class Case(NamedTuple):
    """A pod and its requests in milli-CPU, bytes and counts."""

    spec: PodSpec
    want_amounts: dict[str, int]


AMOUNTS = {
    "containers add up": Case(
        PodSpec(containers=(asks("250m", "100Mi"), asks("300m", "28Mi"))), {"cpu": 550, "memory": 128 * MIB}
    ),
    "a resource of one container only": Case(
        PodSpec(containers=(asks("1"), asks(memory="1Mi"))), {"cpu": 1000, "memory": MIB}
    ),
    "init containers run one after the other: the largest counts": Case(
        PodSpec(containers=(asks("100m"),), init_containers=(asks("700m"), asks("300m"))), {"cpu": 700}
    ),
    "a small init container changes nothing": Case(
        PodSpec(containers=(asks("400m"), asks("400m")), init_containers=(asks("700m"),)), {"cpu": 800}
    ),
    "the peak is per resource": Case(
        PodSpec(containers=(asks("100m", "3Mi"),), init_containers=(asks("700m", "1Mi"), asks("300m", "2Mi"))),
        {"cpu": 700, "memory": 3 * MIB},
    ),
    "a resource that only an init container asks for": Case(
        PodSpec(containers=(asks("100m"),), init_containers=(asks(memory="5Mi"),)), {"cpu": 100, "memory": 5 * MIB}
    ),
    "sidecars run beside the containers": Case(
        PodSpec(containers=(asks("300m"),), init_containers=(sidecar("200m"),)), {"cpu": 500}
    ),
    "an init container after a sidecar runs beside it": Case(
        PodSpec(containers=(asks("300m"),), init_containers=(sidecar("200m"), asks("600m"))), {"cpu": 800}
    ),
    "an init container before a sidecar runs alone": Case(
        PodSpec(containers=(asks("300m"),), init_containers=(asks("600m"), sidecar("200m"))), {"cpu": 600}
    ),
    "between two sidecars only the first one runs": Case(
        PodSpec(containers=(asks("100m"),), init_containers=(sidecar("200m"), asks("900m"), sidecar("400m"))),
        {"cpu": 1100},
    ),
    "sidecars and containers together are more than the peak": Case(
        PodSpec(containers=(asks("700m"),), init_containers=(sidecar("200m"), asks("300m"), sidecar("400m"))),
        {"cpu": 1300},
    ),
    "overhead comes on top of the peak": Case(
        PodSpec(containers=(asks("100m"),), init_containers=(asks("700m"),), overhead=nanos("50m", "1Mi")),
        {"cpu": 750, "memory": MIB},
    ),
    "pod-level requests replace the sum, resource by resource": Case(
        PodSpec(containers=(asks("500m", "1Mi"), asks("500m", "1Mi")), pod_requests=nanos("200m")),
        {"cpu": 200, "memory": 2 * MIB},
    ),
    "pod-level requests replace the init peak too": Case(
        PodSpec(containers=(asks("1"),), init_containers=(asks("3"),), pod_requests=nanos("2")), {"cpu": 2000}
    ),
    "overhead comes on top of pod-level requests": Case(
        PodSpec(containers=(asks("500m"),), pod_requests=nanos("200m"), overhead=nanos("50m")), {"cpu": 250}
    ),
    "pod-level huge pages count": Case(
        PodSpec(containers=(asks(hugepages_2Mi="2Mi"),), pod_requests=nanos(hugepages_2Mi="8Mi")),
        {"hugepages-2Mi": 8 * MIB},
    ),
    "pod-level requests of other resources do not count": Case(
        PodSpec(
            containers=(asks("1", example__gpu="1"),), pod_requests=nanos(example__gpu="4", ephemeral_storage="1Mi")
        ),
        {"cpu": 1000, "example/gpu": 1},
    ),
    "fractions are rounded once, at the end": Case(PodSpec(containers=(asks("0.5m"),) * 3), {"cpu": 2}),
    "less than a byte is a byte": Case(PodSpec(containers=(asks(memory="1n"),)), {"memory": 1}),
    "an explicit zero is a request": Case(PodSpec(containers=(asks("0"),)), {"cpu": 0}),
    "extended resources are counted": Case(
        PodSpec(containers=(asks(example__gpu="2"), asks(example__gpu="1"))), {"example/gpu": 3}
    ),
    "a name that the scheduler does not know is left out": Case(
        PodSpec(containers=(asks("1", storage="1Gi"),)), {"cpu": 1000}
    ),
    "a pod without requests": Case(PodSpec(containers=(asks(),)), {}),
    "a pod without containers": Case(PodSpec(), {}),
}


@pytest.mark.parametrize("case", AMOUNTS.values(), ids=AMOUNTS)
def test_pod_requests_follow_upstream(case: Case) -> None:
    assert pod_requests(case.spec).amounts == tuple(sorted(case.want_amounts.items()))


class ScoredCase(NamedTuple):
    """A pod and what it counts for in scores: milli-CPU and bytes, once it runs and while it is scored."""

    spec: PodSpec
    want_nonzero: tuple[int, int]
    want_score: tuple[int, int] | None = None
    """None = as `want_nonzero`."""


SCORED = {
    "nothing asked counts as the defaults": ScoredCase(PodSpec(containers=(asks(),)), (DEFAULT_CPU, DEFAULT_MEMORY)),
    "every container without a request counts": ScoredCase(
        PodSpec(containers=(asks(), asks("50m"), asks(memory="1Mi"))), (250, 401 * MIB)
    ),
    "an explicit zero is not missing": ScoredCase(PodSpec(containers=(asks("0", "0"),)), (0, 0)),
    "zero CPU beside missing memory": ScoredCase(PodSpec(containers=(asks("0"),)), (0, DEFAULT_MEMORY)),
    "small requests are not raised": ScoredCase(PodSpec(containers=(asks("1m", "1"),)), (1, 1)),
    "an init container without a request has the defaults as its peak": ScoredCase(
        PodSpec(containers=(asks("50m", "1Mi"),), init_containers=(asks(),)), (DEFAULT_CPU, DEFAULT_MEMORY)
    ),
    "a sidecar without a request adds the defaults": ScoredCase(
        PodSpec(containers=(asks("50m", "1Mi"),), init_containers=(sidecar(),)), (150, 201 * MIB)
    ),
    "overhead comes on top of the defaults": ScoredCase(
        PodSpec(containers=(asks(),), overhead=nanos("10m", "1Mi")), (110, 201 * MIB)
    ),
    "a pod-level request counts, but not when the pod itself is scored": ScoredCase(
        PodSpec(containers=(asks(), asks()), pod_requests=nanos("70m")), (70, 400 * MIB), (200, 400 * MIB)
    ),
    "pod-level requests for both": ScoredCase(
        PodSpec(containers=(asks("30m"),), pod_requests=nanos("70m", "5Mi")), (70, 5 * MIB), (30, DEFAULT_MEMORY)
    ),
    "a pod-level request of one resource stops the defaults only of those that are known": ScoredCase(
        # Memory is asked for by one container: the other one no longer counts as 200 MiB.
        PodSpec(containers=(asks(memory="3Mi"), asks()), pod_requests=nanos("70m")),
        (70, 3 * MIB),
        (200, 203 * MIB),
    ),
    "a pod-level request of a foreign resource changes nothing": ScoredCase(
        PodSpec(containers=(asks(),), pod_requests=nanos(example__gpu="1")), (DEFAULT_CPU, DEFAULT_MEMORY)
    ),
    "no containers count for nothing": ScoredCase(PodSpec(), (0, 0)),
}


@pytest.mark.parametrize("case", SCORED.values(), ids=SCORED)
def test_pod_requests_for_scores_follow_upstream(case: ScoredCase) -> None:
    requests = pod_requests(case.spec)
    assert (requests.nonzero_cpu_millis, requests.nonzero_memory_bytes) == case.want_nonzero
    assert (requests.score_cpu_millis, requests.score_memory_bytes) == (case.want_score or case.want_nonzero)


containers = st.builds(
    lambda millis, is_sidecar: asks(None if millis is None else f"{millis}m")._replace(is_sidecar=is_sidecar),
    st.none() | st.integers(0, 900),
    st.booleans(),
)


@given(st.lists(containers, max_size=3), st.lists(containers, max_size=4))
def test_pod_requests_are_the_most_that_ever_runs_at_once(running: list[Container], starting: list[Container]) -> None:
    def millis(parts: list[Container]) -> int:
        return sum(amount("cpu", asked) for part in parts for _, asked in part.requests)

    moments = [[*(one for one in starting[:i] if one.is_sidecar), starting[i]] for i in range(len(starting))]
    moments.append([*running, *(one for one in starting if one.is_sidecar)])
    spec = PodSpec(containers=tuple(running), init_containers=tuple(starting))
    assert dict(pod_requests(spec).amounts).get("cpu", 0) == max(millis(moment) for moment in moments)


SCALARS = {
    "example.com/gpu": True,
    "example.com/a.b_c": True,
    "hugepages-2Mi": True,
    "attachable-volumes-csi": True,
    "kubernetes.io/batch-cpu": True,
    "cpu": False,
    "storage": False,
    "requests.example.com/gpu": False,
}


@pytest.mark.parametrize("name", SCALARS)
def test_scalar_resources_are_those_that_upstream_counts(name: str) -> None:
    assert is_scalar_resource(name) is SCALARS[name]


def test_amount_is_milli_for_cpu_and_whole_for_the_rest() -> None:
    assert amount("cpu", parse_nanos("1.5")) == 1500
    assert amount("memory", parse_nanos("1.5")) == 2
    assert amount("example.com/gpu", parse_nanos("3")) == 3
