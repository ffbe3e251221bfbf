"""A cluster as the page's API tells of it, made from a script: small enough to read, or very large.

It knows no HTTP. Whatever changes it returns the change as the stream carries it.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from reprieve.model.json import Json

Row = list[Any]

PENDING, RUNNING, LEAVING, MARKED, DONE = range(5)
NOW = 1_763_289_720.0  # 2025-11-16 10:42:00 UTC
RESOURCES = ["cpu", "memory", "nvidia.com/gpu"]


@dataclass
class Node:
    name: str
    pool: str
    zone: str
    allocatable: list[int]
    ready: bool = True
    cordoned: bool = False
    taints: list[str] = field(default_factory=list)

    def row(self) -> Row:
        closed = [int(self.ready), int(self.cordoned)]
        return [self.name, self.pool, self.zone, *closed, self.allocatable, self.taints]


@dataclass
class Pod:
    key: str
    priority: int
    requests: list[int]
    node: str | None = None
    group: str | None = None
    state: int = RUNNING
    nominated: str | None = None
    reason: str | None = None

    @property
    def uid(self) -> str:
        return f"uid-{self.key}"

    def row(self) -> Row:
        return [
            self.key,
            self.uid,
            self.node,
            self.priority,
            self.group,
            self.requests,
            self.state,
            self.nominated,
            self.reason,
        ]


@dataclass
class World:
    """What the server knows."""

    cluster: str = "demo"
    mode: str = "up"
    time: float = NOW
    known_since: float | None = None
    can: dict[str, bool] = field(
        default_factory=lambda: dict.fromkeys(("whatif", "apply", "history", "why", "exposure"), True)
    )
    nodes: dict[str, Node] = field(default_factory=dict)
    groups: dict[str, Row] = field(default_factory=dict)
    pods: dict[str, Pod] = field(default_factory=dict)
    decisions: dict[str, Json] = field(default_factory=dict)
    details: dict[str, Json] = field(default_factory=dict)

    def keyframe(self, revision: int) -> Json:
        nodes = {name: index for index, name in enumerate(self.nodes)}
        groups = {key: index for index, key in enumerate(self.groups)}
        return {
            "revision": revision,
            "time": self.time,
            "knownSince": self.known_since,
            "cluster": self.cluster,
            "mode": self.mode,
            "can": self.can,
            "resources": RESOURCES,
            "nodes": [node.row() for node in self.nodes.values()],
            "groups": list(self.groups.values()),
            "pods": [
                [
                    *pod.row()[:2],
                    nodes.get(pod.node or "", -1),
                    pod.priority,
                    groups.get(pod.group or "", -1),
                    pod.requests,
                    pod.state,
                    nodes.get(pod.nominated or "", -1),
                    pod.reason,
                ]
                for pod in self.pods.values()
            ],
            "decisions": list(self.decisions.values()),
        }

    def add_node(self, node: Node) -> Json:
        self.nodes[node.name] = node
        return {"node": node.row()}

    def add_group(self, key: str, priority: int, count: int, mode: str = "all") -> Json:
        self.groups[key] = [key, priority, count, mode, None]
        return {"group": self.groups[key]}

    def put(self, pod: Pod, **changed: Any) -> Json:
        for name, value in changed.items():
            setattr(pod, name, value)
        self.pods[pod.uid] = pod
        return {"pod": pod.row()}

    def remove(self, pod: Pod) -> Json:
        del self.pods[pod.uid]
        return {"podGone": pod.uid}

    def decide(self, summary: Json) -> Json:
        self.decisions[summary["id"]] = summary
        return {"decision": summary}

    def on(self, node: str) -> list[Pod]:
        return [pod for pod in self.pods.values() if pod.node == node]


def summary(number: int, **more: Any) -> Json:
    """A decision as lists show it; what is not given is that of a lone pod which preempts."""
    base: Json = {
        "id": f"d-{number}",
        "time": NOW - 60 * (320 - number),
        "demand": {"kind": "Pod", "key": "team-a/web", "priority": 1000, "pods": 1},
        "outcome": "preempting",
        "stage": "ended",
        "ended": "RoomUsed",
        "victims": 1,
        "spared": 0,
        "sparedPods": 0,
        "why": "the best of 8 placements by: lowest highest priority",
        "nodes": [],
        "cost": {"BudgetsBroken": 0, "HighestPriority": 50, "PodsStopped": 1},
        "bound": {"BudgetsBroken": 0, "HighestPriority": 50, "PodsStopped": 1},
        "proved": True,
    }
    return {**base, **more}


# --- a cluster that fits on a screen -------------------------------------------------------------------

POOLS = (
    ("gpu8-h100", 24, [128_000, 1_048_576, 8]),
    ("gpu4-a100", 16, [64_000, 524_288, 4]),
    ("cpu16", 20, [16_000, 65_536, 0]),
)
TEAMS = ("team-a", "team-b", "team-c")
DEMANDS = (
    ("team-a/web", 1000, "lowest highest priority"),
    ("team-c/serve", 1000, "fewest pods"),
    ("team-b/sweep", 100, "smallest sum of victim priorities"),
    ("team-a/notebook", 500, "lowest highest priority"),
)


def small() -> World:
    world = World()
    chance = random.Random(7)
    for pool, count, amounts in POOLS:
        for number in range(count):
            zone = "ab"[number % 2]
            world.add_node(Node(f"{pool.split('-')[0]}-{number}", pool, f"zone-{zone}", list(amounts)))
    for key, priority, count in (
        ("team-b/train-a", 50, 16),
        ("team-c/eval", 100, 8),
        ("team-a/finetune", 500, 6),
    ):
        world.add_group(key, priority, count, "all" if priority < 500 else "single")
    _fill_accelerators(world, chance)
    _fill_processors(world, chance)
    world.nodes["gpu8-5"].cordoned = True
    world.nodes["cpu16-7"].ready = False
    _decisions(world)
    _pending(world)
    return world


def _fill_accelerators(world: World, chance: random.Random) -> None:
    numbers = dict.fromkeys(world.groups, 0)
    sizes = {key: row[2] for key, row in world.groups.items()}
    for node in [node for node in world.nodes.values() if node.allocatable[2]]:
        free = node.allocatable[2] - chance.choice((0, 0, 0, 1, 2))
        while free > 0:
            size = min(free, chance.choice((1, 1, 2, 4)))
            free -= size
            open_groups = [key for key in numbers if numbers[key] < sizes[key]]
            if open_groups and size > 1 and chance.random() < 0.7:
                key = chance.choice(open_groups)
                pod = Pod(f"{key}-{numbers[key]}", world.groups[key][1], [], node.name, key)
                numbers[key] += 1
            else:
                kind = chance.choice(("sweep", "serve", "notebook"))
                name = f"{chance.choice(TEAMS)}/{kind}-{len(world.pods)}"
                pod = Pod(name, chance.choice((-10, 0, 50, 50, 100, 1000)), [], node.name)
            pod.requests = [size * 8_000, size * 65_536, size]
            world.put(pod)


def _fill_processors(world: World, chance: random.Random) -> None:
    for node in [node for node in world.nodes.values() if not node.allocatable[2]]:
        free = node.allocatable[0] - chance.choice((0, 1_000, 4_000, 8_000))
        while free > 0:
            cpu = min(free, chance.choice((500, 1_000, 2_000, 4_000)))
            free -= cpu
            name = f"{chance.choice(TEAMS)}/{chance.choice(('web', 'etl', 'cron'))}-{len(world.pods)}"
            world.put(Pod(name, chance.choice((-10, 0, 0, 100, 1000)), [cpu, cpu * 4, 0], node.name))


def _decisions(world: World) -> None:
    for number in range(300, 316):
        key, priority, why = DEMANDS[number % len(DEMANDS)]
        demand = {"kind": "Pod", "key": f"{key}-{number % 7}", "priority": priority, "pods": 1}
        why = f"the best of {2 + number % 7} placements by: {why}"
        spared = {"spared": number % 3, "sparedPods": 4 * (number % 3)}
        world.decide(summary(number, demand=demand, victims=1 + number % 5, why=why, **spared))
    refused = {"kind": "PodGroup", "key": "team-c/giant", "priority": 100, "pods": 64}
    world.decide(
        summary(
            316,
            demand=refused,
            outcome="refused",
            stage=None,
            ended=None,
            victims=0,
            why="no running pod has a priority below 100 on enough nodes",
            cost=None,
            bound=None,
            proved=None,
        )
    )
    world.decide(urgent_arrives(world))


def urgent_arrives(world: World, number: int = 317) -> Json:
    """A gang of eight pods preempts one group, spares another, and has its victims leaving."""
    key = "team-a/urgent"
    world.add_group(key, 900, 8)
    victims = [pod for pod in world.pods.values() if pod.group == "team-b/train-a"]
    nodes = sorted({pod.node for pod in victims if pod.node})
    for index, victim in enumerate(victims):
        victim.state = LEAVING if index % 3 else MARKED
    for index in range(8):
        world.put(
            Pod(
                f"{key}-{index}",
                900,
                [16_000, 131_072, 2],
                None,
                key,
                PENDING,
                nodes[index % len(nodes)],
                f"waits for {len(victims)} victims to leave (decision d-{number})",
            )
        )
    demand = {"kind": "PodGroup", "key": key, "priority": 900, "pods": 8}
    cost = {"BudgetsBroken": 0, "HighestPriority": 50, "PodsStopped": len(victims)}
    found = summary(
        number,
        time=NOW - 18,
        demand=demand,
        stage="draining",
        ended=None,
        victims=len(victims),
        spared=20,
        sparedPods=1936,
        nodes=nodes,
        cost=cost,
        bound={**cost, "PodsStopped": len(victims) - 2},
        proved=False,
    )
    world.details[found["id"]] = _detail(found, victims)
    return found


def _detail(found: Json, victims: list[Pod]) -> Json:
    """The document of a decision, with what the page shows beside it."""
    stages = ("nominated", "marking", "evicting", "draining")
    return {
        "id": found["id"],
        "kind": "Decision",
        "summary": found,
        "stages": [{"stage": s, "time": found["time"] + 2 * i} for i, s in enumerate(stages)],
        "preemption": {
            "victims": [_victim(pod) for pod in victims],
            "pods": len(victims),
            "spared": [
                _spared("PodGroup/team-c/eval", 8, 100, None, "there is room beside it"),
                _spared("PodGroup/team-a/finetune", 6, 500, 100, "other victims have lower priorities"),
            ],
            "unitsSpared": found["spared"],
            "podsSpared": found["sparedPods"],
            "losers": [
                _loser("gpu4-0", 8, 100, ["PodGroup/team-c/eval"], 1, "lowest highest priority"),
                _loser("gpu8-1", 31, 50, [f"Pod/team-b/job-{i}" for i in range(20)], 31, "fewest pods"),
            ],
            "plans": 8,
            "exhaustive": False,
            "choice": found["why"],
        },
        "findings": [
            _finding("node is cordoned", 1, ["gpu8-5"]),
            _finding("too few nvidia.com/gpu", 20, ["cpu16-0", "cpu16-1", "cpu16-2"]),
        ],
        "placements": [
            {"pod": _target(f"team-a/urgent-{i}"), "node": found["nodes"][i % len(found["nodes"])]}
            for i in range(8)
        ],
        "cli": f"reprieve why {found['id']}",
        "text": f"PodGroup team-a/urgent (8 pods, priority 900) preempts {len(victims)} pods.\n",
    }


def _target(key: str, uid: str = "") -> Json:
    namespace, _, name = key.partition("/")
    return {"kind": "Pod", "namespace": namespace, "name": name, "uid": uid}


def _victim(pod: Pod) -> Json:
    return {
        "pod": _target(pod.key, pod.uid),
        "node": pod.node,
        "priority": pod.priority,
        "ownPriority": None,
        "unit": f"PodGroup/{pod.group}" if pod.group else f"Pod/{pod.key}",
        "budgets": [],
        "because": {"code": "RoomNeeded", "text": f"{pod.node} is short of nvidia.com/gpu by 2"},
    }


def _spared(unit: str, pods: int, priority: int, own: int | None, text: str) -> Json:
    because = {"code": "FitsBeside", "text": text}
    return {"unit": unit, "pods": pods, "priority": priority, "ownPriority": own, "because": because}


def _loser(domain: str, pods: int, highest: int, units: list[str], count: int, text: str) -> Json:  # noqa: PLR0913, PLR0917
    cost = {"pods": pods, "highest": highest, "broken": 0, "units": units, "unitCount": count}
    return {"domain": domain, **cost, "lostBy": {"code": "Criterion", "text": text}}


def _finding(text: str, nodes: int, examples: list[str]) -> Json:
    reason = {"code": "Reason", "detail": "", "text": text}
    return {"reason": reason, "nodes": nodes, "curable": False, "examples": examples}


def _pending(world: World) -> None:
    short = "0/60 nodes are available: 40 Insufficient nvidia.com/gpu, 20 node(s) didn't match node affinity"
    world.add_group("team-c/giant", 100, 64)
    for index in range(64):
        giant = Pod(f"team-c/giant-{index}", 100, [8_000, 65_536, 1], None, "team-c/giant", PENDING)
        world.put(giant, reason=short)
    world.put(
        Pod("team-b/late", -10, [4_000, 16_384, 0], None, None, PENDING, None, "0/60 nodes: Insufficient cpu")
    )


# --- a cluster as large as the page must stand -----------------------------------------------------------


def large(nodes: int = 5_000, pods: int = 50_000) -> World:
    world = World(cluster="large")
    chance = random.Random(11)
    pools = (("gpu8-h100", 0.36, 8), ("gpu4-a100", 0.24, 4), ("cpu64", 0.4, 0))
    names: list[str] = []
    for pool, share, gpus in pools:
        for number in range(int(nodes * share)):
            name = f"{pool}-{number}"
            names.append(name)
            world.add_node(Node(name, pool, f"zone-{'abc'[number % 3]}", [64_000, 262_144, gpus]))
    for number in range(200):
        world.add_group(f"team-{number % 12}/train-{number}", 50 + 50 * (number % 3), 32)
    keys = list(world.groups)
    for number in range(pods):
        node = world.nodes[names[number % len(names)]]
        turn = number // len(names)
        gpus = int(turn < node.allocatable[2] and number % 11 > 0)
        key = keys[number % 200] if number % 3 == 0 else None
        priority = world.groups[key][1] if key else chance.choice((-10, 0, 0, 100, 500, 1000))
        name = f"{key}-{number}" if key else f"team-{number % 12}/job-{number}"
        world.put(Pod(name, priority, [chance.choice((2_000, 4_000, 6_000)), 16_384, gpus], node.name, key))
    for number in range(200, 320):
        world.decide(summary(number, victims=1 + number % 7, nodes=[names[number % len(names)]]))
    return world


def churn(world: World, rounds: int, size: int = 500) -> Iterator[list[Json]]:
    """Rounds of changes, as a busy cluster has them: pods begin to leave, others come back."""
    chance = random.Random(13)
    pods = list(world.pods.values())
    for _ in range(rounds):
        some = chance.sample(pods, size)
        yield [world.put(pod, state=LEAVING if pod.state == RUNNING else RUNNING) for pod in some]
