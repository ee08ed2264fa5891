"""The words that cases are made of: few values per key, so that selectors, taints, ports and images often meet."""

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION = "failure-domain.beta.kubernetes.io/region"
UNSCHEDULABLE_TAINT = "node.kubernetes.io/unschedulable"

# Not in alphabetical order, and with names whose text order differs from their number order.
NODE_NAMES = (
    "node-c", "node-a", "node-10", "node-b", "node-9", "edge-1", "node-d", "worker-2", "worker-10", "edge-0", "node-z",
    "a",
)  # fmt: skip
MISSING_NODE = "node-gone"

ZONES = ("zone-a", "zone-b", "zone-c")
REGIONS = ("region-1", "region-2")
DISKS = ("ssd", "hdd")
RACKS = ("r1", "r2")
# Gt and Lt read int64 in base 10: leading zeros are fine, fractions, words and 2^63 are not numbers for them.
CORES = ("4", "8", "8", "16", "08", "8.5", "many", "9223372036854775808", "0")
ABSENT_KEY = "absent.example.com/key"
TOPOLOGY_KEYS = (*(HOSTNAME,) * 7, *(ZONE,) * 7, *(REGION,) * 3, "rack", "rack", ABSENT_KEY)

TAINTS = (
    ("dedicated", "gpu"),
    ("dedicated", "gpu"),
    ("dedicated", "batch"),
    ("dedicated", ""),
    ("spot", "true"),
    ("spot", ""),
    ("node.kubernetes.io/not-ready", ""),
    ("maintenance", ""),
)
TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "PreferNoSchedule", "NoExecute")

NAMESPACES = ("default", "team-a", "team-b", "edge")
APPS = ("web", "web", "web", "db", "cache")
TIERS = ("front", "front", "back")
HASHES = ("6d4cf", "7b9aa")
POD_HASH = "pod-template-hash"
POD_LABEL_VALUES = {
    "app": ("web", "db", "cache"),
    "tier": ("front", "back", ""),
    POD_HASH: HASHES,
    "absent": ("x", "y"),
}
POD_LABEL_KEYS = ("app", "app", "app", "tier", "tier", POD_HASH, "absent")

GPU = "nvidia.com/gpu"
FPGA = "example.com/fpga"
HUGE_PAGES = "hugepages-2Mi"
EXTENDED_RESOURCES = (GPU, FPGA)

MEBIBYTE = 1024 * 1024
# One size per name: upstream's cache keeps the size that the first node reported, so two sizes for one name
# would make its score depend on the order in which nodes arrived. 23 MiB and 1000 MiB are ImageLocality's limits.
IMAGES = (
    (("example.com/library/web:1.27", "example.com/library/web@sha256:0a1b2c"), 60_000_000),
    (("example.com/library/web:latest",), 251_658_240),
    (("example.com:5000/team/app:latest", "example.com:5000/team/app:v2"), 1_200_000_000),
    (("busybox:latest", "example.com/mirror/busybox:1", "busybox:1"), 4_500_000),
    (("models/llm:2026",), 6_442_450_944),
    (("tiny:latest",), 23 * MEBIBYTE),
    (("edge:1",), 23 * MEBIBYTE + 1),
    (("big:latest", "example.com:5000/big:latest"), 1000 * MEBIBYTE),
)
IMAGE_REFERENCES = (
    "example.com/library/web:1.27",
    "example.com/library/web@sha256:0a1b2c",
    "example.com/library/web",
    "example.com:5000/team/app",
    "example.com:5000/team/app:v2",
    "busybox",
    "busybox:1",
    "models/llm:2026",
    "tiny",
    "edge:1",
    "big",
    "example.com:5000/big",
    "not-pulled:3",
)
