"""One profile of a `KubeSchedulerConfiguration`: which plugins it enables, their weights and their arguments.

Names and extension points are kube-scheduler's. Reprieve has no plugins: a name stands for a part of it, and
`assembly` knows for which.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from reprieve.config import plugin_args, reprieve_args
from reprieve.config.decoding import (
    ConfigError,
    NonEmpty,
    NonNegative,
    Percentage,
    is_misspelt,
    new_errors,
    read_record,
    spelling_hint,
    value_text,
)
from reprieve.config.plugin_args import (
    DefaultPreemptionArgs,
    InterPodAffinityArgs,
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PluginArgs,
    PodTopologySpreadArgs,
    VolumeBindingArgs,
)
from reprieve.config.reprieve_args import ReprieveArgs, read_reprieve_args
from reprieve.model.objects import Record

EVERY = "*"
FILTER = ("preFilter", "filter")
SCORE = ("preScore", "score")

# The plugins that Reprieve has a counterpart for, and their extension points.
PLUGINS: dict[str, tuple[str, ...]] = {
    "SchedulingGates": ("preEnqueue",),
    "PrioritySort": ("queueSort",),
    "NodeName": FILTER,
    "NodeUnschedulable": FILTER,
    "TaintToleration": FILTER + SCORE,
    "NodeAffinity": FILTER + SCORE,
    "NodePorts": FILTER,
    "DeferredPodScheduling": (*FILTER, "permit"),
    "NodeResourcesFit": (*FILTER, *SCORE, "placementScore"),
    "VolumeRestrictions": FILTER,
    "NodeVolumeLimits": FILTER,
    "VolumeBinding": (*FILTER, "reserve", "preBind"),
    "VolumeZone": FILTER,
    "PodTopologySpread": FILTER + SCORE,
    "InterPodAffinity": FILTER + SCORE,
    "DefaultPreemption": ("preEnqueue", "postFilter", "podGroupPostFilter"),
    "NodeResourcesBalancedAllocation": SCORE,
    "ImageLocality": SCORE,
    "DefaultBinder": ("bind",),
    "NodeDeclaredFeatures": FILTER,
    "GangScheduling": ("preEnqueue", "permit"),
    "TopologyPlacementGenerator": ("placementGenerate",),
    "PodGroupPodsCount": ("placementScore",),
}

DEFAULT_WEIGHTS = {
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
}

# Plugins that are rejected, with what to do instead.
REFUSED = {
    "DynamicResources": "Reprieve does not allocate ResourceClaims: pods with one stay pending",
    "PreemptionToleration": "tolerations are a part of preemption: enable DefaultPreemption "
    "and the feature gate PreemptionToleration instead",
}

# The plugins that no profile can disable, by extension point.
INDISPENSABLE = {
    "preEnqueue": "SchedulingGates",
    "queueSort": "PrioritySort",
    "filter": "VolumeBinding",
    "reserve": "VolumeBinding",
    "preBind": "VolumeBinding",
    "bind": "DefaultBinder",
}


class Plugin(Record, frozen=True):
    name: NonEmpty
    weight: NonNegative = 0


class PluginSet(Record, frozen=True):
    enabled: tuple[Plugin, ...] = ()
    disabled: tuple[Plugin, ...] = ()

    def turns_off(self, name: str) -> bool:
        return any(plugin.name in (name, EVERY) for plugin in self.disabled)


class Plugins(Record, frozen=True):
    pre_enqueue: PluginSet = PluginSet()
    queue_sort: PluginSet = PluginSet()
    pre_filter: PluginSet = PluginSet()
    filter: PluginSet = PluginSet()
    post_filter: PluginSet = PluginSet()
    pre_score: PluginSet = PluginSet()
    score: PluginSet = PluginSet()
    reserve: PluginSet = PluginSet()
    permit: PluginSet = PluginSet()
    pre_bind: PluginSet = PluginSet()
    bind: PluginSet = PluginSet()
    post_bind: PluginSet = PluginSet()
    multi_point: PluginSet = PluginSet()
    placement_generate: PluginSet = PluginSet()
    placement_score: PluginSet = PluginSet()
    pod_group_post_filter: PluginSet = PluginSet()

    def sets(self) -> dict[str, PluginSet]:
        """The set of each extension point, by the point's name."""
        return {f.encode_name: getattr(self, f.name) for f in msgspec.structs.fields(Plugins)}


def enabled_plugins(plugins: Plugins) -> dict[str, dict[str, int]]:
    """The plugins that are enabled at each point, with their weights.

    A specific point beats `multiPoint`, and that beats the defaults.
    """
    sets = plugins.sets()
    general = sets.pop("multiPoint")
    defaults = {n: DEFAULT_WEIGHTS.get(n, 1) for n in PLUGINS if not general.turns_off(n)}
    weights = {**defaults, **_weights(general)}
    return {
        point: {
            **{n: w for n, w in weights.items() if _extends(n, point) and not s.turns_off(n)},
            **_weights(s),
        }
        for point, s in sets.items()
    }


