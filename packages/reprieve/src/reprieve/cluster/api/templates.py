"""Which pods and groups would the controller of an object create? As plain JSON values.

For controllers and for predictions. A malformed object yields none. Nothing is admitted here: defaults and
priorities are filled in where the results are created.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from reprieve.cluster.api.groups import OLDER, GroupApi
from reprieve.cluster.api.values import items, part, text_in
from reprieve.model.json import Json

CONTROLLER_UID = "batch.kubernetes.io/controller-uid"
_TEMPLATE_LISTS = ("podGroupTemplates", "compositePodGroupTemplates")


@dataclass(frozen=True, slots=True)
class ControllerOwner:
    """The object that creates others: their controller reference names it."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str = ""

    def reference(self) -> Json:
        return {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "name": self.name,
            "uid": self.uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }


def owner_in(body: Json) -> ControllerOwner:
    meta = part(body, "metadata")
    namespace = text_in(meta, "namespace") or "default"
    texts = (text_in(body, "apiVersion"), text_in(body, "kind"), namespace)
    return ControllerOwner(*texts, text_in(meta, "name"), text_in(meta, "uid"))


# --- pods ----------------------------------------------------------------------------------------


def pod_of(template: Json, owner: ControllerOwner, labels: dict[str, str] | None = None) -> Json:
    """A pod without a name."""
    meta = part(template, "metadata")
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "generateName": f"{owner.name}-",
            "namespace": owner.namespace,
            "labels": {**part(meta, "labels"), **(labels or {})},
            "annotations": part(meta, "annotations"),
            "ownerReferences": [owner.reference()],
        },
        "spec": part(template, "spec"),
    }


# The tolerations that every pod of a DaemonSet has: key and effect.
_DAEMON_TOLERATIONS = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)
_NO_NETWORK = ("node.kubernetes.io/network-unavailable", "NoSchedule")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def daemon_pod(template: Json, owner: ControllerOwner, node: str) -> Json:
    """The pod of a DaemonSet for one node; without a node, its affinity is that of the template."""
    pod = pod_of(template, owner)
    spec = dict(pod["spec"])
    marks = (*_DAEMON_TOLERATIONS, *([_NO_NETWORK] if spec.get("hostNetwork") is True else []))
    always = [{"key": key, "operator": "Exists", "effect": effect} for key, effect in marks]
    said = [t for t in items(spec, "tolerations") if (t.get("key"), t.get("effect")) not in marks]
    spec["tolerations"] = [*said, *always]
    if node:
        field = {"key": "metadata.name", "operator": "In", "values": [node]}
        required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
        near = {**part(spec, "affinity", "nodeAffinity"), _REQUIRED: required}
        spec["affinity"] = {**part(spec, "affinity"), "nodeAffinity": near}
    return {**pod, "spec": spec}


def job_labels(job: ControllerOwner) -> dict[str, str]:
    return {
        "batch.kubernetes.io/job-name": job.name,
        CONTROLLER_UID: job.uid,
        "job-name": job.name,
        "controller-uid": job.uid,
    }


def pods_of(body: Json) -> Iterator[Json]:
    """The first pods, under distinct names; a pod yields itself."""
    owner, spec = owner_in(body), part(body, "spec")
    match owner.kind:
        case "Pod":
            yield body
        case "Deployment" | "ReplicaSet" | "ReplicationController":
            for number in range(_count(spec.get("replicas"))):
                yield named_pod(pod_of(part(spec, "template"), owner), owner, number)
        case "StatefulSet":
            start = _count(part(spec, "ordinals").get("start"), otherwise=0)
            for number in range(start, start + _count(spec.get("replicas"))):
                yield pod_of_set(spec, owner, number)
        case "Job":
            yield from _pods_of_job(spec, owner)
        case "CronJob":
            job = ControllerOwner("batch/v1", "Job", owner.namespace, owner.name)
            yield from _pods_of_job(part(spec, "jobTemplate", "spec"), job)


