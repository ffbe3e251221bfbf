"""How are the names of a cluster replaced, so that every decision in it stays the same?

Every text that a user may have chosen is replaced: names, namespaces, labels, owner references, node names,
group names, claims, images, handles of volumes. Equal texts stay equal, different ones different, and their
order is kept, since ties are broken by names. Kept are numbers, times, resource names, scheduler names, names
of drivers and of device classes (each is a resource name, too), and label keys of Kubernetes and of cloud
providers. Messages, decisions and the configuration are left out. A field that is not listed is replaced.

The key says which name stands for which. With it manifests are renamed in the same way, so that an anonymous
snapshot can be asked about; it is kept beside the snapshot, and never in it.
"""

import re
from bisect import bisect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import msgspec

from reprieve.cluster.api.decode_errors import UNDECODABLE
from reprieve.cluster.api.timestamps import stamp
from reprieve.cluster.api.values import text_in, without_nulls
from reprieve.inquiry.cluster_objects import READABLE, ApiObject, ClusterObjects
from reprieve.inquiry.manifests import Manifest
from reprieve.inquiry.snapshot_file import pruned_object
from reprieve.model.json import Json
from reprieve.model.objects import Record
from reprieve.preemption.preemption_priority import ANNOTATION as PREEMPTION_PRIORITY_CLASS

_NOTE = "names were replaced; the configuration, decisions and messages were left out"


_API_VERSION, _KIND = "reprieve.dev/v1alpha1", "SnapshotKey"


class SnapshotKey(Record, frozen=True):
    """``names``: the new name by the old one. ``compared``: label keys whose values are
    compared as numbers."""

    api_version: str = ""
    kind: str = ""
    taken_at: str = ""  # of the snapshot; empty if it does not say
    names: dict[str, str] = {}
    compared: tuple[str, ...] = ()


class SnapshotKeyError(ValueError):
    """The key cannot be used: one sentence."""


def anonymised(cluster: ClusterObjects) -> tuple[ClusterObjects, SnapshotKey]:
    """``cluster``: one that ``snapshot_file.pruned`` returned."""
    renaming = Renaming(cluster)
    compared = tuple(sorted(renaming.compared))
    return renaming.renamed(cluster), SnapshotKey(
        _API_VERSION, _KIND, _taken_at(cluster), renaming.names, compared
    )


def _taken_at(cluster: ClusterObjects) -> str:
    return stamp(cluster.taken_at) if cluster.is_dated else ""


def read_key(text: bytes, cluster: ClusterObjects) -> SnapshotKey:
    """Raises SnapshotKeyError if it is not the key of this cluster."""
    try:
        key = msgspec.json.decode(text, type=SnapshotKey)
    except UNDECODABLE as error:
        raise SnapshotKeyError("expected the key of an anonymous snapshot, in JSON") from error
    if (key.api_version, key.kind) != (_API_VERSION, _KIND):
        raise SnapshotKeyError(f"expected {_KIND} of {_API_VERSION}, got {key.kind} of {key.api_version}")
    if key.taken_at != _taken_at(cluster):
        raise SnapshotKeyError("it is the key of another snapshot: the two were taken at different times")
    return key


# --- manifests -----------------------------------------------------------------------------------


def renamed_manifests(
    manifests: Sequence[Manifest], key: SnapshotKey, namespace: str
) -> tuple[tuple[Manifest, ...], SnapshotKey]:
    """Manifests as the snapshot would have them, and the key with the names that they brought.

    Kinds that no snapshot has stay as they are, and so does what cannot be read: admission refuses it.
    """
    things = [_as_in_snapshot(manifest, namespace) for manifest in manifests]
    roles: dict[str, str] = {}
    compared = {*key.compared}
    collector = _Walker(partial(_collect, roles), compared)
    for thing in filter(None, things):
        _collect(roles, _parsed(thing)["metadata"].get("name", ""), thing.kind.lower())
        collector.body(thing)
    names = {**key.names, **_names_between(key.names, {k: v for k, v in roles.items() if k})}
    walker = _Walker(lambda text, role: names[text], compared)
    renamed = tuple(
        manifest if thing is None else replace(manifest, body=walker.body(thing))
        for manifest, thing in zip(manifests, things, strict=True)
    )
    return renamed, msgspec.structs.replace(key, names=names, compared=tuple(sorted(compared)))


