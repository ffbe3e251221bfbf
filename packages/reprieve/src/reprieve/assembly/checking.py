"""Can Reprieve schedule a cluster? Reads from its API server, and changes nothing there."""

import os
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus

import msgspec

from reprieve import config
from reprieve.assembly.daemon import (
    DaemonError,
    required_permissions,
    reviewed_permissions,
    served_kinds,
    server_version,
)
from reprieve.cluster.api.codec import READERS, Decoded
from reprieve.cluster.api.timestamps import moment, stamp
from reprieve.cluster.kube import client, permissions
from reprieve.cluster.kube.auth import Access, find_access
from reprieve.cluster.kube.client import Connection
from reprieve.cluster.kube.discovery import Discovery
from reprieve.cluster.kube.kubeconfig import AccessError
from reprieve.cluster.kube.requests import (
    PAGE_SIZE,
    KubeRequest,
    NoAnswerError,
    RefusedError,
    list_page,
    list_request,
)
from reprieve.cluster.kube.rest_mapping import CANDIDATES, RestMapping, mapping_of
from reprieve.cluster.kube.watch import streaming_refusal
from reprieve.inquiry.devices import devices_of
from reprieve.model.formatting import counted
from reprieve.model.objects import Pod

_OLDEST = (1, 28)
# Kinds that a server may lack, and what Reprieve then cannot do.
_OPTIONAL = {
    "PodGroup": "no gangs: pods of groups are scheduled one by one",
    "CompositePodGroup": "no trees of groups",
    "VolumeAttachment": "volumes that are attached to nodes are counted by their pods alone",
    "CSIStorageCapacity": "how much room is left for volumes is not known",
}
_TRIED = "PriorityClass"  # the kind whose list is streamed to see whether the server can: it has few objects
_SLICE = mapping_of("ResourceSlice", "resource.k8s.io/v1", namespaced=False)
_OTHER = ("kube-system", "kube-scheduler", "default-scheduler")  # its lease, and its name


class Grade(StrEnum):
    GOOD = "Good"
    WARNING = "Warning"
    BAD = "Bad"


@dataclass(frozen=True, slots=True)
class CheckResult:
    code: str
    grade: Grade
    text: str


@dataclass(frozen=True, slots=True)
class CheckReport:
    server: str
    version: str
    findings: tuple[CheckResult, ...]

    @property
    def can_schedule(self) -> bool:
        return all(finding.grade is not Grade.BAD for finding in self.findings)


async def check_cluster(
    document: object,
    feature_gates: str,
    kubeconfig: str,
    context: str,
    clock: Callable[[], float] = time.time,
) -> CheckReport:
    """Raises InvalidConfigurationError or DaemonError if the cluster cannot be checked."""
    configured = config.parse_configuration(document)
    gates = config.parse_feature_gates(feature_gates)
    access = _access(kubeconfig or configured.settings.client_connection.kubeconfig, context)
    async with client.connected(access) as connection:
        version = await server_version(connection)
        try:
            findings = [f async for f in _findings(connection, configured, gates, version, clock())]
        except (NoAnswerError, RefusedError) as error:
            raise DaemonError(f"API discovery failed: {error}") from error
    return CheckReport(access.server, version, tuple(findings))


def _access(kubeconfig: str, context: str) -> Access:
    try:
        return find_access(kubeconfig, context, os.environ)
    except AccessError as error:
        raise DaemonError(str(error)) from error


async def _findings(
    connection: Connection, configured: config.Configuration, gates: config.Gates, version: str, now: float
) -> AsyncIterator[CheckResult]:
    yield _about_version(version)
    if person := await connection.run(permissions.self_subject_review()):
        yield CheckResult("User", Grade.GOOD, f"the rights are those of {person}")
    found = await served_kinds(connection)
    for finding in (*_about_kinds(found), *_about_gates(gates, found, await _parts_of_pods(connection))):
        yield finding
    for place in (place for place in found if place.kind == _TRIED):
        yield await _about_lists(connection, place)
    yield await _about_devices(connection, found)
    for finding in _about_rights(
        await reviewed_permissions(connection, required_permissions(configured, found))
    ):
        yield finding
    for optional, without in (
        *_for_eviction_limit(configured),
        (permissions.review_permissions(), "no client can read /metrics and /configz"),
        (permissions.client_ca_permissions(), "client certificates do not count on our pages, only tokens"),
    ):
        for finding in _about_optional(await reviewed_permissions(connection, list(optional)), without):
            yield finding
    for finding in await _about_leases(connection, configured, now):
        yield finding


