"""Nothing that one user creates stops the others: exceptions about an object stay with that object."""

import asyncio
import json
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.minicluster.rest.custom_resource import definition
from tests.minicluster.scene import node, template

from reprieve.config import default_configuration
from reprieve.model.json import Json
from reprieve_minicluster import controllers as controller_manager
from reprieve_minicluster.assembly.mini_cluster import change, cluster_in_process, submit
from reprieve_minicluster.cluster import MiniCluster
from reprieve_minicluster.control.object_guard import Guard, ObjectWork
from reprieve_minicluster.controllers import DEFAULT_DELAYS, Controller, Delays
from reprieve_minicluster.controllers.controller_cache import ControllerCache
from reprieve_minicluster.controllers.garbage_collector import FOREGROUND, ORPHAN
from reprieve_minicluster.controllers.objects import Thing
from reprieve_minicluster.kinds import CLEANUP_FINALIZER
from reprieve_minicluster.kinds.custom import DEFINITIONS
from reprieve_minicluster.kubelet import Task
from reprieve_minicluster.store import Key
from reprieve_minicluster.virtual_time import clock, run

POISON, CANARY = "poison", "canary"
SETTLED = 3700.0  # seconds until every retry is over, and events are deleted


def deployed(name: str, replicas: int = 2, **spec: Any) -> Json:
    labels = {"app": name}
    made = template(name)
    made["spec"] |= {"schedulerName": "reprieve", **spec}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": made},
    }


# --- what was found ------------------------------------------------------------------------------


@asynccontextmanager
async def living(*objects: Json) -> AsyncIterator[MiniCluster]:
    async with cluster_in_process(default_configuration(), clock) as cluster:
        cluster.apply([{"kind": "Namespace", "metadata": {"name": "default"}}, node("n1", cpu="64")])
        submit(cluster, objects)
        yield cluster


def pods_of(cluster: MiniCluster, app: str) -> list[str]:
    labelled = (body for body in cluster.list("Pod") if body["metadata"]["labels"].get("app") == app)
    return [body["status"]["phase"] for body in labelled]


def scaled(cluster: MiniCluster, name: str, replicas: int) -> None:
    change(cluster, "Deployment", ("default", name), {"spec": {"replicas": replicas}})


def test_a_grace_period_beyond_all_times_stops_no_controller() -> None:
    async def main() -> tuple[int, list[str], int]:
        async with living(deployed("slow", terminationGracePeriodSeconds=10**12)) as cluster:
            await asyncio.sleep(10.0)
            scaled(cluster, "slow", 0)
            await asyncio.sleep(10.0)
            submit(cluster, [deployed("quick")])
            await asyncio.sleep(10.0)
            leaving = [body for body in cluster.list("Pod") if "deletionTimestamp" in body["metadata"]]
            for body in leaving:
                cluster.delete("Pod", "default", body["metadata"]["name"], grace=5)
            before = len(leaving)
            await asyncio.sleep(10.0)
            return before, pods_of(cluster, "quick"), len(pods_of(cluster, "slow"))

    assert run(main()) == (2, ["Running", "Running"], 0)


def test_a_namespace_of_such_pods_can_be_deleted() -> None:
    async def main() -> tuple[list[str], bool]:
        held = {**deployed("slow", terminationGracePeriodSeconds=10**12)}
        held["spec"]["template"]["metadata"]["annotations"] = {"reprieve.dev/stop-seconds": "3"}
        held["metadata"]["namespace"] = "team"
        async with living() as cluster:
            cluster.apply([{"kind": "Namespace", "metadata": {"name": "team", "finalizers": ["kubernetes"]}}])
            submit(cluster, [held])
            await asyncio.sleep(10.0)
            running = pods_of(cluster, "slow")
            cluster.delete("Namespace", "", "team")
            await asyncio.sleep(30.0)
            return running, "team" in json.dumps(cluster.list("Namespace"))

    running, is_left = run(main())
    assert running == ["Running", "Running"]
    assert not is_left


def test_a_doubled_owner_does_not_stop_the_garbage_collector() -> None:
    async def main() -> list[str]:
        async with living() as cluster:
            kept, owner = cluster.apply([config_map("kept"), config_map("owner")])
            reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.uid}
            cluster.apply([config_map("owned", ownerReferences=[reference, reference])])
            cluster.apply([config_map("other", ownerReferences=[reference])])
            await asyncio.sleep(1.0)
            change(cluster, "ConfigMap", ("default", "owned"), {"data": {"a": "b"}})
            await asyncio.sleep(1.0)
            cluster.delete("ConfigMap", "default", "owner")
            await asyncio.sleep(1.0)
            assert kept.key.name == "kept"
            return [body["metadata"]["name"] for body in cluster.list("ConfigMap")]

    assert run(main()) == ["kept"]