def plugin_errors(plugins: Plugins, path: str) -> Iterator[ConfigError]:
    """Errors for plugins that Reprieve does not have, or cannot disable."""
    for point, plugin_set in plugins.sets().items():
        for i, plugin in enumerate(plugin_set.disabled):
            if plugin.name not in PLUGINS and is_misspelt(plugin.name, PLUGINS):
                absent = f"there is no plugin {plugin.name} to disable{_hint(plugin.name)}"
                yield ConfigError(path=f"{path}.{point}.disabled[{i}].name", message=absent)
        seen: set[str] = set()
        for i, plugin in enumerate(plugin_set.enabled):
            message = (
                f"{plugin.name} is listed twice" if plugin.name in seen else _refusal(plugin.name, point)
            )
            if message is not None:
                yield ConfigError(path=f"{path}.{point}.enabled[{i}].name", message=message)
            seen.add(plugin.name)
    enabled = enabled_plugins(plugins)
    for point, name in INDISPENSABLE.items():
        if name not in enabled[point]:
            message = f"{name} cannot be disabled: Reprieve needs it"
            yield ConfigError(path=f"{path}.{point}", message=message)


def plugin_warnings(plugins: Plugins, path: str) -> Iterator[ConfigError]:
    """Warnings for scoring plugins that Reprieve does not have (they only change which node is preferred),
    and for filters that are off: pods then run where Kubernetes would not let them."""
    on = enabled_plugins(plugins)["filter"]
    for name in (name for name in PLUGINS if _extends(name, "filter") and name not in on):
        message = f"the filter {name} is disabled: nodes are not checked for what it rejects"
        yield ConfigError(path=f"{path}.filter", message=message)
    for point, plugin_set in plugins.sets().items():
        for i, plugin in enumerate(plugin_set.enabled):
            if plugin.name not in PLUGINS:
                message = f"Reprieve has no scoring plugin {plugin.name}: it is ignored"
                yield ConfigError(path=f"{path}.{point}.enabled[{i}].name", message=message)
        for i, plugin in enumerate(plugin_set.disabled):
            if plugin.name not in PLUGINS and plugin.name not in (EVERY, *REFUSED):
                message = f"there is no plugin {plugin.name} to disable{_hint(plugin.name)}"
                yield ConfigError(path=f"{path}.{point}.disabled[{i}].name", message=message)


def unknown_scorers(plugins: Plugins) -> set[str]:
    """The scoring plugins that are ignored with a warning."""
    named = (plugin.name for point in SCORE for plugin in plugins.sets()[point].enabled)
    return {name for name in named if name not in PLUGINS}


def _weights(plugin_set: PluginSet) -> dict[str, int]:
    """The known plugins that a set enables. Weight 0 means 1, as upstream."""
    return {p.name: p.weight or 1 for p in plugin_set.enabled if p.name in PLUGINS}


def _extends(name: str, point: str) -> bool:
    return point in PLUGINS[name]


def _refusal(name: str, point: str) -> str | None:
    if name in PLUGINS:
        wrong = point != "multiPoint" and not _extends(name, point)
        return f"{name} does not extend {point}, only {', '.join(PLUGINS[name])}" if wrong else None
    if point in SCORE and not is_misspelt(name, PLUGINS):
        return None  # ignoring a scoring plugin makes no node feasible or infeasible: a warning is enough
    return REFUSED.get(name) or f"Reprieve has no plugin {name}{_hint(name)}"


def _hint(name: str) -> str:
    return spelling_hint(name, PLUGINS)


class ProfileArgs(Record, frozen=True, rename="pascal"):
    """The arguments of every plugin that has any, by the plugin's name."""

    reprieve: ReprieveArgs = ReprieveArgs()
    node_resources_fit: NodeResourcesFitArgs = NodeResourcesFitArgs()
    node_resources_balanced_allocation: NodeResourcesBalancedAllocationArgs = (
        NodeResourcesBalancedAllocationArgs()
    )
    inter_pod_affinity: InterPodAffinityArgs = InterPodAffinityArgs()
    pod_topology_spread: PodTopologySpreadArgs = PodTopologySpreadArgs()
    node_affinity: NodeAffinityArgs = NodeAffinityArgs()
    default_preemption: DefaultPreemptionArgs = DefaultPreemptionArgs()
    volume_binding: VolumeBindingArgs = VolumeBindingArgs()


ARGS = {field.encode_name: field for field in msgspec.structs.fields(ProfileArgs)}


