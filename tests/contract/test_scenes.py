"""The scenes of the demo, played with `reprieve scheduler` over HTTP: victims, marks and events.

Where a pod is preempted, the scene is stopped before any victim is gone: marks, nominations and events must
be there by then.
"""

import asyncio
import os
import re
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from reprieve.model.json import Json
from tests.contract.players import RESIZING, condition, is_leaving, is_over
from tests.contract.theatre import Pods, Theatre, on_a_real_server, on_the_mini_cluster, things_in

Scene = Callable[[Theatre], Awaitable[None]]
STAGES = {"mini": on_the_mini_cluster}
if os.environ.get("KUBECONFIG_CONTRACT"):
    STAGES["real"] = on_a_real_server

DECISION = re.compile(r"\(decision (d-\w+)\)")
VICTIM = re.compile(
    r"Preempted by (pod|podgroup|compositepodgroup) [\w-]+ on node [\w-]+"
    r"(, with all of (Composite)?PodGroup [\w-]+)?: the preemptor's "
    r"priority is \d+ \(decision d-\w+\); more: reprieve why pod/[\w-]+ -n [\w-]+"
)


@pytest.fixture(params=STAGES)
def play(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., None]:
    def play(scene: Scene, gates: str = "", **args: str) -> None:
        async def main() -> None:
            async with (
                STAGES[request.param](tmp_path) as theatre,
                theatre.players.playing(),
                theatre.scheduled(args, gates),
            ):
                await scene(theatre)

        asyncio.run(main())

    return play


def lasted(pod: Json) -> float:
    """For how many seconds it ran before it was asked to leave; the time of deletion is that of its end."""
    meta = pod["metadata"]
    end = datetime.fromisoformat(meta["deletionTimestamp"]) - timedelta(
        seconds=meta["deletionGracePeriodSeconds"]
    )
    return (end - datetime.fromisoformat(pod["status"]["startTime"])).total_seconds()


NOTHING: Json = {}


def node_of(pod: Json) -> str:
    return str(pod["spec"].get("nodeName", ""))


def leaving(pods: Pods) -> set[str]:
    return {name for name, pod in pods.items() if is_leaving(pod)}


def is_told_to_wait(pod: Json) -> bool:
    return condition(pod, "PodScheduled", "reason") == "Unschedulable"


def is_answered(name: str, pods: Pods) -> bool:
    return bool(node_of(pods[name])) or is_told_to_wait(pods[name])


async def notes(theatre: Theatre, thing: Json, reason: str) -> list[str]:
    return [event["message"] for event in await theatre.events(thing) if event["reason"] == reason]


async def they_give_way(theatre: Theatre, pods: Pods, demand: Json, waiting: Iterable[str]) -> None:
    """All victims are marked, have an event and their own grace period; the preemptor has an event, too."""
    decisions = set[str]()
    for pod in (pods[name] for name in leaving(pods)):
        assert condition(pod, "DisruptionTarget") == "True"
        assert condition(pod, "DisruptionTarget", "reason") == "PreemptionByScheduler"
        grace = pod["spec"]["terminationGracePeriodSeconds"]
        assert pod["metadata"]["deletionGracePeriodSeconds"] == grace
        (note,) = await until_noted(theatre, pod, "Preempted")
        assert VICTIM.fullmatch(note), note
        near = pod["metadata"]["namespace"] == demand["metadata"]["namespace"]
        assert demand["metadata"]["name" if near else "uid"] in note
        decisions |= {*DECISION.findall(note)}
    assert len(decisions) == 1
    nodes, names = {node_of(pods[name]) for name in leaving(pods)}, [*waiting]
    pods = await theatre.until(lambda pods: all(is_told_to_wait(pods[name]) for name in names))
    assert {pods[name]["status"]["nominatedNodeName"] for name in names} <= nodes
    await until_told_of(theatre, demand, *decisions)


async def until_told_of(theatre: Theatre, thing: Json, decision: str) -> None:
    """Events go their own way, at a pace of their own: they may come after what they tell of."""
    async with asyncio.timeout(20):
        while not any([decision] == DECISION.findall(e["message"]) for e in await theatre.events(thing)):
            await asyncio.sleep(0.1)


async def until_noted(theatre: Theatre, thing: Json, reason: str) -> list[str]:
    async with asyncio.timeout(20):
        while not (found := await notes(theatre, thing, reason)):
            await asyncio.sleep(0.1)
    return found


async def until_judged(theatre: Theatre, group: str, status: str = "False") -> Json:
    """A group's condition is a call of its own, and comes before or after those of its pods."""
    async with asyncio.timeout(20):
        while condition(found := await theatre.group(group), "PodGroupInitiallyScheduled") != status:
            await asyncio.sleep(0.1)
    return found


async def they_come(theatre: Theatre, names: Iterable[str]) -> Pods:
    theatre.players.let_go = True
    pods = await theatre.until_running(names)
    theatre.players.let_go = False
    for name in names:
        await until_noted(theatre, pods[name], "Scheduled")
        assert (await theatre.events(pods[name]))[-1]["reason"] == "Scheduled"
        assert condition(pods[name], "PodScheduled") == "True"
    assert leaving(pods) == set()
    return pods


