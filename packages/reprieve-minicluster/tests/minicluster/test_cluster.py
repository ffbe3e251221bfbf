"""The mini cluster as a port: what it reports, how failed calls end, and that its components run."""

import asyncio
import logging
from collections.abc import AsyncIterator, Coroutine
from contextlib import aclosing
from typing import Any, TypeVar

import pytest
from tests.minicluster.faulty_cluster import CallFault, FaultPlan, FaultyCluster
from tests.minicluster.scene import node, pod, template

from reprieve.cluster.port import Answer, ClusterEvent, ClusterPort, Lost, Refused, Succeeded
from reprieve.model.effects import Bind, Target
from reprieve.model.events import Gone, Seen, Synced, Unread
from reprieve.model.json import Json
from reprieve_minicluster.cluster import MiniCluster
from reprieve_minicluster.controllers.garbage_collector import GarbageCollector
from reprieve_minicluster.controllers.selection import selected_controllers
from reprieve_minicluster.kinds import BY_RESOURCE
from reprieve_minicluster.kubelet import RUN_SECONDS
from reprieve_minicluster.rest.http_messages import ApiRequest, ApiResponse
from reprieve_minicluster.rest.http_server import serve
from reprieve_minicluster.virtual_time import clock, run


async def first_sights(cluster: ClusterPort, count: int) -> list[ClusterEvent]:
    sights = []
    async for sight in cluster.watch():
        sights.append(sight)
        if len(sights) == count:
            break
    return sights


def target(mini: MiniCluster, name: str) -> Target:
    found = mini.read("Pod", "default", name)
    assert found is not None
    return Target("Pod", "default", name, found["metadata"]["uid"])


def test_an_object_that_cannot_be_read_does_not_stop_the_watch() -> None:
    async def main() -> list[ClusterEvent]:
        mini = MiniCluster(clock)
        mini.apply([{**pod("bad"), "spec": {"containers": 7}}, pod("good")])
        return await first_sights(mini, 3)

    bad, good, end = run(main())
    assert isinstance(bad, Unread)
    assert (bad.target.name, bad.problem.path) == ("bad", "spec.containers")
    assert isinstance(good, Seen)
    assert end == Synced()


def test_both_spellings_of_a_pod_group_are_shown() -> None:
    async def main() -> list[ClusterEvent]:
        mini = MiniCluster(clock)
        for version, name in (("v1beta1", "new"), ("v1alpha2", "old")):
            spec = {"schedulingPolicy": {"gang": {"minCount": 2}}}
            api_version = f"scheduling.k8s.io/{version}"
            body = {"apiVersion": api_version, "kind": "PodGroup", "metadata": {"name": name}, "spec": spec}
            mini.apply([body])
        return await first_sights(mini, 2)

    assert all(isinstance(sight, Seen) for sight in run(main()))


def test_what_is_applied_twice_is_there_once_with_the_status_given() -> None:
    async def main() -> Json | None:
        mini = MiniCluster(clock)
        mini.apply([pod("a"), {**pod("a", labels={"x": "y"}), "status": {"phase": "Running"}}])
        assert len(mini.list("Pod")) == 1
        return mini.read("Pod", "default", "a")

    body = run(main())
    assert body is not None
    assert (body["metadata"]["labels"], body["status"]) == ({"x": "y"}, {"phase": "Running"})


def test_a_watcher_that_leaves_is_forgotten() -> None:
    async def main() -> None:
        mini = FaultyCluster(clock)
        watch = mini.watch()
        assert isinstance(watch, AsyncIterator)
        async with aclosing(watch):  # type: ignore[type-var]  # it is a generator, which the port does not tell
            assert await anext(watch) == Synced()
        mini.apply([pod("a")])
        mini.disconnect()
        assert await first_sights(mini, 1) != [Synced()]

    run(main())


# --- calls that are hit --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "expected", "again", "happened"),
    [
        (CallFault.CONFLICT, Refused, True, False),
        (CallFault.FORBIDDEN, Refused, False, False),
        (CallFault.INTERNAL, Refused, True, False),
        (CallFault.TOO_MANY, Refused, True, False),
        (CallFault.TIMEOUT_BEFORE, Lost, None, False),
        (CallFault.TIMEOUT_AFTER, Lost, None, True),
    ],
)
def test_a_call_that_is_hit(
    fault: CallFault, expected: type[Answer], again: bool | None, happened: bool
) -> None:
    async def main() -> tuple[Answer, bool, float]:
        mini = FaultyCluster(clock, FaultPlan(1, calls=((fault, 1.0),)))
        mini.apply([pod("a")])
        began = clock()
        answer = await mini.perform(Bind(target(mini, "a"), "n1"))
        body = mini.read("Pod", "default", "a") or {}
        return answer, "nodeName" in body["spec"], clock() - began

    answer, bound, seconds = run(main())
    assert isinstance(answer, expected)
    assert "Pod default/a" in str(answer)
    assert getattr(answer, "again", None) is again
    assert bound is happened
    assert (seconds > 1) is (expected is Lost)


