#!/usr/bin/env python3
"""Writes what in deploy/ has its source elsewhere, so that nothing is written twice by hand.

The chart's copies of the profiles of scheduler/config, and those for kubeadm; then deploy/longshore.yaml and
deploy/rbac.yaml, rendered from the chart.

    .venv/bin/python deploy/render.py            writes them
    .venv/bin/python deploy/render.py --check    exit 1 when one is not what the script would write

Needs `helm`, which `make deploy-tools` builds.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from longshore_lab.build import require_program

DEPLOY = Path(__file__).resolve().parent
CHART = DEPLOY / "chart" / "longshore"
PROFILES = DEPLOY.parent / "scheduler" / "config"
RELEASE, NAMESPACE = "longshore-scheduler", "longshore-system"
OF_HELM_ALONE = ("app.kubernetes.io/managed-by:", "helm.sh/chart:", "# Source:")
"""Lines that would be untrue of objects that `kubectl apply` makes."""
KUBEADM_HEAD = """\
# For /etc/kubernetes/longshore/scheduler.yaml of a control plane that kubeadm made. Written by deploy/render.py; change
# scheduler/config instead.
#
"""
KUBEADM_CONNECTION = """\
clientConnection:
  # kube-scheduler does not look at kubeadm's --kubeconfig where it has a --config.
  kubeconfig: /etc/kubernetes/scheduler.conf
"""
KUBEADM_STATE = "          stateFolder: /var/run/longshore/state\n"
LONGSHORE_HEAD = """\
# kube-scheduler with the plugin Longshore beside the cluster's own scheduler: the chart with its default values.
# Written by deploy/render.py; change deploy/chart/longshore instead.
#
#   kubectl apply -f deploy/longshore.yaml
#   kubectl -n longshore-system create configmap longshore-model \\
#     --from-file=BUNDLE/policy.json --from-file=BUNDLE/weights.safetensors
"""
RBAC_HEAD = """\
# What `longshore schedule` may do, and nothing more. No secrets, no changes of nodes, no changes of pods but their
# binding, their status and, for preemption, their deletion. Written by deploy/render.py; change
# deploy/chart/longshore/templates/rbac.yaml instead.
#
#   kubectl apply -f deploy/rbac.yaml
"""


def profiles() -> dict[Path, str]:
    """Return what the copies should be: Helm reads no file outside of a chart, and a static pod has other folders."""
    texts = {source.name: source.read_text(encoding="utf-8") for source in sorted(PROFILES.glob("profile-*.yaml"))}
    chart = {CHART / "files" / f"profile-{name}.yaml": texts[f"profile-{name}.yaml"] for name in ("plugin", "shadow")}
    return chart | {DEPLOY / "kubeadm" / name: of_kubeadm(text) for name, text in texts.items()}


def of_kubeadm(text: str) -> str:
    """Return a profile for the static pod of deploy/kubeadm."""
    model = "          modelPath: /var/lib/longshore/model\n"
    kind, _, profiles = text.partition("profiles:\n")
    assert kind.endswith("kind: KubeSchedulerConfiguration\n")
    assert profiles.count(model) == 1
    return f"{KUBEADM_HEAD}{kind}{KUBEADM_CONNECTION}profiles:\n{profiles.replace(model, model + KUBEADM_STATE)}"


def manifests() -> dict[Path, str]:
    """Return what the rendered files should be."""
    namespace = (DEPLOY / "namespace.yaml").read_text(encoding="utf-8")
    flat = rendered("--set=model.configMap=longshore-model")
    rights = rendered("--set=mode=standalone", "--show-only=templates/rbac.yaml")
    return {
        DEPLOY / "longshore.yaml": f"{LONGSHORE_HEAD}---\n{namespace}{flat}",
        DEPLOY / "rbac.yaml": f"{RBAC_HEAD}---\n{namespace}{rights}",
    }


def rendered(*arguments: str) -> str:
    """Return the chart's objects as YAML, without what only Helm's own objects have."""
    command = [str(require_program("helm")), "template", RELEASE, str(CHART), f"--namespace={NAMESPACE}", *arguments]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    lines = (line for line in output.splitlines(keepends=True) if line.strip())
    return "".join(line for line in lines if not line.strip().startswith(OF_HELM_ALONE))


def main() -> int:
    """Write the files, or look whether they are up to date."""
    parser = argparse.ArgumentParser(description="render the flat YAML from the chart")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a file is out of date")
    is_check = parser.parse_args().check
    # The copies first: the rest is rendered from them.
    stale = [path for files in (profiles, manifests) for path in update(files(), is_check=is_check)]
    for path in stale if is_check else ():
        sys.stderr.write(f"{path}: out of date\nhint: run `.venv/bin/python deploy/render.py`\n")
    return int(is_check and bool(stale))


def update(files: dict[Path, str], *, is_check: bool) -> list[Path]:
    """Write the files that are out of date, or only look; return those."""
    stale = [path for path, text in files.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    for path in () if is_check else stale:
        path.write_text(files[path], encoding="utf-8")
    return stale


if __name__ == "__main__":
    sys.exit(main())
