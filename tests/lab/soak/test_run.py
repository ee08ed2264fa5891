"""A short soak of each scheduler; the recorded ones take forty minutes each (docs/results/edges.md)."""

import pytest

from longshore_lab.soak.run import SoakOptions, soak


@pytest.mark.parametrize("through", ["schedule", "plugin"])
def test_a_minute_of_soak(built_programs: None, through: str) -> None:
    said: list[str] = []
    options = SoakOptions(through=through, minutes=1.0, nodes=60, pods=1200, fault_seconds=12.0)
    found = soak(options, said.append)
    assert [row for row in found.rows if not row.is_met] == []
    assert len(found.faults) >= 2
    assert found.num_bound > 1200 + 300
    assert len(found.samples) >= 10
