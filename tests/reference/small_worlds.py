"""Worlds in which something was wrong, made as small as they can be, and kept as examples."""

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path

from reprieve.model.json import Json
from tests.reference.preemption_worlds import PreemptionWorld

HERE = Path(__file__).parent / "worse_plans"
EXAMPLES = sorted(HERE.glob("*.json"))


def read_world(path: Path) -> PreemptionWorld:
    fields = json.loads(path.read_bytes())
    del fields["why"]
    return PreemptionWorld(**{**fields, "newcomers": tuple(fields["newcomers"])})


def save_world(world: PreemptionWorld, name: str, why: str) -> Path:
    """``why``: what was wrong there."""
    path = HERE / f"{name}.json"
    fields = {"why": why, **asdict(world)}
    lines = ",\n  ".join(json.dumps(thing) for thing in fields.pop("objects"))
    head = json.dumps(fields)[1:-1]
    path.write_text(f'{{{head}, "objects": [\n  {lines}\n]}}\n')
    return path


def smallest(world: PreemptionWorld, is_wrong: Callable[[PreemptionWorld], bool]) -> PreemptionWorld:
    """Without all that can be left out such that something is still wrong."""
    for smaller in _smaller(world):
        if is_wrong(smaller):
            return smallest(smaller, is_wrong)
    return world


def _smaller(world: PreemptionWorld) -> Iterator[PreemptionWorld]:
    for i, thing in enumerate(world.objects):
        if (
            thing["kind"] in ("Pod", "PodDisruptionBudget")
            and thing["metadata"]["name"] not in world.newcomers
        ) or not _is_used(thing, world.objects):
            yield _with(world, [*world.objects[:i], *world.objects[i + 1 :]])
    for i, thing in enumerate(world.objects):
        for simpler in _simpler(thing):
            yield _with(world, [*world.objects[:i], simpler, *world.objects[i + 1 :]])


def _with(world: PreemptionWorld, objects: list[Json]) -> PreemptionWorld:
    is_tied = any("affinity" in o["spec"] or "ports" in repr(o) for o in objects if o["kind"] == "Pod")
    return replace(world, objects=objects, is_tied=is_tied)


def _is_used(thing: Json, objects: list[Json]) -> bool:
    name = thing["metadata"]["name"]
    if thing["kind"] == "Node":
        return any(o["spec"].get("nodeName") == name for o in objects if o["kind"] == "Pod")
    if thing["kind"] in ("PodGroup", "CompositePodGroup"):
        parents = (o.get("spec", {}).get("parentCompositePodGroupName") for o in objects)
        groups = (o.get("spec", {}).get("schedulingGroup", {}).get("podGroupName") for o in objects)
        return name in {*parents, *groups}
    return True


def _simpler(thing: Json) -> Iterator[Json]:
    if thing["kind"] != "Pod":
        return
    for where, name in (
        ("spec", "affinity"),
        ("spec", "schedulingGroup"),
        ("metadata", "ownerReferences"),
        ("metadata", "annotations"),
    ):
        if thing[where].get(name) and thing["spec"].get("nodeName"):
            simpler = copy.deepcopy(thing)
            del simpler[where][name]
            yield simpler
    if "ports" in thing["spec"]["containers"][0]:
        simpler = copy.deepcopy(thing)
        del simpler["spec"]["containers"][0]["ports"]
        yield simpler