def config_map(name: str, **meta: Any) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default", **meta},
    }


# --- every step of every component ---------------------------------------------------------------

# Objects of one team that give every component of the cluster something to do.
WORLD = Path(__file__).with_name("team.yaml").read_text()
CRITICAL = """
kind: Pod
metadata: {name: critical, labels: {app: critical}}
spec:
  nodeName: TEAM-2
  priorityClassName: system-node-critical
  containers: [{name: main, image: "example/app:1", resources: {requests: {cpu: 3}}}]
"""


def world(team: str, text: str = WORLD) -> list[Json]:
    bodies: list[Json] = list(yaml.safe_load_all(text.replace("TEAM", team)))
    for body in bodies:
        if body["kind"] not in ("Node", "Namespace", "ClusterRole"):
            body["metadata"].setdefault("namespace", team)
    return bodies


def begin(cluster: MiniCluster, team: str) -> None:
    for body in world(team):
        is_ours = body["kind"] in ("Node", "Namespace")
        cluster.apply([body]) if is_ours else submit(cluster, [body])
    kind = definition(plural=f"{team}s", singular=team, kind=team.title(), shortNames=[])
    submit(cluster, [kind])
    cluster.store.create(f"{team}s.batch.example.com", {"metadata": {"name": "thing", "namespace": team}})


def go_on(cluster: MiniCluster, team: str) -> None:
    store = cluster.store
    store.delete(Key("deployments.apps", team, "old"), held_by=(FOREGROUND,))
    store.delete(Key("replicasets.apps", team, "loose"), held_by=(ORPHAN,))
    store.delete(Key("namespaces", "", f"{team}-gone"))
    store.delete(Key(DEFINITIONS, "", f"{team}s.batch.example.com"), held_by=(CLEANUP_FINALIZER,))
    store.delete(Key("persistentvolumeclaims", team, "data"))
    more = {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "2"}}}]}}
    change(cluster, "Pod", (team, "small"), more)


def press(cluster: MiniCluster, team: str) -> None:
    submit(cluster, world(team, CRITICAL))


def end(cluster: MiniCluster, team: str) -> None:
    assert any(body["metadata"]["name"].startswith("tick-") for body in cluster.list("Job", team))
    cluster.store.delete(Key("cronjobs.batch", team, "tick"))
    cluster.store.delete(Key("nodes", "", f"{team}-2"))


ACTS = ((begin, 0.0), (go_on, 40.0), (press, 80.0), (end, 160.0))
Summary = tuple[Counter[str], Counter[tuple[str, str]], int, Json]  # what a team has in the end


def belongs(key: Key, team: str) -> bool:
    return bool(team) and (key.namespace in (team, f"{team}-gone") or key.name.startswith(team))


def summary(cluster: MiniCluster, team: str) -> Summary:
    kinds = [kind for kind in cluster.store.kinds.values() if kind.resource != "events"]
    items = [item for kind in kinds for item in cluster.store.list((kind.resource,)).items]
    counts = Counter(item.key.resource for item in items if belongs(item.key, team))
    phases = Counter((app_of(body), body["status"]["phase"]) for body in cluster.list("Pod", team))
    budget, quota = (
        cluster.read("PodDisruptionBudget", team, "web"),
        cluster.read("ResourceQuota", team, "quota"),
    )
    assert budget is not None
    assert quota is not None
    return counts, phases, budget["status"]["currentHealthy"], quota["status"]


def app_of(pod: Json) -> str:
    return str(pod["metadata"]["labels"]["app"])


