"""What is said to an API server to carry out an effect, and what its answers mean. Nothing is sent here.

An effect is a conversation: a generator that yields requests, is sent the responses, and returns how it
ended. Most need one request; a second one is made only where the first was answered in an unusual way, or
where something must be read before it may be written. Every write says by UID whom it means.
"""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus

import msgspec

from reprieve.cluster.api.groups import spelled_condition
from reprieve.cluster.kube.rest_mapping import Place
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

JSON = "application/json"
STRATEGIC = "application/strategic-merge-patch+json"
MERGE = "application/merge-patch+json"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    content_type: str = JSON

    @property
    def writes(self) -> bool:
        return self.method != "GET"


@dataclass(frozen=True, slots=True)
class Response:
    status: int
    body: bytes = b""

    @property
    def is_success(self) -> bool:
        return HTTPStatus.OK <= self.status < HTTPStatus.MULTIPLE_CHOICES

    @property
    def message(self) -> str:
        """Why it was refused, in the server's words."""
        try:
            said = msgspec.json.decode(self.body, type=_Status).message
        except (msgspec.MsgspecError, UnicodeDecodeError):
            said = ""
        return said or f"the server answered {self.status} {_phrase(self.status)}".rstrip()

    @property
    def object(self) -> Json:
        """What was read; empty if it is no object."""
        try:
            found = msgspec.json.decode(self.body)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return {}
        return found if isinstance(found, dict) else {}


class _Status(msgspec.Struct, frozen=True):
    message: str = ""


def _phrase(status: int) -> str:
    return next((known.phrase for known in HTTPStatus if known == status), "")


Conversation = Generator[Request, Response, Answer]
StoredEffect = Bind | SetCondition | BindVolume | SelectNode | Nominate | Evict | WriteStatus


@dataclass(frozen=True, slots=True)
class Moment:
    """The time as conditions write it; by type of condition, since when one has had its status.

    ``generation``: that of the object, as far as it is known: of that one its conditions speak.
    """

    now: str
    since: Mapping[str, str] = field(default_factory=dict)
    generation: int = 0


def conversation(effect: StoredEffect, place: Place, moment: Moment) -> Conversation:
    """``place`` is that of the target's kind."""
    match effect:
        case Bind():
            return _bind(effect, place)
        case SetCondition() | Nominate():
            return _write_status(WriteStatus(effect.target, (effect,)), place, moment)
        case WriteStatus():
            return _write_status(effect, place, moment)
        case Evict():
            return _evict(effect, place)
        case BindVolume():
            return _promise_volume(effect, place)
        case SelectNode():
            return _select_node(effect, place)


# --- what an answer means ------------------------------------------------------------------------


def ended(response: Response) -> Answer:
    """An error of the server may come after the deed; a refusal comes before it."""
    status = response.status
    if response.is_success:
        return Succeeded()
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.REQUEST_TIMEOUT:
        return Lost(response.message)
    # Tokens are renewed, and a busy server becomes less busy.
    again = status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.UNAUTHORIZED)
    return Refused(response.message, again=again, missing=status == HTTPStatus.NOT_FOUND)


def _read(target: Target, place: Place) -> Request:
    return Request("GET", place.path(target.namespace, target.name))


def _patch(target: Target, place: Place, change: Json, media: str, part: str = "") -> Request:
    return Request("PATCH", place.path(target.namespace, target.name, part), (), _encode(change), media)


def _uid(body: Json) -> object:
    return _part(body, "metadata").get("uid")


def _part(body: Json, name: str) -> Json:
    found = body.get(name)
    return found if isinstance(found, dict) else {}


def _is_doubtful(response: Response) -> bool:
    """Whether it was refused because somebody was quicker, or perhaps because it is another object now.

    Some servers answer with a conflict to a UID that is not the object's; to others it is invalid.
    """
    return response.status in (HTTPStatus.CONFLICT, HTTPStatus.UNPROCESSABLE_ENTITY)


def _looked_at(target: Target, place: Place, refused: Response) -> Conversation:
    """A conflict is worth another try if it is still the same object."""
    current = yield _read(target, place)
    other = current.is_success and _uid(current.object) != target.uid
    gone = other or current.status == HTTPStatus.NOT_FOUND
    again = not gone and refused.status == HTTPStatus.CONFLICT
    return Refused(refused.message, again=again, missing=gone)


# --- pods and groups -----------------------------------------------------------------------------


def _bind(effect: Bind, place: Place) -> Conversation:
    pod = effect.target
    body = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
        "target": {"apiVersion": "v1", "kind": "Node", "name": effect.node},
    }
    path = place.path(pod.namespace, pod.name, "binding")
    response = yield Request("POST", path, (), _encode(body))
    if response.status != HTTPStatus.CONFLICT:
        return ended(response)
    # An earlier attempt of ours, whose answer was lost, may be what stands in the way.
    current = yield _read(pod, place)
    if current.is_success and _uid(current.object) == pod.uid:
        there = _part(current.object, "spec").get("nodeName")
        return Succeeded() if there == effect.node else Refused(response.message, again=False)
    gone = current.is_success or current.status == HTTPStatus.NOT_FOUND
    return Refused(response.message, again=not gone, missing=gone)


