"""Explains what is wrong with a KubeSchedulerConfiguration before kube-scheduler refuses it, or does something else.

`findings(data)` takes the file's bytes and returns errors (kube-scheduler would not start, or Longshore would not rank)
and warnings (it runs, but hardly as meant). Field names and rules are those of Kubernetes 1.36
(`kube-scheduler/config/v1/types.go`, `pkg/scheduler/apis/config/validation`). Pure.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

import yaml

from longshore.core.words.errors import nearest_name
from longshore.kube.scheduler_config_args import argument_problems

PLUGIN = "Longshore"
API_VERSION = "kubescheduler.config.k8s.io/v1"
KIND = "KubeSchedulerConfiguration"
DEFAULT_PROFILE = "default-scheduler"
DEFAULT_QUEUE_SORT = "PrioritySort"
STOCK_SCORES = {
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "NodeResourcesFit": 1,
    "VolumeBinding": 1,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "DynamicResources": 2,
    "NodeResourcesBalancedAllocation": 1,
    "ImageLocality": 1,
}
"""Upstream's plugins that score in the default profile, with their weights."""
_MOST_SCORE = 100
"""Of a plugin; the node that Longshore chooses is one point ahead of every other."""
NEEDS_POINTS = ("preFilter", "filter", "reserve", "bind")
"""Where the plugin looks at what pods ask for by longshore's own annotations."""
BINDER = "DefaultBinder"
REMOVED_VERSIONS = {
    "v1alpha1": "years ago",
    "v1alpha2": "years ago",
    "v1beta1": "in 1.23",
    "v1beta2": "in 1.28",
    "v1beta3": "in 1.29",
}
"""Earlier versions of the format, each with when Kubernetes stopped reading it."""
REMOVED_PLUGINS = {
    "NodeResourcesLeastAllocated": "`NodeResourcesFit` with `scoringStrategy: {type: LeastAllocated}`",
    "NodeResourcesMostAllocated": "`NodeResourcesFit` with `scoringStrategy: {type: MostAllocated}`",
    "RequestedToCapacityRatio": "`NodeResourcesFit` with `scoringStrategy: {type: RequestedToCapacityRatio}`",
    "NodeLabel": "`NodeAffinity` with `addedAffinity`",
    "ServiceAffinity": "`InterPodAffinity`",
    "NodePreferAvoidPods": "taints with the effect PreferNoSchedule",
    "SelectorSpread": "`PodTopologySpread`",
    "AzureDiskLimits": "`NodeVolumeLimits`",
    "CinderLimits": "`NodeVolumeLimits`",
    "EBSLimits": "`NodeVolumeLimits`",
    "GCEPDLimits": "`NodeVolumeLimits`",
}
"""Plugins of earlier versions and what does their work now."""
EXTENSION_POINTS = (
    *("preEnqueue", "queueSort", "preFilter", "filter", "postFilter", "preScore", "score", "reserve", "permit"),
    *("preBind", "bind", "postBind", "multiPoint", "placementGenerate", "placementScore"),
)
_PLUGIN = {"name": None, "weight": None}
_PLUGIN_SET = {"enabled": [_PLUGIN], "disabled": [_PLUGIN]}
_TLS = ("insecure", "serverName", "certFile", "keyFile", "caFile", "certData", "keyData", "caData")
_EXTENDER = (
    *("urlPrefix", "filterVerb", "preemptVerb", "prioritizeVerb", "weight", "bindVerb", "enableHTTPS", "httpTimeout"),
    *("nodeCacheCapable", "ignorable"),
)
_LEADER_ELECTION = (
    *("leaderElect", "leaseDuration", "renewDeadline", "retryPeriod", "resourceLock", "resourceName"),
    "resourceNamespace",
)
_FIELDS: dict[str, Any] = {
    **dict.fromkeys(("apiVersion", "kind", "parallelism", "enableProfiling", "enableContentionProfiling")),
    **dict.fromkeys(("percentageOfNodesToScore", "podInitialBackoffSeconds", "podMaxBackoffSeconds")),
    "delayCacheUntilActive": None,
    "leaderElection": dict.fromkeys(_LEADER_ELECTION),
    "clientConnection": dict.fromkeys(("kubeconfig", "acceptContentTypes", "contentType", "qps", "burst")),
    "profiles": [
        {
            "schedulerName": None,
            "percentageOfNodesToScore": None,
            "plugins": dict.fromkeys(EXTENSION_POINTS, _PLUGIN_SET),
            "pluginConfig": [{"name": None, "args": None}],
        }
    ],
    "extenders": [
        {
            **dict.fromkeys(_EXTENDER),
            "tlsConfig": dict.fromkeys(_TLS),
            "managedResources": [dict.fromkeys(("name", "ignoredByScheduler"))],
        }
    ],
}
"""Every field of version v1: a mapping, a list of them, or None for a plain value."""


