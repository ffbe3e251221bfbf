"""The least disturbance there can be, from Kubernetes objects as JSON: a model of its own, solved exactly.

Written from the definitions of the criteria. It shares no code with the search: it reads the objects itself,
has one variable for each unit and for each member on each node, and no ceilings or patterns. Room counts, and
which nodes a pod may use: it is for worlds without constraints between pods.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import highspy

from reprieve.model.json import Json

Terms = Mapping[int, float]
_UNITS = {"m": 1, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}
_OFFSET = 2**31  # which every victim counts for, whatever its priority
_NEVER = -(10**9)  # below any priority: no unit is evicted


def finite(cost: float) -> float:
    """Here the priority of no victim, and the start of one that has none, are numbers."""
    return cost if math.isfinite(cost) else _NEVER


def amount(resource: str, text: str) -> int:
    """Of cpu, thousandths."""
    for suffix, factor in _UNITS.items():
        if text.endswith(suffix):
            return int(text.removesuffix(suffix)) * factor
    return int(text) * (1000 if resource == "cpu" else 1)


def requests(pod: Json) -> dict[str, int]:
    found = {"pods": 1}
    for container in pod["spec"]["containers"]:
        for resource, text in container.get("resources", {}).get("requests", {}).items():
            found[resource] = found.get(resource, 0) + amount(resource, text)
    return found


def priority(thing: Json) -> int:
    given = thing["spec"].get("priority")
    return int(given) if given is not None else int(thing["spec"].get("priorityClassName", "p0")[1:])


def may_use(pod: Json, node: Json) -> bool:
    """Whether the node is not excluded for another reason than its room."""
    labels, spec = node["metadata"].get("labels", {}), node.get("spec", {})
    taints = [taint for taint in spec.get("taints", []) if taint["effect"] != "PreferNoSchedule"]
    if spec.get("unschedulable"):
        taints.append({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"})
    tolerations = pod["spec"].get("tolerations", [])
    tolerated = (any(_tolerates(toleration, taint) for toleration in tolerations) for taint in taints)
    return bool(pod["spec"].get("nodeSelector", {}).items() <= labels.items()) and all(tolerated)


def _tolerates(toleration: Json, taint: Json) -> bool:
    if toleration.get("effect", taint["effect"]) != taint["effect"]:
        return False
    if toleration.get("operator") == "Exists":
        return bool(toleration.get("key", taint["key"]) == taint["key"])
    return (toleration.get("key"), toleration.get("value", "")) == (taint["key"], taint.get("value", ""))


@dataclass(frozen=True)
class World:
    nodes: Sequence[Json]
    running: Sequence[Json]
    groups: Mapping[str, Json]
    budgets: Sequence[Json]
    members: Sequence[Json]
    needed: int  # how many members must fit
    classes: Mapping[str, Json] = field(default_factory=dict)
    home: str = ""  # the only node that members may use, if there is one

    def may_seat(self, member: Json, node: Json) -> bool:
        return self.home in ("", node["metadata"]["name"]) and may_use(member, node)

    def group_of(self, pod: Json) -> Json | None:
        return self.groups.get(pod["spec"].get("schedulingGroup", {}).get("podGroupName", ""))

    def priority_of(self, pod: Json) -> int:
        return priority(self.group_of(pod) or pod)

    def unit_of(self, pod: Json) -> str:
        group = self.group_of(pod)
        is_whole = group is not None and "all" in group["spec"].get("disruptionMode", {})
        return (
            f"group {group['metadata']['name']}" if group and is_whole else f"pod {pod['metadata']['name']}"
        )

    def units(self) -> dict[str, list[Json]]:
        """Those that may be evicted."""
        found: dict[str, list[Json]] = {}
        for pod in self.running:
            if self.priority_of(pod) < self.priority_of(self.members[0]):
                found.setdefault(self.unit_of(pod), []).append(pod)
        return {unit: pods for unit, pods in found.items() if not any(map(self.is_held, pods))}

    def is_held(self, pod: Json) -> bool:
        """Whether its class protects it for ever, as one that has seconds at all does here."""
        name = (self.group_of(pod) or pod)["spec"].get("priorityClassName", "")
        annotations = self.classes.get(name, {}).get("metadata", {}).get("annotations", {})
        minimum = annotations.get("preemption-toleration.scheduling.x-k8s.io/minimum-preemptable-priority")
        return minimum is not None and self.priority_of(self.members[0]) < int(minimum)

    def charged(self, budget: Json, pod: Json) -> bool:
        wanted = budget["spec"]["selector"]["matchLabels"]
        return bool(wanted.items() <= pod["metadata"].get("labels", {}).items())


def world_of(objects: Iterable[Json], members: Sequence[Json], needed: int) -> World:
    kinds: dict[str, list[Json]] = {}
    for thing in objects:
        kinds.setdefault(thing["kind"], []).append(thing)
    groups = {group["metadata"]["name"]: group for group in kinds.get("PodGroup", [])}
    running = [pod for pod in kinds.get("Pod", []) if "nodeName" in pod["spec"]]
    classes = {one["metadata"]["name"]: one for one in kinds.get("PriorityClass", [])}
    return World(
        kinds["Node"], running, groups, kinds.get("PodDisruptionBudget", []), members, needed, classes
    )


def resized(world: World, name: str, to: Json) -> World:
    """A running pod is to have more where it runs, and needs room there as if it came anew."""
    (pod,) = (one for one in world.running if one["metadata"]["name"] == name)
    (container,) = pod["spec"]["containers"]
    wants = {**container["resources"]["requests"], **to}
    spec = {**pod["spec"], "containers": [{**container, "resources": {"requests": wants}}]}
    others = [one for one in world.running if one is not pod]
    return replace(world, running=others, members=[{**pod, "spec": spec}], needed=1, home=spec["nodeName"])


def cost_of(world: World, victims: Iterable[str], order: Sequence[str]) -> tuple[float, ...]:
    """What it costs to evict these pods, which are whole units."""
    gone = set(victims)
    units = {unit for unit, pods in world.units().items() if any(p["metadata"]["name"] in gone for p in pods)}
    pods = [pod for pod in world.running if pod["metadata"]["name"] in gone]
    excess = 0
    for budget in world.budgets:
        charged = sum(world.charged(budget, pod) for pod in pods)
        excess += max(0, charged - max(0, budget["status"]["disruptionsAllowed"]))
    idle = starved = 0
    for group in _single_gangs(world):
        inside = [pod for pod in world.running if world.group_of(pod) is group]
        left = [pod for pod in inside if pod["metadata"]["name"] not in gone]
        enough = group["spec"]["schedulingPolicy"]["gang"]["minCount"]
        if len(left) < enough <= len(inside):
            idle, starved = idle + len(left), starved + 1
    measured = {
        "BudgetsBroken": excess,
        "HighestPriority": max(map(world.priority_of, pods), default=_NEVER),
        "PodsStopped": len(pods) + idle,
        "WorkloadsEnded": sum(_ends(world, world.units()[unit], unit) for unit in units) + starved,
        "PrioritySum": sum(world.priority_of(pod) + _OFFSET for pod in pods),
        "Cascade": sum(cascade(world, world.units()[unit]) for unit in units),
        "LatestStart": _latest_start(world, pods),
        "Pods": len(pods),
    }
    return tuple(measured.get(criterion, 0) for criterion in order)


def start(pod: Json) -> float:
    text = pod.get("status", {}).get("startTime")
    return datetime.fromisoformat(text).timestamp() if text else math.inf


def _latest_start(world: World, pods: Sequence[Json]) -> float:
    """Of the most important, the one that started first should have started late."""
    top = max(map(world.priority_of, pods), default=_NEVER)
    return finite(-min((start(pod) for pod in pods if world.priority_of(pod) == top), default=math.inf))


def cascade(world: World, unit: Sequence[Json]) -> int:
    """0 if its pods would fit in free room, 1 if only where pods of lower priority run, 2 if nowhere.

    Pods that request the same are alike, and each kind has all the room but that on the unit's nodes.
    """
    kinds: dict[str, int] = {}
    for pod in unit:
        kinds[_kind(pod)] = kinds.get(_kind(pod), 0) + 1
    alike = {_kind(pod): pod for pod in unit}
    own = {pod["spec"]["nodeName"] for pod in unit}
    others = replace(world, nodes=[node for node in world.nodes if node["metadata"]["name"] not in own])
    for stage, below in enumerate((None, world.priority_of(unit[0]))):
        if all(_seats(others, alike[kind], below) >= count for kind, count in kinds.items()):
            return stage
    return 2


def _kind(pod: Json) -> str:
    return str([requests(pod), pod["spec"].get("nodeSelector"), pod["spec"].get("tolerations")])


def _seats(world: World, newcomer: Json, below: int | None) -> int:
    seats = 0
    for node in world.nodes:
        if not may_use(newcomer, node):
            continue
        there = [
            pod
            for pod in world.running
            if pod["spec"]["nodeName"] == node["metadata"]["name"]
            and (below is None or world.priority_of(pod) >= below)
        ]
        has = node["status"]["allocatable"]
        seats += max(
            0,
            min(
                (amount(r, has.get(r, "0")) - sum(requests(pod).get(r, 0) for pod in there)) // need
                for r, need in requests(newcomer).items()
            ),
        )
    return seats


def _single_gangs(world: World) -> list[Json]:
    return [
        group
        for group in world.groups.values()
        if "gang" in group["spec"]["schedulingPolicy"]
        and "all" not in group["spec"].get("disruptionMode", {})
    ]


def _ends(world: World, pods: Sequence[Json], unit: str) -> bool:
    """Of a gang, no pod is a workload by itself."""
    if unit.startswith("group "):
        return True
    group, owners = world.group_of(pods[0]), pods[0]["metadata"].get("ownerReferences", [])
    in_gang = group is not None and "gang" in group["spec"]["schedulingPolicy"]
    return not in_gang and not any(owner.get("controller") for owner in owners)


# --- the program ---------------------------------------------------------------------------------


class Rows:
    """Columns between 0 and a bound, and rows with an upper bound."""

    def __init__(self) -> None:
        self.bounds: list[float] = []
        self.rows: list[tuple[Terms, float]] = []

    def column(self, bound: float = 1) -> int:
        self.bounds.append(bound)
        return len(self.bounds) - 1

    def at_most(self, terms: Terms, bound: float) -> None:
        self.rows.append((terms, bound))

    def least(self, objective: Terms) -> int | None:
        solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
        solver.setOptionValue("output_flag", False)
        solver.setOptionValue("mip_rel_gap", 0.0)
        solver.setOptionValue(
            "presolve", "off"
        )  # with it, HiGHS 1.15 misses the least of some of these rooms
        for column, bound in enumerate(self.bounds):
            solver.addVar(0.0, bound)
            solver.changeColIntegrality(column, highspy.HighsVarType.kInteger)
            solver.changeColCost(column, float(objective.get(column, 0)))
        for terms, bound in self.rows:
            solver.addRow(-highspy.kHighsInf, bound, len(terms), [*terms], [*map(float, terms.values())])
        solver.run()
        if solver.getModelStatus() == highspy.HighsModelStatus.kInfeasible:
            return None
        assert solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
        return round(float(solver.getInfo().objective_function_value))


def least_cost(world: World, order: Sequence[str]) -> tuple[float, ...] | None:
    """The least by the first criterion, of these the least by the second, and so on; None: no room."""
    rows, units = Rows(), world.units()
    gone = {unit: rows.column() for unit in units}
    _add_room(world, rows, gone)
    objectives = _objectives(world, rows, gone)
    found: list[float] = []
    for criterion in order:
        if criterion == "LatestStart":
            found.append(_least_start(world, rows, gone, found[order.index("HighestPriority")]))
            continue
        values: list[int] = []
        for objective in objectives.get(criterion, ({},)):
            value = rows.least(objective)
            if value is None:
                return None
            values.append(value)
            rows.at_most(objective, value)
        found.append(_combined(world, criterion, values))
    return tuple(found)


def _least_start(world: World, rows: Rows, gone: Mapping[str, int], top: float) -> float:
    """``top``: the priority of the most important victims, which is known by now."""
    starts = {u: min(map(start, pods)) for u, pods in world.units().items() if _is_at(world, pods, top)}
    levels = sorted({*starts.values()}, reverse=True)
    reached: dict[int, float] = {}
    for level in levels:
        column = rows.column()
        for unit, since in starts.items():
            if since <= level:
                rows.at_most({gone[unit]: 1.0, column: -1.0}, 0)
        reached[column] = 1.0
    least = rows.least(reached)
    assert least is not None
    rows.at_most(reached, least)
    return finite(-levels[least - 1]) if least else _NEVER


def _is_at(world: World, pods: Sequence[Json], priority: float) -> bool:
    return world.priority_of(pods[0]) == priority


def _combined(world: World, criterion: str, values: Sequence[int]) -> int:
    if criterion == "HighestPriority":
        return _priority(world, values[0])
    if criterion == "PrioritySum":
        pods, priorities = values
        return pods * _OFFSET + priorities
    return values[0]


def _add_room(world: World, rows: Rows, gone: Mapping[str, int]) -> None:
    seats = [
        [rows.column(int(world.may_seat(member, node))) for node in world.nodes] for member in world.members
    ]
    for places in seats:
        rows.at_most(dict.fromkeys(places, 1.0), 1)
    rows.at_most({seat: -1.0 for places in seats for seat in places}, -world.needed)
    for n, node in enumerate(world.nodes):
        name, has = node["metadata"]["name"], node["status"]["allocatable"]
        there = [pod for pod in world.running if pod["spec"]["nodeName"] == name]
        for resource in {resource for member in world.members for resource in requests(member)}:
            capacity = amount(resource, has.get(resource, "0"))
            left = capacity - sum(requests(pod).get(resource, 0) for pod in there)
            terms: dict[int, float] = {}
            for m, member in enumerate(world.members):
                if asked := requests(member).get(resource, 0):
                    terms[seats[m][n]] = asked / 1000
            for pod in there:
                if world.unit_of(pod) in gone:
                    column = gone[world.unit_of(pod)]
                    terms[column] = terms.get(column, 0) - requests(pod).get(resource, 0) / 1000
            if left < 0:  # only members mind that the node is overdrawn
                used = rows.column()
                for m, member in enumerate(world.members):
                    if requests(member).get(resource, 0):
                        rows.at_most({seats[m][n]: 1, used: -1}, 0)
                terms[used] = -left / 1000
            rows.at_most(terms, max(0, left) / 1000)


def _levels(world: World) -> list[int]:
    return sorted({world.priority_of(pods[0]) for pods in world.units().values()})


def _priority(world: World, level: int) -> int:
    return _levels(world)[level - 1] if level else _NEVER


def _objectives(world: World, rows: Rows, gone: Mapping[str, int]) -> dict[str, tuple[Terms, ...]]:
    """A criterion with several is minimised by one after the other."""
    units = world.units()
    excess: dict[int, float] = {}
    for budget in world.budgets:
        over = rows.column(10**6)
        shares = {gone[u]: float(sum(world.charged(budget, p) for p in pods)) for u, pods in units.items()}
        allowed = max(0, budget["status"]["disruptionsAllowed"])
        rows.at_most({**{c: n for c, n in shares.items() if n}, over: -1.0}, allowed)
        excess[over] = 1.0
    reached: dict[int, float] = {}
    for level in _levels(world):
        column = rows.column()
        for unit, pods in units.items():
            if world.priority_of(pods[0]) >= level:
                rows.at_most({gone[unit]: 1.0, column: -1.0}, 0)
        reached[column] = 1.0
    stopped: dict[int, float] = {gone[unit]: float(len(pods)) for unit, pods in units.items()}
    ended: dict[int, float] = {gone[unit]: 1.0 for unit, pods in units.items() if _ends(world, pods, unit)}
    pods_gone = dict(stopped)
    for group in _single_gangs(world):
        inside = [pod for pod in world.running if world.group_of(pod) is group]
        enough = group["spec"]["schedulingPolicy"]["gang"]["minCount"]
        mine = {gone[u]: 1.0 for u in map(world.unit_of, inside) if u in gone}
        if len(inside) < enough or not mine:
            continue
        starves, idle = rows.column(), rows.column(len(inside))
        rows.at_most({**mine, starves: -len(inside)}, len(inside) - enough)
        rows.at_most({starves: len(inside), **dict.fromkeys(mine, -1.0), idle: -1.0}, 0)
        stopped[idle], ended[starves] = 1.0, 1.0
    cascades = {gone[unit]: float(cascade(world, pods)) for unit, pods in units.items()}
    priorities = {gone[unit]: float(sum(map(world.priority_of, pods))) for unit, pods in units.items()}
    return {
        "BudgetsBroken": (excess,),
        "HighestPriority": (reached,),
        "PodsStopped": (stopped,),
        "WorkloadsEnded": (ended,),
        # One pod more outweighs all priorities, and a solver does not count to so large numbers exactly.
        "PrioritySum": (pods_gone, priorities),
        "Cascade": (cascades,),
        "Pods": (pods_gone,),
    }
