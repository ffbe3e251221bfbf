"""Small objects of every kind that admission knows, and calls of it that fit on a line."""

from collections.abc import Iterable
from copy import deepcopy
from typing import Any

from reprieve.cluster.admission.admission import (
    ALL_FEATURES,
    AdmissionAnswer,
    AdmissionRefusal,
    AdmissionRequest,
    Features,
    FieldError,
    Operation,
    admit,
)
from reprieve.model.json import Json


class Known:
    """What there is beside the object in question."""

    def __init__(self, *bodies: Json) -> None:
        self._bodies = bodies

    def find(self, kind: str, namespace: str, name: str) -> Json | None:
        found = (b for b in self.all(kind) if b["metadata"]["name"] == name)
        return next(found, None)

    def all(self, kind: str) -> Iterable[Json]:
        return [body for body in self._bodies if body["kind"] == kind]


def ask(operation: Operation, new: Json, *beside: Json, **more: Any) -> AdmissionAnswer:
    group, _, version = new.get("apiVersion", "v1").rpartition("/")
    features: Features = more.pop("features", ALL_FEATURES)
    request = AdmissionRequest(operation, group, version, new["kind"], new, features=features, **more)
    return admit(request, Known(*beside))


def create(new: Json, *beside: Json, **more: Any) -> AdmissionAnswer:
    return ask(Operation.CREATE, new, *beside, **more)


def update(new: Json, old: Json, **more: Any) -> AdmissionAnswer:
    return ask(Operation.UPDATE, new, old=old, **more)


def admitted(answer: AdmissionAnswer) -> Json:
    assert isinstance(answer, dict), answer
    return answer


def created(new: Json, *beside: Json, **more: Any) -> Json:
    return admitted(create(new, *beside, **more))


def errors(answer: AdmissionAnswer) -> tuple[FieldError, ...]:
    assert isinstance(answer, tuple), answer
    return answer


def refused_at(answer: AdmissionAnswer) -> list[str]:
    """The paths of what is wrong; none where nothing is."""
    return [] if isinstance(answer, dict) else [error.path for error in errors(answer)]


def refusal(answer: AdmissionAnswer) -> AdmissionRefusal:
    assert isinstance(answer, AdmissionRefusal), answer
    return answer


def with_value(body: Json, path: str, value: object) -> Json:
    """A copy with the value at a dotted path; numbers step into lists, and what is missing is made."""
    copy = deepcopy(body)
    at: Any = copy
    *way, last = path.split(".")
    for step in way:
        at = at[int(step)] if isinstance(at, list) else at.setdefault(step, {})
    if isinstance(at, list):
        at[int(last)] = value
    else:
        at[last] = value
    return copy


def _object(api_version: str, kind: str, namespaced: bool = True, **content: Any) -> Json:
    scope = {"namespace": "default"} if namespaced else {}
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "it", **scope}, **content}


SPEC: Json = {"containers": [{"name": "main", "image": "example/app:1"}]}
TEMPLATE: Json = {"metadata": {"labels": {"app": "web"}}, "spec": SPEC}
SELECTOR: Json = {"matchLabels": {"app": "web"}}
GANG: Json = {"gang": {"minCount": 4}}
_GROUPS = "scheduling.k8s.io/v1beta1"
_OLDER = "scheduling.k8s.io/v1alpha2"

