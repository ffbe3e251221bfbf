"""Random changes to Deployments, StatefulSets and DaemonSets that run: what a what-if says is what happens.

`python -m tests.simulation.rolled_out SEEDS` plays so many clusters and tells how their rollouts ended.
"""

import argparse
import asyncio
from collections import Counter
from dataclasses import dataclass, field
from random import Random

from reprieve.assembly.scheduler_settings import EVERYTHING, settings_of
from reprieve.config import default_configuration
from reprieve.inquiry.asked_demands import WhatIfQuestion
from reprieve.inquiry.cluster_objects import ClusterObjects
from reprieve.inquiry.decoded_cluster import decoded
from reprieve.inquiry.manifests import Manifest
from reprieve.inquiry.whatif import WhatIfAnswer, whatif
from reprieve.model.json import Json
from reprieve.scheduler.reporting.decision import Decision
from reprieve_minicluster.assembly.mini_cluster import change, cluster_in_process, submit
from reprieve_minicluster.cluster import MiniCluster
from reprieve_minicluster.kinds import KINDS
from reprieve_minicluster.virtual_time import clock, run
from tests.simulation.foretold import PRIORITIES, api_object, budget, node, pod, priority_classes

CHANGES_PER_CLUSTER = 5
SETTLED = 600.0  # seconds: every rollout has ended, or waits for ever
_KINDS = ("Deployment", "StatefulSet", "DaemonSet")


# --- random objects ------------------------------------------------------------------------------


def template(rng: Random, name: str) -> Json:
    requests = {"cpu": rng.choice(("500m", "1", "1500m", "2", "3"))}
    spec: Json = {
        "schedulerName": "reprieve",
        "priorityClassName": f"p{rng.choice(PRIORITIES)}",
        "terminationGracePeriodSeconds": rng.choice((1, 5, 20)),
        "containers": [{"name": "main", "image": "pause", "resources": {"requests": requests}}],
    }
    if rng.random() < 0.15:
        spec["nodeSelector"] = {"zone": rng.choice("ab")}
    meta: Json = {"labels": {"app": rng.choice("xyz"), "set": name}}
    if rng.random() < 0.2:
        meta["annotations"] = {"controller.kubernetes.io/pod-deletion-cost": str(rng.randint(-2, 2))}
    return {"metadata": meta, "spec": spec}


def workload(rng: Random, kind: str, name: str) -> Json:
    spec: Json = {"selector": {"matchLabels": {"set": name}}, "template": template(rng, name)}
    if rng.random() < 0.3:
        spec["minReadySeconds"] = rng.choice((1, 20, 100))
    match kind:
        case "Deployment":
            spec |= {"replicas": rng.randint(1, 5), "strategy": strategy(rng)}
        case "StatefulSet":
            spec |= {"replicas": rng.randint(1, 4), "serviceName": name, "updateStrategy": ordered(rng)}
            spec["podManagementPolicy"] = rng.choice(("OrderedReady", "Parallel"))
        case _:
            spec["updateStrategy"] = by_node(rng)
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": meta, "spec": spec}


def strategy(rng: Random) -> Json:
    if rng.random() < 0.25:
        return {"type": "Recreate"}
    surge, unavailable = rng.choice(((0, 1), (1, 0), (1, 1), (2, 1), ("25%", "25%"), ("50%", 0), (0, "50%")))
    return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}


def ordered(rng: Random) -> Json:
    if rng.random() < 0.15:
        return {"type": "OnDelete"}
    return {"type": "RollingUpdate", "rollingUpdate": {"partition": rng.choice((0, 0, 0, 1, 2))}}


def by_node(rng: Random) -> Json:
    if rng.random() < 0.15:
        return {"type": "OnDelete"}
    surge, unavailable = rng.choice(((0, 1), (0, 2), (0, "50%"), (1, 0), ("50%", 0)))
    return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}


def changed(rng: Random, body: Json) -> Json:
    """Another template, another number of pods, or both; a node selector stays."""
    spec, name = dict(body["spec"]), body["metadata"]["name"]
    what = rng.choice(("template", "template", "replicas", "both", "nothing"))
    if what in ("template", "both"):
        before, after = spec["template"], template(rng, name)
        kept = {"nodeSelector": before["spec"]["nodeSelector"]} if "nodeSelector" in before["spec"] else {}
        spec["template"] = {"metadata": before["metadata"], "spec": {**kept, **after["spec"]}}
    if what in ("replicas", "both") and "replicas" in spec:
        spec["replicas"] = rng.randint(0, 6)
    return {**body, "spec": spec}


# --- one cluster ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RolledOut:
    """Of the pods that there were: ``victims`` of the changed object, and which of its own are ``stopped``.

    ``pods``: how many new ones are on each node; those of a Deployment have no names beforehand.
    """

    victims: frozenset[str]
    stopped: frozenset[str]
    pods: tuple[tuple[str, int], ...]


