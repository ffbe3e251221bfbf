"""Parses a `KubeSchedulerConfiguration`: a loaded document in, a record out or all its errors, and back.

The keys of the whole scheduler are here, with types and defaults. For users they are described in
`docs/reference/configuration.md`; a test compares the two. Files and flags are for `cli`.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from reprieve.config import plugin_args, reprieve_args
from reprieve.config.decoding import (
    ConfigError,
    InvalidConfigurationError,
    NonEmpty,
    NonNegative,
    Percentage,
    Positive,
    Seconds,
    new_errors,
    read_record,
    value_text,
)
from reprieve.config.plugin_args import API_VERSION
from reprieve.config.profiles import (
    ARGS,
    EVERY,
    PLUGINS,
    KubeSchedulerProfile,
    Plugins,
    enabled_plugins,
    read_profile,
)
from reprieve.model.json import Json
from reprieve.model.objects import Record

KIND = "KubeSchedulerConfiguration"
NAME = "reprieve"


class LeaderElection(Record, frozen=True):
    leader_elect: bool = True  # whether replicas elect a leader: two that decide would conflict
    lease_duration: Seconds = Seconds(15)  # how long a lease may go unrenewed before another replica leads
    renew_deadline: Seconds = Seconds(10)  # how long a leader tries to renew before it stops
    retry_period: Seconds = Seconds(2)  # how often the lease is renewed or requested
    resource_lock: Literal["leases"] = "leases"  # no other kind of lock is supported
    resource_name: NonEmpty = NAME  # of the lease: not kube-scheduler's, so that both can run
    resource_namespace: NonEmpty = "kube-system"


class ClientConnection(Record, frozen=True):
    kubeconfig: str = ""  # wins over --kubeconfig; empty: that flag, or the usual places
    accept_content_types: str = ""  # no effect
    content_type: str = "application/json"  # no effect
    qps: float = 50.0  # requests per second, and as many for events; 0: the default, negative: no limit
    burst: NonNegative = 100  # requests at once; 0: the default


class GlobalSettings(Record, frozen=True):
    """The fields that apply to the whole scheduler, and not to one profile."""

    parallelism: Positive = 16  # no effect: all nodes are evaluated in one step
    percentage_of_nodes_to_score: Percentage = 0  # no effect: all nodes are scored
    pod_initial_backoff_seconds: Positive = (
        1  # after the first failure of a demand; doubled for each further one
    )
    pod_max_backoff_seconds: Positive = 10
    leader_election: LeaderElection = LeaderElection()
    client_connection: ClientConnection = ClientConnection()
    delay_cache_until_active: bool = False  # whether a replica starts its watches only when it leads
    enable_profiling: bool = False  # no effect
    enable_contention_profiling: bool = False  # no effect


class Document(GlobalSettings, frozen=True, kw_only=True):
    """The document; profiles and extenders are decoded one by one."""

    api_version: Literal["kubescheduler.config.k8s.io/v1"]
    kind: Literal["KubeSchedulerConfiguration"]
    profiles: tuple[Any, ...] = ()
    extenders: tuple[Any, ...] = ()


RETRY_JITTER = 1.2  # client-go's: a retry may come this much later than its period


class Configuration(Record, frozen=True):
    settings: GlobalSettings
    profiles: tuple[KubeSchedulerProfile, ...]
    warnings: tuple[ConfigError, ...] = ()
    """What is ignored without harm."""


def parse_configuration(document: object) -> Configuration:
    """InvalidConfigurationError, with all errors, if the document is invalid."""
    errors: list[ConfigError] = []
    warnings: list[ConfigError] = []
    read_record(Document, document, "", errors)
    settings = read_record(GlobalSettings, document, "", [])  # errors are those of the document
    errors.extend(_contradictions(settings, {error.path for error in errors}) if settings else ())
    profiles = _read_profiles(_items(document, "profiles"), errors, warnings)
    errors.extend(_refused_extenders(_items(document, "extenders")))
    if settings is None or errors:
        raise InvalidConfigurationError(errors)
    return Configuration(settings=settings, profiles=profiles, warnings=tuple(warnings))


def default_configuration() -> Configuration:
    """The configuration of an empty document."""
    return parse_configuration({"apiVersion": API_VERSION, "kind": KIND})


def _items(document: object, key: str) -> list[object]:
    """A list of the document, decoded separately so that its errors are found even if others come first."""
    items = document.get(key) if isinstance(document, Mapping) else None
    return list(items) if isinstance(items, list | tuple) else []


def _read_profiles(
    documents: list[object], errors: list[ConfigError], warnings: list[ConfigError]
) -> tuple[KubeSchedulerProfile, ...]:
    read_ones: dict[str, KubeSchedulerProfile] = {}
    valid_ones: dict[str, KubeSchedulerProfile] = {}
    for i, document in enumerate(documents or [{}]):
        known, path = len(errors), f"profiles[{i}]"
        profile = read_profile(document, path, errors, warnings)
        read_ones |= {path: profile} if profile is not None else {}
        valid_ones |= {path: profile} if profile is not None and len(errors) == known else {}
    if len(documents) <= 1:
        return tuple(replace(p, scheduler_name=p.scheduler_name or NAME) for p in read_ones.values())
    errors.extend(new_errors(_wrong_names(read_ones), errors))
    # A profile with an error has defaults where it may be meant to agree with the others.
    errors.extend(_differing_gang_support(valid_ones))
    errors.extend(_differing_volume_timeouts(valid_ones))
    errors.extend(_differing_rules_for_gangs(valid_ones))
    return tuple(read_ones.values())


def _wrong_names(profiles: dict[str, KubeSchedulerProfile]) -> Iterator[ConfigError]:
    seen: dict[str, str] = {}
    for path, profile in profiles.items():
        name = profile.scheduler_name
        if not name:
            message = "required with several profiles: expected a non-empty string"
            yield ConfigError(path=f"{path}.schedulerName", message=message)
        elif name in seen:
            message = f"expected a unique name, got {value_text(name)} as in {seen[name]}"
            yield ConfigError(path=f"{path}.schedulerName", message=message)
        seen.setdefault(name, path)


def _differing_gang_support(profiles: dict[str, KubeSchedulerProfile]) -> Iterator[ConfigError]:
    """The pods of one gang may name different profiles: one rule must hold for all."""
    if len({profile.gang_scheduling for profile in profiles.values()}) > 1:
        without = [path for path, profile in profiles.items() if not profile.gang_scheduling]
        message = f"GangScheduling must be on in all profiles or in none, and is off in {', '.join(without)}"
        yield ConfigError(path="profiles", message=message)


def _differing_volume_timeouts(profiles: dict[str, KubeSchedulerProfile]) -> Iterator[ConfigError]:
    """Pods of several profiles may share a claim."""
    if len({profile.args.volume_binding.bind_timeout_seconds for profile in profiles.values()}) > 1:
        message = "bindTimeoutSeconds of VolumeBinding must be the same in all profiles"
        yield ConfigError(path="profiles", message=message)


def _differing_rules_for_gangs(profiles: dict[str, KubeSchedulerProfile]) -> Iterator[ConfigError]:
    """A group is one demand, whichever profiles its pods name."""
    args = [profile.args.reprieve for profile in profiles.values()]
    for key, choices in (
        ("gangPreemption", {one.gang_preemption for one in args}),
        ("divergence", {one.divergence for one in args}),
        ("groupResizeWindow", {one.group_resize_window for one in args}),
        ("longestGrace", {one.longest_grace for one in args}),
        ("stuckVictimSeconds", {one.stuck_victim_seconds for one in args}),
    ):
        if len(choices) > 1:
            message = f"{key} of Reprieve must be the same in all profiles"
            yield ConfigError(path="profiles", message=message)


def _refused_extenders(extenders: list[object]) -> Iterator[ConfigError]:
    for i in range(len(extenders)):
        message = "extenders are not supported; remove it: ignoring it could change which nodes fit"
        yield ConfigError(path=f"extenders[{i}]", message=message)


def _contradictions(settings: GlobalSettings, wrong: set[str]) -> Iterator[ConfigError]:
    """Rules between two fields. ``wrong``: the paths of fields that have a default in place of an error."""
    initial, most = settings.pod_initial_backoff_seconds, settings.pod_max_backoff_seconds
    if most < initial and not wrong & {"podInitialBackoffSeconds", "podMaxBackoffSeconds"}:
        message = f"expected at least podInitialBackoffSeconds ({initial}), got {most}"
        yield ConfigError(path="podMaxBackoffSeconds", message=message)
    election, lease, renew = (
        settings.leader_election,
        "leaderElection.leaseDuration",
        "leaderElection.renewDeadline",
    )
    shortest = int(election.lease_duration)  # a Lease has it in whole seconds
    if shortest <= election.renew_deadline and not wrong & {lease, renew}:
        message = f"expected more than renewDeadline ({election.renew_deadline:g}s), in whole seconds"
        yield ConfigError(path=lease, message=message)
    too_late = election.renew_deadline <= election.retry_period * RETRY_JITTER
    if too_late and not wrong & {renew, "leaderElection.retryPeriod"}:
        message = f"expected more than {RETRY_JITTER} times retryPeriod"
        yield ConfigError(path=renew, message=message)


# --- written with all defaults --------------------------------------------------------------------


_DEFAULT_PLUGINS = enabled_plugins(Plugins())


def as_document(configured: Configuration) -> Json:
    """Write a configuration with all its keys. Parsing it gives the same configuration."""
    head = {"apiVersion": plugin_args.API_VERSION, "kind": KIND}
    return {**head, **_plain(configured.settings), "profiles": [_profile(p) for p in configured.profiles]}


def _profile(profile: KubeSchedulerProfile) -> Json:
    document: Json = {"schedulerName": profile.scheduler_name}
    if profile.enabled != _DEFAULT_PLUGINS:
        document["plugins"] = {point: _plugins(on) for point, on in profile.enabled.items()}
    document["pluginConfig"] = [_plugin_config(profile, name) for name in ARGS]
    return document


def _plugins(enabled: dict[str, int]) -> Json:
    on = [{"name": name, "weight": weight} for name, weight in enabled.items()]
    return {"enabled": on, "disabled": [{"name": EVERY}]}


def _plugin_config(profile: KubeSchedulerProfile, name: str) -> Json:
    field = ARGS[name]
    version = plugin_args.API_VERSION if name in PLUGINS else reprieve_args.API_VERSION
    head = {"apiVersion": version, "kind": field.type.__name__}
    return {"name": name, "args": {**head, **_plain(getattr(profile.args, field.name))}}


def _plain(value: object) -> Any:
    """A value for YAML, with all defaults and without unset fields."""
    match value:
        case msgspec.Struct():
            inside = {f.encode_name: getattr(value, f.name) for f in msgspec.structs.fields(value)}
            return {key: _plain(item) for key, item in inside.items() if item is not None}
        case tuple() | list():
            return [_plain(item) for item in value]
        case dict():
            return {key: _plain(item) for key, item in value.items()}
        case Seconds():
            return _length(value)
    return msgspec.to_builtins(value)


def _length(seconds: Seconds) -> str:
    return f"{seconds:f}".rstrip("0").rstrip(".") + "s"
