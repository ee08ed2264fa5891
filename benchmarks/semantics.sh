#!/usr/bin/env bash
# All filters and kube-default for one pod, with upstream's own filter and score phases beside them, in one run.
set -euo pipefail
cd "$(dirname "$0")/.."
make --silent setup controlplane
.venv/bin/longshore bench semantics --repeats "${REPEATS:-200}" "$@"
