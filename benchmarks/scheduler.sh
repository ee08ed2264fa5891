#!/usr/bin/env bash
# kube-scheduler with our plugin beside stock kube-scheduler and ours alone on one real cluster: pairs at 1,000 nodes,
# and what a ranking takes at 5,000.
set -euo pipefail
cd "$(dirname "$0")/.."
make --silent setup controlplane
.venv/bin/longshore bench scheduler "$@"
.venv/bin/longshore bench scheduler --nodes 5000 --modes stock,plugin,plugin-fallback --repeats 1
