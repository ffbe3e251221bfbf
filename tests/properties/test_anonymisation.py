"""Anonymised clusters: no name stays, and every decision stays the same but for names."""

import json
from collections.abc import Iterable, Iterator

from hypothesis import given
from hypothesis import strategies as st

from reprieve.inquiry.anonymisation import Renaming
from reprieve.inquiry.cluster_objects import ApiObject, ClusterObjects
from reprieve.inquiry.joined_files import consistent
from reprieve.inquiry.snapshot_file import pruned
from reprieve.model.json import Json
from reprieve.preemption.policy import Policy
from tests.properties import preempting, worlds
from tests.properties.answers import answer
from tests.properties.crowded import EVERYTHING, Crowd, crowds
from tests.properties.worlds import World


def renamed(bodies: Iterable[Json]) -> tuple[Renaming, list[Json]]:
    objects = tuple(ApiObject(b["kind"], b["apiVersion"], json.dumps(b).encode()) for b in bodies)
    cluster = pruned(consistent(ClusterObjects(objects, 0.0)))
    assert len(cluster.objects) == len(objects), cluster.notes
    renaming = Renaming(cluster)
    return renaming, [json.loads(thing.body) for thing in renaming.renamed(cluster).objects]


def texts(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for inner in value.values():
                yield from texts(inner)
        case list():
            for inner in value:
                yield from texts(inner)


def translated(value: object, names: dict[str, str]) -> object:
    """What was said, with the ranks of the new names; a name may stand after its namespace."""
    match value:
        case str():
            return "/".join(names.get(part, part).partition("-")[0] for part in value.split("/"))
        case dict():
            return {translated(key, names): translated(inner, names) for key, inner in value.items()}
        case list() | tuple():
            return [translated(inner, names) for inner in value]
        case set() | frozenset():
            return sorted(str(translated(inner, names)) for inner in value)
    return value


def without_details(said: Json) -> Json:
    """Details of reasons have label keys, amounts and names in sentences: the codes must agree."""
    for node in said["nodes"].values():
        if "reasons" in node:
            node["reasons"] = [reason.partition(" ")[0] for reason in node["reasons"]]
    return said


@given(worlds.worlds())
def test_placements_stay_the_same(world: World) -> None:
    before = without_details(answer(*worlds.built(world)))
    renaming, bodies = renamed([*world.objects, world.newcomer])
    after = without_details(answer(*worlds.built(World(bodies[:-1], bodies[-1]))))
    assert translated(after, {}) == translated(before, renaming.names)


@given(crowds(EVERYTHING), preempting.POLICIES)
def test_plans_stay_the_same(crowd: Crowd, policy: Policy) -> None:
    before = preempting.answer(crowd, policy)
    renaming, bodies = renamed([*crowd.objects, *crowd.newcomers])
    split = len(crowd.objects)
    after = preempting.answer(Crowd(bodies[:split], bodies[split:]), policy)
    if before is None or after is None or "why" in before:
        assert (before is None, "why" in (before or ())) == (after is None, "why" in (after or ()))
        return
    # Through JSON, so that tuples and lists are alike.
    assert json.loads(json.dumps(translated(after, {}))) == json.loads(
        json.dumps(translated(before, renaming.names))
    )


@given(st.one_of(worlds.worlds(), crowds(EVERYTHING)))
def test_no_name_stays(made: World | Crowd) -> None:
    newcomers = [made.newcomer] if isinstance(made, World) else made.newcomers
    originals = [*made.objects, *newcomers]
    _, bodies = renamed(originals)
    chosen = {body["metadata"]["name"] for body in originals if body["kind"] != "CSIDriver"}
    chosen |= {body["metadata"].get("namespace", "default") for body in originals}
    chosen |= {uid for body in originals if (uid := body["metadata"].get("uid"))}
    drivers = {body["metadata"]["name"] for body in originals if body["kind"] == "CSIDriver"}
    left = (chosen & set(texts(bodies))) - drivers
    assert {text for text in left if not text.startswith("system-")} == set()
