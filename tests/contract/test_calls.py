"""How much is asked of a server: what each kind of pod and group costs, and not a call more."""

import asyncio
from collections.abc import Iterable

import pytest

from reprieve.assembly.daemon import scheduling
from reprieve.assembly.scheduler_settings import EVERYTHING
from reprieve.config import default_configuration
from reprieve.model.json import Json
from reprieve_minicluster.cluster import MiniCluster
from reprieve_minicluster.virtual_time import clock, run
from tests.contract.http import MiniOperator, living, served
from tests.contract.scenes import GANG_AND_GROUP, GANGS, LONE, RESIZE, WHOLE, Scene, asking, running, waiting
from tests.simulation.objects import node

BOUND = ("post binding", "event Scheduled")
VICTIM = ("patch status", "delete", "event Preempted")
# One write for nomination and condition. That others give way is told, and not beside it that it waits.
PREEMPTOR = ("patch status", "event Preempting", *BOUND)
# The group is told that others give way, and its pods that they wait.
MEMBER = ("patch status", "event FailedScheduling", *BOUND)
# That it waits, and that it does not any more.
GANG = ("patch status", "event Preempting", "patch status")
# That it is scheduled, and since when it runs, neither of which was written yet; then that it is evicted,
# although its pods are marked, too; that its run is over; and that its pods may start again.
WHOLE_GROUP = ("patch status", "patch status", "patch status", "patch status", "patch status")
GROWING = ("event Preempting",)

PLAIN = Scene("a pod that fits", lambda _: [node("n1", "z")], asking(waiting("a", "1")), frozenset(), ("a",))
MISFIT = Scene(
    "a pod that does not fit",
    lambda _: [node("n1", "z"), running("old", "3", "n1", priority=9)],
    asking(waiting("large", "2")),
    frozenset(),
    (),
)


def next_after_old(mini: MiniCluster) -> None:
    mini.delete("Pod", "default", "old")
    mini.apply([waiting("next", "2")])


FREED = Scene(
    "a pod that waits for one that terminates anyway",
    lambda leaves: [node("n1", "z"), running("old", "3", "n1", leaves=leaves)],
    next_after_old,
    frozenset({"old"}),
    ("next",),
)
COSTS: list[tuple[Scene, dict[str, tuple[str, ...]]]] = [
    (PLAIN, {"a": BOUND}),
    (MISFIT, {"large": ("patch status", "event FailedScheduling")}),
    (FREED, {"next": ("patch status", "event FailedScheduling", *BOUND)}),
    (LONE, {"urgent": PREEMPTOR, **dict.fromkeys("abc", VICTIM)}),
    (GANGS, {"g-0": MEMBER, "g-1": MEMBER, "g": GANG, **dict.fromkeys("abc", VICTIM)}),
    (WHOLE, {"urgent": PREEMPTOR, "t-0": VICTIM, "t-1": VICTIM, "train": WHOLE_GROUP}),
    (
        GANG_AND_GROUP,
        {
            **{"g-0": MEMBER, "g-1": MEMBER, "g": GANG},
            **{"t-0": VICTIM, "t-1": VICTIM, "single": VICTIM, "train": WHOLE_GROUP},
        },
    ),
    (RESIZE, {"grows": GROWING, "a": VICTIM, "b": VICTIM}),
]


@pytest.mark.parametrize(("scene", "costs"), COSTS, ids=[scene.name for scene, _ in COSTS])
def test_what_each_scene_costs(scene: Scene, costs: dict[str, tuple[str, ...]]) -> None:
    async def main() -> None:
        async with living(clock, scene.beginning(3.0)) as mini, served(mini) as operator:
            async with scheduling(default_configuration(), operator.access, clock, EVERYTHING):
                await asyncio.sleep(3)
                scene.ask(mini)
                await asyncio.sleep(60)
            assert scene.is_over(mini)
            assert {name: writes_about(operator, name) for name in costs} == costs
            others = sum(map(len, costs.values()))
            assert len(operator.front.writes) == others, "no other object was written"

    run(main())


def test_what_a_restart_costs_while_victims_leave() -> None:
    """The next leader evicts no pod; it cannot know whether events were emitted, and the server keeps one."""

    async def main() -> None:
        async with living(clock, LONE.beginning(20.0)) as mini, served(mini) as operator:
            await asyncio.sleep(3)
            LONE.ask(mini)
            for seconds in (10.0, 30.0):
                async with scheduling(default_configuration(), operator.access, clock, EVERYTHING):
                    await asyncio.sleep(seconds)
            assert LONE.is_over(mini)
            for name in LONE.victims:
                assert writes_about(operator, name) == (*VICTIM, "event Preempted")
            waits = ("patch status", "event FailedScheduling")
            assert writes_about(operator, "urgent") == ("patch status", "event Preempting", *waits, *BOUND)
            events = [event for event in mini.list("Event") if event["reason"] == "Preempted"]
            assert len(events) == len(LONE.victims)

    run(main())


def writes_about(operator: MiniOperator, name: str) -> tuple[str, ...]:
    """What was written about an object by the scheduler, in short."""
    return tuple(_in_short(operator.front.writes, name))


def _in_short(writes: Iterable[tuple[str, str, Json]], name: str) -> Iterable[str]:
    for method, path, body in writes:
        parts = path.split("/")
        if parts[-1] == "events" and body["regarding"]["name"] == name:
            yield f"event {body['reason']}"
        elif name in parts:
            yield " ".join((method.lower(), *parts[parts.index(name) + 1 :]))
