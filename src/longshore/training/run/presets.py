"""Presets: named hyperparameters, among them those of the systems that longshore learns from.

A preset is a table for every learner that it is about; what the command line gives goes before it. The values that
differ in form from the originals' are marked: our loop has no fixed pace of one gradient step every so many steps.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from longshore.core.words.errors import InputError, UnknownNameError


@dataclass(frozen=True)
class Preset:
    """Hyperparameters under a name."""

    description: str
    learners: Mapping[str, Mapping[str, Any]]
    """By learner: what differs from its defaults; empty table = every learner as it is."""
    network: str = ""
    """The network it goes with; empty = any."""
    network_config: Mapping[str, Any] | None = None


PRESETS: dict[str, Preset] = {
    "default": Preset("every learner's own values", {}),
    "thesis": Preset(
        "the thesis' DQN: 2,000 steps of one environment, learning rate 2.5e-3, exploration 0.3, the rest CleanRL's",
        {
            "dqn": {
                "steps": 2_000,
                "envs": 1,
                "segment": 10,  # trains every 10 steps
                "learning_rate": 2.5e-3,
                "discount": 0.99,
                "horizon": 1,
                "memory": 10_000,
                "batch": 128,
                "gradient_steps": 1,
                "learning_starts": 300,
                "target_rate": 0.02,  # the original copies all of it every 500 steps, which is 50 gradient steps
                "exploration": 0.3,
                "exploration_start": 1.0,
                "exploration_end": 0.05,
                "double": False,
                "duelling": False,
            }
        },
    ),
    "energy-seed": Preset(
        "the energy scheduler's DQN (document 002): learning rate 1e-3, memory 50,000, exploration from 1 to 0.01",
        {
            "dqn": {
                "steps": 100_000,  # 500 episodes of up to 200 steps
                "envs": 1,
                "segment": 4,
                "learning_rate": 1e-3,
                "discount": 0.99,
                "horizon": 1,
                "memory": 50_000,
                "batch": 64,
                "gradient_steps": 4,  # one for every step
                "learning_starts": 64,
                "target_rate": 0.002,  # the original copies all of it every 500 steps
                "exploration": 0.3,  # the original falls by exp(-steps / 10,000)
                "exploration_start": 1.0,
                "exploration_end": 0.01,
                "double": False,
                "duelling": False,
            }
        },
        network="mlp",
        network_config={"width": 128, "layers": 2},
    ),
    "kwok-seed": Preset(
        "the KWOK schedulers' DQN and A2C (document 004): learning rate 1e-3, memory 2,000, batch 200",
        {
            "dqn": {
                "envs": 1,
                "segment": 25,  # trains every 25 pods
                "learning_rate": 1e-3,
                "discount": 0.99,
                "horizon": 1,
                "memory": 2_000,
                "batch": 200,
                "gradient_steps": 1,
                "learning_starts": 200,
                "target_rate": 0.5,  # the original copies all of it every 50 pods, which is 2 gradient steps
                "exploration_start": 1.0,
                "exploration_end": 0.01,
                "guide_share": 0.5,  # half of exploration is the heuristic's; give one with `--guide`
                "double": False,
                "duelling": False,
            },
            "actor_critic": {"learning_rate": 1e-3, "discount": 0.95, "trace_decay": 0.0},
        },
    ),
}


def find_preset(name: str, learner: str) -> Preset:
    """Return a preset that is about this learner.

    Raises:
        UnknownNameError: there is none of that name.
        InputError: it is about other learners.
    """
    if name not in PRESETS:
        raise UnknownNameError("preset", name, PRESETS)
    preset = PRESETS[name]
    if preset.learners and learner not in preset.learners:
        raise InputError(
            f"preset `{name}` is not about `{learner}`", f"it is about: {', '.join(sorted(preset.learners))}"
        )
    return preset
