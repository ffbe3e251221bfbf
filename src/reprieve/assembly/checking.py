"""Can Reprieve be the scheduler of a cluster? Asked of its API server; nothing is changed there."""

import os
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from reprieve import config
from reprieve.assembly import settings_of
from reprieve.assembly.daemon import DaemonError, missing_rights, needed_rights, places, server_version
from reprieve.cluster.kube import client, rights
from reprieve.cluster.kube.auth import Access, find_access
from reprieve.cluster.kube.client import Connection, NoAnswerError, RefusedError
from reprieve.cluster.kube.kubeconfig import AccessError
from reprieve.cluster.kube.places import CANDIDATES, Place
from reprieve.cluster.kube.requests import Request

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


async def check(document: object, feature_gates: str, kubeconfig: str, context: str) -> Report:
    """InvalidConfigurationError or DaemonError if there is nothing to be found out."""
    configured = config.parse_configuration(document)
    gates = config.parse_feature_gates(feature_gates)
    settings_of(configured, gates)
    access = _access(kubeconfig or configured.settings.client_connection.kubeconfig, context)
    async with client.connected(access) as connection:
        version = await server_version(connection)
        try:
            findings = [finding async for finding in _findings(connection, configured, gates, version)]
        except (NoAnswerError, RefusedError) as error:
            raise DaemonError(f"what the server has cannot be found out: {error}") from error
    return Report(access.server, version, tuple(findings))


def _access(kubeconfig: str, context: str) -> Access:
    try:
        return find_access(kubeconfig, context, os.environ)
    except AccessError as error:
        raise DaemonError(str(error)) from error


async def _findings(
    connection: Connection, configured: config.Configuration, gates: config.Gates, version: str
) -> AsyncIterator[Finding]:
    yield _about_version(version)
    found = await places(connection)
    for finding in (*_about_kinds(found), *_about_gates(gates, found, await _parts_of_pods(connection))):
        yield finding
    needed = needed_rights(configured, found)
    for finding in _about_rights(needed, await missing_rights(connection, needed)):
        yield finding
    for finding in _about_judging(await missing_rights(connection, list(rights.judging_rights()))):
        yield finding
    for finding in await _about_leases(connection, configured):
        yield finding


def _about_version(version: str) -> Finding:
    numbers = re.match(r"v?(\d+)\.(\d+)", version)
    if numbers is None:
        return Finding("Version", Grade.WARNING, f"{version} is a version that says nothing")
    if (int(numbers[1]), int(numbers[2])) < _OLDEST:
        oldest = ".".join(map(str, _OLDEST))
        return Finding("Version", Grade.WARNING, f"{version} is older than {oldest}, with which nobody tried")
    return Finding("Version", Grade.GOOD, version)


def _about_kinds(found: Sequence[Place]) -> Iterator[Finding]:
    there = {place.kind: place for place in found}
    for kind in CANDIDATES:
        place = there.get(kind)
        if place is not None:
            yield Finding("Kind", Grade.GOOD, f"{kind} in {place.api_version!s}")
        elif kind in _OPTIONAL:
            yield Finding("Kind", Grade.WARNING, f"the server has no {kind}: {_OPTIONAL[kind]}")
        else:
            yield Finding("Kind", Grade.BAD, f"the server has no {kind}, which every scheduler needs")


def _about_gates(gates: config.Gates, found: Sequence[Place], parts: frozenset[str]) -> Iterator[Finding]:
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
    response = await connection.send(Request("GET", "/api/v1"))
    listed = response.object.get("resources") if response.is_success else None
    return frozenset(str(entry.get("name")) for entry in listed or () if isinstance(entry, dict))


def _about_rights(needed: Sequence[rights.Right], missing: Sequence[rights.Right]) -> Iterator[Finding]:
    for right in missing:
        yield Finding("Right", Grade.BAD, f"we may not {right}")
    if len(missing) < len(needed):
        yield Finding("Right", Grade.GOOD, f"{len(needed) - len(missing)} of {len(needed)} rights are given")


def _about_judging(missing: Sequence[rights.Right]) -> Iterator[Finding]:
    for right in missing:
        yield Finding("Right", Grade.WARNING, f"we may not {right}: nobody can read /metrics and /configz")


async def _about_leases(connection: Connection, configured: config.Configuration) -> list[Finding]:
    election = configured.settings.leader_election
    findings = []
    if election.leader_elect:
        holder = await _holder(connection, election.resource_namespace, election.resource_name)
        lease = f"lease {election.resource_namespace}/{election.resource_name}"
        findings.append(Finding("Lease", Grade.GOOD, f"{lease}: {f'held by {holder}' if holder else 'free'}"))
    namespace, name, scheduler = _OTHER
    if scheduler in (profile.scheduler_name for profile in configured.profiles):
        holder = await _holder(connection, namespace, name)
        if holder:
            text = f"lease {namespace}/{name} is held by {holder}: two would be {scheduler}"
            findings.append(Finding("Lease", Grade.WARNING, text))
    return findings


async def _holder(connection: Connection, namespace: str, name: str) -> str:
    """Nobody if there is no such lease, or it may not be read."""
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}"
    response = await connection.send(Request("GET", path))
    spec = response.object.get("spec") if response.is_success else None
    return str(spec.get("holderIdentity") or "") if isinstance(spec, dict) else ""
