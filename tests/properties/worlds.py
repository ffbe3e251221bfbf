"""Random clusters as plain Kubernetes objects: small, crowded and full of corner cases.

``random_world`` is a pure function of its source of chance, ``worlds`` is the hypothesis strategy over it.
"""

import random
from dataclasses import dataclass, field

from hypothesis import strategies as st

from reprieve.cluster.api.codec import Decoded, decode_value
from reprieve.model.json import Json
from reprieve.model.objects import KubernetesObject
from reprieve.model.snapshot import Snapshot, build
from tests.properties import random_company
from tests.properties.random_nodes import random_node
from tests.properties.random_pods import Surroundings, join, random_pod, run_on
from tests.properties.random_volumes import RandomStorage, random_storage
from tests.properties.vocabulary import NAMESPACES, chance, some

FEATURES = frozenset({"resources", "node", "ports", "pods", "spread", "volumes", "images"})


@dataclass(frozen=True, slots=True)
class World:
    """A cluster, and the pod that asks for a place in it (which is not among the objects)."""

    objects: list[Json] = field(repr=False)
    newcomer: Json = field(repr=False)


def random_world(rng: random.Random, features: frozenset[str] | None = None) -> World:
    """``features`` are the families of rules that pods may use; None means all."""
    wanted = FEATURES if features is None else features
    nodes = [random_node(rng, f"n{i}", wanted) for i in range(rng.randint(1, 8))]
    names = [node["metadata"]["name"] for node in nodes]
    spaces = some(rng, NAMESPACES, at_least=2)
    company = [thing for space in spaces for thing in _company(rng, space)]
    storage = random_storage(rng, names, spaces) if "volumes" in wanted else RandomStorage([], {})
    around = Surroundings(
        features=wanted,
        nodes=names,
        namespaces=spaces,
        claims=storage.claims,
        owners=[thing for thing in company if "template" in thing["spec"]],
        groups=[thing for thing in company if thing["kind"] == "PodGroup"],
    )
    pods = [_inhabitant(rng, f"p{i}", around) for i in range(rng.choice((0, 2, 5, 10, 15, 25)))]
    objects = [*nodes, *random_company.namespaces(rng, spaces), *random_company.priority_classes()]
    return World(objects + company + storage.objects + pods, random_pod(rng, "newcomer", around))


def _company(rng: random.Random, namespace: str) -> list[Json]:
    return [
        *random_company.services(rng, namespace),
        *random_company.controllers(rng, namespace),
        *random_company.pod_groups(rng, namespace),
        *random_company.budgets(rng, namespace),
    ]


def _inhabitant(rng: random.Random, name: str, around: Surroundings) -> Json:
    """A pod that runs somewhere, perhaps on a node that is gone, or waits like the newcomer."""
    pod = random_pod(rng, name, around)
    join(rng, pod, around.groups)
    if chance(rng, 0.85):
        run_on(rng, pod, "n-gone" if chance(rng, 0.05) else _crowded(rng, around.nodes))
    return pod


def _crowded(rng: random.Random, nodes: list[str]) -> str:
    """The first nodes more often than the last."""
    return nodes[min(rng.randrange(len(nodes)), rng.randrange(len(nodes)))]


def seeded_world(seed: int, features: frozenset[str] | None) -> World:
    return random_world(random.Random(seed), features)


def worlds(features: frozenset[str] | None = None) -> st.SearchStrategy[World]:
    """A failing example is printed as the seed that makes it."""
    return st.builds(seeded_world, st.integers(0, 2**32 - 1), st.just(features))


# --- as the core sees them -----------------------------------------------------------------------


def decoded(thing: Json) -> KubernetesObject:
    result = decode_value(thing)
    assert isinstance(result, Decoded), result
    return result.object


def has_ended(pod: Json) -> bool:
    return pod["status"]["phase"] in ("Succeeded", "Failed")


def built(world: World) -> tuple[Snapshot, int]:
    """The snapshot, and the row of the newcomer."""
    things = [decoded(thing) for thing in (*world.objects, world.newcomer)]
    snapshot = build(things).snapshot
    meta = world.newcomer["metadata"]
    return snapshot, snapshot.pods.rows[meta["namespace"], meta["name"]]
