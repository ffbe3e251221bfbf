"""What do programs import from `reprieve`? A cluster that was read, and what a change would do to it.

The stable interface: `docs/reference/python.md` describes it.
"""

import asyncio
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import msgspec

from reprieve.assembly.cluster_reading import ClusterReadingError, read_cluster
from reprieve.assembly.inquiries import POLICIES, PolicyChoice, inquiry_settings
from reprieve.cluster.api.compression import DamagedFileError, read_file
from reprieve.config import InvalidConfigurationError
from reprieve.inquiry.asked_demands import WhatIfQuestion
from reprieve.inquiry.cluster_objects import ApiObject, ClusterObjects
from reprieve.inquiry.decoded_cluster import DecodedCluster, decoded, parsed
from reprieve.inquiry.joined_files import cluster_in, consistent
from reprieve.inquiry.manifests import Manifest
from reprieve.inquiry.object_files import ObjectFile, parse_objects
from reprieve.inquiry.object_names import ObjectName
from reprieve.inquiry.resizes import Resize
from reprieve.inquiry.whatif import WhatIfAnswer
from reprieve.inquiry.whatif import whatif as answered
from reprieve.inquiry.whatif_report import answers_json
from reprieve.model.json import Json

FilePath = str | os.PathLike[str]


class InquiryError(Exception):
    """The cluster cannot be read, or the question cannot be answered: a sentence for each problem."""


class Cluster:
    """A cluster as it was read once. Questions about it read and write nothing."""

    def __init__(self, objects: ClusterObjects) -> None:
        """Private: use ``from_files``, ``from_objects`` or ``from_server``."""
        self._decoded = decoded(objects)

    @classmethod
    def from_files(cls, *paths: FilePath) -> Self:
        """Snapshots of `reprieve snapshot save`, or dumps of kubectl: YAML, JSON, JSON lines, gzip."""
        return cls(cluster_in([_read_file(path) for path in paths], time.time()))

    @classmethod
    def from_objects(cls, objects: Iterable[Mapping[str, Any]]) -> Self:
        """Kubernetes objects as dictionaries, each with apiVersion, kind and metadata."""
        things = tuple(_api_object(thing) for thing in objects)
        return cls(consistent(ClusterObjects(things, time.time())))

    @classmethod
    def from_server(cls, context: str = "", kubeconfig: str = "", namespace: str = "") -> Self:
        """The cluster of kubectl's current context, or of another one, read with list requests alone.

        ``namespace``: where kinds are listed that the caller may not list everywhere. Not to be called from a
        coroutine: it runs an event loop of its own.
        """
        try:
            return cls(asyncio.run(read_cluster(kubeconfig, context, namespace=namespace)))
        except ClusterReadingError as error:
            raise InquiryError(str(error)) from error

    @property
    def taken_at(self) -> float:
        """When it was read, in seconds since the epoch. Questions are answered as of that moment."""
        return self._decoded.source.taken_at

    @property
    def notes(self) -> tuple[str, ...]:
        """What could not be read, or is contradictory; a sentence each."""
        return self._decoded.notes

    def __repr__(self) -> str:
        return f"<Cluster of {len(self._decoded.source.objects)} objects>"


def whatif(  # noqa: PLR0913  keywords
    cluster: Cluster,
    *manifests: FilePath | Mapping[str, Any],
    resize: Mapping[str, Mapping[str, str]] | None = None,
    pending: Iterable[str] = (),
    policy: str = "",
    feature_gates: str = "",
    namespace: str = "default",
    with_pending: bool = False,
) -> WhatIfAnswer:
    """What the scheduler would do if these objects were created; nothing is written anywhere.

    ``manifests``: objects as dictionaries, or files with any number of them. ``resize``: what running pods
    would request, as in ``{"team-a/web-0": {"cpu": "4"}}``. ``pending``: pods that exist and wait.
    ``policy``: Reprieve, Upstream, or a file with a KubeSchedulerConfiguration. ``namespace``: of what names
    none. ``with_pending``: whether other pods that wait are decided, too.

    Raises InquiryError if the question cannot be answered.
    """
    # Reached into on purpose: what a Cluster holds is private to this module.
    read: DecodedCluster = cluster._decoded
    asked = tuple(_manifests(manifests))
    try:
        chosen = inquiry_settings(
            _choice(policy, feature_gates), read, [one.body for one in asked], resizes=bool(resize)
        )
    except InvalidConfigurationError as error:
        raise InquiryError(f"{policy or 'feature gates'}: {error}") from error
    answer = answered(
        WhatIfQuestion(
            read,
            chosen.settings,
            chosen.policy,
            manifests=asked,
            existing=tuple(_pod_name(name, namespace) for name in pending),
            resizes=tuple(
                Resize(_pod_name(name, namespace), tuple(requests.items()))
                for name, requests in (resize or {}).items()
            ),
            with_pending=with_pending,
            namespace=namespace,
        ),
        cluster.taken_at,
    )
    if answer.problems:
        raise InquiryError("\n".join(answer.problems))
    return replace(answer, notes=(*answer.notes, *chosen.notes))


def whatif_json(answer: WhatIfAnswer) -> Json:
    """The document that `reprieve whatif -o json` prints: one report, or a list of several."""
    return answers_json([answer])


def _choice(policy: str, feature_gates: str) -> PolicyChoice:
    if not policy or policy in POLICIES:
        return PolicyChoice(policy, feature_gates=feature_gates)
    (document,) = map(parsed, _read_file(policy).objects)
    return PolicyChoice(policy, document, feature_gates=feature_gates)


def _manifests(given: Iterable[FilePath | Mapping[str, Any]]) -> Iterator[Manifest]:
    for i, one in enumerate(given, start=1):
        if isinstance(one, Mapping):
            yield Manifest(_copied(one), f"manifest {i}")
            continue
        read = _read_file(one)
        for thing, document in zip(read.objects, read.documents, strict=True):
            yield Manifest(parsed(thing), f"{os.fspath(one)}, document {document}")


def _pod_name(name: str, namespace: str) -> ObjectName:
    first, slash, last = name.partition("/")
    return ObjectName(first, last, "Pod") if slash else ObjectName(namespace, first, "Pod")


def _read_file(path: FilePath) -> ObjectFile:
    try:
        found = parse_objects(read_file(Path(path)), os.fspath(path))
    except OSError as error:
        raise InquiryError(f"{os.fspath(path)}: cannot be read: {error.strerror}") from error
    except DamagedFileError as error:
        raise InquiryError(f"{os.fspath(path)}: {error}") from error
    if found.problems:
        raise InquiryError("\n".join(found.problems))
    return found


def _api_object(thing: Mapping[str, Any]) -> ApiObject:
    body = _copied(thing)
    return ApiObject(str(body.get("kind", "")), str(body.get("apiVersion", "")), msgspec.json.encode(body))


def _copied(thing: Mapping[str, Any]) -> Json:
    """A caller's own dictionary is never changed."""
    try:
        copy: Json = msgspec.json.decode(msgspec.json.encode(dict(thing)))
    except (TypeError, msgspec.MsgspecError) as error:
        raise InquiryError(f"an object cannot be written as JSON: {error}") from error
    return copy