def _count(value: object, otherwise: int = 1) -> int:
    """A number with a default of one, or another one."""
    if value is None:
        return otherwise
    return max(0, value) if isinstance(value, int) and not isinstance(value, bool) else 0


def named_pod(pod: Json, owner: ControllerOwner, number: int) -> Json:
    kept = {name: value for name, value in pod["metadata"].items() if name != "generateName"}
    return {**pod, "metadata": {"name": f"{owner.name}-{number}", **kept}}


def _pods_of_job(spec: Json, job: ControllerOwner) -> Iterator[Json]:
    if spec.get("suspend") is True:
        return
    parallelism = _count(spec.get("parallelism"))
    completions = _count(spec.get("completions"), otherwise=parallelism)
    for number in range(min(parallelism, completions)):
        pod = named_pod(pod_of(part(spec, "template"), job, job_labels(job)), job, number)
        if spec.get("completionMode") == "Indexed":
            index = {"batch.kubernetes.io/job-completion-index": str(number)}
            pod["metadata"]["labels"] = {**pod["metadata"]["labels"], **index}
            pod["metadata"]["annotations"] = {**pod["metadata"]["annotations"], **index}
        yield pod


def claim_name(template: str, pod: str) -> str:
    """The claim of a StatefulSet's pod for one of its volumeClaimTemplates."""
    return f"{template}-{pod}"


def pod_of_set(spec: Json, owner: ControllerOwner, number: int) -> Json:
    """The pod of a StatefulSet with an ordinal."""
    name = f"{owner.name}-{number}"
    labels = {"apps.kubernetes.io/pod-index": str(number), "statefulset.kubernetes.io/pod-name": name}
    pod = named_pod(pod_of(part(spec, "template"), owner, labels), owner, number)
    claims = [text_in(part(claim, "metadata"), "name") for claim in items(spec, "volumeClaimTemplates")]
    volumes = [{"name": c, "persistentVolumeClaim": {"claimName": claim_name(c, name)}} for c in claims]
    pod["spec"] = {**pod["spec"], "hostname": name}
    if service := text_in(spec, "serviceName"):
        pod["spec"]["subdomain"] = service
    if volumes:
        own = [volume for volume in items(pod["spec"], "volumes") if volume.get("name") not in claims]
        pod["spec"] = {**pod["spec"], "volumes": [*own, *volumes]}
    return pod


# --- groups --------------------------------------------------------------------------------------


def groups_of(workload: Json) -> Iterator[Json]:
    """The groups that the templates of a workload describe, parents first, named after their templates."""
    yield from _groups_below(part(workload, "spec"), owner_in(workload), "")


def _groups_below(parent: Json, workload: ControllerOwner, parent_name: str) -> Iterator[Json]:
    for template in items(parent, "podGroupTemplates"):
        yield _group(template, workload, parent_name, "PodGroup")
    for template in items(parent, "compositePodGroupTemplates"):
        composite = _group(template, workload, parent_name, "CompositePodGroup")
        yield composite
        yield from _groups_below(template, workload, composite["metadata"]["name"])


def _group(template: Json, workload: ControllerOwner, parent: str, kind: str) -> Json:
    name = text_in(template, "name")
    spec = {field: value for field, value in template.items() if field not in ("name", *_TEMPLATE_LISTS)}
    spec.update(_template_ref(workload, name))
    if parent:
        spec["parentCompositePodGroupName"] = parent
    return {
        "apiVersion": str(GroupApi.V1ALPHA3) if kind == "CompositePodGroup" else workload.api_version,
        "kind": kind,
        "metadata": {
            "name": f"{workload.name}-{name}",
            "namespace": workload.namespace,
            "ownerReferences": [workload.reference()],
        },
        "spec": spec,
    }


def _template_ref(workload: ControllerOwner, template: str) -> Json:
    if workload.api_version == OLDER:
        names = {"workloadName": workload.name, "podGroupTemplateName": template}
        return {"podGroupTemplateRef": {"workload": names}}
    return {"workloadRef": {"workloadName": workload.name, "templateName": template}}
