"""The scheduler's effects as writes to the store: bindings, conditions, events, volumes, evictions.

Each call writes once. It succeeds also if the write had happened before, and raises an ApiError otherwise.
"""

from collections.abc import Iterable
from http import HTTPStatus

from reprieve.cluster.api.timestamps import micro_stamp
from reprieve.model.effects import (
    Announce,
    Bind,
    BindVolume,
    Effect,
    Evict,
    Nominate,
    SelectNode,
    SetCondition,
    StatusPart,
    Target,
    WriteStatus,
)
from reprieve.model.json import Json
from reprieve_minicluster.errors import ApiError, conflict, not_found
from reprieve_minicluster.kinds import BY_NAME, peek, section
from reprieve_minicluster.store.conditions import StatusCondition, set_condition_of
from reprieve_minicluster.store.metadata import metadata_of, suffix_at
from reprieve_minicluster.store.store import Part, Store, parsed
from reprieve_minicluster.store.watch_cache import Key, Stored

SELECTED_NODE = "volume.kubernetes.io/selected-node"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
REPORTER = "reprieve"


def call(store: Store, effect: Effect | WriteStatus, now: float) -> Stored | None:
    match effect:
        case Bind():
            return bind(store, effect.target, effect.node, now)
        case SetCondition() | Nominate():
            return write_status(store, effect.target, (effect,), now)
        case WriteStatus():
            return write_status(store, effect.target, effect.parts, now)
        case Announce():
            return announce(store, effect, now)
        case BindVolume():
            return reserve_volume(store, effect.target, effect.claim)
        case SelectNode():
            return select_node(store, effect.target, effect.node)
        case Evict():
            return evict(store, effect.target, effect.grace)


def key_of_target(target: Target) -> Key:
    kind = BY_NAME.get(target.kind)
    if kind is None:
        raise not_found(f"kind {target.kind}")
    return Key(kind.resource, target.namespace if kind.namespaced else "", target.name)


def bind(store: Store, pod: Target, node: str, now: float) -> Stored:
    _check_namespace(store, pod)

    def assign(body: Json) -> Json:
        spec = section(body, "spec")
        if spec.get("nodeName") == node:
            return body
        _check_bindable(pod, body["metadata"], spec)
        spec["nodeName"] = node
        status = section(body, "status")
        status.pop("nominatedNodeName", None)
        set_condition_of(body, StatusCondition("PodScheduled", "True"), now)
        return body

    return store.patch(key_of_target(pod), assign, Part.WHOLE, pod.uid)


def _check_namespace(store: Store, pod: Target) -> None:
    """Kubernetes admits a binding as a new object, and a terminating namespace accepts no new objects."""
    found = store.find(Key("namespaces", "", pod.namespace))
    if found is not None and "deletionTimestamp" in metadata_of(parsed(found)):
        why = f"unable to create new content in namespace {pod.namespace} because it is being terminated"
        raise ApiError(403, "Forbidden", f"{pod} is forbidden: {why}")


def _check_bindable(pod: Target, meta: Json, spec: Json) -> None:
    if spec.get("nodeName"):
        raise conflict(str(pod), f'it is already assigned to node "{spec["nodeName"]}"')
    if "deletionTimestamp" in meta:
        raise conflict(str(pod), "it is being deleted, cannot be assigned to a host")
    if spec.get("schedulingGates"):
        raise conflict(str(pod), "it has non-empty .spec.schedulingGates")


def write_status(store: Store, target: Target, parts: Iterable[StatusPart], now: float) -> Stored:
    def write(body: Json) -> Json:
        for part in parts:
            _write_part(body, part, now)
        return body

    return store.patch(key_of_target(target), write, Part.STATUS, target.uid)


def _write_part(body: Json, part: StatusPart, now: float) -> None:
    status = section(body, "status")
    match part:
        case SetCondition():
            condition = StatusCondition(part.type, part.status, part.reason, part.message, since=part.since)
            set_condition_of(body, condition, now)
        case Nominate(node=""):
            status.pop("nominatedNodeName", None)
        case Nominate():
            status["nominatedNodeName"] = part.node


def evict(store: Store, pod: Target, grace: int | None = None) -> Stored | None:
    """A pod that is gone, or replaced by another of the same name, counts as evicted."""
    try:
        return store.delete(key_of_target(pod), uid=pod.uid, grace=grace)
    except ApiError as error:
        if error.status in (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT):
            return None
        raise


def announce(store: Store, effect: Announce, now: float, reporter: str = REPORTER) -> Stored:
    """The object that the event regards need not exist any more: the event may announce its deletion."""
    target = effect.target
    suffix, namespace = effect.suffix or suffix_at(store.version + 1), target.namespace or "default"
    recorded = store.find(Key("events", namespace, f"{target.name}.{suffix}"))
    if recorded is not None:
        return recorded
    related = {"related": _reference(effect.related)} if effect.related is not None else {}
    event = {
        "metadata": {"name": f"{target.name}.{suffix}", "namespace": namespace},
        "involvedObject": _reference(target),
        **related,
        "type": effect.tone.value,
        "reason": effect.reason,
        "action": effect.action,
        "message": effect.note,
        "firstTimestamp": None,
        "lastTimestamp": None,
        "eventTime": micro_stamp(now),
        "reportingComponent": reporter,
        "reportingInstance": reporter,
    }
    return store.create("events", event)


def _reference(target: Target) -> Json:
    kind = BY_NAME.get(target.kind)
    version = {"apiVersion": kind.api_version} if kind is not None else {}
    more = {"namespace": target.namespace, "uid": target.uid}
    return {"kind": target.kind, "name": target.name, **version, **{k: v for k, v in more.items() if v}}


def reserve_volume(store: Store, volume: Target, claim: Target) -> Stored:
    """Set the claimRef of a volume; the persistent volume controller completes the binding."""

    def reserve(body: Json) -> Json:
        spec = section(body, "spec")
        owner = peek(spec, "claimRef")
        if owner and not _is_for(owner, claim):
            raise conflict(
                str(volume), f"it is already reserved for claim {owner.get('namespace')}/{owner.get('name')}"
            )
        spec["claimRef"] = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": claim.namespace,
            "name": claim.name,
            "uid": claim.uid,
        }
        section(section(body, "metadata"), "annotations")[BOUND_BY_CONTROLLER] = "yes"
        return body

    return store.patch(key_of_target(volume), reserve, Part.MAIN, volume.uid)


def _is_for(owner: Json, claim: Target) -> bool:
    same_name = owner.get("namespace") == claim.namespace and owner.get("name") == claim.name
    return same_name and owner.get("uid", claim.uid) == claim.uid


def select_node(store: Store, claim: Target, node: str) -> Stored:
    def select(body: Json) -> Json:
        annotations = section(section(body, "metadata"), "annotations")
        bound = section(body, "spec").get("volumeName")
        if bound and annotations.get(SELECTED_NODE) != node:
            raise conflict(str(claim), f"it is already bound to volume {bound}")
        annotations[SELECTED_NODE] = node
        return body

    return store.patch(key_of_target(claim), select, Part.MAIN, claim.uid)
