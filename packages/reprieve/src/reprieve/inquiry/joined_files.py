"""Which cluster do objects describe together, and where do they contradict each other?

Nothing of that is fatal: each finding is counted in a note, with a few names. Every object gets a UID, since
the scheduler tells objects apart by UIDs and files written by hand have none, and likewise its namespace.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import msgspec

from reprieve.cluster.api.decode_errors import UNDECODABLE
from reprieve.inquiry.cluster_objects import READABLE, ApiObject, ClusterObjects
from reprieve.inquiry.object_files import ObjectFile, SnapshotHeader
from reprieve.model.formatting import counted, listed
from reprieve.model.objects import Record, SchedulingGroup

_DEFAULT_NAMESPACE = "default"
_ENDED = ("Succeeded", "Failed")


def cluster_in(files: Sequence[ObjectFile], now: float) -> ClusterObjects:
    """The cluster that files without problems describe; of objects with one name, the last counts.

    ``now``: when it was taken, if no header says it.
    """
    headers = [file.header for file in files if file.header is not None]
    times = [header.taken_at for header in headers if header.taken_at is not None]
    configurations = [header.configuration for header in headers if header.configuration is not None]
    read = ClusterObjects(
        objects=tuple(thing for file in files for thing in file.objects),
        taken_at=max(times, default=now),
        resource_version=headers[-1].resource_version if headers else "",
        configuration=configurations[-1] if configurations else None,
        decisions=tuple(decision for file in files for decision in file.decisions),
        pods_read_in=_pods_read_in(headers),
        notes=tuple(dict.fromkeys(note for header in headers for note in header.notes)),
        is_dated=bool(times),
    )
    return consistent(read)


def _pods_read_in(headers: Sequence[SnapshotHeader]) -> tuple[str, ...] | None:
    """Files without a header, and a snapshot of all namespaces, do not say that pods are missing."""
    read = [header.pods_read_in for header in headers]
    parts = [namespaces for namespaces in read if namespaces is not None]
    if not parts or len(parts) < len(read):
        return None
    return tuple(sorted({namespace for namespaces in parts for namespace in namespaces}))


def consistent(cluster: ClusterObjects) -> ClusterObjects:
    """The cluster without unknown kinds and repeated names, and with UIDs; notes say what was found."""
    tally = _Tally()
    kept = _kept(cluster.objects, tally)
    objects = tuple(_with_uids(kept.values(), tally))
    contradictions = _contradictions(kept.values())
    return replace(cluster, objects=objects, notes=(*cluster.notes, *tally.sentences(), *contradictions))


# --- what is read of each object -----------------------------------------------------------------


class _Meta(Record, frozen=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""


class _Spec(Record, frozen=True):
    node_name: str = ""
    scheduling_group: SchedulingGroup | None = None


class _Status(Record, frozen=True):
    phase: str = ""


class _About(Record, frozen=True):
    metadata: _Meta = _Meta()


class _AboutPod(Record, frozen=True):
    metadata: _Meta = _Meta()
    spec: _Spec = _Spec()
    status: _Status = _Status()


_ABOUT = msgspec.json.Decoder(_About)
_ABOUT_POD = msgspec.json.Decoder(_AboutPod)
_Key = tuple[str, str, str]  # kind, namespace, name


@dataclass(slots=True)
class _Tally:
    unknown: Counter[str]
    unnamed: Counter[str]
    repeated: list[str]
    same_uid: list[str]

    def __init__(self) -> None:
        self.unknown, self.unnamed = Counter(), Counter()
        self.repeated, self.same_uid = [], []

    def sentences(self) -> Iterator[str]:
        if self.unknown:
            yield f"left out objects of kinds that Reprieve does not read: {_numbers(self.unknown)}"
        if self.unnamed:
            yield f"left out objects without a readable metadata.name: {_numbers(self.unnamed)}"
        if self.repeated:
            yield (
                f"{counted(len(self.repeated), 'object')} occurred again under the same name, and the last "
                f"version counts: {listed(self.repeated)}"
            )
        if self.same_uid:
            yield (
                f"{counted(len(self.same_uid), 'object')} had the UID of another object, and got a new one: "
                f"{listed(self.same_uid)}"
            )


class _Kept(Record, frozen=True):
    key: _Key
    thing: ApiObject
    uid: str
    pod: _AboutPod | None
    lacks_namespace: bool


def _numbers(counts: Counter[str]) -> str:
    return ", ".join(f"{what} ({number})" for what, number in sorted(counts.items()))


def _kept(objects: Iterable[ApiObject], tally: _Tally) -> dict[_Key, _Kept]:
    kept: dict[_Key, _Kept] = {}
    for thing in objects:
        namespaced = READABLE.get((thing.api_version, thing.kind))
        if namespaced is None:
            tally.unknown[f"{thing.kind} of {thing.api_version}"] += 1
            continue
        about = _about(thing)
        if about is None or not about.metadata.name:
            tally.unnamed[thing.kind] += 1
            continue
        namespace = (about.metadata.namespace or _DEFAULT_NAMESPACE) if namespaced else ""
        key = (thing.kind, namespace, about.metadata.name)
        if key in kept:
            tally.repeated.append(_shown(key))
        pod = about if isinstance(about, _AboutPod) else None
        lacks = namespaced and not about.metadata.namespace
        kept[key] = _Kept(key=key, thing=thing, uid=about.metadata.uid, pod=pod, lacks_namespace=lacks)
    return kept


def _about(thing: ApiObject) -> _About | _AboutPod | None:
    if thing.kind == "Pod":
        try:
            return _ABOUT_POD.decode(thing.body)
        except UNDECODABLE:
            pass  # nulls, or a pod that the codec will find unreadable: its name may still be read
    try:
        return _ABOUT.decode(thing.body)
    except UNDECODABLE:
        return None


def _shown(key: _Key) -> str:
    kind, namespace, name = key
    return f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"


# --- UIDs ----------------------------------------------------------------------------------------


def _with_uids(kept: Iterable[_Kept], tally: _Tally) -> Iterator[ApiObject]:
    known: set[tuple[str, str]] = set()
    for one in kept:
        is_new = bool(one.uid) and (one.key[0], one.uid) not in known
        if one.uid and not is_new:
            tally.same_uid.append(_shown(one.key))
        uid = one.uid if is_new else "/".join(filter(None, one.key))
        known.add((one.key[0], uid))
        if is_new and not one.lacks_namespace:
            yield one.thing
        else:
            body = _completed(one.thing.body, uid, one.key[1])
            yield ApiObject(one.thing.kind, one.thing.api_version, body)


def _completed(body: bytes, uid: str, namespace: str) -> bytes:
    try:
        value = msgspec.json.decode(body)
    except UNDECODABLE:
        return body  # only its beginning can be read: the codec will say why
    value["metadata"]["uid"] = uid
    if namespace:
        value["metadata"]["namespace"] = namespace
    return msgspec.json.encode(value)


# --- contradictions ------------------------------------------------------------------------------


def _contradictions(kept: Iterable[_Kept]) -> Iterator[str]:
    names = {one.key for one in kept}
    nodes: Counter[str] = Counter()
    groups: Counter[str] = Counter()
    for one in kept:
        if one.pod is None or one.pod.status.phase in _ENDED:
            continue
        namespace, spec = one.key[1], one.pod.spec
        if spec.node_name and ("Node", "", spec.node_name) not in names:
            nodes[spec.node_name] += 1
        group = spec.scheduling_group.pod_group_name if spec.scheduling_group is not None else ""
        if group and ("PodGroup", namespace, group) not in names:
            groups[f"{namespace}/{group}"] += 1
    if nodes:
        yield f"{_pods_are(nodes)} on nodes that are not known, and count nowhere: {listed(sorted(nodes))}"
    if groups:
        yield f"{_pods_are(groups)} in PodGroups that are not known: {listed(sorted(groups))}"


def _pods_are(counts: Counter[str]) -> str:
    number = counts.total()
    return f"{counted(number, 'pod')} {'is' if number == 1 else 'are'}"