@dataclass(slots=True)
class RollingOut:
    rng: Random
    cluster: MiniCluster
    decisions: list[Decision]
    ends: Counter[str] = field(default_factory=Counter)

    async def play(self) -> None:
        rng = self.rng
        objects = [*priority_classes(), *(node(rng, f"n{i}") for i in range(rng.randint(2, 5)))]
        objects += [budget(rng, f"budget-{i}") for i in range(rng.randint(0, 1))]
        objects += [workload(rng, rng.choice(_KINDS), f"set-{i}") for i in range(rng.randint(2, 4))]
        objects += [pod(rng, f"alone-{i}", rng.choice(PRIORITIES[:4])) for i in range(rng.randint(2, 12))]
        submit(self.cluster, objects)
        await asyncio.sleep(SETTLED)
        workloads = [body for body in objects if body["kind"] in _KINDS]
        for _ in range(CHANGES_PER_CLUSTER):
            row = rng.randrange(len(workloads))
            workloads[row] = changed(rng, workloads[row])
            await self._one(workloads[row])

    async def _one(self, body: Json) -> None:
        answer, before = self._asked(body), self._pods()
        self.decisions.clear()
        kind, name = body["kind"], body["metadata"]["name"]
        change(self.cluster, kind, ("default", name), {"spec": body["spec"]})
        await asyncio.sleep(SETTLED)
        said, happened = self._said(answer, before), self._happened(before, name)
        (report,) = answer.reports
        if said != happened and any("one of them may take room earlier or later" in n for n in answer.notes):
            self.ends["the difference is named"] += 1
            return
        assert said == happened, f"{body}: said {report.outcome} {said}, but what happened is {happened}"
        self.ends[f"{kind}: {report.outcome}"] += 1
        self.ends["pods stopped"] += len(said.stopped)
        self.ends["victims"] += len(said.victims)

    def _asked(self, body: Json) -> WhatIfAnswer:
        resources = [kind.resource for kind in KINDS if kind.kind not in ("Event", "Secret")]
        objects = tuple(api_object(item) for item in self.cluster.store.list(resources).items)
        question = WhatIfQuestion(
            decoded(ClusterObjects(objects, clock(), str(self.cluster.store.version))),
            settings_of(default_configuration(), EVERYTHING),
            manifests=(Manifest(body),),
        )
        answer = whatif(question, clock())
        assert not answer.problems, answer.problems
        return answer

    def _pods(self) -> dict[str, Json]:
        return {p["metadata"]["uid"]: p for p in self.cluster.list("Pod")}

    def _said(self, answer: WhatIfAnswer, before: dict[str, Json]) -> RolledOut:
        (report,) = answer.reports
        victims = frozenset(v.pod.name for v in report.victims if v.pod.uid in before)
        assert report.rollout is not None
        stopped = frozenset(pod.name for pod in report.rollout.stopped if pod.uid in before)
        return RolledOut(victims, stopped, _counted([where for _, where in report.placements]))

    def _happened(self, before: dict[str, Json], name: str) -> RolledOut:
        own = [d for d in self.decisions if d.demand.name.startswith(f"{name}-")]
        victims = {v.pod for d in own if d.preemption is not None for v in d.preemption.victims}
        here = self._pods()
        gone = frozenset(v.name for v in victims if v.uid in before and v.uid not in here)
        own_now = (p for p in here.values() if _is_of(name, p) and p["spec"].get("nodeName"))
        ran = {uid for uid, p in before.items() if p["spec"].get("nodeName")}
        bound = [p["spec"]["nodeName"] for p in own_now if p["metadata"]["uid"] not in ran]
        stopped = (p["metadata"]["name"] for uid, p in before.items() if uid not in here and _is_of(name, p))
        return RolledOut(gone, frozenset(stopped), _counted(bound))


def _is_of(name: str, pod: Json) -> bool:
    return bool(pod["metadata"].get("labels", {}).get("set") == name)


def _counted(nodes: list[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(Counter(nodes).items()))


# --- many ----------------------------------------------------------------------------------------


def roll_out(seed: int) -> Counter[str]:
    """Plays the changes of one cluster; how each ended."""

    async def main() -> Counter[str]:
        decisions: list[Decision] = []
        async with cluster_in_process(default_configuration(), clock, decisions.append) as cluster:
            rolling = RollingOut(Random(f"rolled out {seed}"), cluster, decisions)
            await rolling.play()
            return rolling.ends

    return run(main())


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.rolled_out", description=__doc__)
    parser.add_argument("seeds", type=int)
    parser.add_argument("--seed", type=int)
    args = parser.parse_args()
    ends: Counter[str] = Counter()
    for seed in [args.seed] if args.seed is not None else range(args.seeds):
        try:
            ends += roll_out(seed)
        except (AssertionError, BaseExceptionGroup) as error:
            print(f"seed {seed}: {error.exceptions[0] if isinstance(error, BaseExceptionGroup) else error}")
            ends["wrong"] += 1
    for end, number in sorted(ends.items()):
        print(f"{number:5} {end}")


if __name__ == "__main__":
    main()
