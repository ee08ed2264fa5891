"""The cluster and the pods that decisions are timed on."""

import msgspec
import pytest

from longshore.core.words.errors import LongshoreError
from longshore.filters import feasible
from longshore_lab.build import program_path
from longshore_lab.oracle import semantics
from longshore_lab.oracle.compare import encode_case


@pytest.mark.parametrize("name", semantics.pods())
def test_cluster_can_take_every_kind_of_pod(name: str):
    case = msgspec.json.encode({"id": 0, "pod": semantics.pods()[name], "items": semantics.cluster(12)})
    encoded, pod_class = encode_case(case)
    assert 0 < feasible(encoded.arrays, pod_class).sum() < 12


def test_measure_times_both_sides(require_component):
    require_component("oracle", "make controlplane", program_path("oracle").is_file())
    cells = semantics.measure(10, repeats=3)
    assert [cell.pod for cell in cells] == list(semantics.pods())
    assert all(cell.ours_ms > 0 and cell.ratio == cell.ours_ms / cell.upstream_ms for cell in cells)


def test_measure_refuses_times_of_answers_that_differ(require_component, monkeypatch: pytest.MonkeyPatch):
    require_component("oracle", "make controlplane", program_path("oracle").is_file())
    monkeypatch.setattr(semantics, "difference", lambda *_: "they differ")
    with pytest.raises(LongshoreError, match="they differ"):
        semantics.measure(10, repeats=3)
