"""Containers of random pods: requests and limits in every notation, host ports, images, init containers, sidecars.

All objects are as the API server stores them: a limit without a request has been copied to the request, and
extended resources and huge pages have a limit that equals their request.
"""

from longshore_lab.oracle.case_draw import Draw, Json, pick, pick_count
from longshore_lab.oracle.case_plan import CasePlan
from longshore_lab.oracle.case_vocabulary import EXTENDED_RESOURCES, HUGE_PAGES, IMAGE_REFERENCES

# Text and size in thousandths of a CPU. The API server rounds every quantity up to thousandths before it stores it.
CPU_MILLIS = {
    "20m": 20,
    "100m": 100,
    "250m": 250,
    "500m": 500,
    "0.1": 100,
    "0.75": 750,
    "1": 1000,
    "1500m": 1500,
    "2": 2000,
    "3": 3000,
    "0": 0,
    "1m": 1,
    "1e-1": 100,
}
# Text and size in thousandths of a byte. Fractions of a byte are stored, summed exactly and rounded up at the end.
MEMORY_MILLIBYTES = {
    "64Mi": 64 * 1024**2 * 1000,
    "128Mi": 128 * 1024**2 * 1000,
    "256Mi": 256 * 1024**2 * 1000,
    "1Gi": 1024**3 * 1000,
    "2.5Gi": 5 * 1024**3 * 500,
    "200M": 200 * 10**9,
    "1e8": 10**11,
    "134217728": 134217728 * 1000,
    "65536Ki": 65536 * 1024 * 1000,
    "0": 0,
    "128974848500m": 128974848500,
}
COMMON_CPUS = tuple(CPU_MILLIS)[:7]
COMMON_MEMORIES = tuple(MEMORY_MILLIBYTES)[:9]
ALL_CPUS = tuple(CPU_MILLIS)
ALL_MEMORIES = tuple(MEMORY_MILLIBYTES)

HOST_PORTS = (8080, 8080, 8443, 53)
PROTOCOLS = ("TCP", "TCP", "TCP", "UDP", "SCTP")
HOST_IPS = ("", "", "0.0.0.0", "127.0.0.1", "127.0.0.1", "10.0.0.7", "::")


def make_containers(draw: Draw, plan: CasePlan, *, is_to_place: bool) -> Json:
    """Draw the parts of a pod spec that its containers make: both lists, overhead and pod-level resources."""
    is_about_resources = "resources" in plan.topics
    has_requests = not (is_to_place and plan.kind == "zero-request")
    containers = [
        make_container(draw, plan, f"c{position}", has_requests=has_requests)
        for position in range(pick(draw, (1, 1, 1, 1, 2, 3) if is_to_place else (1, 1, 1, 2)))
    ]
    spec: Json = {"containers": containers}
    init_share = 0.12
    if is_about_resources or (is_to_place and not plan.topics.isdisjoint(("images", "ports"))):
        init_share = 0.4
    init_containers: list[Json] = []
    if draw() < init_share:
        for position in range(pick_count(draw, 1, 3)):
            container = make_container(draw, plan, f"i{position}", has_requests=has_requests)
            if draw() < 0.5:
                container["restartPolicy"] = "Always"
            init_containers.append(container)
        spec["initContainers"] = init_containers
    if draw() < (0.02 if "ports" not in plan.topics else 0.95 if is_to_place else 0.5):
        add_host_ports(draw, spec)
    if has_requests:
        if draw() < (0.2 if is_about_resources else 0.03):
            spec["overhead"] = {"cpu": pick(draw, ("50m", "250m")), "memory": "32Mi"}
            spec["runtimeClassName"] = "sandboxed"
            if draw() < 0.3:
                del spec["overhead"][pick(draw, ("cpu", "memory"))]
        if draw() < (0.22 if is_about_resources else 0.03):
            add_pod_resources(draw, spec)
    return spec


def make_container(draw: Draw, plan: CasePlan, name: str, *, has_requests: bool) -> Json:
    """Draw one container; without requests its resources stay empty."""
    image = pick(draw, IMAGE_REFERENCES) if "images" in plan.topics else "not-pulled:3"
    container: Json = {"name": name, "image": image}
    resources = _draw_resources(draw, plan) if has_requests else {}
    if resources or draw() < 0.5:
        container["resources"] = resources
    return container


