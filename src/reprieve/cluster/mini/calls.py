"""The writes that a scheduler makes, as calls on the store: binding, conditions, events, volumes.

Each one tries once and either happened, had happened before, or is refused with an ApiError.
"""

from collections.abc import Iterable
from http import HTTPStatus

from reprieve.cluster.api.timestamps import micro_stamp
from reprieve.cluster.mini.conditions import Condition, set_condition_of
from reprieve.cluster.mini.errors import ApiError, conflict, not_found
from reprieve.cluster.mini.history import Key, Stored
from reprieve.cluster.mini.kinds import BY_NAME, peek, section
from reprieve.cluster.mini.metadata import metadata_of, suffix_at
from reprieve.cluster.mini.store import Part, Store, parsed
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
            return evict(store, effect.target)


def key_of_target(target: Target) -> Key:
    kind = BY_NAME.get(target.kind)
    if kind is None:
        raise not_found(f"the kind {target.kind}")
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
        set_condition_of(body, Condition("PodScheduled", "True"), now)
        return body

    return store.patch(key_of_target(pod), assign, Part.WHOLE, pod.uid)


def _check_namespace(store: Store, pod: Target) -> None:
    """To Kubernetes a binding is something new, and a namespace that goes gets nothing new."""
    found = store.find(Key("namespaces", "", pod.namespace))
    if found is not None and "deletionTimestamp" in metadata_of(parsed(found)):
        why = f"the namespace {pod.namespace} is being deleted: no pod in it is given a node"
        raise ApiError(403, "Forbidden", f"{pod} is forbidden: {why}")


def _check_bindable(pod: Target, meta: Json, spec: Json) -> None:
    if spec.get("nodeName"):
        raise conflict(str(pod), f"it runs on node {spec['nodeName']} already")
    if "deletionTimestamp" in meta:
        raise conflict(str(pod), "it is being deleted and cannot be given a node")
    if spec.get("schedulingGates"):
        raise conflict(str(pod), "spec.schedulingGates holds it back")


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
            condition = Condition(part.type, part.status, part.reason, part.message)
            set_condition_of(body, condition, now)
        case Nominate(node=""):
            status.pop("nominatedNodeName", None)
        case Nominate():
            status["nominatedNodeName"] = part.node


def evict(store: Store, pod: Target) -> Stored | None:
    """One that is gone already, or has a namesake in its place, has been evicted."""
    try:
        return store.delete(key_of_target(pod), uid=pod.uid)
    except ApiError as error:
        if error.status in (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT):
            return None
        raise


def announce(store: Store, effect: Announce, now: float, reporter: str = REPORTER) -> Stored:
    """An event needs no living object: it may tell of the end of one."""
    target = effect.target
    suffix, namespace = effect.suffix or suffix_at(store.version + 1), target.namespace or "default"
    told = store.find(Key("events", namespace, f"{target.name}.{suffix}"))
    if told is not None:
        return told
    kind = BY_NAME.get(target.kind)
    regarding = {"kind": target.kind, "name": target.name, "uid": target.uid}
    if kind is not None:
        regarding["apiVersion"] = kind.api_version
    if target.namespace:
        regarding["namespace"] = target.namespace
    event = {
        "metadata": {"name": f"{target.name}.{suffix}", "namespace": namespace},
        "involvedObject": regarding,
        "type": effect.tone.value,
        "reason": effect.reason,
        "action": effect.action,
        "message": effect.note,
        "eventTime": micro_stamp(now),
        "reportingComponent": reporter,
        "reportingInstance": reporter,
    }
    return store.create("events", event)


def reserve_volume(store: Store, volume: Target, claim: Target) -> Stored:
    """The volume controller completes what this begins."""

    def reserve(body: Json) -> Json:
        spec = section(body, "spec")
        owner = peek(spec, "claimRef")
        if owner and not _is_for(owner, claim):
            raise conflict(
                str(volume), f"it is reserved for {owner.get('namespace')}/{owner.get('name')} already"
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
            raise conflict(str(claim), f"it is bound to volume {bound} already")
        annotations[SELECTED_NODE] = node
        return body

    return store.patch(key_of_target(claim), select, Part.MAIN, claim.uid)
