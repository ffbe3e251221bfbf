"""Where victims would go, and that it decides between victims that are equal otherwise."""

from dataclasses import replace

import numpy as np
from tests.unit.scheduler.crowds import a_group, a_member, only_decision
from tests.unit.scheduler.making import a_node, a_pod

from reprieve.model.objects import KubernetesObject
from reprieve.model.snapshot import build
from reprieve.placement.place import Unplaceable, place
from reprieve.preemption.least_disturbance.cascade import FITS, NOWHERE_TO_GO, Cascades
from reprieve.preemption.policy import Question
from reprieve.preemption.searches import LEAST_DISTURBANCE, REPRIEVE
from reprieve.preemption.units import pods_and_groups
from reprieve.scheduler.reporting.decision import VictimsOnward
from tests.reference.demands import gang_demand

World = list[KubernetesObject]
GANG: World = [a_group("g", 9, 1), a_member("g-0", cpu="4", priority=9)]


def class_of(name: str, *things: KubernetesObject) -> int:
    view = build([*things, *GANG]).snapshot
    demand = gang_demand(view, [view.pods.rows["default", "g-0"]])
    found = place(demand, view)
    assert isinstance(found, Unplaceable)
    units = pods_and_groups(view)
    number = int(units.of_pod[view.pods.rows["default", name]])
    question = Question(demand, view, found.survey, REPRIEVE)
    return int(Cascades(question, units).of(np.array([number]))[number])


def test_free_room_elsewhere() -> None:
    assert class_of("p", a_node("n1"), a_node("n2"), a_pod("p", cpu="4", on="n1"), a_pod("q", on="n2")) == (
        NOWHERE_TO_GO
    )
    assert (
        class_of("p", a_node("n1"), a_node("n2"), a_pod("p", cpu="3", on="n1"), a_pod("q", on="n2")) == FITS
    )


def test_a_selector_that_only_its_own_node_satisfies() -> None:
    pinned = a_pod("p", cpu="1", on="n1", nodeSelector={"disk": "ssd"})
    full = a_pod("q", cpu="3", on="n1")
    assert class_of("p", a_node("n1", labels={"disk": "ssd"}), a_node("n2", cpu="2"), pinned, full) == (
        NOWHERE_TO_GO
    )


def going_on(*things: KubernetesObject) -> VictimsOnward:
    """Where the victims of the best plan go, by a search that disturbs least."""
    decision = only_decision(
        *things,
        a_group("g", 9, 1),
        a_member("g-0", cpu="4", priority=9),
        policy=replace(REPRIEVE, search=LEAST_DISTURBANCE),
    )
    assert decision.preemption is not None and decision.preemption.onward is not None
    return decision.preemption.onward


def test_victims_together_need_more_room_than_each_alone() -> None:
    """Each of two pods would fit into 2 cpu on n2; both do not."""
    pods = [a_pod(f"p{i}", cpu="2", on="n1", priority=1) for i in range(2)]
    kept: World = [a_pod("stays", cpu="1", on="n2", priority=9)]
    assert going_on(a_node("n1"), a_node("n2", cpu="3"), *pods, *kept) == VictimsOnward(1, 0, 1)
    low = a_pod("low", cpu="2", on="n3")
    assert going_on(a_node("n1"), a_node("n2", cpu="3"), a_node("n3", cpu="2"), *pods, *kept, low) == (
        VictimsOnward(1, 1, 0)
    )


def test_a_group_may_not_go_where_it_was() -> None:
    """On n2, from where t1 goes with its group, there is room for it."""
    members = [a_member(f"t{i}", "train", cpu="3", on=f"n{i + 1}") for i in range(2)]
    group = a_group("train", 0, 2, disruptedWhole=True)
    world: World = [a_node("n1"), a_node("n2"), group, *members]
    assert going_on(*world) == VictimsOnward(0, 0, 2)
    assert going_on(*world, a_node("n3", cpu="3")) == VictimsOnward(1, 0, 1)
