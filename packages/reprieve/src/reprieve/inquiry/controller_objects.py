"""Which objects do controllers create for others, besides pods: ReplicaSets, Jobs, claims, volumes?

And on which nodes would a DaemonSet have pods? Plain JSON values, as a controller would send them. This
module must not know admission.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import msgspec

from reprieve.cluster.api.templates import ControllerOwner, claim_name, daemon_pod, owner_in
from reprieve.cluster.api.values import items, name_of, part, storage_class_in, text_in
from reprieve.model.json import Json
from reprieve.model.objects import Node, Pod, PodStatus, Ref
from reprieve.model.resources import Problems
from reprieve.model.selectors import (
    NodeQuery,
    Operator,
    Requirement,
    compile_node_selector,
    first_untolerated,
)

_HASH = "new"  # of the pod template of a Deployment
_CLAIM = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}


# --- owners of pods ------------------------------------------------------------------------------


def replica_set_of(deployment: Json) -> Json:
    """The ReplicaSet through which a Deployment owns its pods, which are spread by its selector."""
    spec, mark = part(deployment, "spec"), {"pod-template-hash": _HASH}
    template, selector = part(spec, "template"), part(spec, "selector")
    labels = {**part(template, "metadata", "labels"), **mark}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"{name_of(deployment)}-{_HASH}",
            "namespace": namespace_in(deployment),
            "labels": labels,
            "ownerReferences": [owner_in(deployment).reference()],
        },
        "spec": {
            "replicas": spec.get("replicas"),
            "selector": {**selector, "matchLabels": {**part(selector, "matchLabels"), **mark}},
            "template": {**template, "metadata": {**part(template, "metadata"), "labels": labels}},
        },
    }


def next_job_of(cron_job: Json) -> Json:
    """The Job that a CronJob creates at its next time."""
    template = part(cron_job, "spec", "jobTemplate")
    named = {"name": name_of(cron_job), "namespace": namespace_in(cron_job)}
    meta = {**part(template, "metadata"), **named}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": part(template, "spec")}


def namespace_in(body: Json) -> str:
    return text_in(part(body, "metadata"), "namespace")


# --- DaemonSets ----------------------------------------------------------------------------------


def daemon_pods(daemon_set: Json, place: Pod, nodes: Iterable[Node]) -> Iterator[Json]:
    """A pod for each eligible node. ``place``: a pod of the template, for its constraints."""
    for node in sorted(nodes, key=lambda node: node.metadata.name):
        if eligible_node(place, node).may_create:
            yield pod_of_node(daemon_set, node.metadata.name)


def pod_of_node(daemon_set: Json, node: str) -> Json:
    owner = owner_in(daemon_set)
    pod = daemon_pod(part(daemon_set, "spec", "template"), owner, node)
    meta = {k: v for k, v in pod["metadata"].items() if k != "generateName"}
    return {**pod, "metadata": {**meta, "name": f"{owner.name}-{node}"}}


@dataclass(frozen=True, slots=True)
class EligibleNode:
    """Whether a DaemonSet creates a pod there, and whether one that is there stays."""

    name: str
    may_create: bool
    may_stay: bool


def eligible_node(pod: Pod, node: Node) -> EligibleNode:
    """The controller looks at node selector, affinity and taints; a cordon does not matter to it."""
    name, spec, taints = node.metadata.name, pod.spec, node.spec.taints
    labels = (Requirement(k, Operator.IN, frozenset({v})) for k, v in sorted(spec.node_selector.items()))
    required = spec.affinity.node_affinity.required_during_scheduling_ignored_during_execution
    unreported = Problems(Ref(kind="", namespace="", name=""))
    query = NodeQuery(tuple(labels), compile_node_selector(required, "", unreported))
    fits = spec.node_name in ("", name) and query.matches(node.metadata.labels, name)
    evicting = [taint for taint in taints if taint.effect == "NoExecute"]
    return EligibleNode(
        name,
        fits and first_untolerated(taints, spec.tolerations) is None,
        fits and first_untolerated(evicting, spec.tolerations) is None,
    )


# --- pods that are created again -----------------------------------------------------------------


def created_again(pod: Pod, name: str) -> Pod:
    """The pod that its controller creates in its place."""
    uid = f"{pod.metadata.uid}/again"
    meta = msgspec.structs.replace(
        pod.metadata, name=name, uid=uid, resource_version="", deletion_timestamp=None
    )
    spec = msgspec.structs.replace(pod.spec, node_name="")
    return msgspec.structs.replace(pod, metadata=meta, spec=spec, status=PodStatus(phase="Pending"))


# --- claims and volumes --------------------------------------------------------------------------


def claims_of_set(stateful_set: Json, pod: str) -> Iterator[Json]:
    """The claims that a StatefulSet creates for one of its pods."""
    for template in items(part(stateful_set, "spec"), "volumeClaimTemplates"):
        name = claim_name(text_in(part(template, "metadata"), "name"), pod)
        meta = {**part(template, "metadata"), "name": name, "namespace": namespace_in(stateful_set)}
        yield {**template, **_CLAIM, "metadata": meta}


def ephemeral_claims(pod: Json) -> Iterator[Json]:
    """The claims of generic ephemeral volumes, which the pod owns."""
    meta = part(pod, "metadata")
    owner = ControllerOwner("v1", "Pod", namespace_in(pod), name_of(pod), text_in(meta, "uid"))
    for volume in items(part(pod, "spec"), "volumes"):
        template = part(volume, "ephemeral", "volumeClaimTemplate")
        if template:
            named = {"name": f"{owner.name}-{text_in(volume, 'name')}", "namespace": owner.namespace}
            own = {**part(template, "metadata"), **named, "ownerReferences": [owner.reference()]}
            yield {**_CLAIM, "metadata": own, "spec": part(template, "spec")}


def provisioned(claim: Json) -> tuple[Json, Json]:
    """The claim, bound to a volume that was provisioned for it; and the volume, which every node reaches."""
    meta, spec = part(claim, "metadata"), part(claim, "spec")
    name = f"pv-{namespace_in(claim)}-{name_of(claim)}"
    bound = {**claim, "spec": {**spec, "volumeName": name}, "status": {"phase": "Bound"}}
    bound["metadata"] = {**meta, "annotations": {**part(meta, "annotations"), _BOUND: "yes"}}
    reference = {"namespace": namespace_in(claim), "name": name_of(claim), "uid": text_in(meta, "uid")}
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": part(spec, "resources", "requests"),
            "accessModes": spec.get("accessModes"),
            "storageClassName": storage_class_in(claim),
            "claimRef": {**reference, "apiVersion": "v1", "kind": "PersistentVolumeClaim"},
        },
        "status": {"phase": "Bound"},
    }
    return bound, volume


_BOUND = "pv.kubernetes.io/bind-completed"