class Finding(NamedTuple):
    """One thing that is wrong."""

    level: Literal["error", "warning"]
    path: str
    """Where, such as `profiles[1].plugins.score`."""
    message: str
    hint: str | None = None


def findings(data: bytes) -> list[Finding]:
    """Return what is wrong with a configuration, errors first; none = nothing was found."""
    try:
        documents = [document for document in yaml.safe_load_all(data) if document is not None]
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        hint = 'write a star in quotes: `- name: "*"`' if re.search(rb":\s*\*", data) else None
        return [Finding("error", "", f"not YAML: {' '.join(str(error).split())}", hint)]
    if len(documents) != 1 or not isinstance(documents[0], dict):
        got = f"{len(documents)} documents" if len(documents) != 1 else f"a {type(documents[0]).__name__}"
        return [Finding("error", "", f"got {got}, expected one {KIND}")]
    content = documents[0]
    shape = list(_shape(content, _FIELDS, ""))
    found = [*_version(content), *shape]
    if not any(one.message.endswith(_SHAPES) for one in shape):  # else there is nothing to look into
        found += _profiles(content)
    return sorted(found, key=lambda one: one.level)


def _version(content: Mapping[str, Any]) -> Iterator[Finding]:
    version = content.get("apiVersion")
    group, _, name = str(version).partition("/")
    if version is None:
        yield Finding("error", "apiVersion", "missing", f"write `apiVersion: {API_VERSION}`")
    elif group == "kubescheduler.config.k8s.io" and name in REMOVED_VERSIONS:
        yield Finding(
            "error",
            "apiVersion",
            f"got `{version}`, which Kubernetes stopped reading {REMOVED_VERSIONS[name]}",
            f"write `apiVersion: {API_VERSION}`; fields and plugins that went with the old version are named below",
        )
    elif version != API_VERSION:
        yield Finding("error", "apiVersion", f"got `{version}`, expected `{API_VERSION}`")
    if content.get("kind") != KIND:
        yield Finding("error", "kind", f"got `{content.get('kind')}`, expected `{KIND}`")


_GONE_FIELDS = {
    "algorithmSource": "it went with v1alpha1; name plugins in `profiles`",
    "schedulerName": "it went with v1alpha1; each of `profiles` has its own",
    "hardPodAffinitySymmetricWeight": "it is an argument of InterPodAffinity now: `hardPodAffinityWeight`",
    "disablePreemption": "disable `DefaultPreemption` in `plugins.postFilter`",
    "bindTimeoutSeconds": "it is an argument of VolumeBinding now",
    "healthzBindAddress": "it went with v1beta3; use the flags --bind-address and --secure-port",
    "metricsBindAddress": "it went with v1beta3; use the flags --bind-address and --secure-port",
    "unreserve": "it went with v1alpha2; `reserve` has both",
}
"""Fields of earlier versions and what to do instead."""


_SHAPES = ("expected a list", "expected a mapping")


def _shape(content: Any, fields: Any, path: str) -> Iterator[Finding]:
    """Yield unknown fields and values of the wrong shape."""
    if fields is None:
        return
    if isinstance(fields, list):
        if not isinstance(content, list):
            yield Finding("error", path, f"got a {type(content).__name__}, expected a list")
            return
        for number, each in enumerate(content):
            yield from _shape(each, fields[0], f"{path}[{number}]")
        return
    if not isinstance(content, dict):
        yield Finding("error", path, f"got a {type(content).__name__}, expected a mapping")
        return
    for name, value in content.items():
        inner = f"{path}.{name}" if path else str(name)
        if name not in fields:
            nearest = nearest_name(str(name), fields)
            hint = _GONE_FIELDS.get(str(name)) or (f"did you mean `{nearest}`?" if nearest else None)
            yield Finding("error", inner, "no such field in version v1", hint)
        elif value is not None:
            yield from _shape(value, fields[name], inner)


def _profiles(content: Mapping[str, Any]) -> Iterator[Finding]:
    yield from _percentage("percentageOfNodesToScore", content.get("percentageOfNodesToScore"))
    profiles = content.get("profiles") or []
    yield from _names(profiles)
    yield from _queue_sorts(profiles)
    for number, profile in enumerate(profiles):
        yield from _profile(profile or {}, f"profiles[{number}]")
    if not any(_is_named(profile or {}) for profile in profiles):
        yield Finding("warning", "profiles", f"no profile enables the plugin {PLUGIN}", "see scheduler/config/*.yaml")


