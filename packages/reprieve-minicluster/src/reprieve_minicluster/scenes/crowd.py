"""A gang preempts in a crowded cluster: what kube-scheduler's algorithm would stop, and what is enough.

Both are asked with what `reprieve whatif` uses; nothing runs.
"""

import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import msgspec

from reprieve.assembly.inquiries import PolicyChoice, inquiry_settings
from reprieve.cli.terminal import show_fitting as show
from reprieve.config.reprieve_args import Preset
from reprieve.inquiry.asked_demands import WhatIfQuestion
from reprieve.inquiry.cluster_objects import ApiObject, ClusterObjects
from reprieve.inquiry.decoded_cluster import decoded
from reprieve.inquiry.joined_files import consistent
from reprieve.inquiry.manifests import Manifest
from reprieve.inquiry.whatif import WhatIfReport, whatif
from reprieve.model.json import Json
from reprieve.report.text_layout import BLANK, TextLine, table
from reprieve_minicluster.kinds import BY_NAME
from reprieve_minicluster.scenes import ScenePacing

NODES, GROUPS, SEED = 100, 180, 3
PODS, CPU = 16, 10  # of the gang
_TAKEN_AT = 1_700_000_000.0
_ALGORITHMS = {
    "kube-scheduler's": PolicyChoice(str(Preset.UPSTREAM)),
    "LeastDisturbance": PolicyChoice("LeastDisturbance"),
}
_HEADER = ("ALGORITHM", "PODS", "GROUPS", "PRIORITY", "BEYOND BUDGETS", "SECONDS", "PROVED")
_CONCLUSION = (
    "Either plan makes room for the whole gang. PROVED: no plan has a lower price. The price is the",
    "evictions beyond budgets first, then the highest priority, then the pods that stop.",
)


def play(pace: ScenePacing, command: str) -> None:
    objects = [*CrowdedCluster(NODES, GROUPS, SEED).objects()]
    show(introduction(Counter(thing["kind"] for thing in objects)))
    pace.wait("the next step")
    rows = [comparison_row(name, *timed(choice, objects)) for name, choice in _ALGORITHMS.items()]
    show([TextLine("What each would stop, and up to which priority:"), BLANK])
    show([*table(_HEADER, rows, numbers=range(1, 6)), BLANK, *map(TextLine, _CONCLUSION)])
    whatif_command = f"{command.removesuffix('demo')}whatif -f gang.yaml --compare Upstream"
    show([TextLine(f"For your own cluster: {whatif_command}", whole=True)])


def introduction(counts: Counter[str]) -> list[TextLine]:
    nodes, pods, groups = counts["Node"], counts["Pod"], counts["PodGroup"]
    budgets = counts["PodDisruptionBudget"]
    lines = (
        f"{nodes} crowded nodes run {pods:,} pods of five priorities, most of them in {groups} groups that",
        f"are evicted as a whole; {budgets} budgets guard every fifth pod. Two algorithms make room for a",
        f"gang of {PODS} pods of {CPU} cpu that is more important than all of them.",
    )
    return [*map(TextLine, lines), BLANK]


def timed(choice: PolicyChoice, objects: Sequence[Json]) -> tuple[WhatIfReport, float]:
    """What would become of the gang, and how many seconds the answer took."""
    things = [ApiObject(one["kind"], one["apiVersion"], msgspec.json.encode(one)) for one in objects]
    cluster = decoded(consistent(ClusterObjects(tuple(things), _TAKEN_AT)))
    manifests = tuple(Manifest(body, "the gang") for body in gang("train", PODS, CPU))
    chosen = inquiry_settings(choice, cluster, [manifest.body for manifest in manifests])
    begin = time.perf_counter()
    question = WhatIfQuestion(cluster, chosen.settings, chosen.policy, manifests)
    (report,) = whatif(question, _TAKEN_AT).reports
    return report, time.perf_counter() - begin


def comparison_row(name: str, report: WhatIfReport, seconds: float) -> list[str]:
    groups = {victim.unit for victim in report.victims if victim.unit.startswith("PodGroup/")}
    numbers = (
        len(report.victims),
        len(groups),
        max(victim.priority for victim in report.victims),
        sum(exceeded.going - exceeded.allowed for exceeded in report.room.exceeded),
    )
    quality = report.room.quality
    is_known = quality is not None and (quality.proved or bool(quality.bound))
    proved = "-" if not is_known or quality is None else "yes" if quality.proved else "no"
    return [name, *map(str, numbers), f"{seconds:.1f}", proved]


