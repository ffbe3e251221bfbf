"""Whatever stands in one field, it is reported, and everything else goes on."""

import copy
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from reprieve.model.json import Json
from reprieve.model.snapshot import BuiltSnapshot, build
from tests.properties.answers import answers
from tests.properties.vocabulary import chance
from tests.properties.worlds import World, decoded, has_ended, worlds

SEEDS = st.integers(0, 2**32 - 1)
KINDS = ("Pod", "Node", "PersistentVolume", "PersistentVolumeClaim", "CSIStorageCapacity")
NO_QUANTITIES = ("", "much", "-1", "1 Gi", "1ki", "9" * 5000, "0x10", "1e1e1", "٣")

# Fields by the end of their path, and what cannot stand there.
JUNK: dict[str, tuple[object, ...]] = {
    r"(resources\.requests|allocatable|overhead|capacity)\.[^.]+": NO_QUANTITIES,
    r"capacity": NO_QUANTITIES,
    r"matchExpressions\[\d+\]\.operator": ("", "in", "Near"),
    r"tolerations\[\d+\]\.operator": ("exists", "Near"),
    r"matchFields\[\d+\]\.key": ("", "metadata.labels"),
    r"spec\.containers\[\d+\]\.ports\[\d+\]\.hostPort": (-1, 65536),
    r"topologyKey": ("",),
    r"maxSkew": (0, -3),
    r"minDomains": (0, -1),
    r"whenUnsatisfiable": ("", "Never"),
    r"node(Affinity|Taints)Policy": ("honor", "Maybe"),
}


@dataclass(frozen=True, slots=True)
class Leaf:
    """One value deep inside an object."""

    thing: Json
    path: str
    holder: Json
    key: str


def leaves(thing: Json, value: object, path: str = "") -> Iterator[Leaf]:
    if isinstance(value, dict):
        for key, inner in value.items():
            here = f"{path}.{key}".removeprefix(".")
            if isinstance(inner, dict | list):
                yield from leaves(thing, inner, here)
            else:
                yield Leaf(thing, here, value, key)
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from leaves(thing, inner, f"{path}[{i}]")


def junk_for(leaf: Leaf) -> tuple[object, ...]:
    """What a field cannot hold; nothing for fields that are not checked, or only with the pod's status."""
    if leaf.path.startswith("status.") and leaf.thing["kind"] == "Pod":
        return ()
    return next((junk for end, junk in JUNK.items() if re.search(rf"(^|\.){end}$", leaf.path)), ())


def spoiled(world: World, seed: int) -> tuple[World, list[Leaf]]:
    """The same world with something impossible in a few fields."""
    rng = random.Random(seed)
    changed = copy.deepcopy(world)
    things = [thing for thing in changed.objects if thing["kind"] in KINDS and not _is_over(thing)]
    by_junk: dict[tuple[object, ...], list[Leaf]] = {}
    for leaf in (leaf for thing in things for leaf in leaves(thing, thing)):
        by_junk.setdefault(junk_for(leaf), []).append(leaf)
    drawn = [rng.choice(found) for junk, found in by_junk.items() if junk and chance(rng, 0.3)]
    # One in each object: of a rule that is wrong in two ways only the first is reported.
    chosen = list({leaf.thing["metadata"]["uid"]: leaf for leaf in drawn}.values())
    for leaf in chosen:
        leaf.holder[leaf.key] = rng.choice(junk_for(leaf))
    return changed, chosen


def _is_over(thing: Json) -> bool:
    return thing["kind"] == "Pod" and has_ended(thing)


def build_all(world: World) -> BuiltSnapshot:
    return build([decoded(thing) for thing in (*world.objects, world.newcomer)])


@given(worlds(), SEEDS)
def test_a_malformed_field_is_reported_with_its_object_and_path(world: World, seed: int) -> None:
    changed, chosen = spoiled(world, seed)
    reported = {(p.ref.kind, p.ref.name, p.path) for p in build_all(changed).problems}
    assert reported == {(leaf.thing["kind"], leaf.thing["metadata"]["name"], leaf.path) for leaf in chosen}


@given(worlds(), SEEDS)
def test_the_rest_of_the_cluster_is_as_before(world: World, seed: int) -> None:
    changed, chosen = spoiled(world, seed)
    touched = {leaf.thing["metadata"]["name"] for leaf in chosen}
    before, now = build_all(world).snapshot, build_all(changed).snapshot
    assert before.pods.rows == now.pods.rows
    assert before.nodes.names == now.nodes.names
    for old, new in zip(before.pods.compiled, now.pods.compiled, strict=True):
        assert old.pod.metadata.name in touched or old.shape == new.shape


@given(worlds(), SEEDS)
def test_nothing_is_ever_raised(world: World, seed: int) -> None:
    changed, _ = spoiled(world, seed)
    assert answers(build_all(changed).snapshot)


@given(worlds())
def test_a_sound_world_has_no_problems(world: World) -> None:
    assert build_all(world).problems == ()
