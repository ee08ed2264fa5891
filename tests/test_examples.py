"""The examples that stand alone: a network of torch's as a bundle, and an agent of sb3-contrib's as a policy."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from longshore.core.arrays.encode import encode
from longshore.core.arrays.features import features
from longshore.deciding.find import find_policy
from longshore.simulator.play import compile_traces
from longshore.simulator.reference import Reference
from longshore.workloads.build import build_workload
from support.builders import random_snapshot

EXAMPLES = Path(__file__).parents[1] / "examples"


def module_of(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_network_of_torch_scores_as_a_bundle_what_it_scores_in_torch(tmp_path: Path) -> None:
    names, random, width = module_of("torch_to_bundle").FEATURES, np.random.default_rng(0), 16
    shapes = {"first": (width, len(names)), "last": (1, 2 * width)}  # torch: [out, in]
    state = {f"{name}.weight": random.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    state |= {f"{name}.bias": random.normal(size=shape[0]).astype(np.float32) for name, shape in shapes.items()}
    save_file(state, tmp_path / "net.safetensors")
    script = [sys.executable, str(EXAMPLES / "torch_to_bundle.py"), "net.safetensors", "mine"]
    subprocess.run(script, cwd=tmp_path, check=True, capture_output=True)
    policy, encoded = find_policy(str(tmp_path / "mine")), encode(random_snapshot(3))
    rows = features(encoded.arrays, np.asarray(0), encoded.arrays.nodes.is_real, names)
    hidden = np.maximum(rows @ state["first.weight"].T + state["first.bias"], 0)
    both = np.concatenate([hidden, np.broadcast_to(hidden.mean(0), hidden.shape)], 1)
    want = (both @ state["last.weight"].T + state["last.bias"])[:, 0]
    found = policy.score(encoded.arrays, np.asarray(0), encoded.arrays.nodes.is_real)
    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-5)


class StandIn:
    """Takes and gives what sb3-contrib's MaskablePPO does; torch is too large to be a dependency."""

    @classmethod
    def load(cls, path: Path, *, device: str = "auto") -> "StandIn":
        assert (path, device) == (Path("sb3-agent.zip"), "cpu")
        return cls()

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
        action_masks: Any = None,
    ) -> tuple[Any, Any]:
        assert observation.dtype == np.float32
        assert action_masks.shape == (len(observation) + 1,)
        return np.array(np.flatnonzero(action_masks)[0]), None


def test_an_agent_of_sb3_is_a_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = ModuleType("sb3_contrib")
    stand_in.MaskablePPO = StandIn  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sb3_contrib", stand_in)
    (compiled,) = compile_traces([build_workload("test1", {"cycles": 1}).trace(0)])
    policy = find_policy(f"{EXAMPLES / 'sb3_agent.py'}:choose")
    nodes = {step.node for step in Reference(compiled, policy).play() if step.is_decision}
    assert nodes == {0}
