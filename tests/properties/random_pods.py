"""Random pods: what they ask of nodes, of other pods and of topology, and in what state they are."""

import random
from dataclasses import dataclass, field

from reprieve.model.json import Json
from tests.properties.random_nodes import TAINT_EFFECTS, TAINTS
from tests.properties.random_resources import add_pod_wide_resources, container_resources, random_resize
from tests.properties.random_volumes import random_pod_volumes
from tests.properties.vocabulary import (
    IMAGES,
    NAMESPACES,
    NODE_LABELS,
    POD_LABELS,
    PRIORITIES,
    TOPOLOGY_KEYS,
    ZONE,
    ZONES,
    chance,
    label_selector,
    labels_from,
    requirement,
    some,
)

AFFINITY_VOCABULARY = NODE_LABELS | {ZONE: ZONES}
NAMESPACE_LABELS = {"team": ("a", "b")}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What pods can refer to."""

    features: frozenset[str]
    nodes: list[str]
    namespaces: list[str]
    claims: dict[str, list[str]] = field(default_factory=dict)
    owners: list[Json] = field(default_factory=list)
    groups: list[Json] = field(default_factory=list)


def random_pod(rng: random.Random, name: str, around: Surroundings) -> Json:
    """A pod that waits for a node."""
    namespace = around.namespaces[0] if chance(rng, 0.6) else rng.choice(around.namespaces)
    class_name = rng.choice(list(PRIORITIES))
    pod: Json = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"{namespace}-{name}",
            "labels": labels_from(rng, POD_LABELS, 0.8),
            "creationTimestamp": _time(rng),
        },
        "spec": {
            "schedulerName": "default-scheduler",
            "priorityClassName": class_name,
            "priority": PRIORITIES[class_name],
            "containers": [_container(rng, f"c{i}", around.features) for i in range(rng.randint(1, 3))],
        },
        "status": {"phase": "Pending", "conditions": []},
    }
    _add_features(rng, pod, around)
    return pod


def _add_features(rng: random.Random, pod: Json, around: Surroundings) -> None:
    spec, features = pod["spec"], around.features
    if "resources" in features:
        _add_init_containers(rng, spec, features)
        add_pod_wide_resources(rng, spec)
    if "ports" in features:
        _drop_repeated_ports(spec)
    if "node" in features:
        _add_node_wishes(rng, spec, around.nodes)
    if "pods" in features:
        _add_pod_affinity(rng, spec)
    if "spread" in features:
        _add_spread(rng, spec)
        _add_owner(rng, pod, around.owners)
    if "volumes" in features and chance(rng, 0.5):
        claims = around.claims.get(pod["metadata"]["namespace"], [])
        spec["volumes"] = random_pod_volumes(rng, claims)
    if "images" in features and chance(rng, 0.1):
        image = {"name": "image", "image": {"reference": rng.choice(list(IMAGES))}}
        spec.setdefault("volumes", []).append(image)


def _time(rng: random.Random) -> str:
    return f"2026-01-01T{rng.randrange(24):02}:{rng.randrange(60):02}:00Z"


# --- containers ----------------------------------------------------------------------------------


def _container(rng: random.Random, name: str, features: frozenset[str]) -> Json:
    container: Json = {"name": name, "image": rng.choice(list(IMAGES))}
    if "resources" in features and (resources := container_resources(rng)):
        container["resources"] = resources
    if "ports" in features and chance(rng, 0.15):
        container["ports"] = _ports(rng)
    if "node" in features and chance(rng, 0.03):
        # A feature that only some nodes declare.
        rules = {"exitCodes": {"operator": "In", "values": [3]}, "action": "RestartAllContainers"}
        container["restartPolicy"], container["restartPolicyRules"] = "Never", [rules]
    return container


def _ports(rng: random.Random) -> list[Json]:
    return [_port(rng) for _ in range(rng.randint(1, 2))]


def _port(rng: random.Random) -> Json:
    number = rng.choice((8080, 9090))
    port: Json = {"containerPort": number}
    if chance(rng, 0.8):
        port["hostPort"] = number
    if chance(rng, 0.4):
        port["protocol"] = rng.choice(("TCP", "UDP"))
    if chance(rng, 0.4):
        port["hostIP"] = rng.choice(("127.0.0.1", "10.0.0.1", "0.0.0.0", "::"))
    return port


def _drop_repeated_ports(spec: Json) -> None:
    """The API server lets no pod name one host port twice."""
    seen: list[Json] = []
    for container in (*spec.get("initContainers", ()), *spec["containers"]):
        for port in container.get("ports", [])[:]:
            wanted = {"protocol": "TCP", "hostIP": ""} | port
            if wanted in seen:
                container["ports"].remove(port)
            elif "hostPort" in port:
                seen.append(wanted)


def _add_init_containers(rng: random.Random, spec: Json, features: frozenset[str]) -> None:
    if chance(rng, 0.7):
        return
    containers = [_container(rng, f"i{i}", features) for i in range(rng.randint(1, 3))]
    for container in containers:
        container.pop("restartPolicyRules", None)
        container.pop("restartPolicy", None)
        if chance(rng, 0.4):
            container["restartPolicy"] = "Always"
    spec["initContainers"] = containers


# --- wishes about nodes --------------------------------------------------------------------------


def _add_node_wishes(rng: random.Random, spec: Json, nodes: list[str]) -> None:
    if chance(rng, 0.1):
        key = rng.choice(list(NODE_LABELS))
        spec["nodeSelector"] = {key: rng.choice(NODE_LABELS[key])}
    if chance(rng, 0.4):
        spec.setdefault("affinity", {})["nodeAffinity"] = _node_affinity(rng, nodes)
    if chance(rng, 0.7):
        spec["tolerations"] = [_toleration(rng) for _ in range(rng.randint(1, 3))]


def _node_affinity(rng: random.Random, nodes: list[str]) -> Json:
    affinity: Json = {}
    if chance(rng, 0.3):
        terms = [_node_term(rng, nodes) for _ in range(rng.randint(1, 2))]
        affinity[REQUIRED] = {"nodeSelectorTerms": terms}
    if chance(rng, 0.7):
        affinity[PREFERRED] = [
            {"weight": rng.choice((1, 10, 100)), "preference": _node_term(rng, nodes)}
            for _ in range(rng.randint(1, 3))
        ]
    return affinity


def _node_term(rng: random.Random, nodes: list[str]) -> Json:
    operators = ("In", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
    term: Json = {}
    if chance(rng, 0.9):
        count = rng.randint(1, 2)
        term["matchExpressions"] = [requirement(rng, AFFINITY_VOCABULARY, operators) for _ in range(count)]
    if chance(rng, 0.15):
        name = rng.choice([*nodes, "no-such-node"])
        operator = rng.choice(("In", "NotIn"))
        term["matchFields"] = [{"key": "metadata.name", "operator": operator, "values": [name]}]
    return term


def _toleration(rng: random.Random) -> Json:
    if chance(rng, 0.1):
        return {"operator": "Exists"}
    if chance(rng, 0.1):
        return {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}
    key = rng.choice(list(TAINTS))
    toleration: Json = {"key": key}
    if chance(rng, 0.5):
        toleration["effect"] = rng.choice(TAINT_EFFECTS)
    if chance(rng, 0.4):
        toleration["operator"] = "Exists"
    else:
        toleration["value"] = rng.choice(TAINTS[key])
    return toleration


# --- wishes about other pods ---------------------------------------------------------------------


def _add_pod_affinity(rng: random.Random, spec: Json) -> None:
    for kind, probability in (("podAffinity", 0.2), ("podAntiAffinity", 0.25)):
        if chance(rng, probability):
            spec.setdefault("affinity", {})[kind] = _pod_affinity(rng)


def _pod_affinity(rng: random.Random) -> Json:
    affinity: Json = {}
    if chance(rng, 0.6):
        affinity[REQUIRED] = [_pod_term(rng) for _ in range(rng.choice((1, 1, 2)))]
    if chance(rng, 0.6):
        affinity[PREFERRED] = [
            {"weight": rng.choice((1, 7, 100)), "podAffinityTerm": _pod_term(rng)}
            for _ in range(rng.randint(1, 2))
        ]
    return affinity


def _pod_term(rng: random.Random) -> Json:
    term: Json = {"topologyKey": rng.choice(TOPOLOGY_KEYS)}
    if chance(rng, 0.95):
        term["labelSelector"] = label_selector(rng, POD_LABELS)
    if chance(rng, 0.2):
        term["namespaces"] = some(rng, NAMESPACES, at_least=1)
    if chance(rng, 0.2):
        term["namespaceSelector"] = label_selector(rng, NAMESPACE_LABELS, empty=0.4)
    return term


def _add_spread(rng: random.Random, spec: Json) -> None:
    if chance(rng, 0.6):
        return
    whens = ("DoNotSchedule", "DoNotSchedule", "ScheduleAnyway")
    pairs = list(zip(TOPOLOGY_KEYS, rng.sample(whens, len(whens)), strict=True))
    spec["topologySpreadConstraints"] = [
        _spread(rng, key, when) for key, when in some(rng, pairs, at_most=2, at_least=1)
    ]


def _spread(rng: random.Random, key: str, when: str) -> Json:
    constraint: Json = {"topologyKey": key, "whenUnsatisfiable": when, "maxSkew": rng.choice((1, 1, 1, 2, 3))}
    if chance(rng, 0.95):
        constraint["labelSelector"] = label_selector(rng, POD_LABELS)
    if when == "DoNotSchedule" and chance(rng, 0.3):
        constraint["minDomains"] = rng.randint(1, 4)
    for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if chance(rng, 0.3):
            constraint[policy] = rng.choice(("Honor", "Ignore"))
    return constraint


def _add_owner(rng: random.Random, pod: Json, owners: list[Json]) -> None:
    """A controller's pods carry the labels it selects by."""
    mine = [o for o in owners if o["metadata"]["namespace"] == pod["metadata"]["namespace"]]
    if not mine or chance(rng, 0.5):
        return
    owner = rng.choice(mine)
    meta = owner["metadata"]
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": meta["name"]}
    pod["metadata"]["ownerReferences"] = [reference | {"uid": meta["uid"], "controller": True}]
    selector = owner["spec"]["selector"]
    pod["metadata"]["labels"].update(selector.get("matchLabels", selector))