POD = _object("v1", "Pod", spec=SPEC)
NODE = _object("v1", "Node", False, status={"capacity": {"cpu": 4, "memory": "8Gi"}})
NAMESPACE = _object("v1", "Namespace", False)
CONFIG_MAP = _object("v1", "ConfigMap", data={"key": "value"})
SECRET = _object("v1", "Secret", stringData={"key": "value"})
SERVICE = _object("v1", "Service", spec={"ports": [{"port": 80}], "selector": {"app": "web"}})
ACCOUNT = _object("v1", "ServiceAccount")
EVENT = _object("v1", "Event", involvedObject={"kind": "Pod", "name": "p", "namespace": "default"})
NEW_EVENT = _object(
    "events.k8s.io/v1",
    "Event",
    regarding={"kind": "Pod", "name": "p", "namespace": "default"},
    eventTime="2026-01-02T03:04:05.000000Z",
    type="Normal",
    reason="Scheduled",
    action="Binding",
    reportingController="reprieve",
    reportingInstance="reprieve-0",
)
VOLUME = _object(
    "v1",
    "PersistentVolume",
    False,
    spec={
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "csi": {"driver": "d.example.com", "volumeHandle": "h"},
    },
)
CLAIM = _object(
    "v1",
    "PersistentVolumeClaim",
    spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
)
STORAGE_CLASS = _object("storage.k8s.io/v1", "StorageClass", False, provisioner="d.example.com")
CSI_NODE = _object(
    "storage.k8s.io/v1", "CSINode", False, spec={"drivers": [{"name": "d.example.com", "nodeID": "n"}]}
)
DEPLOYMENT = _object("apps/v1", "Deployment", spec={"selector": SELECTOR, "template": TEMPLATE})
REPLICA_SET = _object("apps/v1", "ReplicaSet", spec={"selector": SELECTOR, "template": TEMPLATE})
STATEFUL_SET = _object("apps/v1", "StatefulSet", spec={"selector": SELECTOR, "template": TEMPLATE})
DAEMON_SET = _object("apps/v1", "DaemonSet", spec={"selector": SELECTOR, "template": TEMPLATE})
REPLICATION_CONTROLLER = _object("v1", "ReplicationController", spec={"template": TEMPLATE})
QUOTA = _object("v1", "ResourceQuota", spec={"hard": {"pods": 2, "requests.memory": "1Gi"}})
LIMIT_RANGE = _object("v1", "LimitRange", spec={"limits": [{"type": "Container", "max": {"cpu": 2}}]})
CSI_DRIVER = _object("storage.k8s.io/v1", "CSIDriver", False, spec={"tokenRequests": [{"audience": "a"}]})
CAPACITY = _object("storage.k8s.io/v1", "CSIStorageCapacity", storageClassName="fast", capacity="1Gi")
ATTACHMENT = _object(
    "storage.k8s.io/v1",
    "VolumeAttachment",
    False,
    spec={"attacher": "d.example.com", "nodeName": "n", "source": {"persistentVolumeName": "v"}},
)
JOB = _object("batch/v1", "Job", spec={"template": {**TEMPLATE, "spec": {**SPEC, "restartPolicy": "Never"}}})
CRON_JOB = _object(
    "batch/v1", "CronJob", spec={"schedule": "0 8 * * 1-5", "jobTemplate": {"spec": JOB["spec"]}}
)
PRIORITY_CLASS = _object("scheduling.k8s.io/v1", "PriorityClass", False, value=100)
BUDGET = _object("policy/v1", "PodDisruptionBudget", spec={"selector": SELECTOR, "minAvailable": "50%"})
GROUP = _object(_GROUPS, "PodGroup", spec={"schedulingPolicy": GANG})
OLDER_GROUP = _object(_OLDER, "PodGroup", spec={"schedulingPolicy": GANG})
COMPOSITE = _object(
    "scheduling.k8s.io/v1alpha3",
    "CompositePodGroup",
    spec={
        "schedulingPolicy": {"gang": {"minGroupCount": 2}},
        "workloadRef": {"workloadName": "job", "templateName": "whole"},
    },
)
WORKLOAD = _object(
    _GROUPS, "Workload", spec={"podGroupTemplates": [{"name": "workers", "schedulingPolicy": GANG}]}
)
OLDER_WORKLOAD = {**WORKLOAD, "apiVersion": _OLDER}
TREE = _object(
    _GROUPS,
    "Workload",
    spec={
        "compositePodGroupTemplates": [
            {
                "name": "whole",
                "schedulingPolicy": {"basic": {}},
                "podGroupTemplates": [{"name": "workers", "schedulingPolicy": GANG}],
            }
        ]
    },
)
LEASE = _object("coordination.k8s.io/v1", "Lease", spec={"leaseDurationSeconds": 15})

EVERY_KIND = (
    *(POD, NODE, NAMESPACE, CONFIG_MAP, SECRET, SERVICE, ACCOUNT, EVENT, NEW_EVENT, VOLUME, CLAIM),
    *(STORAGE_CLASS, CSI_NODE, DEPLOYMENT, REPLICA_SET, STATEFUL_SET, JOB, PRIORITY_CLASS, BUDGET, GROUP),
    *(CRON_JOB, DAEMON_SET, REPLICATION_CONTROLLER, QUOTA, LIMIT_RANGE, CSI_DRIVER, CAPACITY, ATTACHMENT),
    *(OLDER_GROUP, COMPOSITE, WORKLOAD, OLDER_WORKLOAD, TREE, LEASE),
)


def named(body: Json) -> str:
    return f"{body['apiVersion']} {body['kind']}"


def priority_class(name: str, value: int, **more: Any) -> Json:
    return {**PRIORITY_CLASS, "metadata": {"name": name}, "value": value, **more}