def _names(profiles: list[Any]) -> Iterator[Finding]:
    names = [(profile or {}).get("schedulerName") for profile in profiles]
    for name, count in Counter(name for name in names if name).items():
        if count > 1:
            numbers = [f"profiles[{number}]" for number, each in enumerate(names) if each == name]
            yield Finding(
                "error", numbers[1], f"schedulerName `{name}` is that of {numbers[0]} too; each needs its own"
            )
    if len(profiles) > 1:
        for number, name in enumerate(names):
            if not name:
                yield Finding("error", f"profiles[{number}].schedulerName", "missing: with several, each needs a name")
    if profiles and DEFAULT_PROFILE not in names and any(names):
        yield Finding(
            "warning",
            "profiles",
            f"no profile is called `{DEFAULT_PROFILE}`: pods that name no scheduler are left to another kube-scheduler",
            f"if this is the cluster's only one, add `- schedulerName: {DEFAULT_PROFILE}`",
        )


def _queue_sorts(profiles: list[Any]) -> Iterator[Finding]:
    """All profiles share one queue; upstream wants the very same words about it in all of them."""
    found = [((profile or {}).get("plugins") or {}).get("queueSort") or {} for profile in profiles]
    for number, queue_sort in enumerate(found[1:], start=1):
        if queue_sort != found[0]:
            message = (
                f"got {queue_sort or 'none'}, expected {found[0] or 'none'} as in profiles[0]: they share one queue"
            )
            yield Finding("error", f"profiles[{number}].plugins.queueSort", message)
    names = {str((each or {}).get("name")) for queue_sort in found for each in queue_sort.get("enabled") or []}
    for name in sorted(names or {DEFAULT_QUEUE_SORT}):
        given = [_arguments(profile or {}).get(name) for profile in profiles]
        for number, arguments in enumerate(given[1:], start=1):
            if arguments != given[0]:
                message = f"the arguments of `{name}` differ from those in profiles[0]: they share one queue"
                yield Finding("error", f"profiles[{number}].pluginConfig", message)


def _profile(profile: Mapping[str, Any], path: str) -> Iterator[Finding]:
    yield from _percentage(f"{path}.percentageOfNodesToScore", profile.get("percentageOfNodesToScore"))
    yield from _plugin_names(profile, path)
    names = [each.get("name") for each in profile.get("pluginConfig") or [] if each]
    for name, count in Counter(names).items():
        if count > 1:
            yield Finding("error", f"{path}.pluginConfig", f"`{name}` has arguments {count} times, expected once")
    arguments = _arguments(profile)
    if not _is_named(profile):
        if PLUGIN in arguments:
            message = f"{PLUGIN} has arguments but is enabled nowhere"
            yield Finding("error", f"{path}.plugins", message, "enable it in `preScore` and `score`")
        return
    yield from _plugin_arguments(arguments, names, path)
    is_shadow = isinstance(arguments.get(PLUGIN), dict) and arguments[PLUGIN].get("shadow") is True
    yield from _scores(profile, path, is_shadow)
    if not is_shadow:  # it then lets every node pass
        yield from _needs(profile, path)
    if is_shadow and not arguments[PLUGIN].get("decisionLog"):
        message = "shadow without a `decisionLog`: nothing shows what the policy would have done"
        yield Finding("warning", f"{path}.pluginConfig", message)


def _plugin_arguments(arguments: Mapping[str, Any], names: list[Any], path: str) -> Iterator[Finding]:
    if PLUGIN not in arguments:
        message = f"no arguments for {PLUGIN}: it needs at least `modelPath`"
        hint = f"add `- name: {PLUGIN}` with `args: {{modelPath: /var/lib/longshore/model}}`"
        yield Finding("error", f"{path}.pluginConfig", message, hint)
        return
    above = f"{path}.pluginConfig[{names.index(PLUGIN)}].args"
    for problem in argument_problems(arguments[PLUGIN] or {}):
        inner = f"{above}.{problem.field}" if problem.field else above
        yield Finding("error", inner, problem.message, problem.hint)


