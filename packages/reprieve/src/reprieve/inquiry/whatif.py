"""What would the scheduler do if these objects were created, or that pod resized, in this cluster?

The scheduler of production decides, on a cluster in memory where every effect succeeds. Nothing is read or
written, and the time is an argument. This module must not know files, flags or how an answer is shown.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import inf

import numpy as np
from msgspec import structs

from reprieve.cluster.api.codec import Decoded
from reprieve.inquiry.asked_demands import AskedDemand, AskedDemands, WhatIfQuestion, is_running
from reprieve.inquiry.decoded_cluster import DecodedCluster
from reprieve.inquiry.manifests import admitted
from reprieve.inquiry.rehearsal import Controllers, Rehearsed, rehearse
from reprieve.inquiry.rollouts import RolloutFacts
from reprieve.inquiry.seen_events import noted_evictions
from reprieve.inquiry.world_changes import changed
from reprieve.model.effects import Target
from reprieve.model.formatting import clock_time, counted
from reprieve.model.groups import GroupKey, group_key
from reprieve.model.objects import KubernetesObject, Node, Pod
from reprieve.model.workloads import PastEviction
from reprieve.preemption.eligibility import grace_of
from reprieve.scheduler.reporting.decision import (
    Decided,
    Decision,
    DecisionPart,
    EvictionReason,
    Exceeded,
    Loser,
    Miss,
    Outcome,
    Preemption,
    Spared,
    Victim,
    by_node,
)
from reprieve.scheduler.settings import Settings

# --- the answer ----------------------------------------------------------------------------------


class WhatIfOutcome(StrEnum):
    FITS = "Fits"
    PREEMPTS = "Preempts"
    UNSCHEDULABLE = "Unschedulable"
    UNKNOWN = "Unknown"  # it needs what this scheduler does not decide about


class DemandSummary(DecisionPart, frozen=True):
    """``kind``: of the object that was asked about; Node for the pods of a drained node."""

    kind: str
    namespace: str
    name: str
    priority: int = 0
    pods: int = 1


class ExcludedNode(DecisionPart, frozen=True):
    """A node that was not chosen, and for which no plan was compared."""

    name: str
    because: EvictionReason


@dataclass(frozen=True, slots=True)
class SnapshotFacts:
    resource_version: str = ""
    nodes: int = 0
    pods: int = 0
    taken_at: float = 0.0
    pods_read_in: tuple[str, ...] | None = None  # the namespaces whose pods were read; None: all
    is_dated: bool = True  # otherwise taken_at is when it was read

    @property
    def is_partial(self) -> bool:
        """Whether pods run that were not read: then room and victims are known in part only."""
        return self.pods_read_in is not None


class WhatIfReport(DecisionPart, frozen=True):
    """What would become of one demand: an object that was asked about, with all of its pods."""

    demand: DemandSummary
    outcome: WhatIfOutcome
    decisions: tuple[Decision, ...] = ()  # in order; a demand of many pods may need many
    placements: tuple[tuple[Target, str], ...] = ()
    waiting: tuple[Target, ...] = ()  # pods that find no room
    preemption: Preemption | None = None  # of all these decisions, with every victim; None: there is none
    excluded: tuple[ExcludedNode, ...] = ()
    miss: Miss | None = None  # the nearest miss of a demand that cannot fit, as things are
    at_best: Miss | None = None  # and if all units were gone that may be evicted
    refusal: EvictionReason | None = None  # why preemption does not help it, or why it cannot be decided
    retry_at: float | None = None
    starts_at: float | None = (
        None  # by when it can start, if it must wait for what ends by then; None: unknown
    )
    starts_because: EvictionReason | None = None  # what ends by then
    resize: bool = False
    rollout: RolloutFacts | None = (
        None  # of an object that exists: what differs, and how its pods are replaced
    )

    @property
    def room(self) -> Preemption:
        return self.preemption or Preemption()

    @property
    def victims(self) -> tuple[Victim, ...]:
        return self.room.victims

    @property
    def breaks_budget(self) -> bool:
        return bool(self.room.exceeded)


@dataclass(frozen=True, slots=True)
class WhatIfAnswer:
    """``problems``: why the question cannot be answered; then there are no reports. Each is one sentence."""

    reports: tuple[WhatIfReport, ...] = ()
    snapshot: SnapshotFacts = field(default=SnapshotFacts())
    policy: str = ""
    notes: tuple[str, ...] = ()  # what was assumed, left out or contradictory; a sentence each
    problems: tuple[str, ...] = ()


# --- the question --------------------------------------------------------------------------------

Rehearse = Callable[
    [Settings, Sequence[Decoded[KubernetesObject]], float, tuple[PastEviction, ...], Controllers | None],
    Rehearsed,
]


def whatif(question: WhatIfQuestion, now: float, rehearsed_by: Rehearse = rehearse) -> WhatIfAnswer:
    """``rehearsed_by``: what plays it through; of many questions on one cluster, ``Rehearsals``."""
    cluster = question.cluster
    world = changed(cluster.seen, question.changes)
    created = admitted(question.manifests, cluster, question.namespace, question.priority_class)
    asking = AskedDemands(question, world, created)
    asking.collect(now)
    notes = (*cluster.notes, *world.notes, *created.notes, *asking.notes)
    if problems := (*world.problems, *created.problems, *asking.problems):
        return WhatIfAnswer(notes=notes, problems=problems)
    seen = [*asking.seen()]
    settings = _settings_for(question.settings, asking.scheduler_names(seen))
    evicted = noted_evictions(cluster) if settings.longest_eviction_window else ()
    rehearsed = rehearsed_by(settings, seen, now, evicted, created.rollouts)
    asking.join_rollouts(rehearsed)
    failures = tuple(f"The scheduler failed on {failure}." for failure in rehearsed.failures)
    victims = victims_by_decision(rehearsed)
    reports = [report_of(demand, rehearsed, victims) for demand in asking.demands.values()]
    turns = {one.decision.id: turn for turn, one in enumerate(rehearsed.decided)}
    reports.sort(key=lambda report: min((turns[d.id] for d in report.decisions), default=len(turns)))
    slow = _slow_victims(rehearsed, settings, now)
    return WhatIfAnswer(tuple(reports), _summary(cluster), question.policy, (*notes, *slow, *failures))


def _slow_victims(rehearsed: Rehearsed, settings: Settings, now: float) -> Iterator[str]:
    """A sentence for each victim that may take longer to stop than the scheduler counts on it."""
    patience = settings.stuck_victim_seconds
    for target, pod in sorted(rehearsed.evicted.items()):
        grace = min(grace_of(pod), settings.longest_grace or inf)
        if grace > patience:
            until, name = clock_time(now + grace, now), f"{target.namespace}/{target.name}"
            yield (
                f"{name} may take until {until} to stop, its grace period. The scheduler counts on its room "
                f"for {patience:g} s, and prefers other victims from then on."
            )


def _summary(cluster: DecodedCluster) -> SnapshotFacts:
    nodes = sum(isinstance(one.object, Node) for one in cluster.seen)
    pods = sum(map(is_running, cluster.pods()))
    source = cluster.source
    return SnapshotFacts(
        source.resource_version, nodes, pods, source.taken_at, source.pods_read_in, source.is_dated
    )


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


# --- what became of a demand ---------------------------------------------------------------------


def report_of(
    demand: AskedDemand, rehearsed: Rehearsed, by_decision: Mapping[str, Sequence[Victim]]
) -> WhatIfReport:
    decided = [one for one in rehearsed.decided if _is_about(one.decision, demand)]
    decisions = tuple(one.decision for one in decided)
    places = _places(decisions)
    waiting = tuple(target for target in demand.pods if target not in places)
    victims = tuple(
        structs.replace(victim, controller=_controller(rehearsed.evicted[victim.pod]))
        for decision in decisions
        for victim in by_decision.get(decision.id, ())
    )
    report = WhatIfReport(
        demand=_described(demand, decisions, len(places)),
        outcome=_outcome(demand, places, victims),
        decisions=decisions,
        placements=tuple(places.items()),
        waiting=waiting,
        preemption=_preemption(decisions, victims, set(places.values())),
        excluded=_excluded(decided, set(places.values())),
        resize=demand.resize,
        rollout=demand.rolled,
    )
    if not demand.rolled and (
        late := [rehearsed.bound_at[pod] for pod in places if pod in rehearsed.bound_at]
    ):
        grace = EvictionReason("GracePeriods", "the grace periods of the victims end")
        report = structs.replace(report, starts_at=max(late), starts_because=grace)
    if demand.devices and (waiting or victims):
        return _unknown(report, demand)
    if demand.rolled is not None and not waiting and not demand.rolled.is_done:
        return structs.replace(report, refusal=EvictionReason("RolloutStops", _why_it_stops(demand.rolled)))
    if not waiting and not demand.impossible:
        return report
    return _with_refusal(report, demand, rehearsed)


def _unknown(report: WhatIfReport, demand: AskedDemand) -> WhatIfReport:
    """Devices may be free where resources are short, and short where resources are free."""
    text = f"{demand.devices}, and this scheduler does not allocate devices"
    return WhatIfReport(
        demand=report.demand,
        outcome=WhatIfOutcome.UNKNOWN,
        waiting=tuple(demand.pods),
        refusal=EvictionReason("DynamicResources", text),
        resize=report.resize,
    )


def _why_it_stops(rolled: RolloutFacts) -> str:
    if rolled.refused:
        return rolled.refused
    left = counted(rolled.left, "pod")
    return f"its rollout stops: {left} of the earlier template would stay, as too few others are available"


def _with_refusal(report: WhatIfReport, demand: AskedDemand, rehearsed: Rehearsed) -> WhatIfReport:
    refused = [d for d in report.decisions if d.outcome in (Outcome.UNSCHEDULABLE, Outcome.ERROR)]
    if demand.impossible:
        return structs.replace(report, refusal=EvictionReason("NodeTooSmall", demand.impossible))
    if not refused:
        return structs.replace(
            report, refusal=EvictionReason("NotDecided", _why_undecided(demand, report, rehearsed))
        )
    last = refused[-1]
    eviction = last.eviction
    return structs.replace(
        report,
        miss=last.miss,
        at_best=eviction.at_best if eviction is not None else None,
        refusal=eviction.because if eviction is not None else None,
        retry_at=last.retry_at,
    )


def _why_undecided(demand: AskedDemand, report: WhatIfReport, rehearsed: Rehearsed) -> str:
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


def _is_about(decision: Decision, demand: AskedDemand) -> bool:
    if demand.resize != (decision.growth is not None):
        return False
    if decision.demand.kind in ("PodGroup", "CompositePodGroup"):
        key = (decision.demand.namespace, decision.demand.name)
        return demand.kind == decision.demand.kind and key == (demand.namespace, demand.name)
    return decision.demand in demand.pods


def _places(decisions: Iterable[Decision]) -> dict[Target, str]:
    """The nodes of its pods at the end; a plan that was replaced by another one does not count."""
    places: dict[Target, str] = {}
    for decision in decisions:
        if decision.outcome in (Outcome.UNSCHEDULABLE, Outcome.ERROR):
            continue
        places.update(decision.places)
    return places


def victims_by_decision(rehearsed: Rehearsed) -> dict[str, list[Victim]]:
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
    because = EvictionReason("RoomNeeded", f"{pod.spec.node_name} has too little room")
    unit = units.get(group_key(pod), f"Pod/{target.namespace}/{target.name}")
    return Victim(target, pod.spec.node_name, pod.spec.priority or 0, unit, (), because)


def _controller(pod: Pod) -> str:
    owners = (owner for owner in pod.metadata.owner_references if owner.controller)
    return next((f"{owner.kind}/{owner.name}" for owner in owners), "")


def _outcome(demand: AskedDemand, places: dict[Target, str], victims: Sequence[Victim]) -> WhatIfOutcome:
    needed = len(demand.pods) if demand.needed is None else min(demand.needed, max(1, len(demand.pods)))
    stops = demand.rolled is not None and not demand.rolled.is_done
    if demand.impossible or len(places) < needed or stops:
        return WhatIfOutcome.UNSCHEDULABLE
    return WhatIfOutcome.PREEMPTS if victims else WhatIfOutcome.FITS


def _described(demand: AskedDemand, decisions: Sequence[Decision], placed: int) -> DemandSummary:
    """Of a rollout that stops, the pods that it has not created yet count, too."""
    own = [pod.spec.priority or 0 for pod in demand.pods.values()]
    priority = decisions[0].priority if decisions else max(own, default=0)
    pods = max(len(demand.pods), placed + demand.rolled.missing if demand.rolled is not None else 0)
    return DemandSummary(demand.kind, demand.namespace, demand.name, priority, pods)


# --- all that is evicted for it ------------------------------------------------------------------


def _preemption(
    decisions: Iterable[Decision], victims: tuple[Victim, ...], chosen: set[str]
) -> Preemption | None:
    """Each of several decisions sees the ones before: what the last one spares is spared in the end."""
    made = [d.preemption for d in decisions if d.preemption is not None and d.outcome is Outcome.PREEMPTS]
    if not made:
        return None
    first, last = made[0], made[-1]
    together = structs.replace(first, victims=victims, pods=len(victims), losers=_losers(made, chosen))
    if len(made) == 1:
        return together
    spared = _spared(made, victims)
    return structs.replace(
        together,
        spared=spared,
        units_spared=max(last.units_spared, len(spared)),
        pods_spared=max(last.pods_spared, sum(one.pods for one in spared)),
        exceeded=_exceeded(made),
        broken=sum(room.broken for room in made),
        plans=1 + sum(room.plans - 1 for room in made),
        exhaustive=all(room.exhaustive for room in made),
        decided_by=next((room.decided_by for room in made if room.decided_by is not None), None),
        leaving=max(room.leaving for room in made),
        victim_nodes=by_node(victim.node for victim in victims),
        quality=None,  # what each costs does not say what they cost together
        onward=None,
    )


def _spared(made: Iterable[Preemption], victims: Iterable[Victim]) -> tuple[Spared, ...]:
    gone = {victim.unit for victim in victims}
    spared = {one.unit: one for room in made for one in room.spared}
    return tuple(one for unit, one in spared.items() if unit not in gone)


def _exceeded(made: Iterable[Preemption]) -> tuple[Exceeded, ...]:
    found: dict[str, Exceeded] = {}
    for one in (one for room in made for one in room.exceeded):
        before = found.get(one.budget)
        going = one.going + (before.going if before is not None else 0)
        found[one.budget] = structs.replace(before or one, going=going)
    return tuple(found.values())


def _losers(made: Iterable[Preemption], chosen: set[str]) -> tuple[Loser, ...]:
    losers: dict[str, Loser] = {}
    for loser in (loser for room in made for loser in room.losers):
        losers.setdefault(loser.domain, loser)
    return tuple(loser for domain, loser in losers.items() if domain not in chosen)


# --- nodes that were not chosen ------------------------------------------------------------------


def _excluded(decided: Iterable[Decided], chosen: set[str]) -> tuple[ExcludedNode, ...]:
    """All but the chosen ones, and those with a plan that lost."""
    found: dict[str, ExcludedNode] = {}
    for one in decided:
        room = one.decision.preemption
        if room is not None and one.decision.outcome is Outcome.PREEMPTS:
            chosen = chosen.union(loser.domain for loser in room.losers)
    for one in decided:
        for node in _excluded_by(one):
            found.setdefault(node.name, node)
    return tuple(node for name, node in found.items() if name not in chosen)


def _excluded_by(decided: Decided) -> Iterator[ExcludedNode]:
    """The nodes where a pod does not fit. If evictions might help there, no plan there is better."""
    if (found := decided.found) is None:
        return
    names, curable = found.view.nodes.names, found.survey.curable()
    compared = decided.decision.outcome is Outcome.PREEMPTS and decided.decision.pods == 1
    for row in np.flatnonzero(~found.survey.feasible).tolist():
        rest = ", and no plan there is better" if compared and curable[row] else ""
        for reason in found.survey.reasons_of(row)[:1]:
            yield ExcludedNode(names[row], EvictionReason(reason.code, f"it {reason.text}{rest}"))
