"""A cluster as records of the model, with the JSON of each object at hand for what needs more than those.

Objects that no API server has admitted, as in files written by hand, are completed as one would: defaults,
priorities, UIDs. What cannot be read is left out and noted.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from uuid import UUID

import msgspec

from reprieve.cluster.admission.defaults import default
from reprieve.cluster.admission.features import ALL_FEATURES
from reprieve.cluster.admission.priority_classes import Class, read_class, resolve_spec
from reprieve.cluster.api.codec import CLUSTER_SCOPED, HEADER, READERS, Decoded, Unreadable, decode_value
from reprieve.cluster.api.decode_errors import UNDECODABLE
from reprieve.cluster.api.values import made, part, text_in
from reprieve.inquiry.cluster_objects import ApiObject, ClusterObjects
from reprieve.model.formatting import counted, listed
from reprieve.model.json import Json
from reprieve.model.objects import CompositePodGroup, KubernetesObject, ObjectMeta, Pod, PodGroup

Name = tuple[str, str, str]  # kind, namespace, name

_SHOWN = 3  # problems that a note quotes; the others are counted


@dataclass(slots=True, eq=False)
class ObjectsByName:
    """The JSON of objects by kind and name, parsed when it is first asked for; admission reads it.

    ``put`` adds an object, or replaces it; ``remove`` takes one away.
    """

    _raw: dict[str, dict[tuple[str, str], ApiObject]] = field(default_factory=dict)
    _parsed: dict[Name, Json] = field(default_factory=dict)

    def add(self, name: Name, thing: ApiObject) -> None:
        kind, *rest = name
        self._raw.setdefault(kind, {})[rest[0], rest[1]] = thing

    def put(self, body: Json) -> None:
        kind, meta = text_in(body, "kind"), part(body, "metadata")
        key = (_namespace(kind, text_in(meta, "namespace")), text_in(meta, "name"))
        self._raw.setdefault(kind, {})[key] = ApiObject(kind, text_in(body, "apiVersion"), b"")
        self._parsed[kind, *key] = body

    def remove(self, kind: str, namespace: str, name: str) -> None:
        self._raw.get(kind, {}).pop((namespace, name), None)
        self._parsed.pop((kind, namespace, name), None)

    def find(self, kind: str, namespace: str, name: str) -> Json | None:
        known = self._raw.get(kind, {}).get((namespace, name))
        return self._value((kind, namespace, name), known) if known is not None else None

    def all(self, kind: str) -> Iterator[Json]:
        for key, thing in list(self._raw.get(kind, {}).items()):
            yield self._value((kind, *key), thing)

    def has_kind(self, kind: str) -> bool:
        return bool(self._raw.get(kind))

    def copy(self) -> "ObjectsByName":
        """What is put into the copy does not change this one."""
        return ObjectsByName({kind: dict(named) for kind, named in self._raw.items()}, dict(self._parsed))

    def _value(self, name: Name, thing: ApiObject) -> Json:
        found = self._parsed.get(name)
        if found is None:
            found = self._parsed[name] = parsed(thing)
        return found


def parsed(thing: ApiObject) -> Json:
    """An object whose JSON is no object, which ``decoded`` has noted, has no fields."""
    try:
        body = msgspec.json.decode(thing.body)
    except UNDECODABLE:
        body = None
    body = body if isinstance(body, dict) else {}
    return {**body, "apiVersion": thing.api_version, "kind": thing.kind}


@dataclass(frozen=True, slots=True, eq=False)
class DecodedCluster:
    """``seen``: the objects that a scheduler reads."""

    source: ClusterObjects
    seen: tuple[Decoded[KubernetesObject], ...]
    by_name: ObjectsByName
    notes: tuple[str, ...] = ()

    def pods(self) -> Iterator[Pod]:
        return (one.object for one in self.seen if isinstance(one.object, Pod))


def decoded(cluster: ClusterObjects) -> DecodedCluster:
    seen: list[Decoded[KubernetesObject]] = []
    unread: list[str] = []
    by_name = ObjectsByName()
    for thing in cluster.objects:
        reader = READERS.get((thing.api_version, thing.kind))
        if reader is None:
            by_name.add(_header_name(thing), thing)
            continue
        match reader.read(thing.body):
            case Decoded() as found:
                seen.append(found)
                by_name.add(_name(found.object), thing)
            case Unreadable(problem=problem):
                unread.append(str(problem))
    notes = [*cluster.notes]
    if unread:
        which = "; ".join(unread[:_SHOWN]) + ("; …" if len(unread) > _SHOWN else "")
        notes.append(f"{counted(len(unread), 'object')} could not be read, and counts for nothing: {which}.")
    classes = [*map(read_class, by_name.all("PriorityClass"))]
    completing = _Completing(by_name, classes)
    complete = tuple(map(completing.complete, seen))
    return DecodedCluster(cluster, complete, by_name, (*notes, *completing.notes()))


def _name(thing: KubernetesObject) -> Name:
    return type(thing).__name__, thing.metadata.namespace, thing.metadata.name


def _header_name(thing: ApiObject) -> Name:
    try:
        meta = HEADER.decode(thing.body).metadata
    except UNDECODABLE:
        return thing.kind, "", ""
    return thing.kind, _namespace(thing.kind, meta.namespace), meta.name


def _namespace(kind: str, given: str) -> str:
    return "" if kind in CLUSTER_SCOPED else given or "default"


# --- objects that no server has admitted ---------------------------------------------------------


class _Completing:
    """A server stores no pod without a priority: a pod that has none was never admitted."""

    def __init__(self, by_name: ObjectsByName, classes: list[Class]) -> None:
        self._by_name, self._classes = by_name, classes
        self._unknown_classes: set[str] = set()

    def complete(self, found: Decoded[KubernetesObject]) -> Decoded[KubernetesObject]:
        thing = found.object
        if isinstance(thing, Pod | PodGroup | CompositePodGroup) and thing.spec.priority is None:
            found = self._admitted(found)
        return _identified(found)

    def _admitted(self, found: Decoded[KubernetesObject]) -> Decoded[KubernetesObject]:
        """A group without a class keeps no priority: that of its pods counts."""
        body = self._by_name.find(*_name(found.object))
        if body is None or (body["kind"] != "Pod" and not part(body, "spec").get("priorityClassName")):
            return found
        body = msgspec.json.decode(msgspec.json.encode(body))
        default(body, text_in(body, "apiVersion").rpartition("/")[2], ALL_FEATURES)
        spec = made(body, "spec")
        if resolve_spec(spec, self._classes, with_policy=True):
            self._unknown_classes.add(text_in(spec, "priorityClassName"))
            spec.setdefault("priority", 0)
        again = decode_value(body)
        return again if isinstance(again, Decoded) else found

    def notes(self) -> Iterator[str]:
        if self._unknown_classes:
            names = listed(sorted(self._unknown_classes))
            yield f"Pods name priority classes that are not known, and count with priority 0: {names}."


def _identified(found: Decoded[KubernetesObject]) -> Decoded[KubernetesObject]:
    """The scheduler tells objects of one name apart by their UIDs."""
    thing = found.object
    if thing.metadata.uid:
        return found
    meta: ObjectMeta = msgspec.structs.replace(thing.metadata, uid=uid_for(*_name(thing)))
    return Decoded(object=msgspec.structs.replace(thing, metadata=meta), unserved=found.unserved)


def uid_for(kind: str, namespace: str, name: str) -> str:
    """A UID for an object that never was in a cluster."""
    return str(UUID(bytes=blake2b(f"{kind}/{namespace}/{name}".encode(), digest_size=16).digest()))


def decoded_bodies(bodies: Iterable[Json]) -> Iterator[Decoded[KubernetesObject]]:
    """Admitted objects of kinds that a scheduler reads."""
    for body in bodies:
        found = decode_value(body)
        if isinstance(found, Decoded):
            yield _identified(found)
