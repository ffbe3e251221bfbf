"""How is a cluster written to one file: a header, then one object a line, then its decisions?

Written is what placement, preemption and admission read, and no more: no secrets, no data of ConfigMaps, no
environment, commands or probes of containers, no managed fields, no last-applied configuration. Reading is
for ``object_files``.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import msgspec

from reprieve.cluster.api import snapshot_header
from reprieve.cluster.api.codec import READERS
from reprieve.cluster.api.decode_errors import UNDECODABLE
from reprieve.cluster.api.timestamps import stamp
from reprieve.cluster.api.values import TooDeepError, without_nulls
from reprieve.inquiry.cluster_objects import ApiObject, ClusterObjects
from reprieve.model.json import Json
from reprieve.model.objects import ObjectMeta, PodSpec, Record
from reprieve.report.text_layout import BLANK, LineStyle, TextLine, table

# Of these kinds, the fields of the model's records are written. Of the others, which have no place for
# secrets but in templates of pods, spec and status are written whole: `reprieve up --from` needs them to run.
_RECORDED = frozenset(
    {
        "Pod",
        "Node",
        "Namespace",
        "Service",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "StorageClass",
        "CSINode",
        "CSIDriver",
        "CSIStorageCapacity",
        "VolumeAttachment",
    }
)
# Other annotations may hold anything, and are read by neither placement nor preemption.
_ANNOTATIONS = ("kubernetes.io", "k8s.io", "reprieve.dev")
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_TEMPLATES = ("template", "jobTemplate")


def snapshot_lines(cluster: ClusterObjects) -> Iterator[bytes]:
    """The lines of the file, each with its line break. ``cluster``: one that ``pruned`` returned."""
    yield _line(_header(cluster))
    for thing in cluster.objects:
        yield thing.body + b"\n"
    for decision in cluster.decisions:
        yield _line(decision)


def pruned(cluster: ClusterObjects) -> ClusterObjects:
    """What may be written of a cluster. Every body repeats its kind; what cannot be decoded is noted."""
    unreadable: Counter[str] = Counter()
    objects = []
    for thing in cluster.objects:
        kept = pruned_object(thing)
        if kept is None:
            unreadable[thing.kind] += 1
        else:
            objects.append(kept)
    notes = list(cluster.notes)
    if unreadable:
        numbers = ", ".join(f"{kind} ({number})" for kind, number in sorted(unreadable.items()))
        notes.append(f"left out objects that cannot be decoded: {numbers}")
    return replace(cluster, objects=tuple(objects), notes=tuple(notes))


def _header(cluster: ClusterObjects) -> Json:
    header: Json = {
        "apiVersion": snapshot_header.API_VERSION,
        "kind": snapshot_header.KIND,
        "objectCount": len(cluster.objects),
        "decisionCount": len(cluster.decisions),
    }
    if cluster.is_dated:
        header["takenAt"] = stamp(cluster.taken_at)
    if cluster.resource_version:
        header["resourceVersion"] = cluster.resource_version
    if cluster.configuration is not None:
        header["configuration"] = cluster.configuration
    if cluster.pods_read_in is not None:
        header["podsReadIn"] = list(cluster.pods_read_in)
    if cluster.notes:
        header["notes"] = list(cluster.notes)
    return header


def _line(value: Json) -> bytes:
    return msgspec.json.encode(value) + b"\n"


# --- one object ----------------------------------------------------------------------------------


class _Template(Record, frozen=True):
    """A template of pods, as far as a pod is read."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()


def pruned_object(thing: ApiObject) -> ApiObject | None:
    """What may be written of it; None if it cannot be decoded."""
    try:
        body = _recorded(thing) if thing.kind in _RECORDED else _trimmed(thing)
    except (*UNDECODABLE, TooDeepError):
        return None
    return ApiObject(thing.kind, thing.api_version, body)


def _recorded(thing: ApiObject) -> bytes:
    decoder = READERS[thing.api_version, thing.kind].decoder
    try:
        record = decoder.decode(thing.body)
    except UNDECODABLE:
        # To Kubernetes null means absent, to msgspec it is a value of another type.
        record = msgspec.convert(without_nulls(msgspec.json.decode(thing.body)), decoder.type)
    meta = record.metadata
    if meta.annotations:
        kept = msgspec.structs.replace(meta, annotations=_annotations(meta.annotations))
        record = msgspec.structs.replace(record, metadata=kept)
    head = msgspec.json.encode({"apiVersion": thing.api_version, "kind": thing.kind})
    return head[:-1] + b"," + msgspec.json.encode(record)[1:]


