"""A scenario as Kubernetes objects, and as the question that is put to the search."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from reprieve.cluster.api.codec import Decoded, decode_value
from reprieve.model.conditions import RUN_STARTED
from reprieve.model.json import Json
from reprieve.model.objects import KubernetesObject
from reprieve.model.snapshot import Snapshot, build
from reprieve.placement.demand import Demand
from reprieve.placement.effort import Effort
from reprieve.placement.place import pod_demand
from reprieve.placement.profile import DEFAULT_PROFILE
from reprieve.preemption.criteria import CRITERIA
from reprieve.preemption.eligibility import TIMELESS
from reprieve.preemption.policy import BudgetCounting, Policy
from reprieve.preemption.preemption_priority import PermittedClasses
from reprieve.preemption.resize import Accounting, DeferredResizes
from reprieve.preemption.searches import REPRIEVE, SEARCHES
from reprieve.preemption.toleration import MINIMUM_PRIORITY, SECONDS
from reprieve.preemption.units import GroupUnits, pods_alone
from tests.reference.demands import gang_demand
from tests.reference.policies import UPSTREAM
from tests.scenarios.reading import (
    Amount,
    BudgetLine,
    ClassLine,
    GroupLine,
    NodeLine,
    PodLine,
    PolicyLine,
    Scenario,
    WorldLine,
    node_line,
)

ZONE, HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
NEWCOMER = "newcomer"

BEGIN = datetime(2026, 1, 2, tzinfo=UTC)  # minutes are counted from here
_DAY_BEFORE = datetime(2026, 1, 1, tzinfo=UTC)  # pods began to run then


def snapshot_of(scenario: Scenario, *, backwards: bool = False) -> Snapshot:
    """Told from its beginning or from its end; that must not make a difference."""
    things = [decoded(thing) for thing in (*world_objects(scenario, scenario.groups), *_newcomers(scenario))]
    built = build(things[::-1] if backwards else things)
    assert not built.problems
    return built.snapshot


def decoded(thing: Json) -> KubernetesObject:
    result = decode_value(thing)
    assert isinstance(result, Decoded), result
    return result.object


def world_objects(world: WorldLine, groups: dict[str, GroupLine]) -> Iterator[Json]:
    """All that a world is made of. ``groups`` are those that its pods may belong to."""
    for name, line in world.nodes.items():
        yield _node(name, node_line(line))
    for name, group in world.groups.items():
        yield _group(name, _with_priority(group, world.classes))
    for name, pod in world.pods.items():
        yield _pod(name, _of_class(pod, world.classes), groups)
    for name, budget in world.budgets.items():
        yield _budget(name, budget)
    for name, of_class in world.classes.items():
        yield _class(name, of_class)
    for name, deployment in world.replica_sets.items():
        meta = {"name": name, "namespace": "default", "ownerReferences": [_owner(f"Deployment/{deployment}")]}
        yield _thing("apps/v1", "ReplicaSet", meta)


# --- objects -------------------------------------------------------------------------------------


def _node(name: str, line: NodeLine) -> Json:
    labels = {HOSTNAME: name} | ({ZONE: line.zone} if line.zone else {})
    labels |= {"rack": line.rack} if line.rack else {}
    allocatable = {"cpu": str(line.cpu), "memory": str(line.memory), "pods": str(line.pods)}
    meta = {"name": name, "labels": labels}
    return _thing("v1", "Node", meta, spec=line.spec, status={"allocatable": allocatable})


def _group(name: str, line: GroupLine) -> Json:
    count = "minGroupCount" if line.composite else "minCount"
    spec: Json = {
        "schedulingPolicy": {"basic": {}} if line.min is None else {"gang": {count: line.min}},
        "disruptionMode": {line.disruption: {}},
        "priority": line.priority,
        "priorityClassName": line.class_name,
    }
    if line.preemption:
        spec["preemptionPolicy"] = line.preemption
    if line.parent:
        spec["parentCompositePodGroupName"] = line.parent
    if line.parent or line.composite or line.workload:
        spec["workloadRef"] = {"workloadName": line.workload or "w", "templateName": name}
    if line.within:
        spec["schedulingConstraints"] = {"topology": [{"key": _key(line.within)}]}
    kind = "CompositePodGroup" if line.composite else "PodGroup"
    meta: Json = {"name": name, "namespace": "default", "annotations": line.annotations}
    status: Json = {"conditions": []}
    if line.scheduled is not None:
        types = ("PodGroupInitiallyScheduled", RUN_STARTED)
        status["conditions"] = [_condition(type_, "True", line.scheduled) for type_ in types]
    return _thing("scheduling.k8s.io/v1alpha3", kind, meta, spec=spec, status=status)


def _with_priority(line: GroupLine, classes: dict[str, ClassLine]) -> GroupLine:
    known = classes.get(line.class_name)
    return msgspec.structs.replace(line, priority=known.value) if known and not line.priority else line


def _class(name: str, line: ClassLine) -> Json:
    fields: Json = {"value": line.value, "preemptionPolicy": line.preemption}
    written = {MINIMUM_PRIORITY: line.minimum, SECONDS: line.seconds}
    annotations = {key: str(value) for key, value in written.items() if value is not None}
    meta = {"name": name, "annotations": annotations, **line.metadata}
    return _thing("scheduling.k8s.io/v1", "PriorityClass", meta, **fields)


def _condition(kind: str, status: str, minutes: float) -> Json:
    return {"type": kind, "status": status, "lastTransitionTime": _stamp(BEGIN, minutes)}


def moment(minutes: float) -> float:
    return BEGIN.timestamp() + 60 * minutes


def _stamp(begin: datetime, minutes: float) -> str:
    return (begin + timedelta(minutes=minutes)).isoformat()


def _budget(name: str, line: BudgetLine) -> Json:
    spec: Json = {} if line.selects is None else {"selector": {"matchLabels": line.selects}}
    if line.lacks:
        spec["selector"] = {"matchExpressions": [{"key": line.lacks, "operator": "DoesNotExist"}]}
    disrupted = dict.fromkeys(line.disrupted, "2026-01-01T00:00:00Z")
    status = {"disruptionsAllowed": line.allowed, "disruptedPods": disrupted}
    meta = {"name": name, "namespace": line.namespace}
    return _thing("policy/v1", "PodDisruptionBudget", meta, spec=spec, status=status)


def _pod(name: str, line: PodLine, groups: dict[str, GroupLine]) -> Json:
    meta: Json = {"name": name, "namespace": line.namespace, "labels": line.labels}
    meta["annotations"] = line.annotations
    if line.owner:
        meta["ownerReferences"] = [_owner(line.owner)]
    if line.terminating:
        meta["deletionTimestamp"] = "2026-01-02T00:00:00Z"
    spec: Json = {
        "schedulerName": "reprieve",
        "containers": [_container(line, line.wants)],
        "priority": _priority(line, groups),
        **line.spec,
    }
    if line.on:
        spec["nodeName"] = line.on
    if line.class_name:
        spec["priorityClassName"] = line.class_name
    if line.group:
        spec["schedulingGroup"] = {"podGroupName": line.group}
    if line.avoids:
        spec["affinity"] = {"podAntiAffinity": _apart(line)}
    if line.preemption:
        spec["preemptionPolicy"] = line.preemption
    status: Json = {"phase": "Running" if line.on else "Pending"}
    if line.on and line.start is not None:
        status["startTime"] = _stamp(_DAY_BEFORE, line.start)
    if line.wants:
        status |= _put_off(line)
    if line.on and line.scheduled != "unsaid":
        status.setdefault("conditions", []).append(_scheduled(line.scheduled))
    status |= line.status
    for kind, reason in line.conditions.items():
        status.setdefault("conditions", []).append({"type": kind, "status": "True", "reason": reason})
    return _thing("v1", "Pod", meta, spec=spec, status=status)


def _owner(named: str) -> Json:
    kind, _, name = named.partition("/")
    return {"kind": kind, "name": name, "uid": f"{kind}-{name}", "controller": True}


def _of_class(line: PodLine, classes: dict[str, ClassLine]) -> PodLine:
    """The priority of a pod that does not say otherwise is that of its class."""
    known = classes.get(line.class_name)
    said = line.priority is not None or line.group
    return msgspec.structs.replace(line, priority=known.value) if known and not said else line


def _scheduled(since: float | str) -> Json:
    if isinstance(since, str):
        return _condition("PodScheduled", "False", 0)
    return _condition("PodScheduled", "True", since)


def _put_off(line: PodLine) -> Json:
    """What a kubelet says of a resize for which it has no room yet: the pod has what it had."""
    has = _container(line, {})["resources"]
    pending = {"type": "PodResizePending", "status": "True", "reason": "Deferred"}
    pending["lastTransitionTime"] = "2026-01-02T00:00:00Z"
    granted = {"name": "c", "allocatedResources": has["requests"], "resources": has}
    return {"conditions": [pending], "containerStatuses": [granted]}


def _container(line: PodLine, wants: dict[str, Amount]) -> Json:
    asked: dict[str, Amount] = {"cpu": line.cpu, "memory": line.memory, **wants}
    requests = {resource: str(amount) for resource, amount in asked.items() if amount}
    container: Json = {"name": "c", "image": "i", "resources": {"requests": requests}}
    if line.port:
        container["ports"] = [{"containerPort": line.port, "hostPort": line.port}]
    return container


def _apart(line: PodLine) -> Json:
    term = {"topologyKey": _key(line.within), "labelSelector": {"matchLabels": line.avoids}}
    return {"requiredDuringSchedulingIgnoredDuringExecution": [term]}


def _key(topology: str) -> str:
    return ZONE if topology == "zone" else topology


def _priority(line: PodLine, groups: dict[str, GroupLine]) -> int:
    """A pod that does not say otherwise has the priority of the outermost group."""
    group = groups.get(line.group)
    while line.priority is None and group is not None and group.parent:
        group = groups.get(group.parent)
    return line.priority or (group.priority if group is not None and line.priority is None else 0)


def _thing(version: str, kind: str, meta: Json, **rest: Any) -> Json:
    identity = {"uid": f"{kind}-{meta['name']}", "resourceVersion": "1"}
    return {"apiVersion": version, "kind": kind, "metadata": identity | meta, **rest}


# --- demands -------------------------------------------------------------------------------------


def _newcomers(scenario: Scenario) -> Iterator[Json]:
    demand, groups = scenario.demand, scenario.groups
    if scenario.resize:
        return
    lines = demand.members or [demand] * demand.gang
    if not lines:
        yield _pod(NEWCOMER, _of_class(demand, scenario.classes), groups)
        return
    group = demand.group or NEWCOMER
    if not demand.group:
        least = len(lines) if demand.min is None else demand.min
        within = demand.within if demand.within != HOSTNAME else ""
        own = GroupLine(priority=demand.priority or 0, min=least, within=within, preemption=demand.preemption)
        own = _with_priority(msgspec.structs.replace(own, class_name=demand.class_name), scenario.classes)
        yield _group(group, own)
        groups = {**groups, group: own}
    for i, line in enumerate(lines):
        # What is said of the gang is not said of its pods again.
        yield _pod(member(i), _member(line, group), groups)


def _member(line: PodLine, group: str) -> PodLine:
    fields = {name: getattr(line, name) for name in PodLine.__struct_fields__}
    plain = {"group": group, "priority": None, "within": HOSTNAME, "preemption": ""}
    return PodLine(**(fields | plain))


def member(number: int) -> str:
    return f"{NEWCOMER}-{number}"


def asked(scenario: Scenario, view: Snapshot, now: float) -> tuple[Demand, Snapshot]:
    """The demand, and the cluster as it counts for that."""
    if not scenario.resize:
        return demand_of(scenario, view), view
    resizes = DeferredResizes(_accounting(scenario.policy), spares_gangs=scenario.policy != "Upstream")
    return resizes.demand(view, view.pods.rows["default", scenario.resize], now)


def demand_of(scenario: Scenario, view: Snapshot) -> Demand:
    line = scenario.demand
    count = len(line.members) or line.gang
    if not count:
        return pod_demand(view, view.pods.rows[line.namespace, NEWCOMER])
    rows = [view.pods.rows["default", member(i)] for i in range(count)]
    demand = gang_demand(view, rows, everybody=_is_for_all(scenario.policy))
    keeps_order = isinstance(scenario.policy, str)
    return demand if keeps_order else replace(demand, effort=Effort(DEFAULT_PROFILE.planning_effort))


def _accounting(policy: str | PolicyLine) -> Accounting:
    return Accounting(policy if isinstance(policy, str) else policy.resize_accounting)


# --- by which policy -----------------------------------------------------------------------------


def _is_for_all(policy: str | PolicyLine) -> bool:
    return isinstance(policy, str) or policy.gang_preemption == "All"


def policy_of(line: str | PolicyLine) -> Policy:
    if isinstance(line, str):
        return UPSTREAM
    policy = replace(
        REPRIEVE,
        search=SEARCHES[line.search],
        budgets=BudgetCounting(line.budgets),
        breaks_no_budget=line.respect_budgets == "Always",
    )
    if line.disturbance is not None:
        policy = replace(policy, disturbance=tuple(CRITERIA[name] for name in line.disturbance))
    if line.placements_tried is not None:
        policy = replace(policy, placements_tried=line.placements_tried)
    if not line.tolerations:
        policy = replace(policy, rules=TIMELESS)
    named = {name: frozenset(spaces) for name, spaces in line.preemption_priority_classes.items()}
    units = GroupUnits(permitted=PermittedClasses(named)) if line.groups else pods_alone
    return replace(policy, units=units)
