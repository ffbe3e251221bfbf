"""What does an API server add to an object, or why does it reject one, because of other objects?

One function for each admission plugin of Kubernetes, named after it. A function changes the object it is
given, which is a copy, and returns a refusal or nothing.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from typing import Protocol

from reprieve.cluster.admission import priority_classes
from reprieve.cluster.admission.features import Features
from reprieve.cluster.admission.pod_defaults import default_tolerations
from reprieve.cluster.admission.quotas import quota_text, total
from reprieve.cluster.api.codec import Decoded, decode_value
from reprieve.cluster.api.templates import CONTROLLER_UID, ControllerOwner, job_labels
from reprieve.cluster.api.values import (
    amount_of,
    items,
    made,
    means_the_same,
    name_of,
    part,
    storage_class_in,
    text_in,
    texts,
)
from reprieve.model.footprint import footprint
from reprieve.model.json import Json
from reprieve.model.objects import KubernetesObject, Node, Pod, ref_of
from reprieve.model.resources import CPU, MEMORY, Problems, node_capacity
from reprieve.model.volumes import OLDER_CLASS

PROTECTION = "scheduling.k8s.io/podgroup-protection"
CLAIM_PROTECTION = "kubernetes.io/pvc-protection"
VOLUME_PROTECTION = "kubernetes.io/pv-protection"
DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
_OLDER_DEFAULT_CLASS = "storageclass.beta.kubernetes.io/is-default-class"
_OLDER = "v1alpha2"
_ADDRESSES = 16 * 65536  # of Services: 10.96.0.0/12
_OS_LABEL = "kubernetes.io/os"
# Namespaces that every cluster has, even before they are stored.
_ETERNAL = ("default", "kube-system", "kube-public", "kube-node-lease")


class Lookup(Protocol):
    """The stored objects that admission reads. None is of a kind with several spellings."""

    def find(self, kind: str, namespace: str, name: str) -> Json | None: ...

    def all(self, kind: str) -> Iterable[Json]: ...


class RefusalReason(StrEnum):
    FORBIDDEN = "Forbidden"  # 403
    NOT_FOUND = "NotFound"  # 404


@dataclass(frozen=True, slots=True)
class AdmissionRefusal:
    """The whole request is rejected, with the ``reason`` of a ``Status`` and a sentence.

    ``cause``: by which clients recognize it.
    """

    reason: RefusalReason
    sentence: str
    cause: str = ""


def _forbidden(sentence: str) -> AdmissionRefusal | None:
    return AdmissionRefusal(RefusalReason.FORBIDDEN, sentence) if sentence else None


def namespace_lifecycle(namespace: str, lookup: Lookup) -> AdmissionRefusal | None:
    """Rejects objects in a namespace that does not exist or is terminating."""
    if namespace in _ETERNAL:
        return None
    found = lookup.find("Namespace", "", namespace)
    if found is None:
        return AdmissionRefusal(RefusalReason.NOT_FOUND, f'namespaces "{namespace}" not found')
    leaving = "deletionTimestamp" in part(found, "metadata")
    if leaving or text_in(part(found, "status"), "phase") == "Terminating":
        sentence = f"the namespace {namespace} is being deleted: nothing new can be made in it"
        return AdmissionRefusal(RefusalReason.FORBIDDEN, sentence, "NamespaceTerminating")
    return None


def service_account(pod: Json) -> None:
    spec = made(pod, "spec")
    if not spec.get("serviceAccountName"):
        spec["serviceAccountName"] = spec["serviceAccount"] = "default"


def priority_of_pod(pod: Json, lookup: Lookup) -> AdmissionRefusal | None:
    return _forbidden(priority_classes.resolve(pod, _classes(lookup), with_policy=True))


def priority_of_new_group(
    group: Json, version: str, features: Features, lookup: Lookup
) -> AdmissionRefusal | None:
    if not features.workload_aware_preemption:
        return None
    with_policy = features.pod_group_preemption_policy and version != _OLDER
    return _forbidden(priority_classes.resolve(group, _classes(lookup), with_policy))


def priority_of_templates(
    workload: Json, version: str, features: Features, lookup: Lookup
) -> AdmissionRefusal | None:
    """Only the older version resolves the classes of templates; in newer ones, groups get their priority."""
    if version != _OLDER or not features.workload_aware_preemption:
        return None
    classes = _classes(lookup)
    default = priority_classes.default_class(classes)
    for template in items(part(workload, "spec"), "podGroupTemplates"):
        if default is None and not {"priorityClassName", "priority"} & template.keys():
            continue  # there is nothing to fill in
        if wrong := priority_classes.resolve_spec(template, classes, with_policy=False):
            return _forbidden(f"template {text_in(template, 'name')}: {wrong}")
    return None


def keep_resolved_templates(workload: Json, old: Json) -> None:
    """Keep the priorities that admission gave to templates, as ``keep_resolved`` does for an object."""
    before = {
        text_in(template, "name"): template for template in items(part(old, "spec"), "podGroupTemplates")
    }
    for template in items(part(workload, "spec"), "podGroupTemplates"):
        was = before.get(text_in(template, "name"), {})
        for field in ("priorityClassName", "priority"):
            if field in was:
                template.setdefault(field, was[field])


def keep_resolved(pod: Json, old: Json) -> None:
    """An update that leaves out what creation filled in keeps it."""
    before = part(old, "spec")
    for field in ("priority", "preemptionPolicy", "resources"):
        if field in before:
            made(pod, "spec").setdefault(field, before[field])


def runtime_class(pod: Json, lookup: Lookup) -> AdmissionRefusal | None:
    """A pod gets the overhead, the node selector and the tolerations of its RuntimeClass."""
    spec = made(pod, "spec")
    name, overhead = text_in(spec, "runtimeClassName"), part(spec, "overhead")
    if not name:
        return None  # Kubernetes refuses an overhead then; here a manifest may say what its pods need
    found = lookup.find("RuntimeClass", "", name)
    if found is None:
        return _forbidden(f'pod rejected: RuntimeClass "{name}" not found')
    fixed = part(found, "overhead", "podFixed")
    if fixed and overhead and _amounts(overhead) != _amounts(fixed):
        return _forbidden(f'pod rejected: its overhead is not that of RuntimeClass "{name}"')
    if fixed:
        spec["overhead"] = dict(fixed)
    _join_tolerations(spec, found)
    return _forbidden(_join_selector(spec, found))


def _amounts(resources: Json) -> Json:
    return {name: amount_of(quantity) for name, quantity in resources.items()}


def _join_selector(spec: Json, runtime_class: Json) -> str:
    """Returns what is wrong."""
    for label, value in part(runtime_class, "scheduling", "nodeSelector").items():
        mine = made(spec, "nodeSelector").setdefault(label, value)
        if mine != value:
            return f"conflict: nodeSelector {label} is {mine} in the pod and {value} in its RuntimeClass"
    return ""


def _join_tolerations(spec: Json, runtime_class: Json) -> None:
    own = items(spec, "tolerations")
    more = [one for one in items(part(runtime_class, "scheduling"), "tolerations") if one not in own]
    if more:
        spec["tolerations"] = [*own, *more]


def _classes(lookup: Lookup) -> list[priority_classes.Class]:
    return [priority_classes.read_class(body) for body in lookup.all("PriorityClass")]


def one_default_priority(thing: Json, lookup: Lookup) -> AdmissionRefusal | None:
    if thing.get("globalDefault") is not True:
        return None
    others = (known for known in _classes(lookup) if known.name != name_of(thing))
    default = priority_classes.default_class(others)
    if default is None:
        return None
    return _forbidden(f"the PriorityClass {default.name} is the global default already: only one can be")


def default_toleration_seconds(pod: Json) -> None:
    default_tolerations(made(pod, "spec"))


def default_storage_class(claim: Json, lookup: Lookup) -> None:
    """The newest of the classes that are marked as the default."""
    spec = made(claim, "spec")
    if "storageClassName" in spec or OLDER_CLASS in part(claim, "metadata", "annotations"):
        return
    marked = [known for known in lookup.all("StorageClass") if _is_default(known)]
    marked.sort(key=name_of)
    marked.sort(key=lambda known: text_in(part(known, "metadata"), "creationTimestamp"), reverse=True)
    if marked:
        spec["storageClassName"] = name_of(marked[0])


def cluster_ip(service: Json, lookup: Lookup) -> None:
    """An address of the range that kubeadm uses, which no other Service has. Nothing listens there."""
    spec = made(service, "spec")
    if spec.get("type") == "ExternalName":
        return
    if not spec.get("clusterIP"):
        taken = {text_in(part(known, "spec"), "clusterIP") for known in lookup.all("Service")}
        meta = part(service, "metadata")
        seed = f"{text_in(meta, 'namespace')}/{text_in(meta, 'name')}".encode()
        first = int.from_bytes(blake2b(seed, digest_size=2).digest())
        found = (f"10.{96 + n // 65536}.{n // 256 % 256}.{n % 256}" for n in range(256 + first, _ADDRESSES))
        spec["clusterIP"] = next(address for address in found if address not in taken)
    _list_cluster_ip(spec)


def keep_cluster_ip(service: Json, old: Json) -> None:
    """A Service that is sent without its address keeps it."""
    spec, before = made(service, "spec"), part(old, "spec")
    if spec.get("type") != "ExternalName" and not spec.get("clusterIP") and before.get("clusterIP"):
        spec["clusterIP"] = before["clusterIP"]
        _list_cluster_ip(spec)


def _list_cluster_ip(spec: Json) -> None:
    spec.setdefault("clusterIPs", [spec["clusterIP"]])
    spec.setdefault("ipFamilies", ["IPv4"])
    spec.setdefault("ipFamilyPolicy", "SingleStack")


def claim_growth(claim: Json, old: Json, lookup: Lookup) -> AdmissionRefusal | None:
    """A claim may grow only if its class allows it."""
    now, before = (amount_of(_storage(body), otherwise=0) for body in (claim, old))
    if now <= before:
        return None
    storage_class = lookup.find("StorageClass", "", storage_class_in(claim))
    if storage_class is not None and storage_class.get("allowVolumeExpansion") is True:
        return None
    return _forbidden(
        f'persistentvolumeclaims "{name_of(claim)}" is forbidden: a claim can grow only where its class '
        "has allowVolumeExpansion"
    )


def _storage(claim: Json) -> object:
    return part(claim, "spec", "resources", "requests").get("storage")


def _is_default(storage_class: Json) -> bool:
    annotations = part(storage_class, "metadata", "annotations")
    return "true" in (annotations.get(DEFAULT_CLASS), annotations.get(_OLDER_DEFAULT_CLASS))


def job_selector(job: Json) -> None:
    """A job selects its pods by its own UID, unless manualSelector is set."""
    spec, meta = made(job, "spec"), part(job, "metadata")
    if spec.get("manualSelector") is True or not isinstance(spec.get("template"), dict):
        return
    labels = job_labels(ControllerOwner("batch/v1", "Job", "", text_in(meta, "name"), text_in(meta, "uid")))
    made(made(spec["template"], "metadata"), "labels").update(labels)
    made(made(spec, "selector"), "matchLabels")[CONTROLLER_UID] = labels[CONTROLLER_UID]


def protect(thing: Json, finalizer: str) -> None:
    """An object in use must not vanish: a controller removes the finalizer once nothing uses the object."""
    meta = made(thing, "metadata")
    if finalizer not in texts(meta, "finalizers"):
        finalizers = meta.setdefault("finalizers", [])
        if isinstance(finalizers, list):
            finalizers.append(finalizer)


# --- LimitRanger -----------------------------------------------------------------------------------

# The ranges of a namespace apply one after another.
NOTE = "kubernetes.io/limit-ranger"
_PLURALS = {"Pod": "pods", "PersistentVolumeClaim": "persistentvolumeclaims"}
_CONTAINER_LISTS = (("containers", "container"), ("initContainers", "init container"))


def _ranges(body: Json, lookup: Lookup) -> list[Json]:
    namespace = text_in(part(body, "metadata"), "namespace")
    found = lookup.all("LimitRange")
    return [r for r in found if text_in(part(r, "metadata"), "namespace") == namespace]


def default_from_ranges(pod: Json, lookup: Lookup) -> None:
    notes = [note for limits in _ranges(pod, lookup) for note in _filled(pod, limits)]
    if notes:
        annotations = made(made(pod, "metadata"), "annotations")
        annotations[NOTE] = f"LimitRanger plugin set: {'; '.join(notes)}"


def _filled(pod: Json, limits: Json) -> Iterator[str]:
    for limit in items(part(limits, "spec"), "limits"):
        if limit.get("type") != "Container":
            continue
        for field, word in _CONTAINER_LISTS:
            for container in items(part(pod, "spec"), field):
                yield from _filled_container(container, limit, word)


def _filled_container(container: Json, limit: Json, word: str) -> Iterator[str]:
    resources = made(container, "resources")
    for field, source, said in (("requests", "defaultRequest", "request"), ("limits", "default", "limit")):
        missing = {k: v for k, v in part(limit, source).items() if k not in part(resources, field)}
        if missing:
            made(resources, field).update(missing)
            yield f"{', '.join(sorted(missing))} {said} for {word} {text_in(container, 'name')}"


def range_refusal(kind: str, body: Json, lookup: Lookup) -> AdmissionRefusal | None:
    for limits in _ranges(body, lookup):
        found = [w for limit in items(part(limits, "spec"), "limits") for w in _violations(kind, body, limit)]
        if found:
            told = found[0] if len(found) == 1 else f"[{', '.join(dict.fromkeys(found))}]"
            sentence = f'{_PLURALS[kind]} "{name_of(body)}" is forbidden: {told}'
            return AdmissionRefusal(RefusalReason.FORBIDDEN, sentence)
    return None


def _violations(kind: str, body: Json, limit: Json) -> Iterator[str]:
    spec, type_ = part(body, "spec"), text_in(limit, "type")
    match kind, type_:
        case "PersistentVolumeClaim", "PersistentVolumeClaim":
            requests = _quantities(part(spec, "resources", "requests"))
            yield from _too_little(type_, limit, requests, {})
            yield from _too_much(type_, limit, {}, requests, "request")  # a claim has no limits
        case "Pod", "Container":
            for field, _ in _CONTAINER_LISTS:
                for container in items(spec, field):
                    resources = part(container, "resources")
                    asked, most = (_quantities(part(resources, f)) for f in ("requests", "limits"))
                    yield from _out_of_bounds(type_, limit, asked, most)
        case "Pod", "Pod":
            bare = {name: value for name, value in spec.items() if name != "overhead"}
            yield from _out_of_bounds(type_, limit, total(bare, "requests"), total(bare, "limits"))


def _quantities(found: Json) -> dict[str, int]:
    return {name: amount_of(quantity, otherwise=0) for name, quantity in found.items()}


def _out_of_bounds(
    type_: str, limit: Json, requests: Mapping[str, int], limits: Mapping[str, int]
) -> Iterator[str]:
    yield from _too_little(type_, limit, requests, limits)
    yield from _too_much(type_, limit, requests, limits)
    yield from _too_uneven(type_, limit, requests, limits)


def _too_little(
    type_: str, limit: Json, requests: Mapping[str, int], limits: Mapping[str, int]
) -> Iterator[str]:
    for name, quantity in part(limit, "min").items():
        least, rule = amount_of(quantity, otherwise=0), f"minimum {name} usage per {type_} is {quantity}"
        if name not in requests:
            yield f"{rule}.  No request is specified"
        elif requests[name] < least:
            yield f"{rule}, but request is {quota_text(name, requests[name])}"
        elif limits.get(name, least) < least:
            yield f"{rule}, but limit is {quota_text(name, limits[name])}"


def _too_much(
    type_: str, limit: Json, requests: Mapping[str, int], limits: Mapping[str, int], word: str = "limit"
) -> Iterator[str]:
    for name, quantity in part(limit, "max").items():
        most, rule = amount_of(quantity, otherwise=0), f"maximum {name} usage per {type_} is {quantity}"
        if name not in limits:
            yield f"{rule}.  No {word} is specified"
        elif limits[name] > most:
            yield f"{rule}, but {word} is {quota_text(name, limits[name])}"
        elif requests.get(name, most) > most:
            yield f"{rule}, but request is {quota_text(name, requests[name])}"


def _too_uneven(
    type_: str, limit: Json, requests: Mapping[str, int], limits: Mapping[str, int]
) -> Iterator[str]:
    for name, quantity in part(limit, "maxLimitRequestRatio").items():
        rule = f"{name} max limit to request ratio per {type_} is {quantity}, but"
        asked, most = requests.get(name, 0), limits.get(name, 0)
        if not asked:
            yield f"{rule} no request is specified or request is 0"
        elif not most:
            yield f"{rule} no limit is specified or limit is 0"
        elif most * 1000 > asked * amount_of(quantity, otherwise=0):
            yield f"{rule} provided ratio is {most / asked:f}"


# --- PodResizeValidator ----------------------------------------------------------------------------


def resize_refusal(pod: Json, old: Json, lookup: Lookup) -> AdmissionRefusal | None:
    """Rejects a resize that the node of the pod can never grant: without a node it can find one that does."""
    name = text_in(part(pod, "spec"), "nodeName")
    if not name or means_the_same(part(pod, "spec"), part(old, "spec")):
        return None
    return _forbidden("; ".join(_complaints(pod, lookup.find("Node", "", name), name)))


def _complaints(pod: Json, node: Json | None, name: str) -> Iterator[str]:
    if node is None:
        yield f"the node {name} is not there"
        return
    system = text_in(part(node, "metadata", "labels"), _OS_LABEL)
    if system not in ("", "linux"):
        yield f"pods can be resized on linux nodes only, and {name} runs {system}"
    wanted, offers = _read(pod), _read(node)
    if isinstance(wanted, Pod) and isinstance(offers, Node):
        yield from _excesses(wanted, offers)


def _read(body: Json) -> KubernetesObject | None:
    read = decode_value(body)
    return read.object if isinstance(read, Decoded) else None


def _excesses(pod: Pod, node: Node) -> Iterator[str]:
    asked = footprint(pod, Problems(ref_of(pod))).desired
    offered = node_capacity(node, Problems(ref_of(node)))
    for resource, unit in ((CPU, " milli-cores"), (MEMORY, "")):
        wanted, most = asked.get(resource, 0), offered.get(resource, 0)
        if wanted > most:
            yield (
                f"{node.metadata.name} can never grant the {resource} asked for: "
                f"{wanted} of {most}{unit} allocatable"
            )
