"""One preemptor's victims are on their way out, and another demand comes: four cases, for pods and gangs.

The other may be more important or not, and may find room or have to make some. It leaves reserved room alone,
or takes it, and the one that waited plans anew; it makes room for both, or takes over what is leaving.
"""

import pytest
from tests.unit.scheduler.crowds import a_group, a_member
from tests.unit.scheduler.making import a_node, a_pod
from tests.unit.scheduler.serving import OPEN, STEPS, Served, served

from reprieve.model.effects import Bind
from reprieve.model.objects import KubernetesObject, Pod
from reprieve.scheduler.plans.handover import Stage

KINDS = ["pod", "gang"]
NODES = [a_node("n1"), a_node("n2")]


def demand(kind: str, name: str, priority: int, cpu: str = "4") -> list[KubernetesObject]:
    """A pod that needs a node, or a gang that needs two."""
    if kind == "pod":
        return [a_pod(name, cpu=cpu, priority=priority)]
    pods = [a_member(f"{name}-{i}", name, cpu=cpu, priority=priority) for i in range(2)]
    return [a_group(name, priority, 2), *pods]


def names(kind: str, name: str) -> set[str]:
    return {name} if kind == "pod" else {f"{name}-0", f"{name}-1"}


def old(cpu: str = "2") -> list[Pod]:
    """Two on each node, if they have half of it each."""
    each = 4 // int(cpu)
    return [a_pod(f"old-{node}{i}", cpu=cpu, on=f"n{node}") for node in (1, 2) for i in range(each)]


def reached(kind: str, stage: Stage, *, free: bool = False) -> Served:
    """``first`` waits for room, at this stage; with ``free`` some of it is free already and reserved."""
    nodes = NODES if kind == "gang" else NODES[:1]
    running = [pod for pod in old() if kind == "gang" or pod.spec.node_name == "n1"]
    cluster = served(*nodes, *running, *demand(kind, "first", 9))
    for step in STEPS[: OPEN.index(stage)]:
        cluster.does(step)
    assert cluster.plan_of("first").stage is stage
    return cluster.gone("old-10") if free else cluster


def comes(cluster: Served, kind: str, priority: int, cpu: str) -> Served:
    return cluster.show(*demand(kind, "second", priority, cpu))


# --- the other finds room ------------------------------------------------------------------------


@pytest.mark.parametrize("priority", [5, 9])
@pytest.mark.parametrize("stage", OPEN)
@pytest.mark.parametrize("kind", KINDS)
def test_a_pod_that_is_not_more_important_leaves_reserved_room_alone(
    kind: str, stage: Stage, priority: int
) -> None:
    cluster = reached(kind, stage, free=True).show(a_pod("second", cpu="1", priority=priority))
    assert cluster.wanted(Bind) == []
    cluster.comes_true()
    assert set(cluster.places()) == names(kind, "first")


@pytest.mark.parametrize("stage", OPEN)
@pytest.mark.parametrize("kind", KINDS)
def test_a_pod_that_is_more_important_may_take_it_and_what_waited_plans_anew(kind: str, stage: Stage) -> None:
    cluster = reached(kind, stage, free=True).show(a_pod("second", cpu="2", priority=20))
    assert cluster.wanted(Bind) == ["second"]
    assert {name for name, node in cluster.nominations() if not node} >= names(kind, "first")
    cluster.comes_true()
    assert cluster.places()["second"] == "n1"
    assert not names(kind, "first") & set(cluster.places()), "what is left is too small for it"
    assert {pod.status.nominated_node_name for pod in cluster.pods() if not pod.spec.node_name} == {""}


@pytest.mark.parametrize("stage", OPEN)
def test_a_gang_that_fits_leaves_reserved_room_alone(stage: Stage) -> None:
    cluster = reached("pod", stage, free=True).show(*demand("gang", "second", 9, "1"))
    assert cluster.wanted(Bind) == []
    assert set(cluster.comes_true().places()) == {"first"}


# --- the other makes room ------------------------------------------------------------------------


@pytest.mark.parametrize("priority", [5, 9])
@pytest.mark.parametrize("stage", OPEN)
@pytest.mark.parametrize("kind", KINDS)
def test_a_pod_that_is_not_more_important_makes_room_for_both(kind: str, stage: Stage, priority: int) -> None:
    """On the nodes of the first there is room for a second when all are gone."""
    big = [a_node(f"n{i}", cpu="8") for i in (1, 2)][: 2 if kind == "gang" else 1]
    running = [a_pod(f"old-{n.metadata.name}{i}", cpu="2", on=n.metadata.name) for n in big for i in range(4)]
    cluster = served(*big, *running, *demand(kind, "first", 9))
    for step in STEPS[: OPEN.index(stage)]:
        cluster.does(step)
    victims = set(cluster.plan_of("first").victims)
    comes(cluster, kind, priority, "4")
    other = set(cluster.plan_of("second").victims)
    assert len(victims) == len(running) // 2
    assert len(victims | other) == len(running), "the room that the first waits for is not for the second"
    assert victims <= other or (stage is Stage.DRAINING and not victims & other), (
        "a victim that does not leave yet is held"
    )
    cluster.comes_true()
    assert set(cluster.places()) == names(kind, "first") | names(kind, "second")
    assert cluster.outcomes().count("Preempts") == 2
    assert cluster.unfinished() == {}


@pytest.mark.parametrize("stage", OPEN)
@pytest.mark.parametrize("kind", KINDS)
def test_a_pod_that_is_more_important_takes_over_what_is_leaving(kind: str, stage: Stage) -> None:
    """The first has nowhere to go then, and no other pod is evicted for it."""
    cluster = comes(reached(kind, stage), kind, 20, "4").comes_true()
    assert set(cluster.places()) == names(kind, "second")
    assert cluster.outcomes()[-1] == "Placed"
    assert {pod.status.nominated_node_name for pod in cluster.pods() if not pod.spec.node_name} == {""}
    assert set(cluster.unfinished()) == {"in line"}


# --- several at once -----------------------------------------------------------------------------


@pytest.mark.parametrize("stage", OPEN)
def test_several_preemptors_at_once_each_get_their_room(stage: Stage) -> None:
    nodes = [a_node(f"n{i}") for i in range(5)]
    running = [a_pod(f"old-{i}", cpu="4", on=f"n{i}") for i in range(5)]
    new = [a_pod(f"new-{i}", cpu="4", priority=9) for i in range(5)]
    cluster = served(*nodes, *running, *new)
    assert cluster.outcomes() == ["Preempts"] * 5, "none waits for another's calls"
    for step in STEPS[: OPEN.index(stage)]:
        cluster.does(step)
    cluster.comes_true()
    assert sorted(cluster.places()) == [f"new-{i}" for i in range(5)]
    assert cluster.outcomes() == ["Preempts"] * 5 + ["Placed"] * 5, "none had to plan twice"


def test_a_failure_of_one_disturbs_no_other() -> None:
    running = [a_pod(f"old-{i}", cpu="4", on=f"n{i}") for i in (1, 2)]
    cluster = served(*NODES, *running, *demand("pod", "first", 9), *demand("pod", "second", 9))
    for step in STEPS[:2]:
        cluster.does(step)
    failing = cluster.plan_of("first").victims[0].name
    cluster.fails(STEPS[2], failing).does().drained().does()
    assert set(cluster.places()) == {"second", failing}
    cluster.stage.after(2.0)
    assert set(cluster.comes_true().places()) == {"first", "second"}
