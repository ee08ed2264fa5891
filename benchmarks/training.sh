#!/usr/bin/env bash
# Wall clock to a return, compilation included: ours beside benchmarks/cleanrl_style_dqn.py, each a process of its own.
set -euo pipefail
cd "$(dirname "$0")/.."
make --silent setup
.venv/bin/longshore bench training --seeds "${SEEDS:-1}" "$@"
