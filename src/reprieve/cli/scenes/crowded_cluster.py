"""A crowded cluster as plain Kubernetes objects: nodes of two sizes, groups that go whole, budgets.

The same seed gives the same cluster.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from reprieve.model.json import Json

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
    namespace = {} if kind in ("Node", "PriorityClass") else {"namespace": "default"}
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, **namespace}, **fields}


def _node_name(number: int) -> str:
    return f"node-{number:02}"


def _class_name(value: int) -> str:
    return f"priority-{value}"
