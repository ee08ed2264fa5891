"""A bandit: the policy gradient of the next reward alone, whatever comes after it."""

from dataclasses import dataclass

from longshore.agents import scoring
from longshore.agents.base import Learner, flattened
from longshore.agents.learners import on_policy


@dataclass(frozen=True)
class Bandit(Learner):
    """Learns what pays at once."""

    steps: int = 2_000
    """Decisions to learn from."""
    envs: int = 8
    """Environments played at once."""
    segment: int = 16
    """Steps of each environment between updates."""
    learning_rate: float = 3e-3
    """Of Adam."""

    def init(self, blueprint, key, example):
        """Return the state before learning."""
        return on_policy.init(blueprint, key, self._optimizer())

    def act(self, blueprint, state, key, seen):
        """Draw nodes by the policy."""
        return on_policy.act(blueprint, state.tensors, key, seen)

    def update(self, blueprint, state, key, segment):
        """Make what paid more than usual likelier, and what paid less rarer."""
        batch = flattened(segment)
        counted = batch.seen.is_decision
        gain = batch.reward - scoring.mean_over(batch.reward, counted)

        def loss(tensors, _batch):
            scores, _ = scoring.evaluate(blueprint, tensors, batch.seen.inputs)
            log_p = scoring.at(scoring.log_probabilities(scores, batch.seen.feasible), batch.action)
            total = -scoring.mean_over(gain * log_p, counted)
            return total, {"loss": total}

        return on_policy.descend(self._optimizer(), loss, state, batch)

    def tensors(self, state):
        """Return the policy's tensors."""
        return state.tensors

    def _optimizer(self):
        return on_policy.adam(self.learning_rate, gradient_limit=1.0)