# --- the cluster ----------------------------------------------------------------------------------


PRIORITIES = (0, 100, 200, 300, 400)
GANG_PRIORITY = 1000
_NODE_CPUS = (16, 16, 32)
_BUDGETS = 6
_TRIES = 20  # to find a node for a pod; a pod that finds none is left out


@dataclass(slots=True)
class CrowdedCluster:
    nodes: int
    groups: int
    seed: int
    _random: random.Random = field(init=False)
    _free: list[int] = field(init=False)  # cpu, of each node

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._free = [self._random.choice(_NODE_CPUS) for _ in range(self.nodes)]

    def objects(self) -> Iterator[Json]:
        yield from (_priority_class(value) for value in (*PRIORITIES, GANG_PRIORITY))
        yield from (_node(i, cpu) for i, cpu in enumerate(self._free))
        for i in range(_BUDGETS):
            yield _budget(i, self._random.randrange(3))
        for i in range(self.groups):
            yield from self._group(i)

    def _group(self, number: int) -> Iterator[Json]:
        """A group that goes whole, or, one of four, as many single pods. Members are spread at random."""
        priority, cpu = self._random.choice(PRIORITIES), self._random.choice((1, 2, 3))
        name, is_group = f"job-{number}", self._random.random() < 0.75
        on = [node for _ in range(self._random.randint(3, 9)) if (node := self._room(cpu)) is not None]
        if is_group and on:
            yield _pod_group(name, priority, len(on), mode="all")
        for i, node in enumerate(on):
            budget = self._random.randrange(_BUDGETS) if self._random.random() < 0.2 else None
            labels = {} if budget is None else {"budget": f"budget-{budget}"}
            pod = _pod(f"{name}-{i}", priority, cpu, name if is_group else "")
            pod["metadata"]["labels"] = labels
            pod["spec"]["nodeName"] = _node_name(node)
            pod["status"] = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
            yield pod

    def _room(self, cpu: int) -> int | None:
        for _ in range(_TRIES):
            node = self._random.randrange(self.nodes)
            if self._free[node] >= cpu:
                self._free[node] -= cpu
                return node
        return None


def gang(name: str, pods: int, cpu: int) -> Iterator[Json]:
    """A gang that does not run yet."""
    yield _pod_group(name, GANG_PRIORITY, pods, mode="single")
    yield from (_pod(f"{name}-{i}", GANG_PRIORITY, cpu, name) for i in range(pods))


def _pod_group(name: str, priority: int, pods: int, mode: str) -> Json:
    spec = {
        "schedulingPolicy": {"gang": {"minCount": pods}},
        "disruptionMode": {mode: {}},
        "priorityClassName": _class_name(priority),
        "priority": priority,
    }
    return _thing("scheduling.k8s.io/v1beta1", "PodGroup", name, spec=spec)


def _pod(name: str, priority: int, cpu: int, group: str) -> Json:
    spec: Json = {
        "priorityClassName": _class_name(priority),
        "priority": priority,
        "schedulerName": "reprieve",
        "containers": [{"name": "main", "image": "main", "resources": {"requests": {"cpu": str(cpu)}}}],
    }
    if group:
        spec["schedulingGroup"] = {"podGroupName": group}
    return _thing("v1", "Pod", name, spec=spec)


def _node(number: int, cpu: int) -> Json:
    allocatable = {"cpu": str(cpu), "memory": f"{4 * cpu}Gi", "pods": "110"}
    return _thing("v1", "Node", _node_name(number), status={"allocatable": allocatable})


def _budget(number: int, allowed: int) -> Json:
    name = f"budget-{number}"
    spec = {"selector": {"matchLabels": {"budget": name}}}
    return _thing("policy/v1", "PodDisruptionBudget", name, spec=spec, status={"disruptionsAllowed": allowed})


def _priority_class(value: int) -> Json:
    return _thing("scheduling.k8s.io/v1", "PriorityClass", _class_name(value), value=value)


def _thing(version: str, kind: str, name: str, **fields: object) -> Json:
    namespace = {"namespace": "default"} if BY_NAME[kind].namespaced else {}
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, **namespace}, **fields}


def _node_name(number: int) -> str:
    return f"node-{number:02}"


def _class_name(value: int) -> str:
    return f"priority-{value}"