class KubeSchedulerProfile(Record, frozen=True):
    scheduler_name: str
    args: ProfileArgs
    enabled: dict[str, dict[str, int]]
    """The plugins that are enabled at each extension point, with their weights."""

    @property
    def preemption(self) -> bool:
        """Whether preemption is enabled, for pods and for groups."""
        return self._is_on("DefaultPreemption", ("postFilter", "podGroupPostFilter"))

    @property
    def gang_scheduling(self) -> bool:
        return self._is_on("GangScheduling", PLUGINS["GangScheduling"])

    @property
    def filters(self) -> tuple[str, ...]:
        return tuple(self.enabled["filter"])

    @property
    def score_weights(self) -> Mapping[str, int]:
        return self.enabled["score"]

    def _is_on(self, plugin: str, points: tuple[str, ...]) -> bool:
        return all(plugin in self.enabled[point] for point in points)


class PluginConfig(Record, frozen=True):
    name: NonEmpty
    args: dict[str, Any] = {}


class ProfileDocument(Record, frozen=True):
    scheduler_name: NonEmpty | None = None
    percentage_of_nodes_to_score: Percentage | None = None
    plugins: Plugins = Plugins()
    plugin_config: tuple[Any, ...] = ()
    """Decoded one by one, so that an error in one entry hides none in another."""


def read_profile(
    document: object, path: str, errors: list[ConfigError], warnings: list[ConfigError]
) -> KubeSchedulerProfile | None:
    """One profile. Its name is empty if the document has none."""
    written = read_record(ProfileDocument, document, path, errors)
    if written is None:
        return None
    errors.extend(new_errors(plugin_errors(written.plugins, f"{path}.plugins"), errors))
    warnings.extend(plugin_warnings(written.plugins, f"{path}.plugins"))
    return KubeSchedulerProfile(
        scheduler_name=written.scheduler_name or "",
        args=_read_args(written, f"{path}.pluginConfig", errors, warnings),
        enabled=enabled_plugins(written.plugins),
    )


def _read_args(
    profile: ProfileDocument, path: str, errors: list[ConfigError], warnings: list[ConfigError]
) -> ProfileArgs:
    found: dict[str, Any] = {}
    ignored = unknown_scorers(profile.plugins)
    seen: set[str] = set()
    for i, document in enumerate(profile.plugin_config):
        entry = read_record(PluginConfig, document, f"{path}[{i}]", errors)
        if entry is None:
            continue
        if entry.name in seen:
            message = f"{entry.name} is configured twice"
            errors.append(ConfigError(path=f"{path}[{i}].name", message=message))
        elif entry.name in ARGS:
            read_args = _read_plugin_args(entry, f"{path}[{i}].args", errors, warnings)
            found |= {ARGS[entry.name].name: read_args} if read_args else {}
        elif entry.name not in ignored:
            errors.extend(_unread(entry, f"{path}[{i}]"))
        seen.add(entry.name)
    return ProfileArgs(**found)


def _read_plugin_args(
    entry: PluginConfig, path: str, errors: list[ConfigError], warnings: list[ConfigError]
) -> ReprieveArgs | PluginArgs | None:
    kind: type[PluginArgs] | type[ReprieveArgs] = ARGS[entry.name].type
    errors.extend(_wrong_type(entry.args, kind, path))
    fields = {key: value for key, value in entry.args.items() if key not in ("apiVersion", "kind")}
    if issubclass(kind, ReprieveArgs):
        return read_reprieve_args(fields, path, errors, warnings)
    result = read_record(kind, fields, path, errors)
    if result is not None:
        broken_rules = (ConfigError(path=f"{path}.{p}", message=m) for p, m in result.errors())
        errors.extend(new_errors(broken_rules, errors))
    return result


def _wrong_type(document: Mapping[str, object], kind: type, path: str) -> Iterator[ConfigError]:
    """apiVersion and kind are optional in arguments; if present, they must match."""
    version = reprieve_args.API_VERSION if kind is ReprieveArgs else plugin_args.API_VERSION
    for key, expected in (("apiVersion", version), ("kind", kind.__name__)):
        if document.get(key) not in (None, expected):
            message = f"expected {value_text(expected)}, got {value_text(document[key])}"
            yield ConfigError(path=f"{path}.{key}", message=message)


def _unread(entry: PluginConfig, path: str) -> Iterator[ConfigError]:
    if entry.name not in PLUGINS:
        known = f"Reprieve has no plugin {entry.name}{spelling_hint(entry.name, PLUGINS | ARGS)}"
        yield ConfigError(path=f"{path}.name", message=REFUSED.get(entry.name) or known)
    elif entry.args:
        yield ConfigError(path=f"{path}.args", message=f"{entry.name} takes no arguments")