def _write_status(effect: WriteStatus, place: Place, moment: Moment) -> Conversation:
    conditions = [part for part in effect.parts if isinstance(part, SetCondition)]
    if place.is_custom:
        return _conditions_read_first(effect.target, conditions, place, moment)
    status: Json = {}
    for part in effect.parts:
        if isinstance(part, Nominate):
            status["nominatedNodeName"] = part.node or None
    if conditions:
        since = moment.since
        written = [_as_written(c, place, since.get(c.type, moment.now)) for c in conditions]
        seen = {"observedGeneration": moment.generation} if moment.generation else {}
        status["conditions"] = [{**condition, **seen} for condition in written]
    return _patch_status(effect.target, place, status)


def _patch_status(target: Target, place: Place, status: Json) -> Conversation:
    """The server finds conditions by their types, and leaves the others alone."""
    change = {"metadata": {"uid": target.uid}, "status": status}
    response = yield _patch(target, place, change, STRATEGIC, "status")
    return (yield from _looked_at(target, place, response)) if _is_doubtful(response) else ended(response)


def _as_written(effect: SetCondition, place: Place, since: str) -> Json:
    return {
        "type": spelled_condition(place.api_version, effect.type),
        "status": effect.status,
        "reason": effect.reason,
        "message": effect.message,
        "lastTransitionTime": since,
    }


def _conditions_read_first(
    target: Target, conditions: list[SetCondition], place: Place, moment: Moment
) -> Conversation:
    """Of kinds that are made from definitions the server can replace only the whole list."""
    current = yield _read(target, place)
    if not current.is_success:
        return ended(current)
    if _uid(current.object) != target.uid:
        return Refused(f"{target} is another one now", again=False, missing=True)
    found = _part(current.object, "status").get("conditions")
    there = {c.get("type"): c for c in found if isinstance(c, dict)} if isinstance(found, list) else {}
    for condition in conditions:
        old = there.get(condition.type, {})
        kept = old.get("lastTransitionTime") if old.get("status") == condition.status else None
        there[condition.type] = _as_written(condition, place, kept or moment.now)
    change = {"metadata": _same(current.object), "status": {"conditions": list(there.values())}}
    return _ended_if_unchanged((yield _patch(target, place, change, MERGE, "status")))


def _same(body: Json) -> Json:
    """Says that an object must be as it was read, or not be touched."""
    return {"uid": _uid(body), "resourceVersion": _part(body, "metadata").get("resourceVersion")}


def _ended_if_unchanged(response: Response) -> Answer:
    if response.status == HTTPStatus.CONFLICT:
        return Refused(response.message, again=True)
    return ended(response)


def _evict(effect: Evict, place: Place) -> Conversation:
    """With the grace that the pod asks for. One that is gone, or has a namesake, has been evicted."""
    pod = effect.target
    options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": pod.uid}}
    response = yield Request("DELETE", place.path(pod.namespace, pod.name), (), _encode(options))
    if response.status == HTTPStatus.NOT_FOUND:
        return Succeeded()
    if response.status != HTTPStatus.CONFLICT:
        return ended(response)
    answer = yield from _looked_at(pod, place, response)
    match answer:
        case Refused(again=False):
            return Succeeded()
        case _:
            return answer


# --- volumes -------------------------------------------------------------------------------------


def _promise_volume(effect: BindVolume, place: Place) -> Conversation:
    """Read first: a promise to another claim must not be overwritten. The volume controller does the rest."""
    volume, claim = effect.target, effect.claim
    current = yield _read(volume, place)
    if not current.is_success:
        return ended(current)
    if _uid(current.object) != volume.uid:
        return Refused(f"{volume} is another one now", again=False, missing=True)
    owner = _part(_part(current.object, "spec"), "claimRef")
    if owner and not _is_for(owner, claim):
        taken = f"{volume} is reserved for {owner.get('namespace')}/{owner.get('name')} already"
        return Refused(taken, again=False)
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
    response = yield _patch(volume, place, {"metadata": meta, "spec": {"claimRef": reference}}, MERGE)
    return _ended_if_unchanged(response)


def _is_for(owner: Json, claim: Target) -> bool:
    same_name = owner.get("namespace") == claim.namespace and owner.get("name") == claim.name
    return same_name and owner.get("uid", claim.uid) == claim.uid


def _select_node(effect: SelectNode, place: Place) -> Conversation:
    claim = effect.target
    current = yield _read(claim, place)
    if not current.is_success:
        return ended(current)
    if _uid(current.object) != claim.uid:
        return Refused(f"{claim} is another one now", again=False, missing=True)
    if _part(_part(current.object, "metadata"), "annotations").get(SELECTED_NODE) == effect.node:
        return Succeeded()
    if bound := _part(current.object, "spec").get("volumeName"):
        return Refused(f"{claim} is bound to volume {bound} already", again=False)
    meta = {**_same(current.object), "annotations": {SELECTED_NODE: effect.node}}
    response = yield _patch(claim, place, {"metadata": meta}, MERGE)
    return _ended_if_unchanged(response)