# --- states --------------------------------------------------------------------------------------


def run_on(rng: random.Random, pod: Json, node: str) -> None:
    """The pod runs there, or is about to, or is going, or has ended."""
    pod["spec"]["nodeName"] = node
    status = pod["status"]
    status["phase"] = rng.choice(
        ("Running", "Running", "Running", "Running", "Pending", "Succeeded", "Failed")
    )
    status["startTime"] = _time(rng)
    status["conditions"].append({"type": "PodScheduled", "status": "True", "lastTransitionTime": _time(rng)})
    if chance(rng, 0.1):
        pod["metadata"]["deletionTimestamp"] = "2026-01-02T00:00:00Z"
        pod["metadata"]["deletionGracePeriodSeconds"] = 30
    if chance(rng, 0.2):
        random_resize(rng, pod)


def join(rng: random.Random, pod: Json, groups: list[Json]) -> None:
    """Membership in a group of the same namespace, with the group's priority."""
    mine = [g for g in groups if g["metadata"]["namespace"] == pod["metadata"]["namespace"]]
    if mine and chance(rng, 0.4):
        group = rng.choice(mine)
        pod["spec"]["schedulingGroup"] = {"podGroupName": group["metadata"]["name"]}
        for name in ("priority", "priorityClassName"):
            pod["spec"][name] = group["spec"][name]