def _trimmed(thing: ApiObject) -> bytes:
    body = without_nulls(msgspec.json.decode(thing.body, type=dict[str, object]))
    kept = {"apiVersion": thing.api_version, "kind": thing.kind, **body}
    kept["metadata"] = _metadata(body.get("metadata"))
    if isinstance(spec := body.get("spec"), dict):
        kept["spec"] = _without_contents(spec) if thing.kind != "DeviceClass" else _extended_resource(spec)
    return msgspec.json.encode(kept)


def _metadata(value: object) -> Json:
    meta = msgspec.convert(value, ObjectMeta)
    kept = msgspec.structs.replace(meta, annotations=_annotations(meta.annotations))
    encoded: Json = msgspec.to_builtins(kept)
    return encoded


def _without_contents(spec: Json) -> Json:
    """Templates with as much of a pod as is read."""
    kept = dict(spec)
    for field in _TEMPLATES:
        template = spec.get(field)
        if not isinstance(template, dict):
            continue
        if field == "template":
            read = msgspec.convert(template, _Template)
            meta = msgspec.structs.replace(read.metadata, annotations=_annotations(read.metadata.annotations))
            kept[field] = msgspec.to_builtins(msgspec.structs.replace(read, metadata=meta))
        elif isinstance(inner := template.get("spec"), dict):
            kept[field] = {"spec": _without_contents(inner)}
    return kept


def _extended_resource(spec: Json) -> Json:
    """Selectors and the parameters of drivers decide nothing here, and may hold anything."""
    return {key: value for key, value in spec.items() if key == "extendedResourceName"}


def _annotations(annotations: Mapping[str, str]) -> dict[str, str]:
    return {
        key: value
        for key, value in annotations.items()
        if key != _LAST_APPLIED and key.partition("/")[0].endswith(_ANNOTATIONS) and "/" in key
    }


# --- what is in it -------------------------------------------------------------------------------


API_VERSION = "reprieve.dev/v1alpha1"


@dataclass(frozen=True, slots=True)
class SnapshotContents:
    """``schedulers``: the scheduler names of the configuration; empty if it has none."""

    taken_at: float | None  # None: it does not say
    resource_version: str
    kinds: tuple[tuple[str, int], ...]  # the most frequent first
    schedulers: tuple[str, ...]
    decisions: int
    notes: tuple[str, ...]


def contents_of(cluster: ClusterObjects) -> SnapshotContents:
    counts = Counter(thing.kind for thing in cluster.objects)
    return SnapshotContents(
        taken_at=cluster.taken_at if cluster.is_dated else None,
        resource_version=cluster.resource_version,
        kinds=tuple(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))),
        schedulers=tuple(_schedulers(cluster.configuration or {})),
        decisions=len(cluster.decisions),
        notes=cluster.notes,
    )


def _schedulers(configuration: Json) -> list[str]:
    profiles = configuration.get("profiles")
    return [
        str(profile.get("schedulerName", "default-scheduler"))
        for profile in (profiles if isinstance(profiles, list) else ())
        if isinstance(profile, dict)
    ]


def contents_lines(contents: SnapshotContents) -> list[TextLine]:
    version = f", resource version {contents.resource_version}" if contents.resource_version else ""
    taken = "Nothing in it says when it was taken"
    if contents.taken_at is not None:
        taken = f"Taken at {stamp(contents.taken_at)}{version}"
    rows = [(kind, str(number)) for kind, number in contents.kinds]
    decisions = [("Decision", str(contents.decisions))] if contents.decisions else []
    configured = (
        [BLANK, TextLine(f"It has the configuration of the scheduler of {', '.join(contents.schedulers)}.")]
        if contents.schedulers
        else []
    )
    notes = [BLANK, *(TextLine(f"Note: {note}.") for note in contents.notes)] if contents.notes else []
    return [
        TextLine(f"{taken}.", LineStyle.HEADING),
        BLANK,
        *table(("KIND", "OBJECTS"), [*rows, *decisions], numbers=(1,)),
        *configured,
        *notes,
    ]


def contents_document(contents: SnapshotContents) -> Json:
    return {
        "apiVersion": API_VERSION,
        "kind": "SnapshotContents",
        "takenAt": stamp(contents.taken_at) if contents.taken_at is not None else None,
        "resourceVersion": contents.resource_version,
        "objects": dict(contents.kinds),
        "schedulers": list(contents.schedulers),
        "decisions": contents.decisions,
        "notes": list(contents.notes),
    }
