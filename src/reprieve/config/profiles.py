"""One profile of a `KubeSchedulerConfiguration`: which plugins are enabled, and their arguments.

Other profiles, and what applies to all of them, are not known here.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from reprieve.config.decoding import (
    ConfigError,
    NonEmpty,
    Percentage,
    did_you_mean,
    newly_wrong,
    read,
    shown,
)
from reprieve.config.keys import plugin_args, reprieve_args
from reprieve.config.keys.plugin_args import (
    DefaultPreemptionArgs,
    InterPodAffinityArgs,
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PluginArgs,
    PodTopologySpreadArgs,
    VolumeBindingArgs,
)
from reprieve.config.keys.reprieve_args import ReprieveArgs, read_reprieve_args
from reprieve.config.plugins import (
    PLUGINS,
    REFUSED,
    Plugins,
    enabled_plugins,
    plugin_errors,
    plugin_warnings,
    unknown_scorers,
)
from reprieve.model.objects import Record


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
    written = read(ProfileDocument, document, path, errors)
    if written is None:
        return None
    errors.extend(newly_wrong(plugin_errors(written.plugins, f"{path}.plugins"), errors))
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
        entry = read(PluginConfig, document, f"{path}[{i}]", errors)
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
    result = read(kind, fields, path, errors)
    if result is not None:
        broken_rules = (ConfigError(path=f"{path}.{p}", message=m) for p, m in result.errors())
        errors.extend(newly_wrong(broken_rules, errors))
    return result


def _wrong_type(document: Mapping[str, object], kind: type, path: str) -> Iterator[ConfigError]:
    """apiVersion and kind are optional in arguments; if present, they must match."""
    version = reprieve_args.API_VERSION if kind is ReprieveArgs else plugin_args.API_VERSION
    for key, expected in (("apiVersion", version), ("kind", kind.__name__)):
        if document.get(key) not in (None, expected):
            message = f"expected {shown(expected)}, got {shown(document[key])}"
            yield ConfigError(path=f"{path}.{key}", message=message)


def _unread(entry: PluginConfig, path: str) -> Iterator[ConfigError]:
    if entry.name not in PLUGINS:
        known = f"Reprieve has no plugin {entry.name}{did_you_mean(entry.name, PLUGINS | ARGS)}"
        yield ConfigError(path=f"{path}.name", message=REFUSED.get(entry.name) or known)
    elif entry.args:
        yield ConfigError(path=f"{path}.args", message=f"{entry.name} takes no arguments")
