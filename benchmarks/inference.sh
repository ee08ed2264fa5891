#!/usr/bin/env bash
# One decision of a DeepSets policy in NumPy, with and without the row cache; the filters apart.
set -euo pipefail
cd "$(dirname "$0")/.."
make --silent setup
.venv/bin/longshore bench inference --series "${SERIES:-10}" "$@"