def _as_in_snapshot(manifest: Manifest, namespace: str) -> ApiObject | None:
    body = without_nulls(manifest.body)
    kind, api_version = text_in(body, "kind"), text_in(body, "apiVersion")
    meta = body.get("metadata")
    if (api_version, kind) not in READABLE or not isinstance(meta, dict):
        return None
    if READABLE[api_version, kind]:
        meta = {"namespace": namespace, **meta}
    return pruned_object(
        ApiObject(kind, api_version, msgspec.json.encode({**body, "metadata": {"name": "", **meta}}))
    )


def _names_between(known: Mapping[str, str], roles: Mapping[str, str]) -> dict[str, str]:
    """New names for texts that the snapshot does not have, which sort among those of the snapshot."""
    originals = sorted(known)
    found: dict[str, str] = {}
    width = len(next(iter(known.values()), "x0").partition("-")[0]) - 1
    for number, text in enumerate(sorted(roles.keys() - known.keys()), start=1):
        found[text] = f"x{bisect(originals, text):0{width}}z{number:04}-{roles[text]}"
    return found


# --- which texts are kept --------------------------------------------------------------------------

# Fields with words of the API, or of no user. Times and resource versions tell nothing.
_WORDS = """
    accessModes action apiGroup apiVersion attacher bindMountOptions blockOwnerDeletion completedIndexes
    completionMode component concurrencyPolicy creationTimestamp declaredFeatures deletionTimestamp
    disablePodResizePreemption disableResizePreemption disruptionMode driver effect eventTime
    extendedResourceName firstTimestamp kind lastProbeTime lastScheduleTime lastSuccessfulTime lastTimestamp
    lastTransitionTime lastUpdateTime
    managedBy maxSurge maxUnavailable minAvailable nodeAffinityPolicy nodeTaintsPolicy operator phase
    podManagementPolicy podReplacementPolicy preemptionPolicy protocol provisioner reason reportingComponent
    resourceVersion restartPolicy schedule schedulerName scopeName scopes startTime completionTime status
    timeZone type unhealthyPodEvictionPolicy volumeBindingMode volumeMode
    whenDeleted whenScaled whenUnsatisfiable
"""
_KEPT = frozenset(_WORDS.split())
# Fields whose content is amounts by resource name.
_RESOURCES = """
    allocatable allocated allocatedResources capacity default defaultRequest limits mapping max
    maxLimitRequestRatio maximumVolumeSize min overhead requests
"""
_AMOUNTS = frozenset(_RESOURCES.split())
_SELECTOR = frozenset({"matchLabels", "matchExpressions"})
# Label keys under these domains are the same in every cluster.
_KNOWN_DOMAINS = (
    "kubernetes.io",
    "k8s.io",
    "reprieve.dev",
    "gke.io",
    "aws.com",
    "azure.com",
    "openstack.org",
)
_KNOWN_VALUES = frozenset({"kubernetes.io/os", "kubernetes.io/arch", "beta.kubernetes.io/os"})
_MIGRATED_PLUGINS = "storage.alpha.kubernetes.io/migrated-plugins"
_PLAIN = re.compile(r"[-+]?\d.*|true|false|yes|no|True|False")
_WORD_OF_ZONE = re.compile(r"[^\s_-]+")
_CLASS_IN_QUOTA = re.compile(r"(.+)(\.storageclass\.storage\.k8s\.io/.+)")
_ANY_ADDRESS = ("0.0.0.0", "::")
_NUMERIC = ("Gt", "Lt")  # operators that read values as numbers

Replace = Callable[[str, str], str]  # a text, and what it is the name of


