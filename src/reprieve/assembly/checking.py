"""Can Reprieve be the scheduler of a cluster? Asked of its API server; nothing is changed there."""

import os
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from typing import Any

from reprieve import config
from reprieve.assembly import settings_of
from reprieve.assembly.daemon import DaemonError, answered_rights, needed_rights, places, server_version
from reprieve.cluster.api.timestamps import moment, stamp
from reprieve.cluster.kube import client, permissions
from reprieve.cluster.kube.auth import Access, find_access
from reprieve.cluster.kube.client import Connection, NoAnswerError, RefusedError
from reprieve.cluster.kube.kubeconfig import AccessError
from reprieve.cluster.kube.requests import ApiRequest
from reprieve.cluster.kube.rest_mapping import CANDIDATES, RestMapping

Json = dict[str, Any]

_OLDEST = (1, 28)
# What servers may lack: the features that need it are then of no use.
_OPTIONAL = {
    "PodGroup": "no gangs: pods of groups are scheduled one by one",
    "CompositePodGroup": "no trees of groups",
    "VolumeAttachment": "volumes that are attached to nodes are counted by their pods alone",
    "CSIStorageCapacity": "how much room is left for volumes is not known",
}
_OTHER = ("kube-system", "kube-scheduler", "default-scheduler")  # its lease, and its name


class Grade(StrEnum):
    GOOD = "Good"
    WARNING = "Warning"
    BAD = "Bad"


@dataclass(frozen=True, slots=True)
class Finding:
    code: str
    grade: Grade
    text: str


@dataclass(frozen=True, slots=True)
class Report:
    server: str
    version: str
    findings: tuple[Finding, ...]

    @property
    def can_schedule(self) -> bool:
        return all(finding.grade is not Grade.BAD for finding in self.findings)


async def check(
    document: object,
    feature_gates: str,
    kubeconfig: str,
    context: str,
    clock: Callable[[], float] = time.time,
) -> Report:
    """InvalidConfigurationError or DaemonError if there is nothing to be found out."""
    configured = config.parse_configuration(document)
    gates = config.parse_feature_gates(feature_gates)
    settings_of(configured, gates)
    access = _access(kubeconfig or configured.settings.client_connection.kubeconfig, context)
    async with client.connected(access) as connection:
        version = await server_version(connection)
        try:
            findings = [f async for f in _findings(connection, configured, gates, version, clock())]
        except (NoAnswerError, RefusedError) as error:
            raise DaemonError(f"what the server has cannot be found out: {error}") from error
    return Report(access.server, version, tuple(findings))


def _access(kubeconfig: str, context: str) -> Access:
    try:
        return find_access(kubeconfig, context, os.environ)
    except AccessError as error:
        raise DaemonError(str(error)) from error


async def _findings(
    connection: Connection, configured: config.Configuration, gates: config.Gates, version: str, now: float
) -> AsyncIterator[Finding]:
    yield _about_version(version)
    if person := await connection.run(permissions.self_subject_review()):
        yield Finding("User", Grade.GOOD, f"the rights are those of {person}")
    found = await places(connection)
    for finding in (*_about_kinds(found), *_about_gates(gates, found, await _parts_of_pods(connection))):
        yield finding
    for finding in _about_rights(await answered_rights(connection, needed_rights(configured, found))):
        yield finding
    for judging, without in (
        (permissions.review_permissions(), "nobody can read /metrics and /configz"),
        (permissions.client_ca_permissions(), "client certificates do not count on our pages, only tokens"),
    ):
        for finding in _about_judging(await answered_rights(connection, list(judging)), without):
            yield finding
    for finding in await _about_leases(connection, configured, now):
        yield finding


def _about_version(version: str) -> Finding:
    numbers = re.match(r"v?(\d+)\.(\d+)", version)
    if numbers is None:
        return Finding("Version", Grade.WARNING, f"{version} is a version that says nothing")
    if (int(numbers[1]), int(numbers[2])) < _OLDEST:
        oldest = ".".join(map(str, _OLDEST))
        return Finding("Version", Grade.WARNING, f"{version} is older than {oldest}, with which nobody tried")
    return Finding("Version", Grade.GOOD, version)


