"""Requests to improve a plan: one that takes no time, and one that takes long."""

from random import Random

from tests.unit.preemption.least_disturbance.rooms import a_room, an_item

from reprieve.model.effects import Target
from reprieve.preemption.least_disturbance.model import RoomModel
from reprieve.preemption.least_disturbance.solver_task import ImprovePlan, named_room

GANG = Target("PodGroup", "default", "g", "uid-g")


def a_request(number: str, patience: float = 6.0) -> ImprovePlan:
    """Two groups that share nodes, or one pod: the pod has to go."""
    items = [an_item([0], {0: 2, 1: 2}, pods=2), an_item([1], {1: 2, 2: 2}, pods=2), an_item([2], {2: 2})]
    return request_of(a_room([0, 0, 0], items, needs=[2], members=[1]), number, 1_000, patience)


def a_hard_request(number: str, effort: int = 10**9, patience: float = 6.0) -> ImprovePlan:
    """Groups that are spread at random over nodes that are all full: no proof comes soon."""
    rng = Random("hard")
    used: list[dict[int, int]] = []
    for _ in range(150):
        there = rng.sample(range(150), 8)
        used.append({node: rng.randint(1, 3) for node in there})
    items = [an_item([i], one, pods=len(one)) for i, one in enumerate(used)]
    return request_of(a_room([0] * 150, items, needs=[9], members=[20]), number, effort, patience)


def request_of(room: RoomModel, number: str, effort: int, patience: float) -> ImprovePlan:
    units = [f"Group/default/{unit}" for item in room.items for unit in item.units]
    task = named_room(room, units, [f"n{i}" for i in range(len(room.nodes))]).task(None)
    return ImprovePlan(GANG, number, (task,), effort, shared=False, patience=patience)