class Renaming:
    """Which text replaces which, in one cluster."""

    def __init__(self, cluster: ClusterObjects) -> None:
        roles: dict[str, str] = {}
        self.compared: set[str] = set()
        for thing in cluster.objects:
            meta = _parsed(thing)["metadata"]
            roles.setdefault(meta["name"], thing.kind.lower())
        collector = _Walker(partial(_collect, roles), self.compared)
        for thing in cluster.objects:
            collector.body(thing)
        width = len(str(len(roles)))
        self.names = {
            text: f"x{rank:0{width}}-{roles[text]}" for rank, text in enumerate(sorted(roles), start=1)
        }
        self._walker = _Walker(lambda text, role: self.names[text], self.compared)

    def renamed(self, cluster: ClusterObjects) -> ClusterObjects:
        return replace(
            cluster,
            objects=tuple(
                msgspec.structs.replace(thing, body=msgspec.json.encode(self._walker.body(thing)))
                for thing in cluster.objects
            ),
            configuration=None,
            decisions=(),
            pods_read_in=self._renamed_namespaces(cluster.pods_read_in),
            notes=(_NOTE,),
        )

    def _renamed_namespaces(self, namespaces: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """A namespace without any object has no new name, and is left out."""
        if namespaces is None:
            return None
        return tuple(self.names[name] for name in namespaces if name in self.names)


def _collect(roles: dict[str, str], text: str, role: str) -> str:
    roles.setdefault(text, role)
    return text


def _parsed(thing: ApiObject) -> Json:
    body: Json = msgspec.json.decode(thing.body)
    if READABLE[thing.api_version, thing.kind]:
        # Other objects name the namespace that this one leaves to the default.
        body["metadata"].setdefault("namespace", "default")
    return body


# --- one object ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Walker:
    """Replaces texts by what ``new`` returns. ``compared``: label keys whose values are compared as numbers.

    A walk also adds the keys that it finds to ``compared``, so the first walk must be over all objects.
    """

    new: Replace
    compared: set[str]

    def body(self, thing: ApiObject) -> Json:
        body = _parsed(thing)
        changed = self.mapping(body)
        name = body["metadata"]["name"]
        match thing.kind:
            case "CSIDriver" | "DeviceClass":
                changed["metadata"]["name"] = name
            case "PriorityClass":
                changed["metadata"]["name"] = self.priority_class(name)
        return changed

    def value(self, value: object, role: str) -> object:
        match value:
            case str():
                return self.text(value, role)
            case dict():
                return self.mapping(value)
            case list():
                return [self.value(item, role) for item in value]
        return value

    def mapping(self, value: Json) -> Json:
        if "operator" in value and ("key" in value or "scopeName" in value):
            return self.expression(value)
        if "key" in value and ("effect" in value or "value" in value):  # a taint, or a toleration
            return {**value, "key": self.label_key(value["key"]), **self.tolerated(value)}
        return {key: self.field(key, inner) for key, inner in value.items()}

    def field(self, key: str, value: object) -> object:
        if key in _AMOUNTS or (key in _KEPT and not isinstance(value, dict)):
            return value
        shape, change = _RULES.get(key, _NO_RULE)
        return change(self, value) if isinstance(value, shape) else self.value(value, _ROLES.get(key, "name"))

    # --- fields with rules of their own ----------------------------------------------------------

    def selector(self, selector: Json) -> Json:
        """A selector of a controller or a claim, or the labels that a Service selects."""
        return self.mapping(selector) if selector.keys() <= _SELECTOR else self.labels(selector)

    def annotations(self, annotations: Json) -> Json:
        return {name: self._annotation(name, text) for name, text in annotations.items()}

    def _annotation(self, name: str, text: str) -> str:
        if name == PREEMPTION_PRIORITY_CLASS:
            return self.priority_class(text)
        return text if name == _MIGRATED_PLUGINS or _PLAIN.fullmatch(text) else self.text(text, "value")

    def fields_of_nodes(self, terms: list[Json]) -> list[Json]:
        """metadata.name is the only field that there is."""
        return [{**term, "values": self.value(term.get("values", []), "node")} for term in terms]

    def expressions(self, terms: list[Json]) -> list[Json]:
        return [self.expression(term) for term in terms]

    def drivers(self, drivers: list[Json]) -> list[Json]:
        return [{**self.mapping(driver), "name": driver.get("name", "")} for driver in drivers]

    def pod_times(self, times: Json) -> Json:
        return {self.text(name, "pod"): since for name, since in times.items()}

    def quota(self, amounts: Json) -> Json:
        return {self.quota_key(name): amount for name, amount in amounts.items()}

    def quota_key(self, name: str) -> str:
        if of_class := _CLASS_IN_QUOTA.fullmatch(name):
            return self.text(of_class[1], "storageclass") + of_class[2]
        return name

    def images(self, images: list[Json]) -> list[Json]:
        return [{**image, "names": [*map(self.image, image.get("names", []))]} for image in images]

    def label_keys(self, keys: list[str]) -> list[str]:
        return [self.label_key(key) for key in keys]

    def nothing(self, text: str) -> str:
        return ""

    # --- texts -----------------------------------------------------------------------------------

    def text(self, text: str, role: str) -> str:
        return self.new(text, role) if text else text

    def priority_class(self, name: str) -> str:
        return name if name.startswith("system-") else self.text(name, "priorityclass")

    def image(self, name: str) -> str:
        """Every name gets a tag, which a name without one means too."""
        tagged = name if not name or ":" in name.rpartition("/")[2] else f"{name}:latest"
        return f"{self.text(tagged, 'image')}:x" if tagged else tagged

    def address(self, address: str) -> str:
        if not address or address in _ANY_ADDRESS:
            return address
        digits = int("".join(filter(str.isdigit, self.text(address, "address"))) or "0")
        return f"10.{digits >> 16 & 255}.{digits >> 8 & 255}.{digits & 255}"

    def volume(self, name: str) -> str:
        """AWS has forms of its own: vol-123, and aws://zone/vol-123."""
        if name.startswith("aws://"):
            zone, slash, rest = name.removeprefix("aws://").partition("/")
            return f"aws://{self.zone(zone)}{slash}{self.volume(rest)}"
        return f"vol-{self.text(name, 'volume')}" if name.startswith("vol-") else self.text(name, "volume")

    # --- labels ----------------------------------------------------------------------------------

    def labels(self, labels: Json) -> Json:
        return {self.label_key(key): self.label_value(key, value) for key, value in labels.items()}

    def label_key(self, key: str) -> str:
        domain, slash, _ = key.partition("/")
        return key if slash and domain.endswith(_KNOWN_DOMAINS) else self.text(key, "key")

    def label_value(self, key: str, value: object) -> object:
        if not isinstance(value, str) or key in _KNOWN_VALUES:
            return value
        if key in self.compared and value.removeprefix("-").isdecimal():
            return value
        return self.zone(value) if key.rpartition("/")[2] in ("zone", "region") else self.text(value, "value")

    def zone(self, text: str) -> str:
        """Word by word: a volume's label may list several zones, and zones of a region begin alike."""
        return _WORD_OF_ZONE.sub(lambda word: self.text(word[0], "zone").partition("-")[0], text)

    def expression(self, term: Json) -> Json:
        if "scopeName" in term:
            return {**term, "values": [self.priority_class(str(v)) for v in term.get("values", [])]}
        key = str(term.get("key", ""))
        if term.get("operator") in _NUMERIC:
            self.compared.add(key)
        if "values" not in term:  # a toleration, or an expression that needs none
            return {**term, "key": self.label_key(key), **self.tolerated(term)}
        return {
            **term,
            "key": self.label_key(key),
            "values": [self.label_value(key, value) for value in term["values"]],
        }

    def tolerated(self, taint: Json) -> Json:
        return {"value": self.label_value(taint["key"], taint["value"])} if "value" in taint else {}


# The shape that a field must have for its rule, and the rule. Other fields are replaced text by text.
_RULES: dict[str, tuple[type, Callable[[_Walker, Any], object]]] = {
    **dict.fromkeys(("labels", "matchLabels", "nodeSelector"), (dict, _Walker.labels)),
    **dict.fromkeys(("topologyKeys", "matchLabelKeys", "mismatchLabelKeys"), (list, _Walker.label_keys)),
    **dict.fromkeys(("key", "topologyKey"), (str, _Walker.label_key)),
    **dict.fromkeys(("image", "reference"), (str, _Walker.image)),
    **dict.fromkeys(("hard", "used"), (dict, _Walker.quota)),
    **dict.fromkeys(("message", "note"), (str, _Walker.nothing)),
    "annotations": (dict, _Walker.annotations),
    "disruptedPods": (dict, _Walker.pod_times),
    "drivers": (list, _Walker.drivers),
    "finalizers": (list, _Walker.label_keys),
    "hostIP": (str, _Walker.address),
    "images": (list, _Walker.images),
    "matchFields": (list, _Walker.fields_of_nodes),
    "matchLabelExpressions": (list, _Walker.expressions),
    "priorityClassName": (str, _Walker.priority_class),
    "selector": (dict, _Walker.selector),
    "volumeID": (str, _Walker.volume),
}
_NO_RULE: tuple[tuple[()], Callable[[_Walker, Any], object]] = ((), _Walker.nothing)
# What a text is the name of, as the end of the new one.
_ROLES = {
    "namespace": "namespace",
    "namespaces": "namespace",
    "nodeName": "node",
    "nominatedNodeName": "node",
    "uid": "uid",
    "claimName": "persistentvolumeclaim",
    "volumeName": "persistentvolume",
    "persistentVolumeName": "persistentvolume",
    "storageClassName": "storageclass",
    "podGroupName": "podgroup",
}
