#!/usr/bin/env bash
# Our scheduler beside stock kube-scheduler on one real cluster: pairs at 1,000 nodes, growth, memory.
set -euo pipefail
cd "$(dirname "$0")/.."
make --silent setup controlplane
.venv/bin/longshore bench cluster --modes stock,stock-sampled,standalone "$@"
.venv/bin/longshore bench cluster --modes stock,standalone --nodes 10,100,1000,5000 --repeats 1
.venv/bin/longshore bench cluster --memory
