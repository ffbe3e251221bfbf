"""What the page shows equals what the API server stores, at random moments of random clusters."""

import asyncio
from contextlib import closing, suppress
from pathlib import Path
from random import Random

import pytest

from reprieve.assembly.journals import observed_scheduler
from reprieve.assembly.scheduler_settings import EVERYTHING, settings_of
from reprieve.cluster.admission.features import ALL_FEATURES
from reprieve.config import default_configuration
from reprieve.model.json import Json
from reprieve.page.documents import PageHead, picture_json
from reprieve.page.history import fold_entry
from reprieve.page.live import FedSteps, LivePicture, PictureFeed
from reprieve.page.picture import Picture
from reprieve.page.rows import PodState
from reprieve.runtime.journal import Journal, read_entries
from reprieve.runtime.loop import Loop
from reprieve.scheduler.core import Scheduler
from reprieve_minicluster.assembly.mini_cluster import submit
from reprieve_minicluster.cluster import MiniCluster
from reprieve_minicluster.errors import ApiError
from reprieve_minicluster.virtual_time import clock, run
from tests.simulation.objects import node, pod_spec

SEEDS = 5
MOMENTS = 10  # of each cluster
PATIENCE = 200  # turns of the event loop, in which no time passes


class Story:
    """A cluster in which things happen by chance, and the picture that its scheduler's feed gives."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.cluster = MiniCluster(clock, features=ALL_FEATURES)
        self.picture = Picture()
        self.feed = PictureFeed()
        self._live = LivePicture(self._taken, self.picture)
        self._made = 0

    async def live(self, journal: Journal) -> None:
        machine = observed_scheduler(
            Scheduler(settings_of(default_configuration(), EVERYTHING)), None, journal, [self.feed]
        )
        self.feed.begin()
        submit(self.cluster, [{"apiVersion": "v1", **node(f"n-{i}", f"z{i % 2}")} for i in range(4)])
        self.cluster.start()
        try:
            async with Loop(machine, self.cluster, clock).running():
                for _ in range(MOMENTS):
                    for _ in range(self.chance.randint(2, 9)):
                        with suppress(ApiError):
                            self._happens()
                        await asyncio.sleep(self.chance.expovariate(1.0))
                    await self._agrees()
        finally:
            await self.cluster.stop()

    def _happens(self) -> None:
        pods = self.cluster.list("Pod")
        match self.chance.choice(("pod", "pod", "pod", "gang", "delete", "cordon")):
            case "pod":
                submit(self.cluster, [self._pod({})])
            case "gang":
                self._made += 1
                name, count = f"g-{self._made}", self.chance.randint(2, 4)
                submit(self.cluster, [_group(name, count)])
                submit(
                    self.cluster,
                    [self._pod({"schedulingGroup": {"podGroupName": name}}) for _ in range(count)],
                )
            case "delete" if pods:
                meta = self.chance.choice(pods)["metadata"]
                self.cluster.delete("Pod", meta["namespace"], meta["name"])
            case "cordon":
                body = self.chance.choice(self.cluster.list("Node"))
                body["spec"] = {**body.get("spec", {}), "unschedulable": self.chance.random() < 0.5}
                self.cluster.apply([body])

    def _pod(self, more: Json) -> Json:
        self._made += 1
        spec = pod_spec(self.chance.choice(("500m", "1", "2", "3")), **more)
        # Without a class of its own a pod has no priority but 0.
        if self.chance.random() < 0.4:
            spec["priorityClassName"] = "system-cluster-critical"
        spec["terminationGracePeriodSeconds"] = self.chance.choice((0, 3, 30))
        meta = {"name": f"p-{self._made}", "namespace": "kube-system"}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}

    async def refresh(self) -> None:
        await self._live.refresh()

    async def _taken(self) -> FedSteps:
        return self.feed.take()

    async def _agrees(self) -> None:
        """As soon as the watch has delivered what happened at this moment; no time passes meanwhile."""
        for _ in range(PATIENCE):
            await self.refresh()
            if shown(self.picture) == stored(self.cluster):
                return
            await asyncio.sleep(0)
        assert shown(self.picture) == stored(self.cluster)


def _group(name: str, count: int) -> Json:
    return {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "kube-system"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": count}}},
    }


Facts = dict[str, tuple[object, ...]]


def shown(picture: Picture) -> Facts:
    document = picture_json(PageHead("c", "up"), picture)
    nodes = [row[0] for row in document["nodes"]]
    groups = [row[0] for row in document["groups"]]
    facts: Facts = {row[0]: (bool(row[4]), row[5][:2]) for row in document["nodes"]}
    facts |= {f"group {row[0]}": (row[2],) for row in document["groups"]}
    for key, uid, at, priority, group, (cpu, *_), state, nominated, _ in document["pods"]:
        where = nodes[at] if at >= 0 else ""
        of = groups[group] if group >= 0 else ""
        facts[uid] = key, where, priority, of, cpu, state, nodes[nominated] if nominated >= 0 else ""
    return facts


def stored(cluster: MiniCluster) -> Facts:
    facts: Facts = {
        body["metadata"]["name"]: (bool(body.get("spec", {}).get("unschedulable")), [4000, 16 * 1024])
        for body in cluster.list("Node")
    }
    facts |= {
        f"group {_key(body)}": (body["spec"]["schedulingPolicy"]["gang"]["minCount"],)
        for body in cluster.list("PodGroup")
    }
    for body in cluster.list("Pod"):
        spec, status = body["spec"], body.get("status", {})
        group = spec.get("schedulingGroup", {}).get("podGroupName", "")
        cpu = spec["containers"][0]["resources"]["requests"]["cpu"]
        facts[body["metadata"]["uid"]] = (
            _key(body),
            spec.get("nodeName", ""),
            spec["priority"],
            f"kube-system/{group}" if group else "",
            500 if cpu == "500m" else 1000 * int(cpu),
            _state(body),
            status.get("nominatedNodeName", ""),
        )
    return facts


def _key(body: Json) -> str:
    return f"{body['metadata']['namespace']}/{body['metadata']['name']}"


def _state(body: Json) -> PodState:
    if body.get("status", {}).get("phase") in ("Succeeded", "Failed"):
        return PodState.DONE
    if "deletionTimestamp" in body["metadata"]:
        return PodState.TERMINATING
    if not body["spec"].get("nodeName"):
        return PodState.PENDING
    conditions = body.get("status", {}).get("conditions", [])
    return PodState.MARKED if any(c["type"] == "DisruptionTarget" for c in conditions) else PodState.RUNNING


@pytest.mark.parametrize("seed", range(SEEDS))
def test_the_page_shows_what_the_api_says_live_and_from_the_journal(seed: int, tmp_path: Path) -> None:
    story = Story(seed)
    with closing(Journal(tmp_path, {}, print)) as journal:
        run(story.live(journal))
    run(story.refresh())
    offline = Picture()
    for entry in read_entries(tmp_path):
        fold_entry(offline, entry)
    head = PageHead("c", "up")
    assert by_name(picture_json(head, offline)) == by_name(picture_json(head, story.picture))
    preempting = [kept for kept in offline.decisions.all() if kept.plan is not None]
    assert preempting, "a picture in which nothing happens shows nothing"


def by_name(document: Json) -> Json:
    """Rows in the order of their names: a feed shows each object where it changed last."""
    nodes = [row[0] for row in document["nodes"]]
    groups = [row[0] for row in document["groups"]]
    pods = [
        [
            *row[:2],
            nodes[row[2]] if row[2] >= 0 else "",
            row[3],
            groups[row[4]] if row[4] >= 0 else "",
            *row[5:7],
        ]
        for row in document["pods"]
    ]
    return {
        **document,
        "nodes": sorted(document["nodes"]),
        "groups": sorted(document["groups"]),
        "pods": sorted(pods),
        "time": 0.0,
    }
