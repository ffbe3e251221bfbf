"""Objects as the API server sends them, one of each kind: JSON values, small but with every part we read."""

from reprieve.model.json import Json

POD: Json = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "web-0",
        "namespace": "team-a",
        "uid": "b8f0c2de",
        "labels": {"app": "web"},
        "creationTimestamp": "2026-01-02T03:04:05Z",
        "managedFields": [{"manager": "kubelet", "operation": "Update", "fieldsV1": {"f:status": {}}}],
        "ownerReferences": [{"kind": "ReplicaSet", "name": "web", "uid": "d1f7", "controller": True}],
    },
    "spec": {
        "nodeName": "n1",
        "priority": 100,
        "containers": [
            {
                "name": "web",
                "image": "web:1",
                "ports": [{"containerPort": 80, "hostPort": 8080}],
                "resources": {"requests": {"cpu": "500m", "memory": 1024}, "limits": {"cpu": 1.5}},
            }
        ],
        "tolerations": [{"key": "gpu", "operator": "Exists", "tolerationSeconds": 300}],
        "affinity": {
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}}
                ]
            }
        },
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
        ],
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
    },
    "status": {
        "phase": "Running",
        "startTime": "2026-01-02T03:04:06Z",
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": None}],
        "containerStatuses": [{"name": "web", "allocatedResources": {"cpu": "500m"}}],
    },
}

NODE: Json = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n1", "labels": {"zone": "a"}},
    "spec": {"taints": [{"key": "gpu", "effect": "NoSchedule"}]},
    "status": {
        "allocatable": {"cpu": "4", "memory": "8Gi"},
        "images": [{"names": ["web:1"], "sizeBytes": 5}],
    },
}

POD_GROUP: Json = {
    "apiVersion": "scheduling.k8s.io/v1beta1",
    "kind": "PodGroup",
    "metadata": {"name": "train", "namespace": "team-a"},
    "spec": {
        "schedulingPolicy": {"gang": {"minCount": 4}},
        "disruptionMode": {"all": {}},
        "schedulingConstraints": {"topology": [{"key": "rack"}]},
        "workloadRef": {"workloadName": "job", "templateName": "workers"},
        "parentCompositePodGroupName": "whole",
        "priorityClassName": "high",
        "priority": 900,
        "preemptionPolicy": "Never",
    },
    "status": {"conditions": [{"type": "PodGroupInitiallyScheduled", "status": "True"}]},
}

OLDER_POD_GROUP: Json = {
    "apiVersion": "scheduling.k8s.io/v1alpha2",
    "kind": "PodGroup",
    "metadata": {"name": "train", "namespace": "team-a"},
    "spec": {
        "schedulingPolicy": {"gang": {"minCount": 4}},
        "disruptionMode": "PodGroup",
        "schedulingConstraints": {"topology": [{"key": "rack"}]},
        "podGroupTemplateRef": {"workload": {"workloadName": "job", "podGroupTemplateName": "workers"}},
        "priorityClassName": "high",
        "priority": 900,
    },
    "status": {"conditions": [{"type": "PodGroupScheduled", "status": "True"}]},
}

COMPOSITE: Json = {
    "apiVersion": "scheduling.k8s.io/v1alpha3",
    "kind": "CompositePodGroup",
    "metadata": {"name": "whole", "namespace": "team-a"},
    "spec": {
        "schedulingPolicy": {"gang": {"minGroupCount": 2}},
        "disruptionMode": {"single": {}},
        "workloadRef": {"workloadName": "job", "templateName": "whole"},
    },
}

WORKLOAD: Json = {
    "apiVersion": "scheduling.k8s.io/v1beta1",
    "kind": "Workload",
    "metadata": {"name": "job", "namespace": "team-a"},
    "spec": {
        "podGroupTemplates": [{"name": "driver", "schedulingPolicy": {"basic": {}}}],
        "compositePodGroupTemplates": [
            {
                "name": "whole",
                "schedulingPolicy": {"gang": {"minGroupCount": 2}},
                "podGroupTemplates": [
                    {"name": "workers", "schedulingPolicy": {"gang": {"minCount": 4}}, "priority": 7}
                ],
            }
        ],
    },
}

BUDGET: Json = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "web", "namespace": "team-a"},
    "spec": {"selector": {"matchLabels": {"app": "web"}}, "minAvailable": "50%"},
    "status": {"disruptionsAllowed": 1, "disruptedPods": {"web-1": "2026-01-02T03:04:05Z"}},
}

VOLUME: Json = {
    "apiVersion": "v1",
    "kind": "PersistentVolume",
    "metadata": {"name": "pv"},
    "spec": {"capacity": {"storage": "1Gi"}, "csi": {"driver": "d", "volumeHandle": "h"}},
}

PRIORITY_CLASS: Json = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "high"},
    "value": 900,
}

ALL = (POD, NODE, POD_GROUP, OLDER_POD_GROUP, COMPOSITE, WORKLOAD, BUDGET, VOLUME, PRIORITY_CLASS)


def changed(thing: Json, path: str, value: object) -> Json:
    """A copy with the value at a dotted path replaced; a number steps into a list."""
    first, _, rest = path.partition(".")
    if isinstance(thing, list):
        at = int(first)
        return [*thing[:at], changed(thing[at], rest, value) if rest else value, *thing[at + 1 :]]
    return {**thing, first: changed(thing.get(first, {}), rest, value) if rest else value}


def without(thing: Json, path: str) -> Json:
    """A copy without the field at a dotted path."""
    first, _, rest = path.partition(".")
    if rest:
        return {**thing, first: without(thing[first], rest)}
    return {name: value for name, value in thing.items() if name != first}
