"""How does a running pod look whose resize the API server has accepted and whose node has deferred it?

A resize that its node can grant at once needs nothing of the scheduler, which then finds that it fits. This
module must not know how room is made.
"""

from dataclasses import dataclass, replace

import msgspec

from reprieve.cluster.admission.admission import AdmissionRefusal, AdmissionRequest, Operation, admit
from reprieve.cluster.admission.features import ALL_FEATURES
from reprieve.cluster.api.codec import Decoded
from reprieve.cluster.api.timestamps import stamp
from reprieve.cluster.api.values import amount_of, items, part, text_in
from reprieve.inquiry.decoded_cluster import DecodedCluster, decoded_bodies
from reprieve.inquiry.object_names import ObjectName, absent_text
from reprieve.model.conditions import DEFERRED, PENDING
from reprieve.model.json import Json
from reprieve.model.objects import KubernetesObject, Pod


@dataclass(frozen=True, slots=True)
class Resize:
    """A running pod, and what one of its containers is to request, as in {"cpu": "4", "memory": "8Gi"}."""

    pod: ObjectName
    requests: tuple[tuple[str, str], ...]
    container: str = ""  # empty: the only one


@dataclass(frozen=True, slots=True)
class Deferred:
    """The pod as it waits for room, or why its node can never grant it."""

    found: Decoded[KubernetesObject] | None = None
    impossible: str = ""


class ResizeError(Exception):
    """The question cannot be asked: one sentence."""


def deferred(resize: Resize, cluster: DecodedCluster, now: float) -> Deferred:
    name = f"{resize.pod.namespace}/{resize.pod.name}"
    old = cluster.by_name.find("Pod", resize.pod.namespace, resize.pod.name)
    if old is None:
        asked = replace(resize.pod, kind="Pod")
        raise ResizeError(f"--resize: {absent_text(asked, cluster.pods())}")
    if not text_in(part(old, "spec"), "nodeName"):
        raise ResizeError(f"--resize: Pod {name} does not run yet, and only a running pod can be resized")
    containers = [*items(part(old, "spec"), "containers")]
    names = [text_in(container, "name") for container in containers]
    which = resize.container or (names[0] if len(names) == 1 else "")
    if which not in names:
        raise ResizeError(_which_container(resize, names, name))
    changed = [_resized(c, resize) if text_in(c, "name") == which else c for c in containers]
    new = {**old, "spec": {**part(old, "spec"), "containers": changed}}
    request = AdmissionRequest(
        Operation.UPDATE,
        "",
        "v1",
        "Pod",
        new,
        old,
        resize.pod.namespace,
        resize.pod.name,
        "resize",
        ALL_FEATURES,
    )
    match admit(request, cluster.by_name):
        case dict() as body:
            (found,) = decoded_bodies([_waiting(body, old, now)])
            return Deferred(_as_known(found, cluster))
        case AdmissionRefusal(sentence=sentence):
            return Deferred(impossible=sentence)
        case errors:
            raise ResizeError(f"--resize: Pod {name}: {'; '.join(map(str, errors))}")


def _which_container(resize: Resize, names: list[str], name: str) -> str:
    if resize.container:
        return f"--resize: Pod {name} has no container {resize.container}; it has {', '.join(names)}"
    return f"--resize: Pod {name} has several containers ({', '.join(names)}): write POD:CONTAINER=cpu:4"


def _resized(container: Json, resize: Resize) -> Json:
    """A limit that equals the request, or would be below it, grows with it: a resize keeps the QoS class."""
    resources = part(container, "resources")
    requests, limits = dict(part(resources, "requests")), dict(part(resources, "limits"))
    for resource, wanted in resize.requests:
        before, limit = amount_of(requests.get(resource)), amount_of(limits.get(resource))
        if limit is not None and (limit == before or limit < (amount_of(wanted) or 0)):
            limits[resource] = wanted
        requests[resource] = wanted
    grown = {**resources, "requests": requests, **({"limits": limits} if limits else {})}
    return {**container, "resources": grown}


def _waiting(body: Json, old: Json, now: float) -> Json:
    """The kubelet reports what each container still has, and that the resize is deferred."""
    status = part(old, "status")
    known = {text_in(one, "name"): one for one in items(status, "containerStatuses")}
    granted = [
        {**known.get(text_in(c, "name"), {}), **_granted(c, known)}
        for c in items(part(old, "spec"), "containers")
    ]
    pending = {"type": PENDING, "status": "True", "reason": DEFERRED, "lastTransitionTime": stamp(now)}
    others = [c for c in items(status, "conditions") if c.get("type") != PENDING]
    changed = {**status, "containerStatuses": granted, "conditions": [*others, pending]}
    return {**body, "status": changed}


def _granted(container: Json, known: dict[str, Json]) -> Json:
    name, resources = text_in(container, "name"), part(container, "resources")
    status = known.get(name, {})
    return {
        "name": name,
        "allocatedResources": status.get("allocatedResources", part(resources, "requests")),
        "resources": status.get("resources", resources),
    }


def _as_known(found: Decoded[KubernetesObject], cluster: DecodedCluster) -> Decoded[KubernetesObject]:
    """The pod keeps the UID and priority that it has in the cluster, which may have been completed."""
    resized = found.object
    for pod in cluster.pods():
        same = pod.metadata.name == resized.metadata.name
        if isinstance(resized, Pod) and same and pod.metadata.namespace == resized.metadata.namespace:
            spec = msgspec.structs.replace(
                resized.spec,
                priority=pod.spec.priority,
                preemption_policy=pod.spec.preemption_policy,
            )
            meta = msgspec.structs.replace(resized.metadata, uid=pod.metadata.uid)
            return Decoded(
                object=msgspec.structs.replace(resized, spec=spec, metadata=meta), unserved=found.unserved
            )
    return found
