#!/usr/bin/env bash
# The outside tables: `benchmarks/tables.sh DATA [OUT]`, where DATA is the folder of the openb trace. POLICIES says which
# bundles stand beside the baselines, the repository's own by default. Pages are written from what it leaves in OUT.
set -euo pipefail
data="${1:?usage: benchmarks/tables.sh DATA [OUT]}"
out="${2:-build/tables}"
bundles="${POLICIES-openb,openb-power,openb-nodes}"
more="${bundles:+,$bundles}"
mkdir -p "$out"
published="random,dot-product,gpu-clustering,gpu-packing,gpu-best-fit,fgd"
longshore table fgd --data "$data" --policies "$published,fgd-u$more" --bounds --json >"$out/fgd.json"
longshore table pwr --data "$data" --policies "fgd,pwr,pwr500-fgd500,pwr200-fgd800,gpu-best-fit$more" --json >"$out/pwr.json"
longshore table churn --data "$data" --traces default --policies "fgd,pwr,pwr200-fgd800,gpu-best-fit$more" --json >"$out/churn.json"
longshore table speed --data "$data" --json >"$out/speed.json"
python -m longshore_studies.openb.page "$data" "$out"
