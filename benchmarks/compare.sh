#!/usr/bin/env bash
# The table of docs/results/baselines.md: three workloads, eight baselines, twelve seeds, with intervals and bounds.
set -euo pipefail
cd "$(dirname "$0")/.."
make --silent setup
for workload in test1 test2 deployments; do
  .venv/bin/longshore compare --workload "$workload" --seeds "${SEEDS:-12}" "$@"
done