def _about_kinds(found: Sequence[RestMapping]) -> Iterator[Finding]:
    there = {place.kind: place for place in found}
    for kind in CANDIDATES:
        place = there.get(kind)
        if place is not None:
            yield Finding("Kind", Grade.GOOD, f"{kind} in {place.api_version!s}")
        elif kind in _OPTIONAL:
            yield Finding("Kind", Grade.WARNING, f"the server has no {kind}: {_OPTIONAL[kind]}")
        else:
            yield Finding("Kind", Grade.BAD, f"the server has no {kind}, which every scheduler needs")


def _about_gates(
    gates: config.Gates, found: Sequence[RestMapping], parts: frozenset[str]
) -> Iterator[Finding]:
    """Gates that are on, and of no use on this server."""
    kinds = {place.kind for place in found}
    lacking = "is on, and the server has no"
    if gates.gang_scheduling and "PodGroup" not in kinds:
        yield Finding("Gate", Grade.WARNING, f"GangScheduling {lacking} PodGroup")
    if gates.composite_pod_group and "CompositePodGroup" not in kinds:
        yield Finding("Gate", Grade.WARNING, f"CompositePodGroup {lacking} CompositePodGroup")
    if gates.in_place_pod_vertical_scaling_scheduler_preemption and "pods/resize" not in parts:
        yield Finding(
            "Gate", Grade.WARNING, f"InPlacePodVerticalScalingSchedulerPreemption {lacking} pods/resize"
        )


async def _parts_of_pods(connection: Connection) -> frozenset[str]:
    response = await connection.send(ApiRequest("GET", "/api/v1"))
    listed = response.object.get("resources") if response.is_success else None
    return frozenset(str(entry.get("name")) for entry in listed or () if isinstance(entry, dict))


def _about_rights(answers: Mapping[permissions.Permission, bool | None]) -> Iterator[Finding]:
    for right, may in answers.items():
        if may is None:
            yield Finding("Right", Grade.WARNING, f"the server does not say whether we may {right}")
        elif not may:
            yield Finding("Right", Grade.BAD, f"we may not {right}")
    if given := sum(may is True for may in answers.values()):
        yield Finding("Right", Grade.GOOD, f"{given} of {len(answers)} rights are given")


def _about_judging(answers: Mapping[permissions.Permission, bool | None], without: str) -> Iterator[Finding]:
    for right in (right for right, may in answers.items() if may is False):
        yield Finding("Right", Grade.WARNING, f"we may not {right}: {without}")


# --- leases --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Held:
    """By whom; nobody if it is free. ``until``: when that ended, if whoever it was has not renewed it."""

    holder: str = ""
    until: str = ""


async def _about_leases(
    connection: Connection, configured: config.Configuration, now: float
) -> list[Finding]:
    election = configured.settings.leader_election
    ours = (election.resource_namespace, election.resource_name) if election.leader_elect else None
    findings = []
    if ours is not None:
        held = await _held(connection, *ours, now)
        findings.append(_about_our_lease("/".join(ours), held))
    namespace, name, scheduler = _OTHER
    # Who shares a lease with kube-scheduler does nothing as long as that one leads.
    replaces = scheduler in (profile.scheduler_name for profile in configured.profiles)
    if replaces and ours != (namespace, name):
        held = await _held(connection, namespace, name, now)
        if held is None:
            text = f"who holds lease {namespace}/{name} cannot be read: perhaps two would be {scheduler}"
            findings.append(Finding("Lease", Grade.WARNING, text))
        elif held.holder and not held.until:
            text = f"lease {namespace}/{name} is held by {held.holder}: two would be {scheduler}"
            findings.append(Finding("Lease", Grade.WARNING, text))
    return findings


def _about_our_lease(name: str, held: _Held | None) -> Finding:
    if held is None:
        return Finding("Lease", Grade.WARNING, f"lease {name}: who holds it cannot be read")
    if held.until:
        return Finding("Lease", Grade.GOOD, f"lease {name}: free, {held.holder} held it until {held.until}")
    return Finding(
        "Lease", Grade.GOOD, f"lease {name}: {f'held by {held.holder}' if held.holder else 'free'}"
    )


async def _held(connection: Connection, namespace: str, name: str, now: float) -> _Held | None:
    """None if that cannot be read."""
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}"
    response = await connection.send(ApiRequest("GET", path))
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
