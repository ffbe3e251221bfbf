"""Effects as requests to an API server, and what its responses mean. Nothing is sent here.

An effect is an ``ApiCall``: a generator that yields requests, receives the responses, and returns the answer.
Most need one request. A second one follows only after an unusual response, or where the object must be read
before it may be written. Every write names its object by UID, so that it cannot hit an object that was
deleted and created again under the same name.
"""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus

import msgspec

from reprieve.cluster.api.decode_errors import UNDECODABLE
from reprieve.cluster.api.groups import spelled_condition
from reprieve.cluster.api.timestamps import stamp
from reprieve.cluster.kube.rest_mapping import RestMapping
from reprieve.cluster.port import Answer, Lost, Refused, Succeeded
from reprieve.model.effects import (
    Bind,
    BindVolume,
    Evict,
    Nominate,
    SelectNode,
    SetCondition,
    Target,
    WriteStatus,
)
from reprieve.model.json import Json
from reprieve.model.objects import Record

JSON = "application/json"
STRATEGIC = "application/strategic-merge-patch+json"
MERGE = "application/merge-patch+json"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class KubeRequest:
    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    content_type: str = JSON

    @property
    def writes(self) -> bool:
        return self.method != "GET"


@dataclass(frozen=True, slots=True)
class KubeResponse:
    status: int
    body: bytes = b""

    @property
    def is_success(self) -> bool:
        return HTTPStatus.OK <= self.status < HTTPStatus.MULTIPLE_CHOICES

    @property
    def message(self) -> str:
        """The server's reason for rejecting the request."""
        try:
            said = msgspec.json.decode(self.body, type=_Status).message
        except (msgspec.MsgspecError, UnicodeDecodeError):
            said = ""
        return said or f"the server answered {self.status} {_phrase(self.status)}".rstrip()

    @property
    def object(self) -> Json:
        """The body as JSON; empty if it is not a JSON object."""
        try:
            found = msgspec.json.decode(self.body)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return {}
        return found if isinstance(found, dict) else {}

    @property
    def is_namespace_ending(self) -> bool:
        """Whether it was rejected since its namespace is being deleted."""
        causes = _part(self.object, "details").get("causes")
        found = causes if self.status == HTTPStatus.FORBIDDEN and isinstance(causes, list) else ()
        return any(
            isinstance(cause, dict) and cause.get("reason") == "NamespaceTerminating" for cause in found
        )


class _Status(msgspec.Struct, frozen=True):
    message: str = ""


def _phrase(status: int) -> str:
    return next((known.phrase for known in HTTPStatus if known == status), "")


class NoAnswerError(Exception):
    """There is no response: no connection, a connection that broke, or a timeout.

    ``harmless``: the server cannot have acted on the request, or the request was a read.
    """

    def __init__(self, message: str, *, harmless: bool = True) -> None:
        super().__init__(message)
        self.harmless = harmless


class QuietError(NoAnswerError):
    """A stream that had begun has been silent for long: the connection may be dead, or there is no news."""


class RefusedError(Exception):
    """The server rejected a list or a watch."""

    def __init__(self, response: KubeResponse) -> None:
        super().__init__(response.message)
        self.response = response


ApiCall = Generator[KubeRequest, KubeResponse, Answer]
StoredEffect = Bind | SetCondition | BindVolume | SelectNode | Nominate | Evict | WriteStatus


@dataclass(frozen=True, slots=True)
class ConditionTimes:
    """Timestamps for conditions: the present time, and by type since when a condition has its status.

    ``generation``: the object's generation as last seen, for observedGeneration; 0 if unknown.
    """

    now: str
    since: Mapping[str, str] = field(default_factory=dict)
    generation: int = 0


def api_call(effect: StoredEffect, mapping: RestMapping, times: ConditionTimes) -> ApiCall:
    """``mapping``: that of the target's kind."""
    match effect:
        case Bind():
            return _bind(effect, mapping)
        case SetCondition() | Nominate():
            return _write_status(WriteStatus(effect.target, (effect,)), mapping, times)
        case WriteStatus():
            return _write_status(effect, mapping, times)
        case Evict():
            return _evict(effect, mapping)
        case BindVolume():
            return _reserve_volume(effect, mapping)
        case SelectNode():
            return _select_node(effect, mapping)


# --- what an answer means ------------------------------------------------------------------------


def answer_to(response: KubeResponse) -> Answer:
    """A 5xx may come after the server has acted; a 4xx comes before."""
    status = response.status
    if response.is_success:
        return Succeeded()
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.REQUEST_TIMEOUT:
        return Lost(response.message)
    # 401: tokens are rotated. 429: the server is overloaded for a while.
    again = status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.UNAUTHORIZED)
    return Refused(response.message, again=again, missing=status == HTTPStatus.NOT_FOUND)


