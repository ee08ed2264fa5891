"""From a network of your own, trained in torch, to a bundle: `python examples/torch_to_bundle.py net.safetensors mine`.

The network here scores every node by the same layers, with the mean over all nodes beside each:

    class Net(torch.nn.Module):
        def __init__(self, features=len(FEATURES), width=16):
            super().__init__()
            self.first = torch.nn.Linear(features, width)
            self.last = torch.nn.Linear(2 * width, 1)

        def forward(self, rows):  # [nodes, features], as longshore/Placement-v0 gives them with features=FEATURES
            hidden = torch.relu(self.first(rows))
            return self.last(torch.cat([hidden, hidden.mean(0).expand_as(hidden)], 1))[:, 0]

Trained, it is written in torch by two lines; this script needs no torch:

    from safetensors.torch import save_file
    save_file(net.state_dict(), "net.safetensors")
"""

import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from longshore.core.arrays.features import feature_specs
from longshore.core.network.bundle import Bundle, Envelope
from longshore.core.network.forward import ROWS, SCORE, Op
from longshore.policies.bundle_folder import write_folder

FEATURES = ("node_cpu_used", "after_cpu_used", "node_is_on", "latency", "latency_known", "latency_within_soft")
"""What the network reads, in the order of its columns."""
OPS = (
    Op("linear", (ROWS,), "first", ("first.weight", "first.bias")),
    Op("relu", ("first",), "hidden"),
    Op("mean_nodes", ("hidden",), "mean"),
    Op("concat", ("hidden", "mean"), "both"),
    Op("linear", ("both",), SCORE, ("last.weight", "last.bias")),
)
"""The same network as a list of operations; docs/reference/bundle.md says what each does."""


def to_bundle(state: Mapping[str, np.ndarray]) -> Bundle:
    """Return the policy of a state_dict; torch keeps the matrix of a linear layer the other way round."""
    tensors = {name: np.ascontiguousarray(each.T, np.float32) for name, each in state.items()}
    return Bundle(
        name="from torch",
        features=feature_specs(FEATURES),
        ops=OPS,
        tensors=tensors,
        objective="el-rl",
        # Between which values each feature lay in training; all of them lie between these.
        envelope=Envelope((-1.0,) * len(FEATURES), (1.0,) * len(FEATURES)),
        provenance={"learner": "my own, in torch", "workload": "test1"},
    )


if __name__ == "__main__":
    source, folder = sys.argv[1:]
    write_folder(Path(folder), to_bundle(load_file(source)))
    print(f"wrote `{folder}`; try it: longshore compare --policies kube-default,{folder}")
