"""A decision as lines for people.

Made from the decision alone, so that it reads the same when the objects it names are gone.
"""

from collections.abc import Iterator, Mapping

from reprieve.model.effects import Target
from reprieve.model.formatting import moment_text
from reprieve.report.text_layout import BLANK, LineStyle, TextLine, amount, counted, indented, listed, table
from reprieve.scheduler.reporting.decision import (
    Decision,
    Eviction,
    Finding,
    Loser,
    Miss,
    Outcome,
    PlanQuality,
    Preemption,
    Spared,
    Victim,
    VictimsOnward,
    has_plain_number,
    preempting_text,
    priority_text,
    proof_text,
)

_PODS_SHOWN = 8
_ALWAYS_SHOWN = 3  # criteria, also those by which a plan costs nothing
_IN_VAIN = "EvictedInVain"  # why nothing is evicted: an earlier preemption was of no use


# --- for people ----------------------------------------------------------------------------------


def decision_lines(decision: Decision) -> list[TextLine]:
    """The outcome; the victims and spared units with reasons; the plans that were not chosen."""
    pods = f", {decision.pods} pods" if decision.pods > 1 else ""
    heading = f"{shown(decision.demand)} (priority {decision.priority}{pods}): decision {decision.id}"
    return [TextLine(heading, LineStyle.HEADING), *indented(_outcome(decision))]


def shown(target: Target) -> str:
    """An object by its name, or by its UID if the reader may not know the name."""
    return str(target) if target.name else f"{target.kind} with UID {target.uid}"


def shown_unit(unit: str) -> str:
    """A unit by its name; only its kind if the reader may not know the name."""
    kind, _, name = unit.partition("/")
    return unit if name else f"a {kind} of another namespace"


def _name(target: Target) -> str:
    return target.name or f"UID {target.uid}"


def _outcome(decision: Decision) -> Iterator[TextLine]:
    room = decision.preemption or Preemption()
    match decision.outcome:
        case Outcome.PLACED:
            yield TextLine(f"It fits without preemption: {_places(decision)}.", LineStyle.GOOD)
            if len(decision.places) < decision.pods:
                yield TextLine(f"{counted(decision.pods - len(decision.places), 'pod')} of it did not fit.")
        case Outcome.PREEMPTS | Outcome.WAITING:
            yield TextLine(_price(room), LineStyle.GOOD)
            yield TextLine(f"Then {_places(decision)}.", LineStyle.GOOD)
            yield from _preemption_lines(room)
        case Outcome.IMPROVING:
            yield TextLine(f"{decision.text[0].upper()}{decision.text[1:]}.")
            yield from _preemption_lines(room)
        case Outcome.UNSCHEDULABLE:
            yield from _refusal_lines(decision)
        case Outcome.ERROR:
            yield TextLine(f"No decision: {decision.text}.", LineStyle.BAD)
        case Outcome.FITS:
            yield TextLine(
                f"It fits without preemption: {_places(decision)}, once the kubelet acts.", LineStyle.GOOD
            )
    if decision.growth is not None and decision.growth.others:
        others = counted(decision.growth.others, "other member")
        first = listed(decision.growth.beside, _PODS_SHOWN)
        names = f": {first}" if decision.growth.others == len(decision.growth.beside) else ""
        yield TextLine(f"Decided in one go with {others} of its gang{names}.")
    if decision.unproved is not None:
        claim = "it needs these victims" if room.pods else "it does not fit"
        yield TextLine(f"That {claim} is {decision.unproved.text}.")
    if decision.retry_at is not None:
        what = _awaited(decision.eviction, decision.retry_at)
        yield TextLine(f"{what} at {moment_text(decision.retry_at)}; it is retried then.")


def _awaited(eviction: Eviction | None, moment: float) -> str:
    """What happens at the moment at which a refused demand is retried."""
    if eviction is not None and eviction.because.code == _IN_VAIN:
        return "It may preempt again"
    protected = eviction.protected if eviction is not None else ()
    ends = (one.ends for one in protected if one.ends and one.first is not None and one.first <= moment)
    what = next(ends, "")
    return f"{what[0].upper()}{what[1:]} ends" if what else "More pods may be evicted"


def _places(decision: Decision) -> str:
    if decision.growth is not None:
        return f"{_name(decision.demand)} gets {decision.growth.text} on {decision.growth.node}"
    placed = [f"{_name(pod)} goes to {node}" for pod, node in decision.places]
    return listed(placed, _PODS_SHOWN)