def _read(target: Target, mapping: RestMapping) -> KubeRequest:
    return KubeRequest("GET", mapping.path(target.namespace, target.name))


def _patch(target: Target, mapping: RestMapping, change: Json, media: str, part: str = "") -> KubeRequest:
    return KubeRequest("PATCH", mapping.path(target.namespace, target.name, part), (), _encode(change), media)


def _uid(body: Json) -> object:
    return _part(body, "metadata").get("uid")


def _part(body: Json, name: str) -> Json:
    found = body.get(name)
    return found if isinstance(found, dict) else {}


def _is_doubtful(response: KubeResponse) -> bool:
    """Whether another write may have come first, or the name may belong to a new object.

    Servers reject a UID that is not the object's either as a conflict or as invalid.
    """
    return response.status in (HTTPStatus.CONFLICT, HTTPStatus.UNPROCESSABLE_ENTITY)


def _looked_at(target: Target, mapping: RestMapping, refused: KubeResponse) -> ApiCall:
    """Reads the object: a conflict may be retried only if the object still has the same UID."""
    current = yield _read(target, mapping)
    other = current.is_success and _uid(current.object) != target.uid
    gone = other or current.status == HTTPStatus.NOT_FOUND
    again = not gone and refused.status == HTTPStatus.CONFLICT
    return Refused(refused.message, again=again, missing=gone)


# --- pods and groups -----------------------------------------------------------------------------


def _bind(effect: Bind, mapping: RestMapping) -> ApiCall:
    pod = effect.target
    body = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
        "target": {"apiVersion": "v1", "kind": "Node", "name": effect.node},
    }
    path = mapping.path(pod.namespace, pod.name, "binding")
    response = yield KubeRequest("POST", path, (), _encode(body))
    if response.status != HTTPStatus.CONFLICT:
        return answer_to(response)
    # An earlier attempt of ours may have bound the pod, with its answer lost: then this one has succeeded.
    current = yield _read(pod, mapping)
    if current.is_success and _uid(current.object) == pod.uid:
        there = _part(current.object, "spec").get("nodeName")
        return Succeeded() if there == effect.node else Refused(response.message, again=False)
    gone = current.is_success or current.status == HTTPStatus.NOT_FOUND
    return Refused(response.message, again=not gone, missing=gone)


def _write_status(effect: WriteStatus, mapping: RestMapping, times: ConditionTimes) -> ApiCall:
    conditions = [part for part in effect.parts if isinstance(part, SetCondition)]
    if mapping.is_custom:
        return _conditions_read_first(effect.target, conditions, mapping, times)
    status: Json = {}
    for part in effect.parts:
        if isinstance(part, Nominate):
            status["nominatedNodeName"] = part.node or None
    if conditions:
        since = times.since
        written = [_as_written(c, mapping, since.get(c.type, times.now)) for c in conditions]
        seen = {"observedGeneration": times.generation} if times.generation else {}
        status["conditions"] = [{**condition, **seen} for condition in written]
    return _patch_status(effect.target, mapping, status)


def _patch_status(target: Target, mapping: RestMapping, status: Json) -> ApiCall:
    """A strategic merge patch merges conditions by type and keeps those of other writers."""
    change = {"metadata": {"uid": target.uid}, "status": status}
    response = yield _patch(target, mapping, change, STRATEGIC, "status")
    return (
        (yield from _looked_at(target, mapping, response)) if _is_doubtful(response) else answer_to(response)
    )


def _as_written(effect: SetCondition, mapping: RestMapping, since: str) -> Json:
    """``since`` counts where the effect itself does not say since when."""
    return {
        "type": spelled_condition(mapping.api_version, effect.type),
        "status": effect.status,
        "reason": effect.reason,
        "message": effect.message,
        "lastTransitionTime": since if effect.since is None else stamp(effect.since),
    }


def _conditions_read_first(
    target: Target, conditions: list[SetCondition], mapping: RestMapping, times: ConditionTimes
) -> ApiCall:
    """Custom resources have no strategic merge: a patch replaces the whole list, so it is read first."""
    current = yield _read(target, mapping)
    if not current.is_success:
        return answer_to(current)
    if _uid(current.object) != target.uid:
        return Refused(f"{target} was deleted and created again", again=False, missing=True)
    found = _part(current.object, "status").get("conditions")
    there = {c.get("type"): c for c in found if isinstance(c, dict)} if isinstance(found, list) else {}
    for condition in conditions:
        old = there.get(condition.type, {})
        kept = old.get("lastTransitionTime") if old.get("status") == condition.status else None
        there[condition.type] = _as_written(condition, mapping, kept or times.now)
    change = {"metadata": _same(current.object), "status": {"conditions": list(there.values())}}
    return _ended_if_unchanged((yield _patch(target, mapping, change, MERGE, "status")))