def _about_version(version: str) -> CheckResult:
    numbers = re.match(r"v?(\d+)\.(\d+)", version)
    if numbers is None:
        return CheckResult("Version", Grade.WARNING, f"{version} is not a version of Kubernetes")
    if (int(numbers[1]), int(numbers[2])) < _OLDEST:
        oldest = ".".join(map(str, _OLDEST))
        return CheckResult("Version", Grade.WARNING, f"{version} is older than {oldest} and untested")
    return CheckResult("Version", Grade.GOOD, version)


def _about_kinds(found: Sequence[RestMapping]) -> Iterator[CheckResult]:
    there = {place.kind: place for place in found}
    for kind in CANDIDATES:
        place = there.get(kind)
        if place is not None:
            yield CheckResult("Kind", Grade.GOOD, f"{kind} in {place.api_version!s}")
        elif kind in _OPTIONAL:
            yield CheckResult("Kind", Grade.WARNING, f"the server has no {kind}: {_OPTIONAL[kind]}")
        else:
            yield CheckResult("Kind", Grade.BAD, f"the server has no {kind}, which every scheduler needs")


def _about_gates(
    gates: config.Gates, found: Sequence[RestMapping], parts: frozenset[str]
) -> Iterator[CheckResult]:
    """Gates that are on, although this server lacks what they need."""
    kinds = {place.kind for place in found}
    lacking = "is on, and the server has no"
    if gates.gang_scheduling and "PodGroup" not in kinds:
        yield CheckResult("Gate", Grade.WARNING, f"GangScheduling {lacking} PodGroup")
    if gates.composite_pod_group and "CompositePodGroup" not in kinds:
        yield CheckResult("Gate", Grade.WARNING, f"CompositePodGroup {lacking} CompositePodGroup")
    if gates.in_place_pod_vertical_scaling_scheduler_preemption and "pods/resize" not in parts:
        yield CheckResult(
            "Gate", Grade.WARNING, f"InPlacePodVerticalScalingSchedulerPreemption {lacking} pods/resize"
        )


async def _about_lists(connection: Connection, place: RestMapping) -> CheckResult:
    try:
        refusal = await streaming_refusal(connection, place)
    except (NoAnswerError, RefusedError) as error:
        return CheckResult("Lists", Grade.WARNING, f"streaming lists: this cannot be found out: {error}")
    if refusal:
        text = f"streaming lists: not available, paged lists are used: {refusal}"
        return CheckResult("Lists", Grade.WARNING, text)
    return CheckResult("Lists", Grade.GOOD, "streaming lists: available")


async def _about_devices(connection: Connection, found: Sequence[RestMapping]) -> CheckResult:
    """Pods with claims are never placed by Reprieve: it must be known before it takes over."""
    slices = await Discovery(connection, {_SLICE.kind: (_SLICE,)}).find(_SLICE.kind)
    try:
        devices = len([raw async for raw in _all_of(connection, slices)]) if slices is not None else 0
        pods = [place for place in found if place.kind == "Pod"]
        claiming = [raw for place in pods async for raw in _all_of(connection, place) if _has_claims(raw)]
    except (NoAnswerError, RefusedError) as error:
        return CheckResult("Devices", Grade.WARNING, f"ResourceSlices and claims cannot be counted: {error}")
    text = f"{counted(devices, 'ResourceSlice')} and {counted(len(claiming), 'pod')} with ResourceClaims"
    if not devices and not claiming:
        return CheckResult("Devices", Grade.GOOD, text)
    return CheckResult(
        "Devices", Grade.WARNING, f"{text}: devices are not allocated, and pods with claims stay pending"
    )


def _has_claims(raw: bytes | msgspec.Raw) -> bool:
    match READERS["v1", "Pod"].read(raw):
        case Decoded(object=Pod() as pod):
            return bool(devices_of(pod, frozenset()))
        case _:
            return False


