"""Random demands on a living cluster: what a what-if says before is what happens after.

`python -m tests.simulation.foretold DEMANDS` plays so many and tells how they ended.
"""

import argparse
import asyncio
from collections import Counter
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from reprieve.assembly.scheduler_settings import EVERYTHING, settings_of
from reprieve.config import default_configuration
from reprieve.inquiry.asked_demands import WhatIfQuestion
from reprieve.inquiry.cluster_objects import ApiObject, ClusterObjects
from reprieve.inquiry.decoded_cluster import decoded
from reprieve.inquiry.manifests import Manifest
from reprieve.inquiry.object_names import ObjectName
from reprieve.inquiry.resizes import Resize
from reprieve.inquiry.whatif import WhatIfOutcome, WhatIfReport, whatif
from reprieve.model.json import Json
from reprieve.scheduler.reporting.decision import Decision
from reprieve_minicluster.assembly.mini_cluster import cluster_in_process, submit
from reprieve_minicluster.cluster import MiniCluster
from reprieve_minicluster.kinds import BY_RESOURCE, KINDS
from reprieve_minicluster.store import Key, Part, parsed
from reprieve_minicluster.virtual_time import clock, run

DEMANDS_PER_CLUSTER = 10
SETTLED = 90.0  # seconds: grace periods, starts and backoffs are over by then
GPU = "nvidia.com/gpu"
PRIORITIES = (0, 100, 300, 600, 900)
_CROWDED = 40  # pods, from which on some are deleted


# --- random objects ------------------------------------------------------------------------------


def priority_classes() -> list[Json]:
    head = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    return [{**head, "metadata": {"name": f"p{value}"}, "value": value} for value in PRIORITIES]


def node(rng: Random, name: str) -> Json:
    amounts = {
        "cpu": rng.choice(("4", "8", "12")),
        "memory": "32Gi",
        "pods": "30",
        GPU: rng.choice(("0", "4", "8")),
    }
    labels = {"kubernetes.io/hostname": name, "zone": rng.choice("ab")}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {
            "allocatable": amounts,
            "capacity": amounts,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def spec(rng: Random, priority: int, group: str = "") -> Json:
    gpus = rng.choice((0, 0, 0, 1, 2, 4))
    requests = {"cpu": rng.choice(("500m", "1", "2", "3")), "memory": rng.choice(("256Mi", "1Gi", "4Gi"))}
    limits = {GPU: str(gpus)} if gpus else {}
    found: Json = {
        "schedulerName": "reprieve",
        "priorityClassName": f"p{priority}",
        "terminationGracePeriodSeconds": rng.choice((1, 5, 20)),
        "containers": [
            {
                "name": "main",
                "image": "pause",
                "resources": {"requests": {**requests, **limits}, "limits": limits},
            }
        ],
    }
    if group:
        found["schedulingGroup"] = {"podGroupName": group}
    if rng.random() < 0.15:
        found["nodeSelector"] = {"zone": rng.choice("ab")}
    if rng.random() < 0.1:
        term = {
            "labelSelector": {"matchLabels": {"app": rng.choice("xyz")}},
            "topologyKey": "kubernetes.io/hostname",
        }
        found["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return found


def pod(rng: Random, name: str, priority: int) -> Json:
    meta = {"name": name, "namespace": "default", "labels": {"app": rng.choice("xyz")}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec(rng, priority)}


def gang(rng: Random, name: str, priority: int) -> list[Json]:
    size = rng.randint(2, 4)
    needed = size if rng.random() < 0.7 else rng.randint(1, size)
    rules: Json = {"schedulingPolicy": {"gang": {"minCount": needed}}, "priorityClassName": f"p{priority}"}
    if rng.random() < 0.5:
        rules["disruptionMode"] = {"all": {}}
    meta = {"name": name, "namespace": "default"}
    group = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": meta, "spec": rules}
    shape, labels = spec(rng, priority, name), {"app": rng.choice("xyz")}
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"{name}-{i}", "namespace": "default", "labels": labels},
            "spec": shape,
        }
        for i in range(size)
    ]
    return [group, *pods]


def deployment(rng: Random, name: str, priority: int) -> Json:
    labels = {"app": rng.choice("xyz"), "deployment": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": rng.randint(1, 4),
            "selector": {"matchLabels": {"deployment": name}},
            "template": {"metadata": {"labels": labels}, "spec": spec(rng, priority)},
        },
    }


def budget(rng: Random, name: str) -> Json:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"minAvailable": rng.randint(0, 3), "selector": {"matchLabels": {"app": rng.choice("xyz")}}},
    }


def population(rng: Random) -> list[Json]:
    objects = [*priority_classes(), *(node(rng, f"n{i}") for i in range(rng.randint(2, 5)))]
    objects += [budget(rng, f"budget-{i}") for i in range(rng.randint(0, 2))]
    objects += [deployment(rng, f"old-web-{i}", rng.choice(PRIORITIES[:4])) for i in range(rng.randint(0, 2))]
    for i in range(rng.randint(0, 2)):
        objects += gang(rng, f"old-gang-{i}", rng.choice(PRIORITIES[:4]))
    objects += [pod(rng, f"old-{i}", rng.choice(PRIORITIES[:4])) for i in range(rng.randint(5, 25))]
    return objects


