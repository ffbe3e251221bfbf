"""The few names random worlds are made of: few, so that things match, collide and are shared."""

import random
from collections.abc import Mapping, Sequence
from typing import TypeVar

from reprieve.model.json import Json
from reprieve.placement.profile import ResourceWeight

Vocabulary = Mapping[str, tuple[str, ...]]  # label keys and the values they take
T = TypeVar("T")

HOSTNAME, ZONE, RACK = "kubernetes.io/hostname", "topology.kubernetes.io/zone", "example.com/rack"
TOPOLOGY_KEYS = (HOSTNAME, ZONE, RACK)
ZONES = ("z0", "z1", "z2")
NAMESPACES = ("default", "blue", "green")
GPU, HUGEPAGES = "example.com/gpu", "hugepages-2Mi"
MANY_RESOURCES = (
    ResourceWeight("cpu"),
    ResourceWeight("memory", 2),
    ResourceWeight("ephemeral-storage"),
    ResourceWeight(GPU, 5),
    ResourceWeight("pods", 3),
)

POD_LABELS = {"app": ("web", "db", "batch"), "track": ("stable", "canary")}
NODE_LABELS = {"disk": ("ssd", "hdd"), "generation": ("1", "2", "3", "new")}
PRIORITIES = {"low": -5, "middle": 100, "high": 1000}
MIB = 1024 * 1024
IMAGES = {  # and their sizes, the same on every node
    "registry.local/web:1": 300 * MIB,
    "registry.local/db": 2000 * MIB,
    "registry.local/batch@sha256:" + "0" * 64: 40 * MIB,
    "tiny": MIB,
}


def chance(rng: random.Random, probability: float) -> bool:
    return rng.random() < probability


def some(rng: random.Random, values: Sequence[T], at_most: int | None = None, at_least: int = 0) -> list[T]:
    """A few different ones, in random order."""
    most = len(values) if at_most is None else min(at_most, len(values))
    return rng.sample(values, rng.randint(min(at_least, most), most))


def labels_from(rng: random.Random, vocabulary: Vocabulary, probability: float) -> dict[str, str]:
    return {key: rng.choice(values) for key, values in vocabulary.items() if chance(rng, probability)}


def label_selector(rng: random.Random, vocabulary: Vocabulary, *, empty: float = 0.1) -> Json:
    """A selector over the vocabulary; an empty one matches everything."""
    if chance(rng, empty):
        return {}
    if chance(rng, 0.6):
        key = rng.choice(list(vocabulary))
        return {"matchLabels": {key: rng.choice(vocabulary[key])}}
    return {"matchExpressions": [requirement(rng, vocabulary) for _ in range(rng.randint(1, 2))]}


def requirement(
    rng: random.Random,
    vocabulary: Vocabulary,
    operators: Sequence[str] = ("In", "NotIn", "Exists", "DoesNotExist"),
) -> Json:
    key, operator = rng.choice(list(vocabulary)), rng.choice(operators)
    expression: Json = {"key": key, "operator": operator}
    if operator in ("In", "NotIn"):
        expression["values"] = some(rng, vocabulary[key], at_most=2, at_least=1)
    elif operator in ("Gt", "Lt"):
        expression["values"] = [rng.choice(("0", "1", "2"))]
    return expression