async def _all_of(connection: Connection, place: RestMapping) -> AsyncIterator[msgspec.Raw]:
    token = ""
    while True:
        page = list_page(await connection.send(list_request(place, token, PAGE_SIZE)))
        for raw in page.items or ():
            yield raw
        token = page.metadata.continue_
        if not token:
            return


async def _parts_of_pods(connection: Connection) -> frozenset[str]:
    response = await connection.send(KubeRequest("GET", "/api/v1"))
    listed = response.object.get("resources") if response.is_success else None
    return frozenset(str(entry.get("name")) for entry in listed or () if isinstance(entry, dict))


def _about_rights(answers: Mapping[permissions.Permission, bool | None]) -> Iterator[CheckResult]:
    for right, may in answers.items():
        if may is None:
            yield CheckResult("Right", Grade.WARNING, f"the server does not say whether we may {right}")
        elif not may:
            yield CheckResult("Right", Grade.BAD, f"we may not {right}")
    if given := sum(may is True for may in answers.values()):
        yield CheckResult("Right", Grade.GOOD, f"{given} of {len(answers)} rights are given")


def _for_eviction_limit(
    configured: config.Configuration,
) -> Iterator[tuple[Iterator[permissions.Permission], str]]:
    if any(profile.args.reprieve.eviction_limit is not None for profile in configured.profiles):
        without = "a replica that starts counts no earlier evictions for evictionLimit"
        yield permissions.eviction_limit_permissions(), without


def _about_optional(
    answers: Mapping[permissions.Permission, bool | None], without: str
) -> Iterator[CheckResult]:
    for right in (right for right, may in answers.items() if may is False):
        yield CheckResult("Right", Grade.WARNING, f"we may not {right}: {without}")


# --- leases --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Held:
    """``holder`` is empty if the lease is free. ``until``: when the lease expired, if it was not renewed."""

    holder: str = ""
    until: str = ""


async def _about_leases(
    connection: Connection, configured: config.Configuration, now: float
) -> list[CheckResult]:
    election = configured.settings.leader_election
    ours = (election.resource_namespace, election.resource_name) if election.leader_elect else None
    findings = []
    if ours is not None:
        held = await _held(connection, *ours, now)
        findings.append(_about_our_lease("/".join(ours), held))
    namespace, name, scheduler = _OTHER
    # A replica that shares the lease of kube-scheduler does nothing while that one leads.
    replaces = scheduler in (profile.scheduler_name for profile in configured.profiles)
    if replaces and ours != (namespace, name):
        held = await _held(connection, namespace, name, now)
        if held is None:
            text = f"the holder of lease {namespace}/{name} cannot be read: perhaps two would be {scheduler}"
            findings.append(CheckResult("Lease", Grade.WARNING, text))
        elif held.holder and not held.until:
            text = f"lease {namespace}/{name} is held by {held.holder}: two would be {scheduler}"
            findings.append(CheckResult("Lease", Grade.WARNING, text))
    return findings


def _about_our_lease(name: str, held: _Held | None) -> CheckResult:
    if held is None:
        return CheckResult("Lease", Grade.WARNING, f"lease {name}: its holder cannot be read")
    if held.until:
        return CheckResult(
            "Lease", Grade.GOOD, f"lease {name}: free, {held.holder} held it until {held.until}"
        )
    return CheckResult(
        "Lease", Grade.GOOD, f"lease {name}: {f'held by {held.holder}' if held.holder else 'free'}"
    )


async def _held(connection: Connection, namespace: str, name: str, now: float) -> _Held | None:
    """Read who holds a lease; None if it cannot be read."""
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}"
    response = await connection.send(KubeRequest("GET", path))
    if response.status == HTTPStatus.NOT_FOUND:
        return _Held()
    if not response.is_success:
        return None
    spec = response.object.get("spec")
    spec = spec if isinstance(spec, dict) else {}
    holder, renewed = str(spec.get("holderIdentity") or ""), str(spec.get("renewTime") or "")
    try:
        ends = moment(renewed) + float(spec.get("leaseDurationSeconds") or 0) if renewed else now
    except (ValueError, TypeError):
        ends = now
    return _Held(holder, stamp(ends) if holder and ends < now else "")
