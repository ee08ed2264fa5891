#!/usr/bin/env bash
# A million random cases, ours against upstream's own code; about half an hour on two cores. Exit 1 on any difference.
set -euo pipefail
cd "$(dirname "$0")/.."
make --silent setup controlplane
.venv/bin/longshore bench oracle --cases "${CASES:-1000000}" --seed "${SEED:-20261115}" --workers "${WORKERS:-2}" --json