def _price(room: Preemption) -> str:
    verb = "is" if room.leaving == 1 else "are"
    if not room.pods:
        gone = f"It fits once {counted(room.leaving, 'terminating pod')} {verb} gone."
        return gone if room.leaving else "It fits in the room that is reserved for it."
    also = f"; {counted(room.leaving, 'pod')} {verb} terminating already" if room.leaving else ""
    others = f" ({_shared_text(room)})" if room.in_flight else ""
    return f"It fits after preemption: {preempting_text(room.victim_nodes)}{others}{also}."


def _shared_text(room: Preemption) -> str:
    if room.in_flight == room.pods:
        return "in flight already"
    return f"{room.in_flight} of them in flight already"


def _preemption_lines(room: Preemption) -> Iterator[TextLine]:
    if room.victims:
        yield BLANK
        rows = [victim_row(victim) for victim in room.victims]
        yield from table(["VICTIM", "NODE", "PRIORITY", "EVICTED WITH", "BECAUSE"], rows, [2])
        yield from _more(room.pods - len(room.victims), "pod")
    for budget in room.exceeded:
        allowed = counted(budget.allowed, "eviction")
        name = f"PodDisruptionBudget {budget.budget}" if budget.budget else "A PodDisruptionBudget"
        text = f"{name} allows {allowed}; this plan has {budget.going}."
        yield TextLine(text, LineStyle.BAD)
    if room.spared:
        yield BLANK
        rows = [spared_row(spared) for spared in room.spared]
        yield from table(["SPARED", "PODS", "PRIORITY", "BECAUSE"], rows, [1, 2])
        more = room.units_spared - len(room.spared)
        if more > 0:
            rest = f"and {counted(more, 'more unit')}; in all, {room.spared_text} are spared"
            yield TextLine(rest, LineStyle.FAINT)
    yield from _competition(room)
    yield from _quality_lines(room)


def _quality_lines(room: Preemption) -> Iterator[TextLine]:
    if room.quality is not None:
        yield BLANK
        yield from map(TextLine, quality_sentences(room.quality, room.onward))


def quality_sentences(quality: PlanQuality, onward: VictimsOnward | None) -> Iterator[str]:
    """What the plan costs by each criterion, what is known to be the least, and where its victims go."""
    cost, least = shown_cost(quality), shown_bound(quality)
    if cost:
        yield f"Disturbance: {measured_text(cost)}."
    proof = proof_text(quality)
    yield f"{proof[0].upper()}{proof[1:]}." if proof else "Not proved to be the least."
    if not quality.proved and any(cost[name] != value for name, value in least.items()):
        yield f"No plan is below {measured_text(least)}."
    less = {name: by for name, by in quality.saved.items() if by and by > 0 and has_plain_number(name)}
    if less:
        yield f"PriorityCeiling would disturb more: {measured_text(less)}."
    if onward is not None and onward != VictimsOnward(0, 0, 0):
        yield _onward_text(onward)


def _onward_text(onward: VictimsOnward) -> str:
    counts = {
        "would fit": onward.fit,
        "would have to preempt others": onward.preempt,
        "would fit nowhere": onward.nowhere,
    }
    pods, found = sum(counts.values()), [(n, what) for what, n in counts.items() if n]
    if len(found) == 1:
        return f"If created again, {'the victim' if pods == 1 else f'the {pods} victims'} {found[0][1]}."
    return f"If created again, of {pods} victims {', '.join(f'{n} {what}' for n, what in found)}."


def cost_text(quality: PlanQuality) -> str:
    return measured_text(shown_cost(quality))


def shown_cost(quality: PlanQuality) -> dict[str, float]:
    """What people read: the first criteria, and of the others those by which the plan costs something.

    Sums of shifted priorities and negated moments are only for programs.
    """
    return {
        name: value
        for place, (name, value) in enumerate(quality.cost.items())
        if value is not None and (value or place < _ALWAYS_SHOWN) and has_plain_number(name)
    }


def shown_bound(quality: PlanQuality) -> dict[str, float]:
    """The bound, by the criteria that are shown of the cost."""
    least = {name: quality.bound.get(name) for name in shown_cost(quality)}
    return {name: value for name, value in least.items() if value is not None}