# --- one demand ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Demand:
    name: str
    objects: tuple[Json, ...] = ()
    resize: tuple[str, str] | None = None  # pod, cpu


def demand(rng: Random, name: str, cluster: MiniCluster) -> Demand:
    priority = rng.choice(PRIORITIES)
    running = [p for p in cluster.list("Pod") if is_running(p) and not p["metadata"].get("ownerReferences")]
    kind = rng.choice(("pod", "pod", "gang", "deployment", "resize"))
    if kind == "resize" and running:
        cpu = rng.choice(("1", "2", "3", "4", "6"))
        return Demand(name, resize=(rng.choice(running)["metadata"]["name"], cpu))
    if kind == "gang":
        return Demand(name, tuple(gang(rng, name, priority)))
    if kind == "deployment":
        return Demand(name, (deployment(rng, name, priority),))
    return Demand(name, (pod(rng, name, priority),))


@dataclass(frozen=True, slots=True)
class Happened:
    """Pods on nodes, by name; of a Deployment, whose pods have no names beforehand, how many on each."""

    victims: frozenset[str]
    placed: tuple[tuple[str, str | int], ...]
    granted: bool = False


def is_running(pod: Json) -> bool:
    leaving = "deletionTimestamp" in pod["metadata"]
    return bool(pod["spec"].get("nodeName")) and not leaving and pod["status"].get("phase") == "Running"


@dataclass(slots=True)
class Foretelling:
    rng: Random
    cluster: MiniCluster
    decisions: list[Decision]
    ends: Counter[str] = field(default_factory=Counter)

    async def play(self) -> None:
        submit(self.cluster, population(self.rng))
        await asyncio.sleep(SETTLED)
        for number in range(DEMANDS_PER_CLUSTER):
            self._tidy()
            await asyncio.sleep(SETTLED)
            await self._one(demand(self.rng, f"new-{number}", self.cluster))

    async def _one(self, demand: Demand) -> None:
        report = self._asked(demand)
        before = {p["metadata"]["uid"]: p["metadata"]["name"] for p in self.cluster.list("Pod")}
        unrelated = self.rng.random() < 0.1
        if unrelated:
            await self._change_what_does_not_matter(demand)
        self.decisions.clear()
        had = self._submit(demand)
        await asyncio.sleep(SETTLED)
        said, happened = _said(demand, report), self._happened(demand, before)
        if self._victims_of_others(demand):
            # Victims that were created again preempt in their turn, and may make other room for the demand.
            self.ends["with a cascade"] += 1
            said, happened = replace(said, placed=()), replace(happened, placed=())
        assert happened == said, f"{demand}: said {report.outcome} {said}, but what happened is {happened}"
        kind = "resize" if demand.resize else demand.objects[0]["kind"]
        self.ends[f"{kind}: {report.outcome}"] += 1
        self.ends["after unrelated changes"] += unrelated
        if report.outcome is WhatIfOutcome.UNSCHEDULABLE or report.waiting:
            self._withdraw(demand, had)

    def _asked(self, demand: Demand) -> WhatIfReport:
        resources = [kind.resource for kind in KINDS if kind.kind not in ("Event", "Secret")]
        objects = tuple(api_object(item) for item in self.cluster.store.list(resources).items)
        resizes: tuple[Resize, ...] = ()
        if demand.resize is not None:
            name, cpu = demand.resize
            resizes = (Resize(ObjectName("default", name), (("cpu", cpu),)),)
        question = WhatIfQuestion(
            decoded(ClusterObjects(objects, clock(), str(self.cluster.store.version))),
            settings_of(default_configuration(), EVERYTHING),
            manifests=tuple(Manifest(body) for body in demand.objects),
            resizes=resizes,
        )
        answer = whatif(question, clock())
        assert not answer.problems, answer.problems
        (report,) = answer.reports
        return report

    async def _change_what_does_not_matter(self, demand: Demand) -> None:
        data = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": demand.name, "namespace": "default"},
        }
        shut = {**node(self.rng, f"shut-{demand.name}"), "spec": {"unschedulable": True}}
        submit(self.cluster, [data, shut])
        await asyncio.sleep(30)

    def _submit(self, demand: Demand) -> Any:
        """Returns the requests that a pod had before its resize."""
        if demand.resize is None:
            submit(self.cluster, demand.objects)
            return None
        name, cpu = demand.resize
        return self._resize(name, {"cpu": cpu})

    def _resize(self, name: str, requests: Json) -> Json:
        key = Key("pods", "default", name)
        (container,) = parsed(self.cluster.store.get(key))["spec"]["containers"]
        had: Json = container["resources"]["requests"]

        def changed(body: Json) -> Json:
            resources = {**container["resources"], "requests": {**had, **requests}}
            return {**body, "spec": {**body["spec"], "containers": [{**container, "resources": resources}]}}

        self.cluster.store.patch(key, changed, Part.MAIN)
        return had

    def _happened(self, demand: Demand, before: dict[str, str]) -> Happened:
        pods = self.cluster.list("Pod")
        there = {p["metadata"]["uid"] for p in pods} | self._victims_of_others(demand)
        victims = frozenset(name for uid, name in before.items() if uid not in there)
        if demand.resize is not None:
            name, cpu = demand.resize
            return Happened(victims, (), granted=self._granted(name, cpu))
        bound = [p for p in pods if p["spec"].get("nodeName") and _is_of(demand, p)]
        return Happened(
            victims, _placed(demand, [(p["metadata"]["name"], p["spec"]["nodeName"]) for p in bound])
        )

    def _victims_of_others(self, demand: Demand) -> set[str]:
        """A victim that its controller creates again may preempt in its turn."""
        name = demand.resize[0] if demand.resize is not None else demand.name
        others = (
            d for d in self.decisions if d.demand.name != name and not d.demand.name.startswith(f"{name}-")
        )
        return {victim.pod.uid for d in others if d.preemption is not None for victim in d.preemption.victims}

    def _granted(self, name: str, cpu: str) -> bool:
        found = self.cluster.read("Pod", "default", name)
        if found is None:
            return False
        (status,) = found["status"]["containerStatuses"]
        pending = any(c["type"] == "PodResizePending" for c in found["status"]["conditions"])
        return not pending and str(status["allocatedResources"]["cpu"]) == cpu

    def _withdraw(self, demand: Demand, had: Any) -> None:
        if demand.resize is not None and self.cluster.read("Pod", "default", demand.resize[0]) is not None:
            self._resize(demand.resize[0], had)
        for body in demand.objects:
            self.cluster.delete(body["kind"], "default", body["metadata"]["name"])

    def _tidy(self) -> None:
        """Room for more demands, and no pod that waits."""
        pods = self.cluster.list("Pod")
        alone = [p for p in pods if is_running(p) and not p["metadata"].get("ownerReferences")]
        crowded = max(0, len(pods) - _CROWDED)
        for one in self.rng.sample(alone, min(len(alone), crowded)):
            self.cluster.delete("Pod", "default", one["metadata"]["name"])
        for one in pods:
            if not one["spec"].get("nodeName") and not one["metadata"].get("ownerReferences"):
                self.cluster.delete("Pod", "default", one["metadata"]["name"])


