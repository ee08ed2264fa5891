"""From a trained state to a bundle: the best tensors of the best seed, with all that has to be known about them."""

import dataclasses
import platform
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import msgspec
import numpy as np

from longshore import __version__
from longshore.core.arrays.features import feature_specs
from longshore.core.arrays.ops import Array
from longshore.core.network.bundle import LOAD_SCALE, Bundle, Envelope, Interval, Weight
from longshore.core.network.bundle_files import POLICY_FILE, write_bundle
from longshore.core.network.forward import LOAD, needed, reads, tensor_names
from longshore.core.words.errors import LongshoreError
from longshore.objectives.weighted import objective_name
from longshore.simulator.params import SimParams
from longshore.training.program.chunk import TrainState
from longshore.training.program.compiling import compiler_options
from longshore.training.program.greedy import SETTINGS, TRACES, judge_all
from longshore.training.run.checkpoint import write_whole
from longshore.training.run.plan import Plan
from longshore.training.run.prepare import Prepared

Bounds = Callable[[Mapping[str, Array]], Envelope]
"""The best tensors -> between which values each feature lies."""

# How much wider than what was met in training the envelope is, as a share of each feature's range and at least.
_MARGIN_SHARE, _LEAST_MARGIN = 0.05, 1e-3


def best_seed(state: TrainState) -> int:
    """Return the number of the training that did best on the selection traces.

    Raises:
        LongshoreError: none gave a policy.
    """
    worth = np.asarray(state.best_worth)
    if not np.isfinite(worth).any():
        raise LongshoreError(
            "no policy came out: the training diverged before it was first judged",
            "train again with a smaller `--learning-rate`",
        )
    return int(np.argmax(np.where(np.isnan(worth), -np.inf, worth)))


def best_tensors(prepared: Prepared, state: TrainState) -> dict[str, np.ndarray[Any, Any]]:
    """Return the tensors of the best policy that its scores depend on, as they were trained."""
    names = tensor_names(needed(prepared.program.blueprint.ops))
    return {name: np.asarray(state.best[name][best_seed(state)]) for name in names}


def make_bundle(
    prepared: Prepared,
    state: TrainState,
    *,
    name: str,
    seconds: float,
    device: str,
    baselines: Mapping[str, float],
    envelope: Bounds,
) -> Bundle:
    """Return the best policy of a run; `envelope` is what `compile_envelope` gave."""
    task, blueprint = prepared.program.task, prepared.program.blueprint
    trained = best_tensors(prepared, state)
    tensors = {tensor: np.asarray(leaf) for tensor, leaf in prepared.program.learner.trimmed(trained).items()}
    returns = np.asarray(state.best_return)
    metrics: dict[str, float | Interval] = {"selection_return": float(returns[best_seed(state)])}
    metrics |= {f"selection_return_{baseline}": value for baseline, value in baselines.items()}
    return Bundle(
        name=name,
        features=feature_specs(task.features),
        ops=needed(blueprint.ops),
        tensors=tensors,
        prior=prepared.plan.prior or None,
        preference=_preference(prepared) if task.has_dial else (),
        filters=prepared.plan.filters,
        objective=prepared.plan.objective,
        envelope=envelope(trained),
        provenance=_provenance(prepared, state, seconds, device),
        metrics=metrics,
        num_nodes=blueprint.nodes,
        may_defer=task.may_defer,
        load=LOAD_SCALE if reads(blueprint.ops, LOAD) else None,
    )


def write_beside(folder: Path, bundle: Bundle) -> None:
    """Write a bundle's files into a folder that may hold other things too, such as the run's own.

    The file that makes it a bundle comes last, and it has the digest of the weights: no mixture of two is ever read.
    """
    files = write_bundle(bundle)
    for name in sorted(files, key=lambda name: name == POLICY_FILE):
        write_whole(folder / name, files[name])


def versions(device: str) -> dict[str, str]:
    """Return what a run was made with."""
    return {
        "longshore": __version__,
        "jax": jax.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "device": device,
    }


def _preference(prepared: Prepared) -> tuple[Weight, ...]:
    """Return the terms by name with the weights of the plan's objective, as the network was told them in training."""
    weights = np.asarray(prepared.data.scale.weights, np.float64)
    shares = np.maximum(weights, 0) / max(np.maximum(weights, 0).sum(), 1e-12)
    names: list[str] = []
    for _, term in prepared.program.task.objective.terms:
        name, number = objective_name(term), 1
        while (label := name if number == 1 else f"{name}#{number}") in names:
            number += 1
        names.append(label)
    return tuple(Weight(name, float(share)) for name, share in zip(names, shares, strict=True))


def compile_envelope(prepared: Prepared, state: TrainState) -> Bounds:
    """Compile what plays the training traces and sees between which values each feature lies; `state` shows shapes.

    It takes seconds and needs no result of the training, so that it can be done beside it.
    """
    task, ops = prepared.program.task, needed(prepared.program.blueprint.ops)
    dials = jnp.asarray(prepared.data.dials, jnp.float32) if task.has_dial else jnp.zeros((1, 0), jnp.float32)

    def bounds(tensors: Mapping[str, Array], params: SimParams) -> tuple[Array, Array]:
        judged = judge_all(task, ops, tensors, params, dials, (SETTINGS, TRACES))
        return judged.low.min(axis=(0, 1)), judged.high.max(axis=(0, 1))

    params = prepared.data.bank.params
    shapes = {
        name: jax.ShapeDtypeStruct(state.best[name].shape[1:], state.best[name].dtype) for name in tensor_names(ops)
    }
    compiled = jax.jit(bounds, compiler_options=compiler_options()).lower(shapes, params).compile()

    def run(tensors: Mapping[str, Array]) -> Envelope:
        low, high = (np.asarray(one, np.float64) for one in compiled(dict(tensors), params))
        is_met = low <= high
        low, high = np.where(is_met, low, 0.0), np.where(is_met, high, 0.0)
        margin = np.maximum(_MARGIN_SHARE * (high - low), _LEAST_MARGIN)
        return Envelope(tuple((low - margin).tolist()), tuple((high + margin).tolist()))

    return run


def _provenance(prepared: Prepared, state: TrainState, seconds: float, device: str) -> dict[str, Any]:
    plan = prepared.plan
    returns = np.asarray(state.best_return)
    return {
        "learner": plan.learner,
        "network": plan.learner if prepared.program.learner.has_own_network else plan.network,
        "workload": plan.workload,
        "workload_config": dict(plan.workload_config),
        "lag_seconds": plan.lag_seconds,
        "seed": plan.seed + best_seed(state),
        "decisions": int(np.asarray(state.decided)[best_seed(state)]),
        "seconds": round(seconds, 1),
        "selection_returns": [float(one) if np.isfinite(one) else None for one in returns],
        "selection_spread": float(np.nanstd(np.where(np.isfinite(returns), returns, np.nan))),
        "config": _filled_in(prepared.program.learner),
        "network_config": _network_config(plan, prepared),
        "plan": plan.to_json(),
        "versions": versions(device),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
    }


def _network_config(plan: Plan, prepared: Prepared) -> dict[str, Any]:
    return {} if prepared.program.learner.has_own_network else _filled_in(plan.build_network())


def _filled_in(unit: Any) -> dict[str, Any]:
    """Return all hyperparameters, also those that nobody has set."""
    found: dict[str, Any] = msgspec.to_builtins(dataclasses.asdict(unit))
    return found
