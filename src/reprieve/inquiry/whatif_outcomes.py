"""What became of each demand of a rehearsal: outcome, places, victims, what was spared and what not chosen?

Decisions about one demand are joined into one report. Nothing is decided or rendered here.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from reprieve.inquiry.asked_demands import AskedDemand
from reprieve.inquiry.rehearsal import Rehearsed
from reprieve.inquiry.whatif_records import DemandSummary, ExcludedNode, WhatIfOutcome, WhatIfReport
from reprieve.model.effects import Target
from reprieve.model.formatting import counted
from reprieve.model.groups import GroupKey, group_key
from reprieve.model.objects import Pod
from reprieve.scheduler.decision import (
    Because,
    Decided,
    Decision,
    Exceeded,
    Loser,
    Outcome,
    Preemption,
    Spared,
    Victim,
    by_node,
)


def report_of(
    demand: AskedDemand, rehearsed: Rehearsed, by_decision: Mapping[str, Sequence[Victim]]
) -> WhatIfReport:
    decided = [one for one in rehearsed.decided if _is_about(one.decision, demand)]
    decisions = tuple(one.decision for one in decided)
    places = _places(decisions)
    waiting = tuple(target for target in demand.pods if target not in places)
    victims = tuple(
        replace(victim, controller=_controller(rehearsed.evicted[victim.pod]))
        for decision in decisions
        for victim in by_decision.get(decision.id, ())
    )
    report = WhatIfReport(
        demand=_described(demand, decisions),
        outcome=_outcome(demand, places, victims),
        decisions=decisions,
        placements=tuple(places.items()),
        waiting=waiting,
        preemption=_preemption(decisions, victims, set(places.values())),
        excluded=_excluded(decided, set(places.values())),
        resize=demand.resize,
    )
    if not waiting and not demand.impossible:
        return report
    return _with_refusal(report, demand, rehearsed)


def _with_refusal(report: WhatIfReport, demand: AskedDemand, rehearsed: Rehearsed) -> WhatIfReport:
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
    """Where its pods are at the end; a plan that was replaced by another one does not count."""
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
    because = Because("RoomNeeded", f"{pod.spec.node_name} has too little room")
    unit = units.get(group_key(pod), f"Pod/{target.namespace}/{target.name}")
    return Victim(target, pod.spec.node_name, pod.spec.priority or 0, unit, (), because)


def _controller(pod: Pod) -> str:
    owners = (owner for owner in pod.metadata.owner_references if owner.controller)
    return next((f"{owner.kind}/{owner.name}" for owner in owners), "")


def _outcome(demand: AskedDemand, places: dict[Target, str], victims: Sequence[Victim]) -> WhatIfOutcome:
    needed = len(demand.pods) if demand.needed is None else min(demand.needed, max(1, len(demand.pods)))
    if demand.impossible or len(places) < needed:
        return WhatIfOutcome.UNSCHEDULABLE
    return WhatIfOutcome.PREEMPTS if victims else WhatIfOutcome.FITS


def _described(demand: AskedDemand, decisions: Sequence[Decision]) -> DemandSummary:
    own = [pod.spec.priority or 0 for pod in demand.pods.values()]
    priority = decisions[0].priority if decisions else max(own, default=0)
    return DemandSummary(demand.kind, demand.namespace, demand.name, priority, len(demand.pods))


# --- all that is evicted for it ------------------------------------------------------------------


def _preemption(
    decisions: Iterable[Decision], victims: tuple[Victim, ...], chosen: set[str]
) -> Preemption | None:
    """Of several decisions, each sees the ones before: what the last one spares is spared in the end."""
    made = [d.preemption for d in decisions if d.preemption is not None and d.outcome is Outcome.PREEMPTS]
    if not made:
        return None
    first, last = made[0], made[-1]
    together = replace(first, victims=victims, pods=len(victims), losers=_losers(made, chosen))
    if len(made) == 1:
        return together
    spared = _spared(made, victims)
    return replace(
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
        found[one.budget] = replace(before or one, going=going)
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
    """Where evictions might help a pod, the plan was not worth making, or lost to the best ones."""
    if (found := decided.found) is None:
        return
    names, curable = found.view.nodes.names, found.survey.curable()
    compared = decided.decision.outcome is Outcome.PREEMPTS and decided.decision.pods == 1
    for row in np.flatnonzero(~found.survey.feasible).tolist():
        rest = ", and no plan there is better" if compared and curable[row] else ""
        for reason in found.survey.reasons_of(row)[:1]:
            yield ExcludedNode(names[row], Because(reason.code, f"it {reason.text}{rest}"))
