"""What would the scheduler do if these objects were created, or that pod resized, in this cluster?

The scheduler of production decides, on a cluster in memory where every effect succeeds. Nothing is read or
written, and the time is an argument. This module must not know files, flags or how an answer is shown.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

import msgspec
import numpy as np

from reprieve.cluster.api.codec import Decoded
from reprieve.cluster.apiserver.priority_classes import SYSTEM_CLASSES, read_class
from reprieve.inquiry.decoded_cluster import DecodedCluster, decoded
from reprieve.inquiry.manifests import AdmittedManifests, AskedObject, Manifest, admitted
from reprieve.inquiry.rehearsal import Rehearsed, rehearse
from reprieve.inquiry.resizes import Deferred, Resize, ResizeError, deferred
from reprieve.inquiry.world_changes import (
    AddNodes,
    ChangedWorld,
    Cordon,
    Drain,
    ObjectName,
    Remove,
    WorldChange,
    changed,
    pods_of_name,
)
from reprieve.model.effects import Target
from reprieve.model.formatting import counted
from reprieve.model.groups import GroupKey, group_key
from reprieve.model.objects import KubernetesObject, Node, Pod, PodGroup
from reprieve.scheduler.decision import (
    Because,
    Decided,
    Decision,
    Exceeded,
    Loser,
    Miss,
    Outcome,
    Spared,
    Victim,
)
from reprieve.scheduler.demand_key import DemandKind
from reprieve.scheduler.settings import Settings
from reprieve.scheduler.targets import pod_target

__all__ = [
    "AddNodes",
    "Cordon",
    "DecodedCluster",
    "DemandSummary",
    "Drain",
    "Manifest",
    "NodeVerdict",
    "ObjectName",
    "Remove",
    "Resize",
    "SnapshotFacts",
    "WhatIfAnswer",
    "WhatIfOutcome",
    "WhatIfQuestion",
    "WhatIfReport",
    "WorldChange",
    "decoded",
    "whatif",
]

_ENDED = ("Succeeded", "Failed")


# --- the question --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WhatIfQuestion:
    """Demands are ``manifests``, pods and groups that wait already (``existing``), ``resizes``, and the pods
    of drained nodes."""

    cluster: DecodedCluster
    settings: Settings
    policy: str = "Reprieve"  # the name that reports give to the settings
    manifests: tuple[Manifest, ...] = ()
    existing: tuple[ObjectName, ...] = ()
    resizes: tuple[Resize, ...] = ()
    changes: tuple[WorldChange, ...] = ()
    priority_class: str = ""  # which the demands get instead of their own
    with_pending: bool = False  # whether pods of the cluster that wait are decided, too
    namespace: str = "default"  # of manifests that name none


# --- the answer ----------------------------------------------------------------------------------


class WhatIfOutcome(StrEnum):
    FITS = "Fits"
    PREEMPTS = "Preempts"
    UNSCHEDULABLE = "Unschedulable"


@dataclass(frozen=True, slots=True)
class DemandSummary:
    """``kind``: of the object that was asked about; Node for the pods of a drained node."""

    kind: str
    namespace: str
    name: str
    priority: int = 0
    pods: int = 1


@dataclass(frozen=True, slots=True)
class NodeVerdict:
    """A node, or another domain, that was not chosen: excluded, or with a plan that lost.

    ``pods``, ``highest``, ``broken``: victims of the plan, the highest priority among them, and how many are
    beyond budgets.
    """

    name: str
    excluded_by: Because | None = None
    lost_by: Because | None = None
    pods: int = 0
    highest: int | None = None
    broken: int = 0


@dataclass(frozen=True, slots=True)
class SnapshotFacts:
    resource_version: str = ""
    nodes: int = 0
    pods: int = 0
    taken_at: float = 0.0


@dataclass(frozen=True, slots=True)
class WhatIfReport:
    """What would become of one demand: an object that was asked about, with all of its pods."""

    demand: DemandSummary
    outcome: WhatIfOutcome
    decisions: tuple[Decision, ...] = ()  # in order; a demand of many pods may need many
    placements: tuple[tuple[Target, str], ...] = ()
    waiting: tuple[Target, ...] = ()  # pods that find no room
    victims: tuple[Victim, ...] = ()
    controllers: tuple[
        tuple[Target, str], ...
    ] = ()  # of the victims that are created again: ReplicaSet/web-1
    spared: tuple[Spared, ...] = ()
    exceeded: tuple[Exceeded, ...] = ()  # disruption budgets that are broken
    nodes: tuple[NodeVerdict, ...] = ()
    decided_by: Because | None = None
    miss: Miss | None = None  # the nearest miss of a demand that cannot fit, as things are
    at_best: Miss | None = None  # and if all units were gone that may be evicted
    refusal: Because | None = None  # why preemption does not help it, or why it cannot be decided
    retry_at: float | None = None
    resize: bool = False

    @property
    def breaks_budget(self) -> bool:
        return bool(self.exceeded)


@dataclass(frozen=True, slots=True)
class WhatIfAnswer:
    """With ``problems`` the question cannot be answered and there are no reports; each is one sentence."""

    reports: tuple[WhatIfReport, ...] = ()
    snapshot: SnapshotFacts = field(default=SnapshotFacts())
    policy: str = ""
    notes: tuple[str, ...] = ()  # what was assumed, left out or contradictory; a sentence each
    problems: tuple[str, ...] = ()


# --- answering -----------------------------------------------------------------------------------


def whatif(question: WhatIfQuestion, now: float) -> WhatIfAnswer:
    cluster = question.cluster
    world = changed(cluster.seen, question.changes)
    created = admitted(question.manifests, cluster, question.namespace, question.priority_class)
    asking = _Asking(question, world, created)
    asking.collect(now)
    notes = (*cluster.notes, *world.notes, *created.notes, *asking.notes)
    if problems := (*world.problems, *created.problems, *asking.problems):
        return WhatIfAnswer(notes=notes, problems=problems)
    seen = [*asking.seen()]
    settings = _settings_for(question.settings, asking.scheduler_names(seen))
    rehearsed = rehearse(settings, seen, now)
    failures = tuple(f"The scheduler failed on {failure}." for failure in rehearsed.failures)
    victims = _victims(rehearsed)
    reports = [_report(demand, rehearsed, victims) for demand in asking.demands.values()]
    turns = {one.decision.id: turn for turn, one in enumerate(rehearsed.decided)}
    reports.sort(key=lambda report: min((turns[d.id] for d in report.decisions), default=len(turns)))
    return WhatIfAnswer(tuple(reports), _summary(cluster), question.policy, (*notes, *failures))


def _summary(cluster: DecodedCluster) -> SnapshotFacts:
    nodes = sum(isinstance(one.object, Node) for one in cluster.seen)
    pods = sum(bool(pod.spec.node_name) and pod.status.phase not in _ENDED for pod in cluster.pods())
    return SnapshotFacts(cluster.source.resource_version, nodes, pods, cluster.source.taken_at)


def _settings_for(settings: Settings, names: Iterable[str]) -> Settings:
    """A demand keeps its schedulerName: a name without a profile gets the first one, as if it were its."""
    first = next(iter(settings.profiles))
    profiles, policies = dict(settings.profiles), dict(settings.policies)
    for name in names:
        if name not in profiles:
            profiles[name] = settings.profiles[first]
            if first in settings.policies:
                policies[name] = settings.policies[first]
    return replace(settings, profiles=profiles, policies=policies)


# --- what is asked -------------------------------------------------------------------------------


@dataclass(slots=True)
class _Demand:
    kind: str
    namespace: str
    name: str
    pods: dict[Target, Pod] = field(default_factory=dict)
    needed: int | None = None  # of a gang: how many of its pods must find a node; None: all
    has: int = 0  # pods of a gang that should exist and do not are missing
    resize: bool = False
    impossible: str = ""


_DemandName = tuple[str, str, str, bool]


@dataclass(slots=True)
class _Asking:
    question: WhatIfQuestion
    world: ChangedWorld
    created: AdmittedManifests
    demands: dict[_DemandName, _Demand] = field(default_factory=dict)
    resized: dict[tuple[str, str], Deferred] = field(default_factory=dict)
    classed: dict[Target, Pod] = field(default_factory=dict)  # pods that exist, with another priority class
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def collect(self, now: float) -> None:
        for asked in self.created.asked:
            self._ask_object(asked)
        for name in self.question.existing:
            self._ask_existing(name)
        for node, pods in self.world.drained.items():
            for pod in pods:
                self._join("Node", "", node, pod)
            if not pods:
                self._demand("Node", "", node)
        for resize in self.question.resizes:
            self._ask_resize(resize, now)
        if not self.demands and not (self.problems or self.created.problems or self.world.problems):
            empty = [f"{a.kind} {a.namespace}/{a.name}" for a in self.created.asked]
            what = f"{', '.join(empty)} without pods" if empty else "no pod, group or resize"
            self.problems.append(f"There is nothing to ask about: {what}.")
        self._count_gangs()

    def _demand(self, kind: str, namespace: str, name: str, *, resize: bool = False) -> _Demand:
        key = (kind, namespace, name, resize)
        if key not in self.demands:
            self.demands[key] = _Demand(kind, namespace, name, resize=resize)
        return self.demands[key]

    def _join(self, kind: str, namespace: str, name: str, pod: Pod) -> None:
        """A pod of a group is part of the demand of that group, whatever created it."""
        key = self.question.settings.demand_of_pod(pod)
        if key.kind is DemandKind.GROUP:
            kind, namespace, name = "PodGroup", key.namespace, key.name
        self._demand(kind, namespace, name).pods[pod_target(pod)] = pod

    def _ask_object(self, asked: AskedObject) -> None:
        for pod in asked.pods:
            self._join(asked.kind, asked.namespace, asked.name, pod)
        if not asked.pods and asked.kind not in ("PodGroup", "CompositePodGroup", "Workload"):
            self._demand(asked.kind, asked.namespace, asked.name)

    def _ask_existing(self, name: ObjectName) -> None:
        found = pods_of_name(self.world.seen, name)
        if found is None:
            self.problems.append(f"There is no {name}.")
            return
        waiting = [pod for pod in found if not pod.spec.node_name and pod.status.phase not in _ENDED]
        if not waiting:
            self.problems.append(_why_not_waiting(name, found))
        for pod in map(self._with_class, waiting):
            self._join("Pod", pod.metadata.namespace, pod.metadata.name, pod)

    def _with_class(self, pod: Pod) -> Pod:
        wanted = self.question.priority_class
        if not wanted:
            return pod
        classes = {
            one.name: one for one in map(read_class, self.question.cluster.by_name.all("PriorityClass"))
        }
        found = classes.get(wanted) or SYSTEM_CLASSES.get(wanted)
        if found is None:
            self.problems.append(f"--set-priority: there is no PriorityClass with the name {wanted}.")
            return pod
        spec = msgspec.structs.replace(
            pod.spec,
            priority=found.value,
            priority_class_name=found.name,
            preemption_policy=found.preemption_policy,
        )
        self.classed[pod_target(pod)] = msgspec.structs.replace(pod, spec=spec)
        return self.classed[pod_target(pod)]

    def _ask_resize(self, resize: Resize, now: float) -> None:
        key = (resize.pod.namespace, resize.pod.name)
        try:
            found = deferred(resize, self.question.cluster, now)
        except ResizeError as error:
            self.problems.append(f"{error}.")
            return
        demand = self._demand("Pod", *key, resize=True)
        demand.impossible = found.impossible
        for pod in self._cluster_pods() if found.impossible else ():
            if (pod.metadata.namespace, pod.metadata.name) == key:
                demand.pods[pod_target(pod)] = pod
        if found.found is not None and isinstance(found.found.object, Pod):
            self.resized[key] = found
            demand.pods[pod_target(found.found.object)] = found.found.object

    def _count_gangs(self) -> None:
        groups = self._groups()
        for demand in self.demands.values():
            group = groups.get((demand.namespace, demand.name)) if demand.kind == "PodGroup" else None
            for pod in self._fellows(demand) if group is not None else ():
                demand.pods.setdefault(pod_target(pod), pod)
            if group is not None and group.spec.gang is not None:
                running = self._running(group)
                demand.needed = max(1, group.spec.gang.min_count - running)

    def _groups(self) -> dict[tuple[str, str], PodGroup]:
        things = (one.object for one in (*self.world.seen, *self.created.created))
        return {(t.metadata.namespace, t.metadata.name): t for t in things if isinstance(t, PodGroup)}

    def _fellows(self, demand: _Demand) -> Iterator[Pod]:
        """Pods of the cluster that wait in the same group."""
        for pod in self._cluster_pods():
            if group_key(pod) == (demand.namespace, demand.name) and _waits(pod):
                yield pod

    def _running(self, group: PodGroup) -> int:
        key = (group.metadata.namespace, group.metadata.name)
        return sum(
            group_key(pod) == key and bool(pod.spec.node_name) and pod.status.phase not in _ENDED
            for pod in self._cluster_pods()
        )

    def _cluster_pods(self) -> Iterator[Pod]:
        return (one.object for one in self.world.seen if isinstance(one.object, Pod))

    # --- what the scheduler sees ---

    def seen(self) -> Iterator[Decoded[KubernetesObject]]:
        """Pods that wait and are not asked about are left out, unless room is reserved for them."""
        asked = {target for demand in self.demands.values() for target in demand.pods}
        for one in self.world.seen:
            thing = one.object
            if not isinstance(thing, Pod):
                yield one
                continue
            target, key = pod_target(thing), (thing.metadata.namespace, thing.metadata.name)
            if (resized := self.resized.get(key)) is not None and resized.found is not None:
                yield resized.found
            elif target in self.classed:
                yield Decoded(object=self.classed[target], unserved=one.unserved)
            elif not _waits(thing) or target in asked or self._counts(thing):
                yield one
        yield from self.created.created

    def _counts(self, pod: Pod) -> bool:
        return bool(pod.status.nominated_node_name) or self.question.with_pending

    def scheduler_names(self, seen: Sequence[Decoded[KubernetesObject]]) -> list[str]:
        """Of the demands, and of other pods that wait."""
        names = {pod.spec.scheduler_name for demand in self.demands.values() for pod in demand.pods.values()}
        waiting = {p.spec.scheduler_name for one in seen if isinstance(p := one.object, Pod) and _waits(p)}
        return sorted(names | waiting)


def _waits(pod: Pod) -> bool:
    return not pod.spec.node_name and pod.status.phase not in _ENDED


def _why_not_waiting(name: ObjectName, pods: Sequence[Pod]) -> str:
    if len(pods) == 1 and pods[0].spec.node_name:
        where = f"{pods[0].metadata.namespace}/{pods[0].metadata.name} runs on {pods[0].spec.node_name}"
        return f"Pod {where}: a what-if is for pods that wait. For more resources, use --resize."
    return f"{name} has no pod that waits for a node."


# --- reports -------------------------------------------------------------------------------------


def _report(
    demand: _Demand, rehearsed: Rehearsed, by_decision: Mapping[str, Sequence[Victim]]
) -> WhatIfReport:
    decided = [one for one in rehearsed.decided if _is_about(one.decision, demand)]
    decisions = tuple(one.decision for one in decided)
    places = _places(decisions)
    waiting = tuple(target for target in demand.pods if target not in places)
    victims = tuple(victim for d in decisions for victim in by_decision.get(d.id, ()))
    report = WhatIfReport(
        demand=_described(demand, decisions),
        outcome=_outcome(demand, places, victims),
        decisions=decisions,
        placements=tuple(places.items()),
        waiting=waiting,
        victims=victims,
        controllers=tuple(_controllers(victims, rehearsed)),
        spared=_spared(decisions, victims),
        exceeded=_exceeded(decisions),
        nodes=_nodes(decided, set(places.values())),
        decided_by=next(filter(None, map(_decided_by, decisions)), None),
        resize=demand.resize,
    )
    if not waiting and not demand.impossible:
        return report
    return _with_refusal(report, demand, rehearsed)


def _with_refusal(report: WhatIfReport, demand: _Demand, rehearsed: Rehearsed) -> WhatIfReport:
    refused = [d for d in report.decisions if d.outcome in (Outcome.UNSCHEDULABLE, Outcome.ERROR)]
    if demand.impossible:
        return replace(report, refusal=Because("NodeTooSmall", demand.impossible))
    if not refused:
        return replace(report, refusal=Because("NotDecided", _why_undecided(demand, report, rehearsed)))
    last = refused[-1]
    eviction = last.eviction
    return replace(
        report,
        miss=last.miss,
        at_best=eviction.at_best if eviction is not None else None,
        refusal=eviction.because if eviction is not None else None,
        retry_at=last.retry_at,
    )


def _why_undecided(demand: _Demand, report: WhatIfReport, rehearsed: Rehearsed) -> str:
    told = (rehearsed.messages.get(target) for target in report.waiting)
    text = next(filter(None, told), "")
    if text:
        return text
    if demand.needed is not None and len(demand.pods) < demand.needed:
        has = counted(len(demand.pods), "pod")
        return (
            f"the gang needs {demand.needed} pods, and there {'is' if len(demand.pods) == 1 else 'are'} {has}"
        )
    return "the scheduler cannot decide about it yet"


def _is_about(decision: Decision, demand: _Demand) -> bool:
    if demand.resize != (decision.growth is not None):
        return False
    if decision.demand.kind == "PodGroup":
        key = (decision.demand.namespace, decision.demand.name)
        return demand.kind == "PodGroup" and key == (demand.namespace, demand.name)
    return decision.demand in demand.pods


def _places(decisions: Iterable[Decision]) -> dict[Target, str]:
    """Where its pods are at the end; a plan that was replaced by another one does not count."""
    places: dict[Target, str] = {}
    for decision in decisions:
        if decision.outcome in (Outcome.UNSCHEDULABLE, Outcome.ERROR):
            continue
        places.update(decision.places)
    return places


def _victims(rehearsed: Rehearsed) -> dict[str, list[Victim]]:
    """The pods that were evicted indeed, each under the first decision that counts on it.

    A decision lists only so many of its victims; of the others, no more is known than that they are evicted.
    """
    left, found = dict(rehearsed.evicted), dict[str, list[Victim]]()
    rooms = [(d.decision.id, d.decision.preemption) for d in rehearsed.decided]
    for decision, room in rooms:
        for victim in room.victims if room is not None else ():
            if left.pop(victim.pod, None) is not None:
                found.setdefault(decision, []).append(victim)
    for decision, room in rooms:
        if room is not None and room.pods > len(room.victims):
            listed = found.setdefault(decision, [])
            units = {group_key(rehearsed.evicted[victim.pod]): victim.unit for victim in listed}
            listed += [_unlisted(target, pod, units) for target, pod in left.items()]
            left.clear()
    return found


def _unlisted(target: Target, pod: Pod, units: Mapping[GroupKey | None, str]) -> Victim:
    because = Because("RoomNeeded", f"{pod.spec.node_name} has too little room")
    unit = units.get(group_key(pod), f"Pod/{target.namespace}/{target.name}")
    return Victim(target, pod.spec.node_name, pod.spec.priority or 0, unit, (), because)


def _controllers(victims: Iterable[Victim], rehearsed: Rehearsed) -> Iterator[tuple[Target, str]]:
    for victim in victims:
        for owner in rehearsed.evicted[victim.pod].metadata.owner_references:
            if owner.controller:
                yield victim.pod, f"{owner.kind}/{owner.name}"


def _outcome(demand: _Demand, places: dict[Target, str], victims: Sequence[Victim]) -> WhatIfOutcome:
    needed = len(demand.pods) if demand.needed is None else min(demand.needed, max(1, len(demand.pods)))
    if demand.impossible or len(places) < needed:
        return WhatIfOutcome.UNSCHEDULABLE
    return WhatIfOutcome.PREEMPTS if victims else WhatIfOutcome.FITS


def _described(demand: _Demand, decisions: Sequence[Decision]) -> DemandSummary:
    own = [pod.spec.priority or 0 for pod in demand.pods.values()]
    priority = decisions[0].priority if decisions else max(own, default=0)
    return DemandSummary(demand.kind, demand.namespace, demand.name, priority, len(demand.pods))


def _spared(decisions: Iterable[Decision], victims: Iterable[Victim]) -> tuple[Spared, ...]:
    gone = {victim.unit for victim in victims}
    rooms = (d.preemption for d in decisions if d.preemption is not None and d.outcome is Outcome.PREEMPTS)
    spared = {one.unit: one for room in rooms for one in room.spared}
    return tuple(one for unit, one in spared.items() if unit not in gone)


def _exceeded(decisions: Iterable[Decision]) -> tuple[Exceeded, ...]:
    found: dict[str, Exceeded] = {}
    for decision in decisions:
        if decision.preemption is None or decision.outcome is not Outcome.PREEMPTS:
            continue
        for one in decision.preemption.exceeded:
            before = found.get(one.budget)
            going = one.going + (before.going if before is not None else 0)
            found[one.budget] = replace(before or one, going=going)
    return tuple(found.values())


def _decided_by(decision: Decision) -> Because | None:
    return decision.preemption.decided_by if decision.preemption is not None else None


# --- nodes that were not chosen ------------------------------------------------------------------


def _nodes(decided: Iterable[Decided], chosen: set[str]) -> tuple[NodeVerdict, ...]:
    """Plans that lost come first, then nodes that were excluded."""
    found: dict[str, NodeVerdict] = {}
    for one in decided:
        room = one.decision.preemption
        for loser in room.losers if room is not None and one.decision.outcome is Outcome.PREEMPTS else ():
            found.setdefault(loser.domain, _lost(loser))
    for one in decided:
        for verdict in _excluded(one):
            found.setdefault(verdict.name, verdict)
    return tuple(verdict for name, verdict in found.items() if name not in chosen)


def _lost(loser: Loser) -> NodeVerdict:
    return NodeVerdict(loser.domain, None, loser.lost_by, loser.pods, loser.highest, loser.broken)


def _excluded(decided: Decided) -> Iterator[NodeVerdict]:
    """A node where evictions might help has a plan that was not worth making, or lost to the best ones."""
    if (found := decided.found) is None:
        return
    names, curable = found.view.nodes.names, found.survey.curable()
    preempts = decided.decision.outcome is Outcome.PREEMPTS
    for row in np.flatnonzero(~found.survey.feasible).tolist():
        rest = ", and no plan there is better" if preempts and curable[row] else ""
        for reason in found.survey.reasons_of(row)[:1]:
            yield NodeVerdict(names[row], Because(reason.code, f"it {reason.text}{rest}"))
