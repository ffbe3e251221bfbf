"""A pod that uses nearly everything that admission looks at, and is right in all of it."""

from reprieve.model.json import Json

_SELECTOR: Json = {
    "matchLabels": {"app": "web"},
    "matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["a"]}],
}
_TERM: Json = {
    "topologyKey": "zone",
    "labelSelector": _SELECTOR,
    "namespaces": ["team"],
    "namespaceSelector": {},
    "matchLabelKeys": ["pod-template-hash"],
    "mismatchLabelKeys": ["tenant"],
}
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

AFFINITY: Json = {
    "nodeAffinity": {
        _REQUIRED: {
            "nodeSelectorTerms": [
                {
                    "matchExpressions": [{"key": "cores", "operator": "Gt", "values": ["4"]}],
                    "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}],
                }
            ]
        },
        _PREFERRED: [
            {"weight": 1, "preference": {"matchExpressions": [{"key": "gpu", "operator": "Exists"}]}}
        ],
    },
    "podAffinity": {_REQUIRED: [_TERM]},
    "podAntiAffinity": {_PREFERRED: [{"weight": 100, "podAffinityTerm": _TERM}]},
}

_MAIN: Json = {
    "name": "main",
    "image": "example/app:1",
    "resources": {
        "requests": {"cpu": "500m", "memory": "1Gi"},
        "limits": {"cpu": 1, "memory": "1Gi", "example.com/gpu": 2, "hugepages-2Mi": "4Mi"},
    },
    "ports": [{"name": "http", "containerPort": 80, "hostPort": 8080}],
    "env": [
        {"name": "A", "value": "b"},
        {"name": "C", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "c"}}},
    ],
    "envFrom": [{"secretRef": {"name": "keys"}}],
    "volumeMounts": [{"name": "data", "mountPath": "/data", "subPath": "mine"}],
    "livenessProbe": {"httpGet": {"port": "http"}},
    "lifecycle": {"preStop": {"exec": {"command": ["sleep", "1"]}}},
    "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}],
}

RICH_POD: Json = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "rich",
        "namespace": "default",
        "labels": {"app": "web", "pod-template-hash": "x5f", "tenant": "t1"},
        "annotations": {"Example.com/Note": "any text at all"},
        "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u", "controller": True}
        ],
    },
    "spec": {
        "containers": [_MAIN],
        "initContainers": [
            {"name": "sidecar", "image": "example/s:1", "restartPolicy": "Always"},
            {"name": "first", "image": "example/f", "resources": {"requests": {"cpu": "2"}}},
        ],
        "volumes": [
            {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
            {"name": "scratch"},
            {"name": "settings", "configMap": {"name": "settings"}},
        ],
        "affinity": AFFINITY,
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [
            {"key": "gpu", "operator": "Exists", "effect": "NoSchedule"},
            {"key": "old", "value": "yes", "effect": "NoExecute", "tolerationSeconds": 60},
        ],
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "minDomains": 2,
                "labelSelector": {"matchLabels": {"app": "web"}},
                "matchLabelKeys": ["pod-template-hash"],
                "nodeTaintsPolicy": "Honor",
            }
        ],
        "schedulingGates": [{"name": "example.com/wait"}],
        "schedulingGroup": {"podGroupName": "train"},
        "activeDeadlineSeconds": 600,
        "overhead": {"cpu": "10m"},
        "terminationGracePeriodSeconds": 10,
    },
}