async def none_moves(theatre: Theatre, before: Pods) -> None:
    """For a while, in which much could happen."""
    await asyncio.sleep(2)
    now = await theatre.pods()
    assert leaving(now) == set()
    assert {name: node_of(pod) for name, pod in before.items()}.items() <= {
        name: node_of(pod) for name, pod in now.items()
    }.items()


# --- the scenes ----------------------------------------------------------------------------------


def test_placing(play: Callable[..., None]) -> None:
    async def scene(theatre: Theatre) -> None:
        await theatre.apply("cluster.yaml", "Node")
        await asyncio.sleep(1)  # nodes and pods are seen separately
        for body in things_in("cluster.yaml"):
            if body["kind"] == "Pod":
                await theatre.create(body)
                await theatre.until(partial(is_answered, body["metadata"]["name"]))
        pods = await theatre.pods()
        assert node_of(pods["cart"]) == "cpu-2"
        assert (node_of(pods["web-2"]), node_of(pods["inference"])) == ("cpu-3", "gpu-2")
        assert {name for name, pod in pods.items() if not node_of(pod)} == {"fine-tune", "notebook"}
        (why,) = await until_noted(theatre, pods["notebook"], "FailedScheduling")
        assert why.startswith("0/6 nodes are available: ")
        assert "2 nodes have the taint gpu:NoSchedule" in why, why
        await none_moves(theatre, pods)

    play(scene)


def test_cluster(play: Callable[..., None]) -> None:
    async def scene(theatre: Theatre) -> None:
        await theatre.apply("workloads.yaml", "Node", "Deployment")
        pods = await theatre.until_running(("web-0", "web-1", "web-2"))
        assert sorted(map(node_of, pods.values())) == ["node-1", "node-2", "node-3"]
        await theatre.apply("workloads.yaml", "Job")
        pods = await theatre.until(lambda pods: sum(bool(node_of(pod)) for pod in pods.values()) == 6)
        (late,) = (name for name, pod in pods.items() if not node_of(pod))
        pods = await theatre.until(lambda pods: is_told_to_wait(pods[late]))
        (first, *_) = sorted(name for name in pods if name.startswith("report-") and name != late)
        theatre.players.ended.add(first)
        pods = await theatre.until_running([late])
        assert is_over(pods[first])
        assert node_of(pods[late]) == node_of(pods[first])

    play(scene)


def test_gang(play: Callable[..., None]) -> None:
    sweeps, gang = {f"sweep-{n}" for n in range(4)}, [f"llm-{n}" for n in range(3)]

    async def scene(theatre: Theatre) -> None:
        await theatre.apply("gang-before.yaml")
        await theatre.until_running(sweeps)
        await theatre.apply("gang-preemptor.yaml")
        pods = await theatre.until(lambda pods: len(leaving(pods)) == 3 and is_told_to_wait(pods["llm-0"]))
        assert leaving(pods) < sweeps
        await they_give_way(theatre, pods, await theatre.group("llm"), gang)
        gone = leaving(pods)
        pods = await they_come(theatre, gang)
        assert pods.keys() == {*gang, *(sweeps - gone)}
        await until_judged(theatre, "llm", "True")
        await theatre.apply("gang-too-large.yaml")
        pods = await theatre.until(lambda pods: is_told_to_wait(pods.get("giant-2", NOTHING)))
        giant = await until_judged(theatre, "giant")
        assert condition(giant, "PodGroupInitiallyScheduled", "reason") == "Unschedulable", giant
        assert "pod giant-2 would not fit" in condition(giant, "PodGroupInitiallyScheduled", "message"), giant
        await none_moves(theatre, pods)

    play(scene)


def test_groups(play: Callable[..., None]) -> None:
    group, singles = {f"train-{n}" for n in range(3)}, {f"crawl-{n}" for n in range(3)}

    async def scene(theatre: Theatre) -> None:
        await theatre.apply("groups-before.yaml")
        await theatre.until_running(group | singles)
        await theatre.apply("groups-small.yaml")
        pods = await theatre.until(leaving)
        assert len(leaving(pods)) == 1
        assert leaving(pods) < singles
        await they_give_way(theatre, pods, pods["api"], ["api"])
        await they_come(theatre, ["api"])
        await theatre.apply("groups-large.yaml")
        pods = await theatre.until(lambda pods: len(leaving(pods)) == 4)
        assert group < leaving(pods)
        await they_give_way(theatre, pods, pods["database"], [])
        assert condition(pods["api"], "PodScheduled") == "True"
        pods = await they_come(theatre, ["database"])
        assert len(pods) == 3

    play(scene)


def test_budgets_sway_the_choice(play: Callable[..., None]) -> None:
    async def scene(theatre: Theatre) -> None:
        await the_web_runs(theatre)
        await theatre.apply("budgets-preemptor.yaml")
        pods = await theatre.until(leaving)
        assert leaving(pods) < {"etl-0", "etl-1"}
        await they_give_way(theatre, pods, pods["report"], ["report"])
        assert node_of((await they_come(theatre, ["report"]))["report"]) == "node-2"

    play(scene)


