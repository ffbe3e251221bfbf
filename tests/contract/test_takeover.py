"""A leader is lost in the middle of a plan, at every write there is: the other replica goes on with the plan.

In virtual time a leader that was killed and one that is cut off are the same: nothing gets through any more.
"""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from reprieve.model.json import Json
from reprieve_minicluster.cluster import MiniCluster
from reprieve_minicluster.virtual_time import clock, run
from tests.contract.http import living
from tests.contract.replicas import Cut, Replica, two_replicas
from tests.contract.scenes import LONE, SCENES, Scene, running
from tests.simulation.objects import node

LONG_ENOUGH = 100.0  # for a lease to run out, for victims to leave, and for what is left behind to be cleared
SOON, LATE = 1.0, 40.0  # when victims have left: before the other one leads, or while it does


async def played(
    scene: Scene, leaves: float, cut: Cut | None, meanwhile: Callable[[MiniCluster], None] | None = None
) -> tuple[int, list[str]]:
    """How much the first replica wrote; and what is wrong in the end.

    ``meanwhile``: happens when the first has written its last, and before the second leads.
    """
    async with living(clock, scene.beginning(leaves)) as mini:
        there = names(mini)
        async with two_replicas(mini, cut) as (one, two):
            scene.ask(mini)
            await asyncio.sleep(1)
            if meanwhile is not None:
                meanwhile(mini)
                there |= names(mini)
            await asyncio.sleep(LONG_ENOUGH)
            found = [*wrong(scene, there - names(mini), mini), *wrong_with(one, two, cut)]
            if leaves == LATE or cut is None:
                found += untold(scene, mini)
            return len(one.front.deeds), found


def names(mini: MiniCluster) -> set[str]:
    return {body["metadata"]["name"] for body in mini.list("Pod")}


def wrong(scene: Scene, gone: set[str], mini: MiniCluster) -> Iterator[str]:
    if gone != scene.victims:
        yield f"{sorted(gone)} went, and not {sorted(scene.victims)}"
    if not scene.is_over(mini):
        yield f"{scene.served} have not got what they asked for"
    for body in mini.list("Pod"):
        name, status = body["metadata"]["name"], body["status"]
        if any(map(is_mark, status.get("conditions", ()))):
            yield f"{name} stays, and is marked"
        if status.get("nominatedNodeName", body["spec"].get("nodeName")) != body["spec"].get("nodeName"):
            yield f"{name} is nominated to {status['nominatedNodeName']}"


def untold(scene: Scene, mini: MiniCluster) -> Iterator[str]:
    """A victim that terminates when the second replica starts gets its event, and only once."""
    told = [e["involvedObject"]["name"] for e in mini.list("Event") if e["reason"] == "Preempted"]
    if sorted(told) != sorted(scene.victims):
        yield f"that they were preempted was told to {sorted(told)}, and not to {sorted(scene.victims)}"


def is_mark(condition: Json) -> bool:
    return bool(condition["type"] == "DisruptionTarget" and condition["status"] == "True")


def wrong_with(one: Replica, two: Replica, cut: Cut | None) -> Iterator[str]:
    if cut is None and two.front.deeds:
        yield f"the second wrote though the first led: {two.front.deeds}"
    if cut is not None and not one.task.done():
        yield "the first does not know that it does not lead any more"


@pytest.mark.parametrize("leaves", [SOON, LATE])
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_wherever_the_leader_is_lost_the_other_goes_on(scene: Scene, leaves: float) -> None:
    writes, found = run(played(scene, leaves, None))
    assert not found
    for number in range(1, writes + 1):
        for happened in (True, False):
            cut = Cut(number, happened)
            _, found = run(played(scene, leaves, cut))
            assert not found, cut


# --- the plan counts, and not what would be better now ----------------------------------------------

ALL_ARE_MARKED, FIRST_DELETE, LAST_DELETE = 4, 5, 7  # of the writes for a pod


def a_pod_cheaper_elsewhere(mini: MiniCluster) -> None:
    """One pod that is the least important of all would be enough on this node."""
    mini.apply([node("n3", "z"), running("cheapest", "4", "n3", priority=-5)])


@pytest.mark.parametrize("write", [ALL_ARE_MARKED, FIRST_DELETE, LAST_DELETE])
def test_a_marked_victim_is_evicted_though_another_would_be_cheaper_now(write: int) -> None:
    _, found = run(played(LONE, LATE, Cut(write, happened=True), a_pod_cheaper_elsewhere))
    assert not found


def test_while_no_pod_is_marked_the_best_plan_wins() -> None:
    scene = replace(LONE, victims=frozenset({"cheapest"}))
    _, found = run(played(scene, LATE, Cut(1, happened=False), a_pod_cheaper_elsewhere))
    assert not found
