#!/usr/bin/env bash
# The proofs against a real control plane: 200 cases beside stock kube-scheduler, and every fault with 250 pods in flight;
# about five minutes on two cores. Exit 1 on any difference, or if a pod is lost, stuck or misplaced.
set -euo pipefail
cd "$(dirname "$0")/.."
make --silent setup controlplane
.venv/bin/longshore bench live-oracle --cases "${CASES:-200}" --seed "${SEED:-1}"
.venv/bin/longshore bench faults --pods "${PODS:-250}"