def _same(body: Json) -> Json:
    """Preconditions: the server rejects the write if the object changed since it was read."""
    return {"uid": _uid(body), "resourceVersion": _part(body, "metadata").get("resourceVersion")}


def _ended_if_unchanged(response: KubeResponse) -> Answer:
    if response.status == HTTPStatus.CONFLICT:
        return Refused(response.message, again=True)
    return answer_to(response)


def _evict(effect: Evict, mapping: RestMapping) -> ApiCall:
    """Deletes the pod. If it is gone, the eviction has succeeded."""
    pod = effect.target
    grace = {"gracePeriodSeconds": effect.grace} if effect.grace is not None else {}
    options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": pod.uid}, **grace}
    response = yield KubeRequest("DELETE", mapping.path(pod.namespace, pod.name), (), _encode(options))
    if response.status == HTTPStatus.NOT_FOUND:
        return Succeeded()
    if response.status != HTTPStatus.CONFLICT:
        return answer_to(response)
    answer = yield from _looked_at(pod, mapping, response)
    match answer:
        case Refused(again=False):
            return Succeeded()
        case _:
            return answer


# --- volumes -------------------------------------------------------------------------------------


def _reserve_volume(effect: BindVolume, mapping: RestMapping) -> ApiCall:
    """Writes claimRef unless another claim holds the volume; the volume controller does the rest."""
    volume, claim = effect.target, effect.claim
    current = yield _read(volume, mapping)
    if not current.is_success:
        return answer_to(current)
    if _uid(current.object) != volume.uid:
        return Refused(f"{volume} was deleted and created again", again=False, missing=True)
    owner = _part(_part(current.object, "spec"), "claimRef")
    if owner and not _is_for(owner, claim):
        other = f"{owner.get('namespace')}/{owner.get('name')}"
        return Refused(f"{volume} is already reserved for PersistentVolumeClaim {other}", again=False)
    if owner.get("uid") == claim.uid:
        return Succeeded()
    reference = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": claim.namespace,
        "name": claim.name,
        "uid": claim.uid,
    }
    meta = {**_same(current.object), "annotations": {BOUND_BY_CONTROLLER: "yes"}}
    response = yield _patch(volume, mapping, {"metadata": meta, "spec": {"claimRef": reference}}, MERGE)
    return _ended_if_unchanged(response)


def _is_for(owner: Json, claim: Target) -> bool:
    same_name = owner.get("namespace") == claim.namespace and owner.get("name") == claim.name
    return same_name and owner.get("uid", claim.uid) == claim.uid


def _select_node(effect: SelectNode, mapping: RestMapping) -> ApiCall:
    claim = effect.target
    current = yield _read(claim, mapping)
    if not current.is_success:
        return answer_to(current)
    if _uid(current.object) != claim.uid:
        return Refused(f"{claim} was deleted and created again", again=False, missing=True)
    if _part(_part(current.object, "metadata"), "annotations").get(SELECTED_NODE) == effect.node:
        return Succeeded()
    if bound := _part(current.object, "spec").get("volumeName"):
        return Refused(f"{claim} is already bound to PersistentVolume {bound}", again=False)
    meta = {**_same(current.object), "annotations": {SELECTED_NODE: effect.node}}
    response = yield _patch(claim, mapping, {"metadata": meta}, MERGE)
    return _ended_if_unchanged(response)


# --- lists -----------------------------------------------------------------------------------------


PAGE_SIZE = 500  # objects in one response
# Pods that have ended need no resources, and finished Jobs may leave a great many.
_NOT_ENDED = (("fieldSelector", "status.phase!=Succeeded,status.phase!=Failed"),)


class ListMeta(Record, frozen=True):
    """``remaining_item_count``: 0 also if the server does not say."""

    resource_version: str = ""
    continue_: str = msgspec.field(name="continue", default="")
    remaining_item_count: int = 0


class ListPage(Record, frozen=True):
    metadata: ListMeta = ListMeta()
    items: tuple[msgspec.Raw, ...] | None = None


_PAGE = msgspec.json.Decoder(ListPage)


def selection_of(mapping: RestMapping) -> tuple[tuple[str, str], ...]:
    return _NOT_ENDED if mapping.kind == "Pod" else ()


def list_request(mapping: RestMapping, token: str, limit: int, namespace: str = "") -> KubeRequest:
    """``token``: of the page before; empty for the first. ``limit``: 0 for all at once."""
    paging = {"limit": str(limit) if limit else "", "continue": token}
    query = (pair for pair in paging.items() if pair[1])
    return KubeRequest("GET", mapping.path(namespace), (*selection_of(mapping), *query))


def list_page(response: KubeResponse) -> ListPage:
    """RefusedError if the server rejected the request, NoAnswerError if it sent something else."""
    if not response.is_success:
        raise RefusedError(response)
    try:
        return _PAGE.decode(response.body)
    except UNDECODABLE as error:
        raise NoAnswerError("the server's response is not a list") from error