def test_calls_succeed_again_when_the_faults_have_ended() -> None:
    async def main() -> list[Answer]:
        plan = FaultPlan(1, calls=((CallFault.INTERNAL, 1.0),), until=clock() + 10)
        mini = FaultyCluster(clock, plan)
        mini.apply([pod("a")])
        answers = [await mini.perform(Bind(target(mini, "a"), "n1"))]
        await asyncio.sleep(10)
        return [*answers, await mini.perform(Bind(target(mini, "a"), "n1"))]

    before, after = run(main())
    assert isinstance(before, Refused)
    assert after == Succeeded()


# --- a life of its own ---------------------------------------------------------------------------

T = TypeVar("T")


def living(mini: MiniCluster, play: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
    async def main() -> T:
        mini.start()
        try:
            return await play
        finally:
            await mini.stop()

    return main()


async def bind_everything(mini: MiniCluster) -> None:
    """The simplest scheduler there is."""
    async for sight in mini.watch():
        if isinstance(sight, Seen) and type(sight.object).__name__ == "Pod":
            name = sight.object.metadata.name
            found = mini.read("Pod", "default", name)
            if found is not None and "nodeName" not in found["spec"]:
                await mini.perform(Bind(target(mini, name), "n1"))


def job() -> Json:
    spec = {"parallelism": 2, "completions": 4, "template": template("train", **{RUN_SECONDS: "60"})}
    return {"kind": "Job", "metadata": {"name": "train"}, "spec": spec}


def deployment() -> Json:
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template()}
    return {"kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}


def story() -> tuple[list[bytes], float]:
    mini = MiniCluster(clock)

    async def play() -> tuple[list[bytes], float]:
        mini.apply([node("n1", cpu="8"), job(), deployment()])
        scheduler = asyncio.create_task(bind_everything(mini))
        began = clock()
        while not any(b.get("status", {}).get("completionTime") for b in mini.list("Job")):
            await asyncio.sleep(1)
        scheduler.cancel()
        return [item.raw for item in mini.store.list(tuple(BY_RESOURCE)).items], clock() - began

    return run(living(mini, play()))


def test_a_job_and_a_deployment_run_in_virtual_time() -> None:
    _, seconds = story()
    assert 120 < seconds < 140


def test_the_same_story_ends_in_the_same_bytes() -> None:
    assert story() == story()


def test_a_node_that_is_lost_takes_its_pods_along() -> None:
    mini = MiniCluster(clock)

    async def play() -> list[ClusterEvent]:
        mini.apply([node("n1"), pod("a", on="n1")])
        await asyncio.sleep(2)
        mini.delete("Node", "", "n1")
        sights = []
        async for sight in mini.watch():
            sights.append(sight)
            if isinstance(sight, Gone):
                break
        return sights

    *_, last = run(living(mini, play()))
    assert isinstance(last, Gone)
    assert last.target.name == "a"


# --- health --------------------------------------------------------------------------------------


def test_a_controller_that_cannot_go_on_fails_livez(
    monkeypatch: pytest.MonkeyPatch, mishaps: list[logging.LogRecord]
) -> None:
    def fail(_: object) -> None:
        raise RuntimeError("it broke")

    async def main() -> list[tuple[int, bytes]]:
        mini = MiniCluster(clock)
        server = serve(mini, "secret")
        mini.start()
        answers = []
        for path in ("/livez", "/livez", "/readyz", "/livez/kubelets"):
            answer = server._api_server.answer(ApiRequest("GET", path))
            assert isinstance(answer, ApiResponse)
            answers.append((answer.status, answer.body))
            await asyncio.sleep(10.0)
        await mini.stop()
        return answers

    monkeypatch.setattr(GarbageCollector, "step", fail)
    first, later, ready, kubelets = run(main())
    assert first == kubelets == (200, b"ok")
    assert later[0] == ready[0] == 500
    assert b"[-]garbage collector failed: failed 4 times in a row: RuntimeError: it broke" in later[1]
    assert b"[+]kubelets ok" in later[1]
    assert mishaps[0].getMessage() == "garbage collector failed: RuntimeError: it broke; retrying in 1 s"


def test_controllers_that_are_not_chosen_do_not_run() -> None:
    async def observed() -> tuple[list[str], list[str]]:
        cluster = MiniCluster(clock, controllers=selected_controllers("-deployment,-namespace"))
        cluster.apply([{"kind": "Namespace", "metadata": {"name": "default"}}])
        cluster.start()
        cluster.apply([deployment(), job()])
        await asyncio.sleep(5)
        names = [check for check, _ in cluster.alive()]
        await cluster.stop()
        assert "namespace controller" not in names
        return [made["kind"] for kind in ("ReplicaSet", "Pod") for made in cluster.list(kind)], [
            str(event["reportingComponent"]) for event in cluster.list("Event")
        ]

    assert run(observed()) == (["Pod", "Pod"], ["job-controller", "job-controller"])
