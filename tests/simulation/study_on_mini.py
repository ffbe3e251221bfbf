"""Jobs of a study on the mini cluster, with the loop of the runtime: the light cluster is held against it."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import msgspec

from reprieve.model.events import Gone, Seen
from reprieve.model.json import Json
from reprieve.model.objects import Node, Pod, PodDisruptionBudget, PodGroup
from reprieve.runtime.loop import Loop
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.reporting.decision import Decision
from reprieve.scheduler.settings import Settings
from reprieve_minicluster.cluster import MiniCluster
from reprieve_minicluster.errors import ApiError
from reprieve_minicluster.kinds import BY_NAME
from reprieve_minicluster.virtual_time import EPOCH, clock, run
from reprieve_study.agenda import Act, Agenda
from reprieve_study.job import Job
from reprieve_study.job_controller import JobController, JobListener
from reprieve_study.light_cluster import REACTION_SECONDS

BETA = "scheduling.k8s.io/v1beta1"


class MiniJobs:
    """The cluster of a job controller. Pods are known to the controller by name: the server chooses UIDs."""

    def __init__(self, cluster: MiniCluster) -> None:
        self._cluster = cluster
        self._namespaces: dict[str, str] = {}

    def create(self, thing: Pod | PodGroup | PodDisruptionBudget) -> None:
        kind, meta = type(thing).__name__, thing.metadata
        body: Json = msgspec.json.decode(msgspec.json.encode(thing))
        body["kind"] = kind
        body["metadata"].pop("uid")
        body["metadata"].pop("ownerReferences", None)  # the garbage collector would look for the Job
        if isinstance(thing, Pod):
            self._namespaces[meta.name] = meta.namespace
        if isinstance(thing, PodGroup):
            body["apiVersion"] = BETA
            body["spec"] = _group_spec(thing)
        self._cluster.store.create(BY_NAME[kind].resource, body)

    def update(self, budget: PodDisruptionBudget) -> None:
        """The cluster's own controller does that."""

    def delete(self, uid: str) -> None:
        with suppress(ApiError):  # it is gone already, and the watch has not told yet
            self._cluster.delete("Pod", self._namespaces[uid], uid)

    def finish(self, uid: str) -> None:
        with suppress(ApiError):
            self._cluster.delete("Pod", self._namespaces[uid], uid, grace=0)

    def remove(self, thing: PodGroup | PodDisruptionBudget) -> None:
        self._cluster.delete(type(thing).__name__, thing.metadata.namespace, thing.metadata.name)


class WakingAgenda(Agenda):
    def __init__(self) -> None:
        super().__init__()
        self.changed = asyncio.Event()

    def at(self, moment: float, act: Act) -> None:
        super().at(moment, act)
        self.changed.set()


def _group_spec(group: PodGroup) -> Json:
    assert group.spec.gang is not None
    mode: Json = {"all": {}} if group.spec.disrupted_whole else {"single": {}}
    return {
        "schedulingPolicy": {"gang": {"minCount": group.spec.gang.min_count}},
        "priority": group.spec.priority,
        "disruptionMode": mode,
    }


def decisions_on_mini(
    jobs: list[Job], nodes: list[Node], settings: Settings, listener: JobListener, until: float
) -> list[tuple[float, Decision]]:
    """All decisions, with their times since the beginning."""
    found: list[tuple[float, Decision]] = []

    async def main() -> None:
        cluster, agenda = MiniCluster(clock), WakingAgenda()
        controller = JobController(MiniJobs(cluster), agenda, listener, next(iter(settings.profiles)))
        for node in nodes:
            body = msgspec.json.decode(msgspec.json.encode(node))
            cluster.store.create("nodes", {"kind": "Node", **body})
        for job in jobs:
            agenda.at(EPOCH + job.arrival, partial(controller.arrive, job))
        cluster.start()
        loop = Loop(Scheduler(settings), cluster, clock, lambda one: found.append((clock() - EPOCH, one)))
        async with loop.running(), asyncio.TaskGroup() as tasks:
            follows = tasks.create_task(_follow(cluster, controller, agenda))
            while clock() < EPOCH + until:
                agenda.changed.clear()
                for act in agenda.due(clock()):
                    act(clock())
                due = agenda.next_time or EPOCH + until
                with suppress(TimeoutError):
                    await asyncio.wait_for(agenda.changed.wait(), max(due - clock(), 0.0))
            follows.cancel()
        await cluster.stop()

    run(main())
    return found


async def _follow(cluster: MiniCluster, controller: JobController, agenda: Agenda) -> None:
    leaving = set[str]()

    def tell(react: Callable[[str, float], None], name: str) -> None:
        agenda.at(clock() + REACTION_SECONDS, lambda now: react(name, now))

    async for event in cluster.watch():
        match event:
            case Seen(object=Pod() as pod):
                name = pod.metadata.name
                if pod.metadata.deletion_timestamp is not None and name not in leaving:
                    leaving.add(name)
                    tell(controller.pod_leaves, name)
                elif pod.status.phase == "Running":
                    tell(controller.pod_started, name)
            case Gone(target=target) if target.kind == "Pod":
                tell(controller.pod_gone, target.name)
