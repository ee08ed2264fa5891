#!/usr/bin/env bash
# The proofs of the kube-scheduler plugin (docs/results/plugin-proof.md): the same nodes as `longshore schedule`, the
# oracle's cases, preemption, and a bundle trained on 4 nodes on a thousand that change. Some twelve minutes on two cores;
# exit 1 on any difference or violation. REAL_NODES=0 where there is no container runtime or no root.
set -euo pipefail
cd "$(dirname "$0")/.."
make --silent setup controlplane
.venv/bin/longshore bench same-nodes --rounds 8 --pods 15 --seed 7
.venv/bin/longshore bench same-nodes --rounds 8 --pods 15 --seed 8 --policy tests/lab/proof/four_nodes
.venv/bin/longshore bench live-oracle --through plugin --cases 250 --seed 1
.venv/bin/longshore bench preemption --policy contract/bundles/deepsets-32 --cases 200 --seed 2
.venv/bin/longshore bench changing-nodes --policy tests/lab/proof/four_nodes --nodes 1000 --real-nodes "${REAL_NODES:-2}" --pods 2000
