"""Random nodes: small, differently labelled, some closed or tainted, some with devices and images."""

import random

from reprieve.model.json import Json
from tests.properties.vocabulary import (
    GPU,
    HOSTNAME,
    HUGEPAGES,
    IMAGES,
    NODE_LABELS,
    RACK,
    ZONE,
    ZONES,
    chance,
    labels_from,
    some,
)

TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
TAINTS = {"dedicated": ("ml", "web"), "maintenance": ("",), "load": ("3", "7")}
DECLARED_FEATURES = (
    "RestartAllContainersOnContainerExits",
    "UserNamespacesHostNetworkSupport",
    "VolumeBindMountOptions",
)


def random_node(rng: random.Random, name: str, features: frozenset[str]) -> Json:
    node: Json = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": f"node-{name}", "labels": _labels(rng, name)},
        "spec": {},
        "status": {"allocatable": _allocatable(rng), "conditions": [{"type": "Ready", "status": "True"}]},
    }
    if "node" in features:
        if chance(rng, 0.1):
            node["spec"]["unschedulable"] = True
        if taints := _taints(rng):
            node["spec"]["taints"] = taints
        if declared := some(rng, DECLARED_FEATURES):
            node["status"]["declaredFeatures"] = sorted(declared)
    if "images" in features:
        node["status"]["images"] = _images(rng)
    return node


def _labels(rng: random.Random, name: str) -> dict[str, str]:
    labels = labels_from(rng, NODE_LABELS, 0.7)
    if chance(rng, 0.9):
        labels[HOSTNAME] = name
    if chance(rng, 0.85):
        labels[ZONE] = rng.choice(ZONES)
    if chance(rng, 0.6):
        labels[RACK] = rng.choice(("r0", "r1"))
    return labels


def _allocatable(rng: random.Random) -> dict[str, str]:
    allocatable = {
        "cpu": rng.choice(("2", "4", "3900m", "7500m", "32")),
        "memory": rng.choice(("2Gi", "8Gi", "8000000Ki", "16G")),
        "pods": rng.choice(("3", "10", "110")),
    }
    if chance(rng, 0.85):
        allocatable["ephemeral-storage"] = rng.choice(("3Gi", "100Gi"))
    if chance(rng, 0.4):
        allocatable[GPU] = rng.choice(("0", "1", "4"))
    if chance(rng, 0.3):
        allocatable[HUGEPAGES] = rng.choice(("0", "64Mi", "1Gi"))
    return allocatable


def _taints(rng: random.Random) -> list[Json]:
    """Taints are unique by key and effect."""
    if chance(rng, 0.6):
        return []
    pairs = [(key, effect) for key in TAINTS for effect in TAINT_EFFECTS]
    return [_taint(rng, key, effect) for key, effect in some(rng, pairs, at_most=2, at_least=1)]


def _taint(rng: random.Random, key: str, effect: str) -> Json:
    taint = {"key": key, "value": rng.choice(TAINTS[key]), "effect": effect}
    return {field: text for field, text in taint.items() if text}


def _images(rng: random.Random) -> list[Json]:
    return [_image(image, size) for image, size in some(rng, list(IMAGES.items()))]


def _image(image: str, size: int) -> Json:
    """The node knows an image by every name it was ever pulled under."""
    tagged = image if ":" in image else f"{image}:latest"
    return {"names": [f"mirror.local/{tagged.rpartition('/')[2]}", tagged], "sizeBytes": size}