def test_budgets_that_must_hold(play: Callable[..., None]) -> None:
    async def scene(theatre: Theatre) -> None:
        await the_web_runs(theatre)
        await theatre.apply("budgets-no-choice.yaml")
        pods = await theatre.until(lambda pods: is_told_to_wait(pods["index"]))
        assert "respectBudgets is Always" in condition(pods["index"], "PodScheduled", "message")
        await none_moves(theatre, pods)

    play(scene, respectBudgets="Always")


async def the_web_runs(theatre: Theatre) -> None:
    await theatre.apply("budgets-before.yaml")
    await theatre.until_running(("web-0", "web-1", "web-2", "web-3", "etl-0", "etl-1"))
    (namespace,) = theatre.players.namespaces
    async with asyncio.timeout(20):
        while not (await theatre.operator.list("PodDisruptionBudget", namespace))[0]["status"].get(
            "disruptionsAllowed"
        ):
            await asyncio.sleep(0.1)


def test_toleration(play: Callable[..., None]) -> None:
    seconds = 6

    async def scene(theatre: Theatre) -> None:
        await theatre.apply("toleration-before.yaml", **{'"600"': f'"{seconds}"'})
        await theatre.until_running(("epochs", "licence-server"))
        await theatre.apply("toleration-high.yaml")
        pods = await theatre.until(lambda pods: is_told_to_wait(pods["report"]))
        assert leaving(pods) == set()
        assert "1 pod of class low-10min is protected" in condition(pods["report"], "PodScheduled", "message")
        pods = await theatre.until(leaving)
        assert leaving(pods) == {"epochs"}
        assert seconds - 1 <= lasted(pods["epochs"]) <= seconds + 2
        await they_give_way(theatre, pods, pods["report"], ["report"])
        await they_come(theatre, ["report"])
        await theatre.apply("toleration-critical.yaml")
        pods = await theatre.until(leaving)
        assert leaving(pods) == {"licence-server"}
        await they_give_way(theatre, pods, pods["alarm"], ["alarm"])
        assert (await they_come(theatre, ["alarm"])).keys() == {"report", "alarm"}

    play(scene)


def test_handover(play: Callable[..., None]) -> None:
    async def scene(theatre: Theatre) -> None:
        await theatre.apply("handover-before.yaml")
        await theatre.until_running(["render"])
        await theatre.apply("handover-preemptor.yaml")
        pods = await theatre.until(leaving)
        await they_give_way(theatre, pods, pods["answer"], ["answer"])
        await theatre.apply("handover-others.yaml")
        pods = await theatre.until_running(("web", "index"))
        assert leaving(pods) == {"render"}
        pods = await theatre.until(lambda pods: is_told_to_wait(pods["sneak"]))
        pods = await they_come(theatre, ["answer"])
        assert node_of(pods["answer"]) == "gpu-1"
        assert node_of(pods["sneak"]) == ""

    play(scene)


def test_resize(play: Callable[..., None]) -> None:
    policy = {"spec": {"podPreemptionPolicy": {"disableResizePreemption": ["example.com/node-autoscaler"]}}}

    async def scene(theatre: Theatre) -> None:
        await theatre.apply("resize-before.yaml")
        before = await theatre.until_running(("db-0", "web-0", "report-0", "report-1"))
        await grow(theatre, before["db-0"], "5")
        pods = await theatre.until(leaving)
        assert len(leaving(pods)) == 1
        assert leaving(pods) < {"report-0", "report-1"}
        await they_give_way(theatre, pods, pods["db-0"], [])
        theatre.players.let_go = True
        pods = await theatre.until(lambda pods: granted(pods["db-0"]) == "5")
        assert len(pods) == 3
        assert condition(pods["db-0"], RESIZING) == ""
        node = await theatre.operator.patch("Node", "", "node-1", policy)
        await grow(theatre, pods["db-0"], "6")
        if "podPreemptionPolicy" not in node["spec"]:  # a server without that feature forgets it
            await theatre.until(lambda pods: granted(pods["db-0"]) == "6")
            return
        (why,) = await until_noted(theatre, pods["db-0"], "NoRoomInPlace")
        assert "is disabled by example.com/node-autoscaler" in why
        await none_moves(theatre, pods)

    play(scene, gates="InPlacePodVerticalScalingSchedulerPreemption=true")


async def grow(theatre: Theatre, pod: Json, cpu: str) -> None:
    (container,) = pod["spec"]["containers"]
    wanted = {"containers": [{"name": container["name"], "resources": {"requests": {"cpu": cpu}}}]}
    meta = pod["metadata"]
    await theatre.operator.patch("Pod", meta["namespace"], meta["name"], {"spec": wanted}, "resize")


def granted(pod: Json) -> str:
    (status,) = pod["status"]["containerStatuses"]
    return str(status["allocatedResources"]["cpu"])
