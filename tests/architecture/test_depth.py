"""From "it does not fit" to the algorithm it is not far: the frames between them are counted."""

import sys
from dataclasses import replace
from types import FrameType

import pytest
from tests.unit.scheduler.crowds import a_group, a_member, preempting
from tests.unit.scheduler.making import a_node, a_pod, wanting

from reprieve.model.objects import KubernetesObject
from reprieve.model.snapshot import Snapshot
from reprieve.preemption import search
from reprieve.preemption.policy import Question
from reprieve.preemption.resize import DeferredResizes
from reprieve.preemption.searches import REPRIEVE
from reprieve.preemption.units import Units
from reprieve.scheduler.deciding import deciding
from reprieve.scheduler.demands.gang_strategy import MIN_COUNT, POD_BY_POD, GangStrategy

MOST_FRAMES = 6

FULL = [thing for i in (1, 2) for thing in (a_node(f"n{i}"), a_pod(f"old-{i}", cpu="3", on=f"n{i}"))]
NEW = a_pod("new", cpu="3", priority=9)
GANG = [a_group("g", 9, 2), *(a_member(f"g-{i}", cpu="3", priority=9) for i in range(2))]
GROWING = wanting(a_pod("grows", cpu="1", priority=9, on="n1"), "4")
FIRST = a_pod("first", cpu="3", priority=10)  # its victim is in flight when the others are decided


def frames_between(things: list[KubernetesObject], gangs: GangStrategy) -> list[int]:
    """For each time the algorithm takes its first step: frames from the decision to it, both not counted."""
    depths: list[int] = []

    def units(view: Snapshot) -> Units:
        if (depth := depth_of(sys._getframe(1))) is not None:
            depths.append(depth)
        return REPRIEVE.units(view)

    policy = replace(REPRIEVE, units=units, resizes=DeferredResizes())
    preempting(*things, policy=policy, gangs=gangs)
    return depths


def depth_of(frame: FrameType | None) -> int | None:
    """None if it is another function than the way in of the search that looks at units, which keeps them."""
    if (
        frame is not None
        and frame.f_code is vars(Question)["units"].func.__code__
        and frame.f_back is not None
    ):
        frame = frame.f_back.f_back
    if frame is None or frame.f_code is not search.candidates.__code__:
        return None
    depth, frame = 0, frame.f_back
    while frame is not None and frame.f_code is not deciding.decide.__code__:
        depth, frame = depth + 1, frame.f_back
    return depth if frame is not None else None


@pytest.mark.parametrize("gangs", [MIN_COUNT, POD_BY_POD], ids=["as one", "pod by pod"])
@pytest.mark.parametrize(
    "things",
    [[*FULL, NEW], [*FULL, *GANG], [*FULL, GROWING], [*FULL, FIRST, NEW], [*FULL, FIRST, *GANG]],
    ids=["pod", "gang", "resize", "pod, victims in flight", "gang, victims in flight"],
)
def test_few_frames_lie_between_a_decision_and_the_algorithm(
    things: list[KubernetesObject], gangs: GangStrategy
) -> None:
    depths = frames_between(things, gangs)
    assert depths
    assert max(depths) <= MOST_FRAMES


def test_a_plain_pod_takes_three() -> None:
    assert frames_between([*FULL, NEW], MIN_COUNT) == [3]