def _draw_resources(draw: Draw, plan: CasePlan) -> Json:
    is_about_resources = "resources" in plan.topics
    cpus, memories = (ALL_CPUS, ALL_MEMORIES) if is_about_resources else (COMMON_CPUS, COMMON_MEMORIES)
    requests: dict[str, str] = {}
    shape = draw()
    if shape < 0.65:
        requests["cpu"] = pick(draw, cpus)
    if 0.15 < shape < 0.8:
        requests["memory"] = pick(draw, memories)
    limits: dict[str, str] = {}
    if is_about_resources and draw() < 0.35:
        # Mostly what some node offers; else nobody could ever place the pod.
        names = plan.extended if draw() < 0.85 else (*EXTENDED_RESOURCES, HUGE_PAGES)
        _add_other_resources(draw, names, requests, limits)
    if requests and draw() < 0.25:
        # Equal limits (the pod gave only limits) or generous ones; every request above fits into these.
        is_equal = draw() < 0.5
        for resource, generous in (("cpu", "8"), ("memory", "16Gi"), ("ephemeral-storage", "64Gi")):
            if resource in requests:
                limits[resource] = requests[resource] if is_equal else generous
    resources: Json = {}
    if requests:
        resources["requests"] = requests
    if limits:
        resources["limits"] = limits
    return resources


def _add_other_resources(draw: Draw, names: tuple[str, ...], requests: dict[str, str], limits: dict[str, str]) -> None:
    if draw() < 0.3:
        requests["ephemeral-storage"] = pick(draw, ("1Gi", "20Gi", "500M", "0"))
    for name in names:
        if draw() > 0.5:
            continue
        if name != HUGE_PAGES:
            requests[name] = limits[name] = pick(draw, ("1", "1", "2", "4", "0"))
        elif "cpu" in requests or "memory" in requests:
            # Huge pages are refused without CPU or memory beside them.
            requests[name] = limits[name] = pick(draw, ("4Mi", "16Mi"))


def add_host_ports(draw: Draw, spec: Json) -> None:
    """Give host ports to some containers, unique in the pod by number and protocol as validation asks."""
    if draw() < 0.2:
        spec["hostNetwork"] = True
    taken: set[tuple[int, str]] = set()
    for container in (*spec["containers"], *spec.get("initContainers", ())):
        if draw() > 0.6:
            continue
        ports = []
        for _ in range(pick(draw, (1, 1, 2))):
            port, protocol = pick(draw, HOST_PORTS), pick(draw, PROTOCOLS)
            if (port, protocol) in taken:
                continue
            taken.add((port, protocol))
            entry: Json = {"containerPort": port, "protocol": protocol}
            if "hostNetwork" in spec or draw() < 0.85:
                entry["hostPort"] = port
                address = pick(draw, HOST_IPS)
                if address:
                    entry["hostIP"] = address
            ports.append(entry)
        if ports:
            container["ports"] = ports


def add_pod_resources(draw: Draw, spec: Json) -> None:
    """Set pod-level resources: at least the sum of all containers, so that validation accepts them."""
    cpu_millis = memory_millibytes = 0
    for container in (*spec["containers"], *spec.get("initContainers", ())):
        requests = container.get("resources", {}).get("requests", {})
        if HUGE_PAGES in requests:
            # The API server would copy these to the pod level; a pod-level amount of its own is drawn below instead.
            return
        cpu_millis += CPU_MILLIS[requests.get("cpu", "0")]
        memory_millibytes += MEMORY_MILLIBYTES[requests.get("memory", "0")]
    cpu_millis += pick(draw, (0, 0, 100, 1000))
    memory_bytes = -(-memory_millibytes // 1000) + pick(draw, (0, 0, 2**28))
    requests = {"cpu": f"{cpu_millis}m", "memory": str(memory_bytes)}
    resources: Json = {"requests": requests}
    shape = draw()
    if shape < 0.25:
        # With limits the API server fills in every missing pod-level request, so both stay.
        resources["limits"] = {"cpu": "64", "memory": "512Gi"}
        if shape < 0.1:
            requests[HUGE_PAGES] = resources["limits"][HUGE_PAGES] = "4Mi"
    elif shape < 0.45:
        del requests["cpu"]
    elif shape < 0.65:
        del requests["memory"]
    spec["resources"] = resources
