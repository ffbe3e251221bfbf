"""Groups that cannot be served as they are, in running clusters: which pods wait, and what is reported."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from reprieve.model.json import Json
from reprieve_minicluster.cluster import MiniCluster
from tests.simulation.objects import a_group, node, pod, pod_spec
from tests.simulation.small import MINUTE, lived, phases, warnings

Act = Iterable[Json] | Callable[[MiniCluster], None]

GANG: Json = {"gang": {"minCount": 2}}
NODES = [node("n0", "z"), node("n1", "z")]
OLD = [pod(f"old-{i}", pod_spec("3")) for i in range(2)]


def member(name: str, group: str = "g", priority: int = 9, **spec: Any) -> Json:
    link = {"podGroupName": group}
    return pod(name, pod_spec("3", priority=priority, schedulingGroup=link, **spec))


def gang(count: int = 2, policy: Json = GANG, group: str = "g") -> list[Json]:
    members = [member(f"{group}-{i}", group) for i in range(count)]
    return [a_group(group, 9, policy, "single"), *members]


def told(*acts: Act) -> MiniCluster:
    """A cluster after all this happened, a minute apart."""

    async def story(cluster: MiniCluster) -> None:
        for act in acts:
            act(cluster) if callable(act) else cluster.apply(act)
            await asyncio.sleep(MINUTE)

    return lived(story)


def lose(kind: str, name: str, namespace: str = "default") -> Callable[[MiniCluster], None]:
    return lambda cluster: cluster.delete(kind, namespace, name)


def running(cluster: MiniCluster) -> set[str]:
    return {name for name, phase in phases(cluster).items() if phase == "Running"}


def evictions(cluster: MiniCluster) -> list[str]:
    return [e["involvedObject"]["name"] for e in cluster.list("Event") if e["reason"] == "Preempted"]


def condition(cluster: MiniCluster, kind: str, name: str, type_: str) -> tuple[str, str]:
    """What a condition says, and with which words."""
    body = cluster.read(kind, "default", name)
    assert body is not None
    (found,) = (c for c in body["status"]["conditions"] if c["type"] == type_)
    return found["status"], found["message"]


# --- groups that are not there, or not whole -----------------------------------------------------


def test_a_group_that_does_not_exist() -> None:
    cluster = told([*NODES, member("g-0", "nobody")])
    assert warnings(cluster, "g-0") == ["PodGroup default/nobody does not exist yet"]
    assert condition(cluster, "Pod", "g-0", "PodScheduled")[0] == "False"


def test_and_comes_later() -> None:
    assert running(told([*NODES, member("g-0"), member("g-1")], gang()[:1])) == {"g-0", "g-1"}


def test_min_count_above_the_pods_ever_created() -> None:
    cluster = told([*NODES, *OLD], gang(2, {"gang": {"minCount": 5}}))
    text = "PodGroup default/g waits until 5 of its pods exist"
    assert warnings(cluster, "g-0") == warnings(cluster, "g-1") == [text]
    assert condition(cluster, "PodGroup", "g", "PodGroupInitiallyScheduled") == ("False", text)
    assert (running(cluster), evictions(cluster)) == ({"old-0", "old-1"}, [])


def test_a_gang_larger_than_the_cluster() -> None:
    cluster = told([*NODES, *OLD], gang(3, {"gang": {"minCount": 3}}))
    (text,) = warnings(cluster, "g-2")
    assert "even after evicting all pods of lower priority, pod g-2 would not fit" in text
    assert condition(cluster, "PodGroup", "g", "PodGroupInitiallyScheduled") == ("False", text)
    assert (running(cluster), evictions(cluster)) == ({"old-0", "old-1"}, [])


# --- pods that disagree --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("odd", "text"),
    [
        ({"priority": 3}, "pod odd has priority 3, the group 9"),
        ({"schedulerName": "other"}, "its pods name different schedulers"),
        ({"preemptionPolicy": "Never"}, "its pods have different preemption policies"),
    ],
    ids=["priority", "scheduler", "policy"],
)
def test_pods_that_disagree(odd: Json, text: str) -> None:
    cluster = told([*NODES, *OLD], [*gang(1), member("odd", **odd)])
    assert f"PodGroup default/g cannot be scheduled: {text}" in warnings(cluster, "g-0")
    assert condition(cluster, "PodGroup", "g", "PodGroupInitiallyScheduled")[1].endswith(text)
    assert (running(cluster), evictions(cluster)) == ({"old-0", "old-1"}, [])


def test_other_priorities_are_shown_on_the_group() -> None:
    cluster = told([*NODES], [*gang(2), member("odd", priority=3)])
    found = condition(cluster, "PodGroup", "g", "PodsNotMatchingPriority")
    assert found == ("True", "pod odd has priority 3, the group 9")


def test_when_the_odd_one_is_gone_the_others_start() -> None:
    cluster = told([*NODES], [*gang(2), member("odd", priority=3)], lose("Pod", "odd"))
    assert running(cluster) == {"g-0", "g-1"}
    assert condition(cluster, "PodGroup", "g", "PodsNotMatchingPriority")[0] == "False"


# --- what vanishes meanwhile ---------------------------------------------------------------------


def test_a_group_deleted_while_its_plan_runs() -> None:
    """Its pods wait for it again; room that was made is there for others."""
    slow = [pod(f"old-{i}", pod_spec("3", terminationGracePeriodSeconds=90)) for i in range(2)]

    def delete_for_good(cluster: MiniCluster) -> None:
        cluster.delete("PodGroup", "default", "g")
        body = cluster.read("PodGroup", "default", "g")
        assert body is None or body["metadata"].get("deletionTimestamp")

    cluster = told([*NODES, *slow], gang(), delete_for_good, [pod("late", pod_spec("1"))])
    assert sorted(evictions(cluster)) == ["old-0", "old-1"]
    assert "late" in running(cluster)


def test_members_on_a_node_that_is_gone() -> None:
    """They count in no plan's cost, and stop no other pod."""
    train = [a_group("train", 5, {"basic": {}}, "all"), *(member(f"t-{i}", "train", 5) for i in range(2))]
    cluster = told([*NODES, *train], lose("Node", "n1", ""), [pod("new", pod_spec("3", priority=9))])
    assert "new" in running(cluster)


