"""Which record of the model does an object in the API's JSON decode to?

Nothing here raises, whatever the input. A result is the decoded object, or what is wrong with it and where,
or that Reprieve does not read its kind. The fast path decodes strictly. If that fails, the input is parsed
into plain values, stripped of nulls and decoded again; only then is it unreadable. This module must not know
defaults, validation and what an object means; of fields, only whether they are served.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

from reprieve.cluster.api.decode_errors import UNDECODABLE, DecodeFault, described, fault_of
from reprieve.cluster.api.groups import (
    NEWER,
    OLDER,
    OLDEST,
    NewerComposite,
    NewerGroup,
    NewerWorkload,
    OlderGroup,
    OlderWorkload,
    OldestWorkload,
    Spelling,
    keep_composite,
    keep_group,
    keep_workload,
    unserved_in,
)
from reprieve.model.objects import (
    CompositePodGroup,
    Container,
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    KubernetesObject,
    Namespace,
    Node,
    NodeSpec,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodDisruptionBudget,
    PodGroup,
    PodPreemptionPolicy,
    PodSpec,
    PriorityClass,
    Problem,
    Record,
    Ref,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
    StorageClass,
    VolumeAttachment,
    Workload,
)
from reprieve.model.sized_cache import sharing

Raw = bytes | msgspec.Raw
T = TypeVar("T", bound=KubernetesObject)
T_co = TypeVar("T_co", bound=KubernetesObject, covariant=True)
W = TypeVar("W", bound=KubernetesObject | Spelling)

_DEFAULT_NAMESPACE = "default"
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"  # a copy of the whole object, as text
UNNAMED = Ref(kind="", namespace="", name="")


class Decoded(Record, Generic[T_co], frozen=True):
    """An object, and the paths of fields that restrict its place but are not served."""

    object: T_co
    unserved: tuple[str, ...] = ()


class Unreadable(Record, frozen=True):
    problem: Problem


class UnknownKind(Record, frozen=True):
    """An object of a kind or version that Reprieve does not read."""

    api_version: str
    problem: Problem


DecodeResult = Decoded[KubernetesObject] | Unreadable | UnknownKind


# --- one kind ------------------------------------------------------------------------------------


class _Meta(Record, frozen=True):
    name: str = ""
    namespace: str = ""


class Header(Record, frozen=True):
    api_version: str = ""
    kind: str = ""
    metadata: _Meta = _Meta()


HEADER = msgspec.json.Decoder(Header)


def header_values(raw: Raw) -> object:
    try:
        return msgspec.to_builtins(HEADER.decode(raw))
    except UNDECODABLE:
        return None


@dataclass(frozen=True, slots=True)
class KindReader(Generic[W, T_co]):
    """Decodes one kind in one version of the API. ``finish`` cannot fail."""

    kind: str
    namespaced: bool
    decoder: msgspec.json.Decoder[W]
    finish: Callable[[W], Decoded[T_co]]

    def read(self, raw: Raw) -> Decoded[T_co] | Unreadable:
        try:
            thing = self.decoder.decode(raw)
        except UNDECODABLE as error:
            return self._read_again(raw, error)
        return self._finished(thing)

    def read_value(self, value: object) -> Decoded[T_co] | Unreadable:
        """From parsed JSON or YAML."""
        try:
            thing = msgspec.convert(value, self.decoder.type)
        except UNDECODABLE:
            return self._read_without_nulls(value)
        return self._finished(thing)

    def _read_again(self, raw: Raw, error: Exception) -> Decoded[T_co] | Unreadable:
        try:
            value = msgspec.json.decode(raw)
        except UNDECODABLE:
            return self._unreadable(header_values(raw), fault_of(error))
        return self._read_without_nulls(value)

    def _read_without_nulls(self, value: object) -> Decoded[T_co] | Unreadable:
        """To Kubernetes, null means absent anywhere, so that records need no null in their types."""
        try:
            value = _without_nulls(value)
            thing = msgspec.convert(value, self.decoder.type)
        except UNDECODABLE as error:
            return self._unreadable(value, fault_of(error, value))
        return self._finished(thing)

    def _finished(self, thing: W) -> Decoded[T_co] | Unreadable:
        """No server accepts a slash in a name; here it separates kind, namespace and name."""
        meta = thing.metadata
        for field, text in (("name", meta.name), ("namespace", meta.namespace)):
            if "/" in text:
                known = Ref(kind=self.kind, namespace=meta.namespace, name=meta.name)
                path = f"metadata.{field}"
                return Unreadable(problem=Problem(ref=known, path=path, expected="expected no slash"))
        return self.finish(self._kept(thing))

    def _kept(self, thing: W) -> W:
        """With its namespace, and without last-applied: it is long, unused, and may contain secrets."""
        meta = thing.metadata
        misplaced = bool(meta.namespace) != self.namespaced
        if not misplaced and _LAST_APPLIED not in meta.annotations:
            return thing
        if misplaced:
            meta = msgspec.structs.replace(meta, namespace=_DEFAULT_NAMESPACE if self.namespaced else "")
        notes = {key: value for key, value in meta.annotations.items() if key != _LAST_APPLIED}
        return msgspec.structs.replace(thing, metadata=msgspec.structs.replace(meta, annotations=notes))

    def _unreadable(self, value: object, fault: DecodeFault) -> Unreadable:
        ref = ref_in(value)
        namespace = (ref.namespace or _DEFAULT_NAMESPACE) if self.namespaced else ""
        known = Ref(kind=self.kind, namespace=namespace, name=ref.name)
        return Unreadable(problem=Problem(ref=known, path=fault.path, expected=fault.expected))


def _without_nulls(value: object) -> object:
    match value:
        case dict():
            return {k: _without_nulls(v) for k, v in value.items() if v is not None}
        case list():
            return [_without_nulls(item) for item in value]
    return value


def ref_in(value: object) -> Ref:
    """Read as much of the reference as is there."""
    if not isinstance(value, dict):
        return UNNAMED
    meta = value.get("metadata")
    texts = [
        value.get("kind"),
        *(meta.get(n) if isinstance(meta, dict) else "" for n in ("namespace", "name")),
    ]
    kind, namespace, name = (text if isinstance(text, str) else "" for text in texts)
    return Ref(kind=kind, namespace=namespace, name=name)


# --- fields that are not served --------------------------------------------------------------------


def unserved_fields(pod: Pod) -> tuple[str, ...]:
    """The fields in use that restrict the place of a pod and are not served: with one, it must wait."""
    spec = pod.spec
    if spec.resource_claims or spec.workload_ref is not None or _claims_devices(spec):
        return tuple(_unserved(spec))
    return ()


def _claims_devices(spec: PodSpec) -> bool:
    if spec.resources is not None and spec.resources.claims:
        return True
    return any(container.resources.claims for container in (*spec.containers, *spec.init_containers))


def _unserved(spec: PodSpec) -> Iterator[str]:
    if spec.resource_claims:
        yield "spec.resourceClaims"
    if spec.workload_ref is not None:  # the link to a gang in 1.35
        yield "spec.workloadRef"
    if spec.resources is not None and spec.resources.claims:
        yield "spec.resources.claims"
    yield from _claiming(spec.init_containers, "spec.initContainers")
    yield from _claiming(spec.containers, "spec.containers")


def _claiming(containers: Iterable[Container], path: str) -> Iterator[str]:
    for i, container in enumerate(containers):
        if container.resources.claims:
            yield f"{path}[{i}].resources.claims"


# --- the kinds -----------------------------------------------------------------------------------


def _decoded(thing: T) -> Decoded[T]:
    return Decoded(object=thing)


def _decoded_pod(pod: Pod) -> Decoded[Pod]:
    return Decoded(object=sharing(pod), unserved=unserved_fields(pod))


class _OlderPolicy(Record, frozen=True):
    disable_pod_resize_preemption: tuple[str, ...] = ()


class _SpelledSpec(NodeSpec, frozen=True):
    preemption_policy: _OlderPolicy = _OlderPolicy()


class _SpelledNode(Node, frozen=True):
    spec: _SpelledSpec = _SpelledSpec()


def _decoded_node(spelled: _SpelledNode) -> Decoded[Node]:
    """With the owners that disable preemption for resizes, of both fields, each once."""
    spec = spelled.spec
    owners = (
        *spec.pod_preemption_policy.disable_resize_preemption,
        *spec.preemption_policy.disable_pod_resize_preemption,
    )
    policy = PodPreemptionPolicy(disable_resize_preemption=tuple(dict.fromkeys(owners)))
    kept = NodeSpec(unschedulable=spec.unschedulable, taints=spec.taints, pod_preemption_policy=policy)
    return Decoded(object=Node(metadata=spelled.metadata, spec=kept, status=spelled.status))


def _decoded_group(group: NewerGroup | OlderGroup) -> Decoded[PodGroup]:
    return Decoded(object=keep_group(group), unserved=unserved_in(group))


def _decoded_composite(group: NewerComposite) -> Decoded[CompositePodGroup]:
    return Decoded(object=keep_composite(group), unserved=unserved_in(group))


def _decoded_workload(workload: NewerWorkload | OlderWorkload | OldestWorkload) -> Decoded[Workload]:
    return Decoded(object=keep_workload(workload), unserved=unserved_in(workload))


def _reader(kind: str, spelling: type[W], finish: Callable[[W], Decoded[T]]) -> KindReader[W, T]:
    return KindReader(kind, kind not in CLUSTER_SCOPED, msgspec.json.Decoder(spelling), finish)


CLUSTER_SCOPED = frozenset(
    {
        "APIService",
        "CSIDriver",
        "CSINode",
        "CertificateSigningRequest",
        "ClusterRole",
        "ClusterRoleBinding",
        "CustomResourceDefinition",
        "DeviceClass",
        "DeviceTaintRule",
        "FlowSchema",
        "IngressClass",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
        "MutatingWebhookConfiguration",
        "Namespace",
        "Node",
        "PersistentVolume",
        "PriorityClass",
        "PriorityLevelConfiguration",
        "ResourceSlice",
        "RuntimeClass",
        "StorageClass",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "ValidatingWebhookConfiguration",
        "VolumeAttachment",
        "VolumeAttributesClass",
    }
)
_PLAIN: dict[str, tuple[type[KubernetesObject], ...]] = {
    "v1": (Namespace, PersistentVolume, PersistentVolumeClaim, Service, ReplicationController),
    "apps/v1": (ReplicaSet, StatefulSet),
    "policy/v1": (PodDisruptionBudget,),
    "scheduling.k8s.io/v1": (PriorityClass,),
    "storage.k8s.io/v1": (StorageClass, CSINode, CSIDriver, CSIStorageCapacity, VolumeAttachment),
}
_POD = _reader("Pod", Pod, _decoded_pod)

AnyReader = KindReader[Any, KubernetesObject]

READERS: dict[tuple[str, str], AnyReader] = {
    ("v1", "Pod"): _POD,
    ("v1", "Node"): _reader("Node", _SpelledNode, _decoded_node),
    **{
        (version, kind.__name__): _reader(kind.__name__, kind, _decoded)
        for version, kinds in _PLAIN.items()
        for kind in kinds
    },
    **{(version, "PodGroup"): _reader("PodGroup", NewerGroup, _decoded_group) for version in NEWER},
    **{
        (v, "CompositePodGroup"): _reader("CompositePodGroup", NewerComposite, _decoded_composite)
        for v in NEWER
    },
    **{(version, "Workload"): _reader("Workload", NewerWorkload, _decoded_workload) for version in NEWER},
    (OLDER, "PodGroup"): _reader("PodGroup", OlderGroup, _decoded_group),
    (OLDER, "Workload"): _reader("Workload", OlderWorkload, _decoded_workload),
    (OLDEST, "Workload"): _reader("Workload", OldestWorkload, _decoded_workload),
}


# --- one object ----------------------------------------------------------------------------------


def decode(raw: Raw) -> DecodeResult:
    """One object of any kind, by its apiVersion and kind."""
    try:
        header = HEADER.decode(raw)
    except UNDECODABLE:
        return _decode_slowly(raw)
    reader = READERS.get((header.api_version, header.kind))
    return reader.read(raw) if reader is not None else decode_value(msgspec.to_builtins(header))


def decode_pod(raw: Raw) -> Decoded[Pod] | Unreadable:
    """One pod."""
    return _POD.read(raw)


def decode_value(value: object) -> DecodeResult:
    """One object of any kind, from parsed JSON or YAML."""
    if not isinstance(value, dict):
        return _unreadable(UNNAMED, "", f"expected an object, got {described(value)}")
    ref = ref_in(value)
    for field in ("apiVersion", "kind"):
        text = value.get(field)
        if not isinstance(text, str) or not text:
            got = "nothing" if text in (None, "") else described(text)
            return _unreadable(ref, field, f"expected a string, got {got}")
    reader = READERS.get((value["apiVersion"], value["kind"]))
    return reader.read_value(value) if reader is not None else _unknown_kind(value["apiVersion"], ref)


def _decode_slowly(raw: Raw) -> DecodeResult:
    try:
        value = msgspec.json.decode(raw)
    except UNDECODABLE as error:
        return _unreadable(ref_in(header_values(raw)), *fault_of(error))
    return decode_value(value)


def _unreadable(ref: Ref, path: str, expected: str) -> Unreadable:
    return Unreadable(problem=Problem(ref=ref, path=path, expected=expected))


def _unknown_kind(api_version: str, ref: Ref) -> UnknownKind:
    expected = f"expected a kind that Reprieve reads, got {ref.kind} of {api_version}"
    return UnknownKind(api_version=api_version, problem=Problem(ref=ref, path="kind", expected=expected))
