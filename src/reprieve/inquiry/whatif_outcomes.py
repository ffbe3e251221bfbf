"""What became of each demand of a rehearsal: outcome, places, victims, what was spared and what not chosen?

Decisions about one demand are joined into one report. Nothing is decided or rendered here.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from reprieve.inquiry.asked_demands import AskedDemand
from reprieve.inquiry.rehearsal import Rehearsed
from reprieve.inquiry.whatif_records import DemandSummary, NodeVerdict, WhatIfOutcome, WhatIfReport
from reprieve.model.effects import Target
from reprieve.model.formatting import counted
from reprieve.model.groups import GroupKey, group_key
from reprieve.model.objects import Pod
from reprieve.scheduler.decision import Because, Decided, Decision, Exceeded, Loser, Outcome, Spared, Victim


def report_of(
    demand: AskedDemand, rehearsed: Rehearsed, by_decision: Mapping[str, Sequence[Victim]]
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
        quality=next((d.preemption.quality for d in decisions if d.preemption is not None), None),
        onward=next((d.preemption.onward for d in decisions if d.preemption is not None), None),
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


def _controllers(victims: Iterable[Victim], rehearsed: Rehearsed) -> Iterator[tuple[Target, str]]:
    for victim in victims:
        for owner in rehearsed.evicted[victim.pod].metadata.owner_references:
            if owner.controller:
                yield victim.pod, f"{owner.kind}/{owner.name}"


def _outcome(demand: AskedDemand, places: dict[Target, str], victims: Sequence[Victim]) -> WhatIfOutcome:
    needed = len(demand.pods) if demand.needed is None else min(demand.needed, max(1, len(demand.pods)))
    if demand.impossible or len(places) < needed:
        return WhatIfOutcome.UNSCHEDULABLE
    return WhatIfOutcome.PREEMPTS if victims else WhatIfOutcome.FITS


def _described(demand: AskedDemand, decisions: Sequence[Decision]) -> DemandSummary:
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
    cost = (loser.pods, loser.highest, loser.broken, loser.units, loser.quality)
    return NodeVerdict(loser.domain, None, loser.lost_by, *cost)


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
