"""What surrounds pods: namespaces, services, controllers, groups, budgets, priority classes."""

import random

from reprieve.model.json import Json
from tests.properties.vocabulary import POD_LABELS, PRIORITIES, chance, label_selector


def namespaces(rng: random.Random, names: list[str]) -> list[Json]:
    return [_namespace(rng, name) for name in names]


def _namespace(rng: random.Random, name: str) -> Json:
    labels = {"kubernetes.io/metadata.name": name}
    if chance(rng, 0.7):
        labels["team"] = rng.choice(("a", "b"))
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def priority_classes() -> list[Json]:
    return [
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
            "preemptionPolicy": "PreemptLowerPriority",
        }
        for name, value in PRIORITIES.items()
    ]


def _exact_labels(rng: random.Random) -> dict[str, str]:
    key = rng.choice(list(POD_LABELS))
    return {key: rng.choice(POD_LABELS[key])}


def services(rng: random.Random, namespace: str) -> list[Json]:
    return [
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": f"service{i}", "namespace": namespace},
            "spec": {"selector": _exact_labels(rng), "ports": [{"port": 80}]},
        }
        for i in range(rng.randint(0, 1))
    ]


def controllers(rng: random.Random, namespace: str) -> list[Json]:
    kinds = [kind for kind in ("ReplicaSet", "StatefulSet", "ReplicationController") if chance(rng, 0.3)]
    return [_controller(rng, kind, namespace) for kind in kinds]


def _controller(rng: random.Random, kind: str, namespace: str) -> Json:
    name = kind.lower()
    labels = _exact_labels(rng)
    selects = labels if kind == "ReplicationController" else {"matchLabels": labels}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    return {
        "apiVersion": "v1" if kind == "ReplicationController" else "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace, "uid": f"{namespace}-{name}"},
        "spec": {"replicas": 3, "selector": selects, "template": template},
    }


def pod_groups(rng: random.Random, namespace: str) -> list[Json]:
    return [_pod_group(rng, f"group{i}", namespace) for i in range(rng.choice((0, 0, 1, 2)))]


def _pod_group(rng: random.Random, name: str, namespace: str) -> Json:
    class_name = rng.choice(list(PRIORITIES))
    gang = {"gang": {"minCount": rng.randint(1, 3)}}
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": namespace, "uid": f"{namespace}-{name}"},
        "spec": {
            "schedulingPolicy": gang if chance(rng, 0.7) else {"basic": {}},
            "disruptionMode": {rng.choice(("single", "all")): {}},
            "priorityClassName": class_name,
            "priority": PRIORITIES[class_name],
        },
    }


def budgets(rng: random.Random, namespace: str) -> list[Json]:
    return [
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": f"budget{i}", "namespace": namespace},
            "spec": {"minAvailable": 1, "selector": label_selector(rng, POD_LABELS)},
            "status": {"disruptionsAllowed": rng.randint(0, 2)},
        }
        for i in range(rng.choice((0, 0, 1, 2)))
    ]