def api_object(stored: Any) -> ApiObject:
    kind = BY_RESOURCE[stored.key.resource]
    return ApiObject(kind.kind, str(parsed(stored).get("apiVersion") or kind.api_version), stored.raw)


def _is_of(demand: Demand, pod: Json) -> bool:
    first = demand.objects[0]
    if first["kind"] == "Deployment":
        return bool(pod["metadata"]["labels"].get("deployment") == first["metadata"]["name"])
    return pod["metadata"]["name"] in {body["metadata"]["name"] for body in demand.objects}


def _placed(demand: Demand, places: list[tuple[str, str]]) -> tuple[tuple[str, str | int], ...]:
    if demand.objects[0]["kind"] == "Deployment":
        return tuple(sorted(Counter(where for _, where in places).items()))
    return tuple(sorted(places))


def _said(demand: Demand, report: WhatIfReport) -> Happened:
    victims = frozenset(victim.pod.name for victim in report.victims)
    if demand.resize is not None:
        return Happened(victims, (), granted=report.outcome is not WhatIfOutcome.UNSCHEDULABLE)
    return Happened(victims, _placed(demand, [(pod.name, where) for pod, where in report.placements]))


# --- many ----------------------------------------------------------------------------------------


def foretell(seed: int) -> Counter[str]:
    """Plays the demands of one cluster; how each ended."""

    async def main() -> Counter[str]:
        decisions: list[Decision] = []
        async with cluster_in_process(default_configuration(), clock, decisions.append) as cluster:
            told = Foretelling(Random(f"foretold {seed}"), cluster, decisions)
            await told.play()
            return told.ends

    return run(main())


def seeds(demands: int) -> range:
    return range(demands // DEMANDS_PER_CLUSTER)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.foretold", description=__doc__)
    parser.add_argument("demands", type=int)
    parser.add_argument("--seed", type=int)
    args = parser.parse_args()
    chosen = [args.seed] if args.seed is not None else [*seeds(args.demands)]
    ends: Counter[str] = Counter()
    for seed in chosen:
        try:
            ends += foretell(seed)
        except BaseExceptionGroup as group:
            print(f"seed {seed}: {group.exceptions[0]}")
            ends["wrong"] += 1
        except AssertionError as error:
            print(f"seed {seed}: {error}")
            ends["wrong"] += 1
    for end, number in sorted(ends.items()):
        print(f"{number:5} {end}")


if __name__ == "__main__":
    main()
