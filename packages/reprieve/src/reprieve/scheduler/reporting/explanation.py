"""What a plan means, or the lack of one: rows become names, codes and sentences. Decides nothing."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from reprieve.model.columns import Ints, Mask
from reprieve.model.effects import Target
from reprieve.model.formatting import amount, counted
from reprieve.model.groups import Group, key_of
from reprieve.model.objects import CompositePodGroup
from reprieve.model.snapshot import NOWHERE, Snapshot, on_nodes
from reprieve.model.whatif import without
from reprieve.placement.constraints.resources import is_ignored
from reprieve.placement.demand import Demand
from reprieve.placement.domains import place_together
from reprieve.placement.place import Unplaceable
from reprieve.placement.profile import Profile
from reprieve.placement.rejection_codes import Code
from reprieve.preemption.criteria import Criterion, decided_by, pods_disturbed
from reprieve.preemption.eligibility import grace_of
from reprieve.preemption.least_disturbance.cascade import onward
from reprieve.preemption.plan import NoPlan, Plan, Why
from reprieve.preemption.policy import Question
from reprieve.preemption.search import CLUSTER, measured
from reprieve.preemption.units import Unit, UnitKind, pods_in, with_any, without_any
from reprieve.scheduler.reporting.decision import (
    MOST_PLANS,
    MOST_PROTECTED,
    MOST_SPARED,
    MOST_UNITS,
    MOST_VICTIMS,
    NO_HELP,
    Decision,
    Eviction,
    EvictionReason,
    Exceeded,
    Loser,
    Miss,
    Preemption,
    Spared,
    Victim,
    VictimsOnward,
    by_node,
    findings_of,
    quality_of,
    short_text,
    unschedulable_text,
)
from reprieve.scheduler.reporting.spared_explanation import (
    SparedMembers,
    protected_beside,
    protected_by,
    protected_text,
    told_of,
)
from reprieve.scheduler.reporting.status_reporter import Notice
from reprieve.scheduler.targets import target_at

_NO_ROOM = (Code.INSUFFICIENT_RESOURCE, Code.EXCEEDS_CAPACITY, Code.TOO_MANY_PODS)


# --- a plan --------------------------------------------------------------------------------------


def preemption_of(
    plans: Sequence[Plan], question: Question, leaving: int, now: float, in_flight: Collection[int] = ()
) -> Preemption:
    """What the first plan costs, and why not the others.

    ``in_flight``: pods that are being evicted already, mostly for other plans. They are listed, for this plan
    evicts them if the others fail, and cost nothing, for they are evicted without it.
    """
    plan = plans[0]
    more, shared = _without(plan, question, in_flight)
    quality = plan.quality
    if quality is None or shared:
        effort = quality.effort if quality is not None else 0
        # Nothing disturbs less than a plan that evicts nothing more.
        quality = replace(measured(question, more, now), proved=not more.victims, effort=effort)
    victims = _Victims(plan, question)
    criteria = [decided_by(plan.cost, other.cost) for other in plans[1 : MOST_PLANS + 1]]
    protected = protected_beside(plan, question, now)
    return Preemption(
        domain=plan.domain,
        ceiling=plan.ceiling,
        victims=tuple(victims.listed()),
        pods=pods_disturbed(plan.victims),
        spared=tuple(_spared(plan, question, victims, protected.listed)),
        units_spared=len(plan.spared) + protected.units,
        pods_spared=pods_in(plan.spared) + protected.pods,
        exceeded=victims.exceeded,
        broken=plan.broken,
        losers=tuple(_loser(other, by) for other, by in zip(plans[1:], criteria, strict=False)),
        plans=len(plans),
        exhaustive=_has_one_place(plan, question),
        decided_by=EvictionReason(criteria[0].code, criteria[0].text) if criteria else None,
        leaving=leaving,
        in_flight=shared,
        victim_nodes=by_node(node for _, node in victim_nodes(plan, question.view)),
        quality=quality_of(quality),
        onward=_onward(question, more),
    )


def _without(plan: Plan, question: Question, in_flight: Collection[int]) -> tuple[Plan, int]:
    """What a plan evicts beside victims in flight; and how many of its pods are in flight."""
    gone = frozenset(in_flight)
    shared = sum(pod in gone for unit in plan.victims for pod in unit.pods)
    if not shared:
        return plan, 0
    victims = tuple(unit for unit in plan.victims if not gone.issuperset(unit.pods))
    broken = question.accounts.exceeded_by(victims)
    return replace(plan, victims=victims, broken=broken), shared


def _onward(question: Question, plan: Plan) -> VictimsOnward:
    found = onward(question, plan)
    return VictimsOnward(found.fit, found.preempt, found.nowhere)


def _has_one_place(plan: Plan, question: Question) -> bool:
    """Whether the demand can be on one node only, whatever is evicted: then no placement can be missed."""
    if len(plan.pods) != len(question.demand.pods):
        return False  # several searches made it
    nodes = np.ones(len(question.view.nodes), np.bool_)
    if question.demand.allowed is not None:
        nodes &= question.demand.allowed
    if len(question.demand.pods) == 1:
        nodes &= question.found.curable()  # no eviction makes it feasible elsewhere
    return int(nodes.sum()) == 1


def victim_nodes(plan: Plan, view: Snapshot) -> tuple[tuple[Target, str], ...]:
    """The victims, and the nodes they run on."""
    rows = [row for unit in plan.victims for row in unit.pods]
    return tuple((target_at(view, row), view.nodes.names[view.where[row]]) for row in rows)


def _loser(plan: Plan, criterion: Criterion) -> Loser:
    highest = max((unit.priority for unit in plan.victims), default=None)
    units = tuple(unit.name for unit in plan.victims[:MOST_UNITS])
    cost = pods_disturbed(plan.victims), highest, plan.broken
    lost_by = EvictionReason(criterion.code, criterion.lost_text or criterion.text)
    quality = quality_of(plan.quality) if plan.quality is not None else None
    return Loser(plan.domain, *cost, lost_by, units, quality, len(plan.victims))


class _Victims:
    def __init__(self, plan: Plan, question: Question) -> None:
        rows = [row for unit in plan.victims for row in unit.pods]
        self._plan, self._question = plan, question
        self._short = dict(_shortages(plan, question))
        self.accounts = question.accounts
        self.going = self.accounts.counted(rows)

    def exceeds(self, i: int, more: int = 0) -> bool:
        """Whether a budget is exceeded by the victims and so many pods more."""
        return self.going.get(i, 0) + more > self.accounts.allowed[i]

    @property
    def exceeded(self) -> tuple[Exceeded, ...]:
        name, allowed = self.accounts.name, self.accounts.allowed
        return tuple(Exceeded(name(i), allowed[i], n) for i, n in self.going.items() if self.exceeds(i))

    def listed(self) -> Iterator[Victim]:
        pairs = [(unit, row) for unit in self._plan.victims for row in unit.pods][:MOST_VICTIMS]
        charged = self.accounts.of_each([row for _, row in pairs])
        for unit, row in pairs:
            view = self._question.view
            node = int(view.where[row])
            broken = tuple(self.accounts.name(i) for i in charged.get(row, ()) if self.exceeds(i))
            because = self._because(unit, row, node)
            cost = view.nodes.names[node], unit.priority, unit.name, broken, because, unit.scheduling
            yield Victim(target_at(view, row), *cost)

    def _because(self, unit: Unit, row: int, node: int) -> EvictionReason:
        """Its room, or whatever else the node was refused for; pods elsewhere go with their group."""
        view, found = self._question.view, self._question.found
        short = {r: n for r, n in self._short.get(node, {}).items() if view.pods.requests[r, row]}
        name = view.nodes.names[node]
        if short:
            lacks = ((view.axis.names[resource], by) for resource, by in short.items())
            short_of = ", ".join(f"{resource} by {amount(resource, by)}" for resource, by in lacks)
            return EvictionReason("RoomNeeded", f"{name} is short of {short_of}")
        if node not in self._short and unit.kind is not UnitKind.POD:
            return EvictionReason("GoesWithItsGroup", f"{unit.name} is evicted whole or not at all")
        reasons = found.reasons_of(node) if len(self._plan.pods) == 1 else ()
        if reasons:
            return EvictionReason(reasons[0].code, f"{name} {reasons[0].text}")
        return EvictionReason("InTheWay", "its labels, ports, volumes or node keep the demand out")


def _shortages(plan: Plan, question: Question) -> Iterator[tuple[int, dict[int, int]]]:
    """For each node that is used, by how much it is short of which resources as things are."""
    view = question.view
    asked: dict[int, Ints] = {}
    for pod, node in plan.places:
        asked[node] = asked.get(node, 0) + view.pods.requests[:, pod]
    for node, wanted in asked.items():
        left = view.allocatable[:, node] - view.requested[:, node] - wanted
        short = np.flatnonzero((left < 0) & (wanted > 0) & _counted(view, question.profile))
        yield node, {int(r): int(-left[r]) for r in short}


def _counted(view: Snapshot, profile: Profile) -> Mask:
    return np.array([not is_ignored(name, profile) for name in view.axis.names], np.bool_)


def _spared(
    plan: Plan, question: Question, victims: _Victims, protected: Sequence[Spared]
) -> Iterator[Spared]:
    """Units on the nodes that are used come first: the others were hardly at risk."""
    there = on_nodes(question.view, [node for _, node in plan.places])
    near = set(np.flatnonzero(there).tolist())
    units = [*with_any(plan.spared, there)[:MOST_SPARED]]
    beside = protected[: MOST_SPARED - len(units)]
    yield from beside
    if len(units) + len(beside) < MOST_SPARED:
        units += without_any(plan.spared, there, MOST_SPARED - len(units) - len(beside))
    charged = victims.accounts.of_each([row for unit in units for row in unit.pods])
    members = cache(lambda: SparedMembers.of(plan, question))  # made only where a pod of a group is spared
    for unit in units:
        shares = Counter(i for row in unit.pods for i in charged.get(row, ()))
        because = _why_spared(unit, plan, victims, None if near.isdisjoint(unit.pods) else shares)
        if because == _FITS_BESIDE and question.view.pods.groups[unit.pods[0]] is not None:
            because = members().why_spared(unit) or because
        yield Spared(unit.name, len(unit.pods), unit.priority, because, unit.scheduling)


def _why_spared(
    unit: Unit, plan: Plan, victims: _Victims, shares: Mapping[int, int] | None
) -> EvictionReason:
    """``shares``: with how many of its pods budgets are charged; None: it runs where no room is needed."""
    if shares is None:
        return EvictionReason("NotInTheWay", "none of its pods runs where room is needed")
    if plan.ceiling is not None and unit.priority > plan.ceiling:
        return EvictionReason("AboveCeiling", f"no unit above priority {plan.ceiling} has to be evicted")
    for i, share in sorted(shares.items()):
        if victims.exceeds(i, share):
            name = victims.accounts.name(i)
            text = f"evicting it would exceed PodDisruptionBudget {name}, and there is room beside it"
            return EvictionReason("SparedForBudget", text)
    return _FITS_BESIDE


_FITS_BESIDE = EvictionReason("FitsBeside", "there is room beside it")


# --- no plan -------------------------------------------------------------------------------------


def refusal_notice(decision: Decision) -> Notice:
    """What the pods of a demand that fits nowhere are told.

    It is told again when another constraint refuses nodes, or when another reason keeps pods from being
    evicted: then there is something else to be done. On how many nodes, and how near it is, changes all the
    time, and is for ``reprieve why``.
    """
    eviction, lasting = decision.eviction, sorted({finding.reason.text for finding in decision.findings})
    if eviction is not None:
        yet = " yet" if decision.retry_at is not None else ""
        protected = (f"{one.code} {', '.join(one.by)} {one.first}" for one in eviction.protected)
        lasting += [f"{eviction.because.code}{yet}", *protected]
    if decision.unproved is not None:
        lasting.append(decision.unproved.code)
    text = unschedulable_text(decision, reported=decision.growth is None)  # of a resize only an event tells
    return Notice(text, "; ".join(lasting) if decision.considered else "")


def failure_text(target: Target, error: str, namespace: str) -> str:
    """What is reported on a preemptor whose plan failed. It must not name objects of other namespaces."""
    if target.namespace == namespace:
        return f"preemption failed at {target}: {error}"
    return "preemption failed: a pod of another namespace could not be evicted"


def eviction_refusal(refusal: NoPlan, question: Question | None, now: float) -> Eviction:
    """Why nothing is evicted."""
    match refusal.why:
        case Why.NO_HELP if question is not None:
            return _no_help(question, now)
        case Why.NOBODY_ELIGIBLE if question is not None:
            return Eviction(EvictionReason(refusal.why, _nothing_eligible(question)))
        case Why.PROTECTED if question is not None and refusal.held:
            return _protected(refusal, question, now)
        case Why.BUDGETS if refusal.forbidden is not None and question is not None:
            plan = refusal.forbidden
            beyond = f"{plan.broken} beyond PodDisruptionBudgets, and respectBudgets is Always"
            text = f"{_cost(plan, question)}, {beyond}"
            return Eviction(EvictionReason(refusal.why, text))
        case Why.GROUP_DEGRADED if question is not None and question.demand.degraded is not None:
            return Eviction(EvictionReason(refusal.why, _degraded(question.demand.degraded)))
        case Why.TOO_SLOW if refusal.forbidden is not None and question is not None:
            return Eviction(EvictionReason(refusal.why, _too_slow(refusal.forbidden, question, now)))
        case _:
            return Eviction(EvictionReason(refusal.why, _SENTENCES[refusal.why]))


def _nothing_eligible(question: Question) -> str:
    units, priority = question.units, question.demand.priority
    if (units.priority[units.size > 0] < priority).any():
        return f"no pod with a priority below {priority} may be preempted"
    protected = int(units.size[(units.size > 0) & (units.scheduling < priority)].sum())
    if protected:
        have, their = ("has", "its group names") if protected == 1 else ("have", "their groups name")
        pods = f"{counted(protected, 'pod')} of lower priority {have} a higher one for preemption"
        return f"no running pod has a priority below {priority} as a victim: {pods}, which {their}"
    return f"no running pod has a priority below {priority}"


def _too_slow(plan: Plan, question: Question, now: float) -> str:
    pods, until = question.view.pods.compiled, question.demand.until or now
    grace = max(grace_of(pods[row].pod) for unit in plan.victims for row in unit.pods)
    return (
        f"{_cost(plan, question)} with a grace period of {grace:g} s, and {max(0, until - now):g} s are left"
    )


def _degraded(group: Group) -> str:
    inside = "groups" if isinstance(group, CompositePodGroup) else "pods"
    needs = group.spec.gang.min_count if group.spec.gang is not None else 1
    namespace, name = key_of(group)
    lacks = f"fewer than {needs} {inside} of {type(group).__name__} {namespace}/{name} run"
    return f"{lacks}, and no pod is evicted for a member to grow until enough do"


def _cost(plan: Plan, question: Question) -> str:
    in_topology = question.demand.topology_key and plan.domain not in question.view.nodes.rows
    where = f"in {question.demand.topology_key}={plan.domain}" if in_topology else f"on {plan.domain}"
    where = "in the cluster" if plan.domain == CLUSTER else where
    return f"the best plan evicts {counted(pods_disturbed(plan.victims), 'pod')} {where}"


_SENTENCES = {
    Why.OFF: "preemption is off for pods of this scheduler",
    Why.FORBIDDEN: "preemption is forbidden for this pod",
    Why.IN_VAIN: "it could not use the room of pods evicted for it before; it may preempt again later",
    Why.NEVER_PREEMPTS: "preemptionPolicy is Never",
    Why.GROUP_DEGRADED: "too few pods of its group run",
    Why.NOBODY_ELIGIBLE: "no pod may be preempted",
    Why.NO_HELP: NO_HELP,
    Why.PROTECTED: "the pods that could make room are protected",
    Why.BUDGETS: "PodDisruptionBudgets would be exceeded",
    Why.TOO_SLOW: "the pods that could make room may take longer to terminate than the demand can wait",
}


def _protected(refusal: NoPlan, question: Question, now: float) -> Eviction:
    """The pods that are waited for; if there are none, those that are protected for good."""
    demand, verdict = question.demand, question.eligible(now)
    told = [*told_of(verdict, np.array(refusal.held, np.int64), now)]
    text = protected_text(told, demand.priority, refusal.retry_at, now)
    protected = tuple(protected_by(told[:MOST_PROTECTED]))
    return Eviction(
        EvictionReason(protected[0].code if protected else refusal.why, text), protected=protected
    )


def _no_help(question: Question, now: float) -> Eviction:
    if not question.found.curable().any() and len(question.demand.pods) == 1:
        return Eviction(EvictionReason(Why.NO_HELP, "no node was refused for a reason that evictions change"))
    units, demand, verdict = question.units, question.demand, question.eligible(now)
    # Pods that are protected have a lower priority, too, and evicting them would not help either.
    gone = units.pods_of(np.flatnonzero(verdict.allowed | verdict.held(now)))
    found = place_together(demand, without(question.view, gone), question.profile, question.policy.choose)
    if not isinstance(found, Unplaceable):
        return Eviction(EvictionReason(Why.NO_HELP, _SENTENCES[Why.NO_HELP]))
    miss = miss_of(found, demand, question.profile)
    pods = {1: "the only pod", 2: "both pods"}.get(len(gone), f"all {len(gone)} pods")
    pod = _would_not_fit(miss.pod) if len(demand.pods) > 1 else ""
    text = f"even after evicting {pods} of lower priority, {pod}{_still_short(miss)}"
    return Eviction(EvictionReason(Why.NO_HELP, text), miss)


def _would_not_fit(pod: Target) -> str:
    return f"pod {pod.name} would not fit: "


def naming_another_pod(text: str, pod: Target, other: Target) -> str:
    """What is said of one gang, said of the pod of another."""
    return text.replace(_would_not_fit(pod), _would_not_fit(other))


def _still_short(miss: Miss) -> str:
    """Not in the words of the nearest miss as things are, beside which it stands with another number."""
    if not miss.resource:
        return miss.because.text
    others = f" ({counted(miss.nodes, 'node')} would lack it)" if miss.nodes > 1 else ""
    return f"{miss.node} would still lack {amount(miss.resource, miss.short)} {miss.resource}{others}"


def miss_of(found: Unplaceable, demand: Demand, profile: Profile, shown: Snapshot | None = None) -> Miss:
    """Where the pod that limits the demand came nearest, and what it was short of there.

    ``shown`` is the cluster without the room that is reserved for other demands.
    """
    view, pod = found.view, target_at(found.view, found.pod)
    nodes = _without_room(found)
    if not len(nodes):
        return Miss(pod, found.placed, demand.needed, _most_frequent(found), nodes=0)
    asked = view.pods.requests[:, found.pod]
    rows = np.flatnonzero((asked > 0) & _counted(view, profile))
    free = (view.allocatable - view.requested)[np.ix_(rows, nodes)]
    short = np.maximum(asked[rows, None] - free, 0)
    shares = short / asked[rows, None]
    nearest = int(np.lexsort((view.nodes.rank[nodes], shares.max(axis=0)))[0])
    scarcest = int(shares[:, nearest].argmax())
    name, resource = view.nodes.names[nodes[nearest]], view.axis.names[rows[scarcest]]
    lack, same = int(short[scarcest, nearest]), int((short[scarcest] > 0).sum())
    text = short_text(name, resource, lack)
    kept = 0
    if shown is not None:
        waiting = (shown.where == NOWHERE) & (view.where == nodes[nearest])
        waiting[list(demand.pods)] = False
        kept = int(view.pods.requests[rows[scarcest], waiting].sum())
    if kept:
        text += f", with {amount(resource, kept)} reserved for other pods"
    if same > 1:
        text += f" ({counted(same, 'node')} are short of it)"
    because = EvictionReason(Code.INSUFFICIENT_RESOURCE, text)
    return Miss(pod, found.placed, demand.needed, because, name, resource, lack, same, kept)


def _without_room(found: Unplaceable) -> Ints:
    refused = np.zeros(len(found.view.nodes), np.bool_)
    for rejection in found.survey.rejections:
        if rejection.reason.code in _NO_ROOM:
            refused |= rejection.rows
    return np.flatnonzero(refused)


def _most_frequent(found: Unplaceable) -> EvictionReason:
    findings = findings_of(found.survey, found.view.nodes)
    if not findings:
        return EvictionReason("NoNodes", "there are no nodes in the cluster")
    reason = findings[0].reason
    return EvictionReason(reason.code, reason.said_of(findings[0].nodes))