def test_two_groups_that_ask_for_the_same_room() -> None:
    """One gets all of it, the other nothing; no pod is evicted twice."""
    cluster = told([*NODES, *OLD], [*gang(group="a"), *gang(group="b")])
    assert running(cluster) == {"a-0", "a-1"}
    assert sorted(evictions(cluster)) == ["old-0", "old-1"]
    _, text = condition(cluster, "PodGroup", "b", "PodGroupInitiallyScheduled")
    assert "no running pod has a priority below 9" in text


def test_a_priority_class_deleted_later() -> None:
    """What it gave stays: to the gang its priority, to another that it never preempts."""
    kinds = [("high", "PreemptLowerPriority"), ("quiet", "Never")]
    classes = [
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}}
        | {"value": 9, "preemptionPolicy": policy}
        for name, policy in kinds
    ]
    groups = [a_group(name, 9, GANG, "single") for name, _ in kinds]
    for group in groups:
        group["spec"]["priorityClassName"] = group["metadata"]["name"]
    world = [*NODES, *OLD, *classes, *groups]
    gone = [lose("PriorityClass", name, "") for name, _ in kinds]
    shy = [member(f"q-{i}", "quiet") for i in range(2)]
    cluster = told(world, *gone, shy)
    assert (running(cluster), evictions(cluster)) == ({"old-0", "old-1"}, [])
    _, text = condition(cluster, "PodGroup", "quiet", "PodGroupInitiallyScheduled")
    assert text.endswith("preemption cannot help: preemptionPolicy is Never")
    cluster = told(world, *gone, [member(f"h-{i}", "high") for i in range(2)])
    assert running(cluster) == {"h-0", "h-1"}
