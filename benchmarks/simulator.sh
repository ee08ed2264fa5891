#!/usr/bin/env bash
# Steps per second of the simulator with a DeepSets policy in the loop, the plain twin beside it.
set -euo pipefail
cd "$(dirname "$0")/.."
make --silent setup
.venv/bin/longshore bench simulator "$@"