def _scores(profile: Mapping[str, Any], path: str, is_shadow: bool) -> Iterator[Finding]:
    """Check that Longshore ranks with a weight that decides, and that others do where it does not."""
    place = f"{path}.plugins.score"
    weights = _score_weights(profile)
    if PLUGIN not in {*_named(profile, "multiPoint", "enabled"), *_named(profile, "preScore", "enabled")}:
        yield Finding(
            "error", f"{path}.plugins.preScore", f"{PLUGIN} is not enabled here: it would never rank anything"
        )
    if not is_shadow and PLUGIN not in weights:
        yield Finding("error", place, f"{PLUGIN} is not enabled here: its ranking would not be used")
    others = {name: weight for name, weight in weights.items() if name != PLUGIN}
    if is_shadow:
        return
    if not others:
        message = f"no plugin but {PLUGIN} scores: nothing is left to rank whenever the policy does not"
        yield Finding("error", place, message, "leave upstream's score plugins enabled")
    elif weights.get(PLUGIN, 0) <= (least := _MOST_SCORE * sum(others.values())):
        message = f"the weight of {PLUGIN} is {weights.get(PLUGIN, 0)}: it is one voice among {len(others)} others"
        yield Finding("warning", place, message, f"a weight above {least} lets it decide alone, and the others rest")


def _needs(profile: Mapping[str, Any], path: str) -> Iterator[Finding]:
    """Check that Longshore also filters and binds, for what pods ask for by its annotations."""
    has_all = PLUGIN in _named(profile, "multiPoint", "enabled")
    missing = [point for point in NEEDS_POINTS if not has_all and PLUGIN not in _named(profile, point, "enabled")]
    if missing:
        message = f"{PLUGIN} is not enabled in {', '.join(missing)}: GPUs and hard latency limits of pods may not hold"
        yield Finding("warning", f"{path}.plugins", message, "see scheduler/config/*.yaml")
        return
    enabled = _named(profile, "bind", "enabled")
    is_off = {"*", BINDER} & {*_named(profile, "bind", "disabled"), *_named(profile, "multiPoint", "disabled")}
    hint = f"disable `{BINDER}` in `bind`, and enable `{PLUGIN}` and then `{BINDER}`"
    if not is_off or (PLUGIN in enabled and BINDER in enabled[: enabled.index(PLUGIN)]):
        message = f"`{BINDER}` binds before {PLUGIN} could: which GPUs a pod holds is not written down"
        yield Finding("warning", f"{path}.plugins.bind", message, hint)


def _score_weights(profile: Mapping[str, Any]) -> dict[str, int]:
    """Return the plugins that score, with their weights, by upstream's rule: `*` at a point keeps multiPoint's from
    coming back there, and a weight of 0 is 1."""
    enabled, everywhere = (_weights(profile, point) for point in ("score", "multiPoint"))
    disabled, nowhere = (_named(profile, point, "disabled") for point in ("score", "multiPoint"))
    stock = {} if "*" in nowhere else {name: weight for name, weight in STOCK_SCORES.items() if name not in nowhere}
    known = (*STOCK_SCORES, PLUGIN)
    implied = {name: weight for name, weight in (stock | everywhere).items() if name in known and name not in disabled}
    return ({} if "*" in disabled else implied) | enabled


def _weights(profile: Mapping[str, Any], point: str) -> dict[str, int]:
    plugin_set = (profile.get("plugins") or {}).get(point) or {}
    found = {}
    for each in plugin_set.get("enabled") or []:
        weight = (each or {}).get("weight")
        found[str((each or {}).get("name", ""))] = weight if isinstance(weight, int) and weight > 0 else 1
    return found


def _plugin_names(profile: Mapping[str, Any], path: str) -> Iterator[Finding]:
    for point in EXTENSION_POINTS:
        for which in ("enabled", "disabled"):
            names = _named(profile, point, which)
            for name in dict.fromkeys(names):
                place = f"{path}.plugins.{point}.{which}"
                if name in REMOVED_PLUGINS:
                    yield Finding("error", place, f"`{name}` is no more", f"use {REMOVED_PLUGINS[name]}")
                elif names.count(name) > 1:
                    yield Finding("error", place, f"`{name}` is there {names.count(name)} times, expected once")
                elif name != PLUGIN and name.lower() == PLUGIN.lower():
                    yield Finding("error", place, f"unknown plugin `{name}`", f"did you mean `{PLUGIN}`?")


def _percentage(path: str, value: Any) -> Iterator[Finding]:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= 100):
        yield Finding("error", path, f"got `{value}`, expected a whole number from 0 to 100")


def _named(profile: Mapping[str, Any], point: str, which: str) -> list[str]:
    """Return the names of a plugin set."""
    plugin_set = (profile.get("plugins") or {}).get(point) or {}
    return [str((each or {}).get("name", "")) for each in plugin_set.get(which) or []]


def _is_named(profile: Mapping[str, Any]) -> bool:
    return any(PLUGIN in _named(profile, point, "enabled") for point in ("preScore", "score", "multiPoint"))


def _arguments(profile: Mapping[str, Any]) -> dict[str, Any]:
    return {str(each.get("name")): each.get("args") for each in profile.get("pluginConfig") or [] if each}
