#!/usr/bin/env bash
# Upstream's own scheduler_perf on stock kube-scheduler and with our plugin; `--help` says what can be chosen.
set -euo pipefail
cd "$(dirname "$0")/.."
make --silent setup controlplane
exec .venv/bin/python benchmarks/scheduler_perf.py "$@"
