"""Room is made in clusters that live: pods, gangs and groups give way, drain, and come again elsewhere."""

import asyncio
from collections.abc import Iterable

import pytest
from tests.minicluster.faulty_cluster import CallFault, FaultPlan

from reprieve.model.json import Json
from reprieve_minicluster.cluster import MiniCluster
from reprieve_minicluster.virtual_time import EPOCH
from tests.simulation.objects import a_group, deployment, node, pod, pod_spec
from tests.simulation.small import lived

GANG: Json = {"gang": {"minCount": 2}}


def a_pod(name: str, cpu: str, priority: int = 0, drains: int = 5, group: str = "", **meta: object) -> Json:
    spec = pod_spec(cpu, priority=priority, terminationGracePeriodSeconds=drains)
    if group:
        spec["schedulingGroup"] = {"podGroupName": group}
    return pod(name, spec, **meta)


def nodes(count: int) -> list[Json]:
    return [node(f"n{i}", "z", cpu=4) for i in range(count)]


def after(*waves: tuple[float, Iterable[Json]], faults: FaultPlan | None = None) -> MiniCluster:
    """A cluster after these objects came, each wave followed by so many seconds."""

    async def story(cluster: MiniCluster) -> None:
        for seconds, objects in waves:
            cluster.apply(objects)
            await asyncio.sleep(seconds)

    return lived(story, faults or FaultPlan(seed=0))


def places(cluster: MiniCluster) -> dict[str, str]:
    return {p["metadata"]["name"]: p["spec"].get("nodeName", "") for p in cluster.list("Pod")}


def starts(cluster: MiniCluster, name: str) -> float:
    """How long after the beginning a pod was bound."""
    body = cluster.read("Pod", "default", name)
    assert body is not None
    (moment,) = (c["lastTransitionTime"] for c in body["status"]["conditions"] if c["type"] == "PodScheduled")
    return float(moment[17:19])


def told(cluster: MiniCluster, name: str) -> list[str]:
    events = cluster.list("Event")
    return [event["reason"] for event in events if event["involvedObject"]["name"] == name]


# --- stories -------------------------------------------------------------------------------------


def test_a_pod_gets_the_room_of_another_as_soon_as_that_has_drained() -> None:
    cluster = after((3, [*nodes(1), a_pod("old", "3", drains=7)]), (20, [a_pod("new", "3", priority=9)]))
    assert places(cluster) == {"new": "n0"}
    assert starts(cluster, "new") == 10.0, "three seconds after the beginning, and seven of draining"
    assert told(cluster, "old").count("Preempted") == 1


def test_a_gang_gets_the_room_of_a_whole_group_when_the_last_has_drained() -> None:
    train = [a_pod("t0", "3", 5, 2, "train"), a_pod("t1", "3", 5, 6, "train")]
    urgent = [a_pod(f"u{i}", "4", 9, group="urgent") for i in range(2)]
    groups = [a_group("train", 5, GANG, "all"), a_group("urgent", 9, GANG, "single")]
    cluster = after((3, [*nodes(2), *groups, *train]), (20, urgent))
    assert places(cluster) == {"u0": "n0", "u1": "n1"}
    assert {starts(cluster, name) for name in ("u0", "u1")} == {9.0}


def test_a_pod_that_is_evicted_comes_again_and_waits_its_turn() -> None:
    web = deployment("web", 2, pod_spec("2", terminationGracePeriodSeconds=1), {"app": "web"})
    cluster = after((3, [*nodes(1), web]), (10, [a_pod("new", "2", priority=9)]))
    assert sorted(places(cluster).values()) == ["", "n0", "n0"]
    assert places(cluster)["new"] == "n0"


def test_others_are_scheduled_while_victims_drain() -> None:
    first = [*nodes(1), a_pod("old", "3", drains=30)]
    small = [node("n1", "z", cpu=1), a_pod("small", "1")]
    cluster = after((3, first), (1, [a_pod("new", "3", priority=9)]), (2, small))
    assert places(cluster) == {"old": "n0", "new": "", "small": "n1"}


def test_a_preemptor_may_find_a_place_while_its_victims_drain() -> None:
    first = [*nodes(1), a_pod("old", "3", drains=30)]
    cluster = after((3, first), (2, [a_pod("new", "3", priority=9)]), (5, [node("n1", "z")]))
    assert places(cluster) == {"old": "n0", "new": "n1"}


@pytest.mark.parametrize("fault", list(CallFault))
def test_calls_that_fail_for_a_while_only_cost_time(fault: CallFault) -> None:
    """Nearly every second call fails, in the first twenty seconds."""
    faults = FaultPlan(seed=1, calls=((fault, 0.45),), until=EPOCH + 20.0, timeout_seconds=1.0)
    first = [*nodes(2), *(a_pod(f"old-{i}", "3") for i in range(2))]
    gang = [a_group("g", 9, GANG, "single"), *(a_pod(f"g-{i}", "3", 9, group="g") for i in range(2))]
    cluster = after((10, first), (70, gang), faults=faults)
    assert sorted(places(cluster)) == ["g-0", "g-1"]
    assert sorted(places(cluster).values()) == ["n0", "n1"]


def test_a_gang_that_does_not_fit_disturbs_nothing() -> None:
    gang = [a_group("g", 9, {"gang": {"minCount": 3}}, "single")]
    gang += [a_pod(f"g-{i}", "3", 9, group="g") for i in range(3)]
    cluster = after((3, [*nodes(2), *(a_pod(f"old-{i}", "3") for i in range(2))]), (60, gang))
    assert {name for name, place in places(cluster).items() if place} == {"old-0", "old-1"}
    assert "Preempted" not in told(cluster, "old-0") + told(cluster, "old-1")
