"""Parses a `KubeSchedulerConfiguration`: a loaded document in, a frozen record out, or all its errors.

Which keys there are is in `keys`. Files and flags are for `cli`, feature gates for `gates`.
"""

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from reprieve.config.decoding import ConfigError, InvalidConfigurationError, newly_wrong, read, shown, sound
from reprieve.config.keys.global_settings import KIND, NAME, Document, GlobalSettings
from reprieve.config.keys.plugin_args import API_VERSION
from reprieve.config.profiles import KubeSchedulerProfile, read_profile
from reprieve.model.objects import Record

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
    read(Document, document, "", errors)
    settings = sound(GlobalSettings, document)
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
    errors.extend(newly_wrong(_wrong_names(read_ones), errors))
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
            message = f"expected a unique name, got {shown(name)} as in {seen[name]}"
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