def measured_text(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {_number(value)}" for name, value in values.items())


def gap_text(quality: PlanQuality) -> str:
    if quality.gap is None:
        return ""
    name, value = quality.gap
    return name if value is None or not has_plain_number(name) else measured_text({name: value})


def _number(value: float) -> str:
    return f"{value:.10g}"


def _competition(room: Preemption) -> Iterator[TextLine]:
    if not room.victims:
        return
    sentences = [*choice_sentences(room.domain, room)]
    if sentences or room.losers:
        yield BLANK
    yield from map(TextLine, sentences)
    if room.losers:
        rows = list(map(loser_row, room.losers))
        header = ["NOT CHOSEN", "VICTIMS", "HIGHEST", "BUDGETS EXCEEDED BY", "LOST BY"]
        if any(loser.quality is not None for loser in room.losers):
            header += QUALITY_HEADER
            rows = [[*row, *quality_cells(o.quality)] for row, o in zip(rows, room.losers, strict=True)]
        yield from table(header, rows, [1, 2, 3])


def choice_sentences(where: str, room: Preemption) -> Iterator[str]:
    """Say among how many the plan was chosen. What is proved of it stands with its disturbance."""
    if room.plans > 1:
        yield f"{where} is {room.compared_text}."
    elif room.exhaustive or room.quality is None or not proof_text(room.quality):
        yield f"{room.compared_text.capitalize()}."


QUALITY_HEADER = ("COST", "BOUND", "GAP", "PROVED")


def quality_cells(quality: PlanQuality | None) -> list[str]:
    """A row's part of a table of plans. Names of criteria stand with the cost."""
    if quality is None:
        return ["-"] * len(QUALITY_HEADER)
    bound = ", ".join(map(_number, shown_bound(quality).values()))
    through = f"through {quality.proved_through}" if quality.proved_through else "no"
    proved = "yes" if quality.proved else through
    return [cost_text(quality) or "-", bound or "-", gap_text(quality) or "-", proved]


def victim_row(victim: Victim) -> list[str]:
    alone = victim.unit.startswith("Pod/")
    name = f"{victim.pod.namespace}/{victim.pod.name}" if victim.pod.name else _name(victim.pod)
    unit = "-" if alone else shown_unit(victim.unit)
    priority = priority_text(victim.priority, victim.own_priority)
    return [name, victim.node, priority, unit, victim.because.text]


def spared_row(spared: Spared) -> list[str]:
    priority = priority_text(spared.priority, spared.own_priority)
    return [shown_unit(spared.unit), str(spared.pods), priority, spared.because.text]


def loser_row(loser: Loser) -> list[str]:
    highest = "-" if loser.highest is None else str(loser.highest)
    return [loser.domain, str(loser.pods), highest, str(loser.broken), loser.lost_by.text]


def _more(count: int, noun: str) -> Iterator[TextLine]:
    if count > 0:
        yield TextLine(f"and {counted(count, f'more {noun}')}", LineStyle.FAINT)


def _refusal_lines(decision: Decision) -> Iterator[TextLine]:
    if decision.growth is not None:
        yield TextLine(f"{decision.growth.node} has no room for {decision.growth.text}.", LineStyle.BAD)
    else:
        yield TextLine(_nowhere(decision.considered), LineStyle.BAD)
    if decision.miss is not None and decision.considered:
        yield TextLine(_miss_text(decision.miss, one=decision.demand.kind == "Pod"))
    if decision.eviction is not None and decision.considered:
        yield TextLine(f"Preemption cannot help: {decision.eviction.because.text}.")
    if decision.findings:
        yield BLANK
        rows = [_finding_row(finding, in_vain=decision.eviction is not None) for finding in decision.findings]
        yield from table(["NODES", "PREEMPTION", "WHY NOT"], rows, [0])


def _nowhere(nodes: int) -> str:
    if nodes <= 1:
        return "It does not fit on the only node." if nodes else "There is no node."
    return f"It fits on none of {nodes} nodes."


def _miss_text(miss: Miss, *, one: bool) -> str:
    subject = "It" if one else f"Pod {_name(miss.pod)}"
    if miss.placed:
        subject = (
            f"{miss.placed} of the {miss.needed} pods that must start together fit; pod {_name(miss.pod)}"
        )
    if not miss.resource:
        return f"{subject} fits on no node: {miss.because.text}."
    lack = f"{amount(miss.resource, miss.short)} {miss.resource}"
    spread = f", the nearest of {counted(miss.nodes, 'node')} that lack it" if miss.nodes > 1 else ""
    kept = f", where {amount(miss.resource, miss.kept)} is reserved for nominated pods" if miss.kept else ""
    return f"{subject} lacks {lack} on {miss.node}{spread}{kept}."


def _finding_row(finding: Finding, *, in_vain: bool) -> list[str]:
    """``in_vain``: evictions could cure this reason on some node, but not enough of them may be made."""
    hope = "does not help" if in_vain else "may help"
    return [str(finding.nodes), hope if finding.curable else "cannot help", finding.reason.text]
