#!/usr/bin/env bash
# sb3-contrib's MaskablePPO, unmodified, on longshore/Placement-v0, beside kube-default, energy-latency and our PPO.
# Opt-in: it installs Debian's python3-torch (150 MB), since torch on PyPI is 3 GB. About twenty minutes on two cores.
set -euo pipefail
cd "$(dirname "$0")/../.."
DEBIAN_PYTHON=/usr/bin/python3
OUT=build/sb3
if ! "$DEBIAN_PYTHON" -c 'import torch, venv, ensurepip' 2>/dev/null; then
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "error: $DEBIAN_PYTHON has no torch, which Stable-Baselines3 needs" >&2
    echo 'hint: as root on Debian 12, `apt-get install python3-torch python3-venv`, then `make sb3` again' >&2
    exit 1
  fi
  echo '== Debian packages: python3-torch python3-venv'
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3-torch python3-venv >/dev/null
fi
mkdir -p "$OUT"
if [ ! -f "$OUT/venv/.installed" ] || [ requirements/sb3.lock -nt "$OUT/venv/.installed" ]; then
  echo '== sb3: locked dependencies (requirements/sb3.lock)'
  rm -rf "$OUT/venv"
  "$DEBIAN_PYTHON" -m venv --system-site-packages "$OUT/venv"
  "$OUT/venv/bin/python" -m pip install --quiet --require-hashes --no-deps -r requirements/sb3.lock
  touch "$OUT/venv/.installed"
fi
for workload in ${WORKLOADS:-test1}; do
  for settings in defaults matched; do
    for seed in ${SEEDS:-0 1}; do
      found="$OUT/$workload-$settings-$seed.json"
      [ -s "$found" ] && continue
      echo "== sb3: MaskablePPO ($settings) on $workload, seed $seed"
      "$OUT/venv/bin/python" benchmarks/sb3/learn.py --python .venv/bin/python --workload "$workload" \
        --settings "$settings" --seed "$seed" --steps "${STEPS:-60000}" >"$found.part"
      mv "$found.part" "$found"
    done
  done
done
.venv/bin/python benchmarks/sb3/table.py "$OUT"/*.json