def lived(early: list[list[str]]) -> tuple[dict[str, Summary], list[Json]]:
    """What the teams have in the end, and the warnings about objects that were set aside."""

    async def main() -> tuple[dict[str, Summary], list[Json]]:
        async with cluster_in_process(default_configuration(), clock) as cluster:
            cluster.apply([{"kind": "Namespace", "metadata": {"name": "default"}}])
            submit(
                cluster,
                [
                    {
                        "kind": "PriorityClass",
                        "metadata": {"name": "system-node-critical"},
                        "value": 2_000_001_000,
                    }
                ],
            )
            submit(
                cluster,
                [{"kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "example.com/disks"}],
            )
            for act, at in ACTS:
                await asyncio.sleep(at - asyncio.get_running_loop().time())
                for team in (POISON, CANARY):
                    act(cluster, team)
                if act is begin:
                    await asyncio.sleep(20.0)
                    early.append([body["status"]["phase"] for body in cluster.list("Pod", CANARY)])
            warnings = [event for event in cluster.list("Event") if event["reason"] == "InternalError"]
            await asyncio.sleep(SETTLED)
            assert [wrong for _, wrong in cluster.ready() if wrong] == []
            return {team: summary(cluster, team) for team in (POISON, CANARY)}, warnings

    return run(main())


class Injection:
    """Every piece of work about an object of a team raises, the first times that it is attempted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, team: str = "", *, late: bool = False) -> None:
        self.steps: set[tuple[str, str]] = set()
        self._team = team
        self._late = late
        self._attempts: Counter[tuple[str, ObjectWork]] = Counter()
        begin_work, affected = Guard.run, controller_manager.controllers

        def run_injected(
            guard: Guard[Any], name: ObjectWork, work: Callable[[], object], **more: bool
        ) -> None:
            begin_work(guard, name, partial(self._work, guard._component, name, work), **more)

        def controllers(delays: Delays) -> tuple[Controller, ...]:
            return tuple(replace(c, affected=partial(self._affected, c)) for c in affected(delays))

        monkeypatch.setattr(Guard, "run", run_injected)
        monkeypatch.setattr(controller_manager, "controllers", controllers)

    def _work(self, component: str, name: ObjectWork, work: Callable[[], object]) -> None:
        if belongs(name.key, self._team or POISON):
            self.steps.add((component, name.step))
        self._attempts[component, name] += 1
        fails = belongs(name.key, self._team) and self._attempts[component, name] <= 2
        if fails and not self._late:
            raise RuntimeError("injected")
        work()
        if fails:
            raise RuntimeError("injected")

    def _affected(self, controller: Controller, cache: ControllerCache, thing: Thing) -> Iterable[Key]:
        meta, name = (
            thing.metadata,
            ObjectWork("affected", Key("", thing.metadata.namespace, thing.metadata.name)),
        )
        self._attempts[controller.name, name] += 1
        if (
            belongs(Key("", meta.namespace, meta.name), self._team)
            and self._attempts[controller.name, name] == 1
        ):
            raise RuntimeError("injected")
        return controller.affected(cache, thing)


@pytest.fixture(scope="module")
def healthy() -> tuple[dict[str, Summary], set[tuple[str, str]]]:
    with pytest.MonkeyPatch.context() as patch:
        injection = Injection(patch)
        found, warnings = lived([])
    assert warnings == []
    return found, injection.steps


@pytest.mark.parametrize("late", [False, True], ids=["before its work", "after its work"])
def test_an_exception_in_any_step_stays_with_its_object(
    healthy: tuple[dict[str, Summary], set[tuple[str, str]]],
    late: bool,
    monkeypatch: pytest.MonkeyPatch,
    mishaps: list[logging.LogRecord],
) -> None:
    expected, steps = healthy
    early: list[list[str]] = []
    injection = Injection(monkeypatch, POISON, late=late)
    found, warnings = lived(early)
    assert found[CANARY] == expected[CANARY]
    assert found[POISON] == expected[POISON]
    assert "Running" in early[0]
    assert set(early[0]) <= {"Running", "Succeeded"}
    assert steps <= injection.steps
    told = [record.getMessage() for record in mishaps]
    for component, step in steps:
        assert any(line.startswith(f"{component}: {step} ") and POISON in line for line in told), (
            component,
            step,
        )
    assert not any(CANARY in line for line in told)
    assert any("retrying in 1 s" in line for line in told)
    assert any("retrying in 2 s" in line for line in told)
    assert warnings
    assert all(
        event["type"] == "Warning" and POISON in json.dumps(event["involvedObject"]) for event in warnings
    )


def test_the_steps_are_those_of_every_component(
    healthy: tuple[dict[str, Summary], set[tuple[str, str]]],
) -> None:
    names = [controller.name for controller in controller_manager.controllers(DEFAULT_DELAYS)]
    steps = {
        "controllers": {"observe", *(f"{name}: reconcile" for name in names)},
        "kubelets": {"observe", "plan", "resize", "enforce the resize of", "report preempted"}
        | {task.name.lower() for task in Task},
        "garbage collector": {"observe", "collect", "delete dependents of", "delete", "orphan"},
        "namespace controller": {"observe", "empty", "delete"},
        "quota controller": {"observe", "count the objects of", "count", "update"},
        "CRD controller": {"observe", "reconcile", "delete"},
        "event recorder": {"observe", "record", "delete"},
    }
    assert healthy[1] == {(component, step) for component, found in steps.items() for step in found}
