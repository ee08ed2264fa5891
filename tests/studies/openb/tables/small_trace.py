"""A small trace in the published form, with pods of all kinds, and where the real one may be."""

import os
from pathlib import Path

import numpy as np

from longshore_studies.openb.tables.openb import NODE_FILE, POD_PREFIX

TRACE = "small"
_NODES = (
    (96_000, 393_216, 8, "G2"),
    (64_000, 262_144, 4, "V100M32"),
    (96_000, 786_432, 2, "T4"),
    (32_000, 65_536, 1, "P100"),
)
_PODS = (
    (0, 0, ""),
    (1, 460, ""),
    (1, 810, ""),
    (1, 250, "T4|P100"),
    (1, 1000, ""),
    (1, 1000, "G2"),
    (2, 1000, ""),
    (4, 1000, "G2|V100M32"),
    (8, 1000, ""),
)
_OFTEN = (0.15, 0.25, 0.15, 0.15, 0.13, 0.1, 0.04, 0.02, 0.01)


def write_small_trace(folder: Path, num_nodes: int = 60, num_pods: int = 400) -> Path:
    """Write the files of a cluster and one pod list, `small`."""
    draw = np.random.default_rng(5)
    nodes = ["sn,cpu_milli,memory_mib,gpu,model"]
    for number in range(num_nodes):
        nodes.append(",".join(map(str, (f"node-{number:03d}", *_NODES[draw.integers(len(_NODES))]))))
    pods = [
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time"
    ]
    for number in range(num_pods):
        count, milli, models = _PODS[draw.choice(len(_PODS), p=_OFTEN)]
        cpu = int(draw.choice([1000, 4000, 8000, 12_000])) * max(count, 1)
        memory = int(draw.choice([2048, 16_384, 40_960]))
        created = int(draw.integers(0, 50_000))
        deleted = created + int(draw.choice([0, 300, 4000, 30_000]))
        pods.append(
            f"pod-{number:04d},{cpu},{memory},{count},{milli},{models},LS,Running,{created},{deleted},{created}"
        )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / NODE_FILE).write_text("\n".join(nodes) + "\n")
    (folder / f"{POD_PREFIX}{TRACE}.csv").write_text("\n".join(pods) + "\n")
    return folder


def find_published_data() -> Path | None:
    """Return the folder of the real trace, where there is one with the published results beside it."""
    root = Path(__file__).parents[4]
    for place_ in (os.environ.get("LONGSHORE_OPENB"), root.parent / "shared" / "data" / "openb"):
        if place_ and (Path(place_) / NODE_FILE).exists() and (Path(place_).parent / "fgd_expected").is_dir():
            return Path(place_)
    return None
