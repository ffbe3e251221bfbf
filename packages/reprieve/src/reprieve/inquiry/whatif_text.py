"""What does a what-if answer to people? Sentences and tables that need no knowledge of preemption.

An answer is made of blocks once, which are laid out as text or as Markdown. This module decides nothing and
must not know terminals.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from reprieve.inquiry.rollouts import RolloutFacts
from reprieve.inquiry.whatif import ExcludedNode, WhatIfAnswer, WhatIfOutcome, WhatIfReport
from reprieve.model.effects import Target
from reprieve.model.formatting import amount, clock_time, counted, lasted, listed
from reprieve.report.decisions import (
    QUALITY_HEADER,
    choice_sentences,
    loser_row,
    quality_cells,
    quality_sentences,
    spared_row,
    victim_row,
)
from reprieve.report.text_layout import (
    PARAGRAPH,
    Block,
    LineStyle,
    Sentence,
    Table,
    TextLine,
    markdown,
    text_lines,
)
from reprieve.scheduler.reporting.decision import (
    Exceeded,
    Loser,
    Miss,
    Outcome,
)

# --- names ---------------------------------------------------------------------------------------


_NODES_NAMED = 4  # in a sentence or a cell


def demand_name(report: WhatIfReport) -> str:
    demand = report.demand
    if demand.kind == "Node":
        return f"Drain of node {demand.name}"
    name = f"{demand.kind} {demand.namespace}/{demand.name}"
    return f"Resize of {name}" if report.resize else name


def subject(report: WhatIfReport) -> str:
    """The demand, with what matters of it: how many pods, and how important they are."""
    demand = report.demand
    if report.resize:
        growth = next((d.growth for d in report.decisions if d.growth is not None), None)
        to = f" to {growth.text}" if growth is not None else ""
        return f"The resize of Pod {demand.namespace}/{demand.name}{to} (priority {demand.priority})"
    pods = f"{counted(demand.pods, 'pod')}, " if demand.kind != "Pod" else ""
    if demand.kind == "Node":
        left = counted(demand.pods, "pod")
        return f"The drain of node {demand.name}, which moves {left},"
    return f"{demand.kind} {demand.namespace}/{demand.name} ({pods}priority {demand.priority})"


def pod_name(pod: Target) -> str:
    return f"{pod.namespace}/{pod.name}"


def nodes_text(placements: Sequence[tuple[Target, str]]) -> str:
    """Node names; of several nodes, with how many pods each gets."""
    counts = Counter(node for _, node in placements)
    if len(counts) <= 1:
        return "".join(counts)
    if len(counts) > _NODES_NAMED:
        return counted(len(counts), "node")
    return ", ".join(f"{node} ({counted(number, 'pod')})" for node, number in sorted(counts.items()))


# --- what cannot fit -----------------------------------------------------------------------------


def cannot_fit(report: WhatIfReport, answer: WhatIfAnswer) -> Iterator[Block]:
    yield Sentence(f"{subject(report)} {_nowhere(report)}.", LineStyle.BAD)
    if report.placements:
        rest = counted(len(report.waiting), "pod")
        yield Sentence(f"{_placed_part(report)}; {rest} would wait.")
    if not all(decision.considered for decision in report.decisions):
        return  # there is no node, and no more to say
    if report.miss is not None:
        yield Sentence(f"Nearest miss: {_miss_text(report.miss)}.")
    if report.refusal is not None and report.decisions:
        yet = " yet" if report.retry_at is not None else ""
        yield Sentence(f"Preemption cannot help{yet}: {report.refusal.text}.")
    if report.retry_at is not None:
        moment = clock_time(report.retry_at, answer.snapshot.taken_at)
        yield Sentence(f"The scheduler tries again at {moment}, when more pods may be evicted.")
    if report.starts_at is not None and report.starts_because is not None:
        moment = clock_time(report.starts_at, answer.snapshot.taken_at)
        yield Sentence(f"It can start by {moment}, when {report.starts_because.text}.")
    unproved = next((d.unproved for d in report.decisions if d.unproved is not None), None)
    if unproved is not None:
        yield Sentence(f"It may fit all the same: {unproved.text}.")


def _placed_part(report: WhatIfReport) -> str:
    after = f" after {counted(len(report.victims), 'eviction')}" if report.victims else ""
    part = f"{len(report.placements)} of its {report.demand.pods} pods would run"
    return f"{part} on {nodes_text(report.placements)}{after}"


def _nowhere(report: WhatIfReport) -> str:
    """What follows the subject of the first sentence."""
    refused = [d for d in report.decisions if d.outcome is Outcome.UNSCHEDULABLE]
    because = report.refusal.text if report.refusal is not None else "the scheduler failed on it"
    if report.resize:
        room = f"{refused[-1].growth.node} has too little room" if refused and refused[-1].growth else because
        return f"is not possible: {room}"
    if not refused:
        return f"cannot run: {because}"
    if report.placements:
        return "fits only in part"
    nodes = refused[-1].considered
    if not nodes:
        return "cannot run: there is no node"
    if report.demand.kind == "Pod":
        where = "it does not fit on the only node" if nodes == 1 else f"it fits on none of {nodes} nodes"
        return f"cannot run: {where}"
    if report.demand.kind == "Node":
        return "leaves pods without a node"
    if report.demand.kind in ("PodGroup", "CompositePodGroup"):
        return (
            f"cannot run: its pods start together or not at all, and do not fit on {counted(nodes, 'node')}"
        )
    return f"cannot run: none of its pods fits on {counted(nodes, 'node')}"


def _miss_text(miss: Miss) -> str:
    who = f"pod {miss.pod.name}"
    if miss.placed:
        verb = "finds" if miss.placed == 1 else "find"
        start = f"{miss.placed} of the {miss.needed} pods that must start together {verb} a node"
        who = f"{start}, and {who} does not: it"
    if not miss.resource:
        return f"{who} fits on no node: {miss.because.text}"
    lacks = f"{who} lacks {amount(miss.resource, miss.short)} {miss.resource} on {miss.node}"
    if miss.nodes > 1:
        lacks += f", the nearest of {miss.nodes} nodes that lack it"
    return (
        f"{lacks}; {amount(miss.resource, miss.kept)} is reserved there for nominated pods"
        if miss.kept
        else lacks
    )


# --- layout --------------------------------------------------------------------------------------


_MOST_ROWS = 20  # of a table
_UNITS_NAMED = 3  # of a plan that lost


def answer_lines(answers: Sequence[WhatIfAnswer], alternatives: int) -> list[TextLine]:
    """``alternatives``: how many of the plans and nodes that were not chosen are shown."""
    return text_lines(answer_blocks(answers, alternatives))


def answer_markdown(answers: Sequence[WhatIfAnswer], alternatives: int) -> str:
    return markdown(answer_blocks(answers, alternatives))


# --- the whole -----------------------------------------------------------------------------------


def answer_blocks(answers: Sequence[WhatIfAnswer], alternatives: int) -> Iterator[Block]:
    first = answers[0]
    yield from _partial(first)
    if not first.reports:
        yield Sentence("Nothing that was asked about needs a node.", LineStyle.GOOD)
        return
    if len(answers) > 1:
        yield from _comparison(answers)
    if len(first.reports) > 1:
        yield from _overview(first.reports)
    for report in first.reports:
        if len(answers) > 1:
            yield Sentence(f"{demand_name(report)}, with policy {first.policy}", LineStyle.HEADING)
        yield from _report_blocks(report, first, alternatives)


def _partial(answer: WhatIfAnswer) -> Iterator[Block]:
    """Comes first: what is said of room and of victims holds for a part of the pods only."""
    namespaces = answer.snapshot.pods_read_in
    if namespaces is None:
        return
    seen = "No pods were read"
    if namespaces:
        noun = "namespace" if len(namespaces) == 1 else "namespaces"
        seen = f"Only pods of {noun} {listed(namespaces)} were read"
    text = (
        f"{seen}: what runs elsewhere is unknown. The nodes may have less room than this answer assumes, and "
        "other pods may be evicted."
    )
    yield Sentence(text, LineStyle.BAD)


def _overview(reports: Sequence[WhatIfReport]) -> Iterator[Block]:
    text = f"{len(reports)} demands, in the order in which they are decided; each sees the ones before it."
    yield Sentence(text)
    rows = [[demand_name(report), _outcome_words(report), str(len(report.victims))] for report in reports]
    yield Table(["DEMAND", "OUTCOME", "VICTIMS"], rows, frozenset({2}))


def _comparison(answers: Sequence[WhatIfAnswer]) -> Iterator[Block]:
    yield Sentence(f"{len(answers)} policies side by side:")
    rows = []
    for answer in answers:
        for report in answer.reports:
            highest = max((victim.priority for victim in report.victims), default=None)
            rows.append(
                [
                    answer.policy,
                    demand_name(report),
                    _outcome_words(report),
                    str(len(report.victims)),
                    "-" if highest is None else str(highest),
                    str(sum(one.going - one.allowed for one in report.room.exceeded)),
                    nodes_text(report.placements) or "-",
                ]
            )
    header = ["POLICY", "DEMAND", "OUTCOME", "VICTIMS", "HIGHEST PRIORITY", "BUDGETS EXCEEDED BY", "RUNS ON"]
    yield Table(header, rows, frozenset({3, 4, 5}))
    yield from _costs(answers)
    yield from _differences(answers)


def _costs(answers: Sequence[WhatIfAnswer]) -> Iterator[Block]:
    """What the plans of each policy disturb, if that was measured."""
    reports = [(answer.policy, report) for answer in answers for report in answer.reports]
    if not any(report.room.quality is not None for _, report in reports):
        return
    rows = [
        [policy, demand_name(report), *quality_cells(report.room.quality)]
        for policy, report in reports
        if report.victims
    ]
    yield Table(["POLICY", "DEMAND", *QUALITY_HEADER], rows)


def _differences(answers: Sequence[WhatIfAnswer]) -> Iterator[Block]:
    victims = {
        answer.policy: {pod_name(v.pod) for r in answer.reports for v in r.victims} for answer in answers
    }
    every = sorted(set().union(*victims.values()))
    different = [name for name in every if not all(name in chosen for chosen in victims.values())]
    if not every:
        return
    if not different:
        yield Sentence("All of them choose the same victims.")
        return
    rows = [
        [name, *("victim" if name in victims[answer.policy] else "-" for answer in answers)]
        for name in different[:_MOST_ROWS]
    ]
    header = ["POD", *(answer.policy.upper() for answer in answers)]
    yield Table(header, rows, left_out=len(different) - len(rows))


def _outcome_words(report: WhatIfReport) -> str:
    match report.outcome:
        case WhatIfOutcome.FITS:
            return "fits"
        case WhatIfOutcome.PREEMPTS:
            return "preempts, breaks a budget" if report.breaks_budget else "preempts"
        case WhatIfOutcome.UNSCHEDULABLE:
            return "cannot fit"
        case WhatIfOutcome.UNKNOWN:
            return "unknown"


# --- one demand ----------------------------------------------------------------------------------


def _report_blocks(report: WhatIfReport, answer: WhatIfAnswer, alternatives: int) -> Iterator[Block]:
    match report.outcome:
        case WhatIfOutcome.FITS:
            yield from _fits(report, answer)
        case WhatIfOutcome.PREEMPTS:
            yield from _preempts(report, answer)
        case WhatIfOutcome.UNSCHEDULABLE:
            yield from cannot_fit(report, answer)
        case WhatIfOutcome.UNKNOWN:
            because = report.refusal.text if report.refusal is not None else ""
            yield Sentence(f"Whether {subject(report)} fits is unknown: {because}.", LineStyle.BAD)
    if report.rollout is not None:
        yield from _rollout_sentences(report, report.rollout)
    if report.victims:
        yield from _victim_blocks(report)
    yield from _not_chosen(report, alternatives)
    yield from _quality_blocks(report)


def _fits(report: WhatIfReport, answer: WhatIfAnswer) -> Iterator[Block]:
    if not report.demand.pods:
        yield Sentence(f"{subject(report)} needs no new pod.", LineStyle.GOOD)
        return
    leaving = max((d.preemption.leaving for d in report.decisions if d.preemption is not None), default=0)
    verb = "is" if leaving == 1 else "are"
    after = f", once {counted(leaving, 'pod')} that {verb} terminating already {verb} gone" if leaving else ""
    if report.resize:
        where = f"its node, {nodes_text(report.placements)}, has room for it"
    else:
        where = f"{_runs(report)} on {nodes_text(report.placements)}"
    if answer.snapshot.is_partial:
        yield Sentence(f"{subject(report)} fits as far as could be seen: {where}{after}.", LineStyle.BAD)
    else:
        replaced = report.rollout is not None and report.rollout.stopped
        no_pod = "No pod of another workload" if replaced else "No running pod"
        text = f"{subject(report)} fits: {where}{after}. {no_pod} is disturbed."
        yield Sentence(text, LineStyle.GOOD)
    yield from _placement_blocks(report)


def _rollout_sentences(report: WhatIfReport, rollout: RolloutFacts) -> Iterator[Block]:
    if rollout.changes:
        yield Sentence(f"Compared with what runs, these differ: {listed(rollout.changes)}.")
    else:
        lacks = f", which lacks {counted(report.demand.pods, 'pod')}" if report.demand.pods else ""
        yield Sentence(f"It does not differ from what runs{lacks}.")
    stopped = counted(len(rollout.stopped), "pod")
    if rollout.stopped or any("template" in change for change in rollout.changes):
        yield Sentence(f"Its rollout: {rollout.how}. It stops {stopped} that {_verb(rollout.stopped)} now.")
    if rollout.left:
        yield Sentence(
            f"It does not end: {counted(rollout.left, 'pod')} that should go would stay.", LineStyle.BAD
        )


def _verb(pods: Sequence[Target]) -> str:
    return "runs" if len(pods) == 1 else "run"


def _runs(report: WhatIfReport) -> str:
    return "it would run" if report.demand.kind == "Pod" else "its pods would run"


def _preempts(report: WhatIfReport, answer: WhatIfAnswer) -> Iterator[Block]:
    victims = f"{counted(len(report.victims), 'running pod')} of lower priority would be evicted"
    yield Sentence(f"{subject(report)} fits only by preemption: {victims} to make room.", LineStyle.BAD)
    if report.resize:
        yield Sentence(f"Its node, {nodes_text(report.placements)}, then grants the resize.")
    else:
        where = f"{_runs(report).capitalize()} on {nodes_text(report.placements)}"
        yield Sentence(f"{where} as soon as the {_gone(report)} gone{_within(report, answer)}.")
    yield from _placement_blocks(report)


def _within(report: WhatIfReport, answer: WhatIfAnswer) -> str:
    if report.starts_at is None:
        return ""
    return f", within {lasted(report.starts_at - answer.snapshot.taken_at)}"


def _gone(report: WhatIfReport) -> str:
    return "victim is" if len(report.victims) == 1 else "victims are"


def _placement_blocks(report: WhatIfReport) -> Iterator[Block]:
    if len(report.placements) > 1:
        by_node: dict[str, list[str]] = {}
        for pod, node in report.placements:
            by_node.setdefault(node, []).append(pod.name)
        rows = [[node, str(len(pods)), listed(sorted(pods))] for node, pods in sorted(by_node.items())]
        yield Table(
            ["NODE", "PODS", "NAMES"], rows[:_MOST_ROWS], frozenset({1}), max(0, len(rows) - _MOST_ROWS)
        )
    if report.waiting and report.outcome is not WhatIfOutcome.UNSCHEDULABLE:
        names = listed([pod.name for pod in report.waiting])
        rest = counted(len(report.waiting), "more pod")
        yield Sentence(f"The group starts without {rest} that would wait for room: {names}.")


# --- victims -------------------------------------------------------------------------------------


def _victim_blocks(report: WhatIfReport) -> Iterator[Block]:
    rows = [victim_row(victim) for victim in report.victims[:_MOST_ROWS]]
    left_out = len(report.victims) - len(rows)
    header = ["VICTIM", "NODE", "PRIORITY", "EVICTED WITH", "WHY"]
    yield Table(header, rows, frozenset({2}), left_out)
    yield from _afterwards(report)
    for budget in report.room.exceeded:
        yield Sentence(_budget_text(budget), LineStyle.BAD)
    if report.room.spared:
        near = [one for one in report.room.spared if one.because.code != "NotInTheWay"] or report.room.spared
        yield Table(
            ["SPARED", "PODS", "PRIORITY", "WHY"],
            [spared_row(spared) for spared in near[:_MOST_ROWS]],
            frozenset({1, 2}),
            max(0, len(near) - _MOST_ROWS),
        )
    if report.room.units_spared > len(report.room.spared):
        yield Sentence(f"In all, {report.room.spared_text} could have been evicted and are not.")


def _afterwards(report: WhatIfReport) -> Iterator[Sentence]:
    """What becomes of the victims: those that are lost get a line of their own."""
    lost = [pod_name(victim.pod) for victim in report.victims if not victim.controller]
    again = "; its controller creates it again, and it then waits for room"
    is_any_again = len(lost) < len(report.victims)
    yield Sentence(f"Each victim gets its termination grace period to stop{again if is_any_again else ''}.")
    if lost:
        verb = "has no controller and is" if len(lost) == 1 else "have no controller and are"
        but = "But " if is_any_again else ""
        yield Sentence(f"{but}{listed(lost)} {verb} not created again.")


def _budget_text(budget: Exceeded) -> str:
    allowed = counted(budget.allowed, "more eviction")
    return (
        f"This breaks PodDisruptionBudget {budget.budget}: it allows {allowed}, "
        f"and {counted(budget.going, 'victim')} would be evicted."
    )


# --- what was not chosen -------------------------------------------------------------------------


def _quality_blocks(report: WhatIfReport) -> Iterator[Block]:
    if report.room.quality is not None:
        yield PARAGRAPH
        yield from map(Sentence, quality_sentences(report.room.quality, report.room.onward))


def _not_chosen(report: WhatIfReport, alternatives: int) -> Iterator[Block]:
    losers = report.room.losers[:alternatives]
    if report.victims:
        yield PARAGRAPH
        where = f"The plan for {nodes_text(report.placements)}"
        yield from map(Sentence, choice_sentences(where, report.room))
    if losers:
        rows = [[*loser_row(node), _would_evict(node)] for node in losers]
        header = [
            "NOT CHOSEN",
            "VICTIMS",
            "HIGHEST PRIORITY",
            "BUDGETS EXCEEDED BY",
            "LOST BY",
            "WOULD EVICT",
        ]
        yield Table(header, rows, frozenset({1, 2, 3}))
    if any(node.quality is not None for node in losers):
        yield Table(["NOT CHOSEN", *QUALITY_HEADER], [[n.domain, *quality_cells(n.quality)] for n in losers])
    if report.excluded and alternatives and not report.resize:
        yield Table(
            ["NODES", "WHY NOT", "WHICH"], [*_excluded_rows(report.excluded)][:_MOST_ROWS], frozenset({0})
        )


def _would_evict(loser: Loser) -> str:
    """A decision has the first of many units by name, and counts the others."""
    units = [unit.removeprefix("Pod/") for unit in loser.units]
    more = loser.unit_count - _UNITS_NAMED
    return f"{', '.join(units[:_UNITS_NAMED])} and {more} more" if more > 1 else listed(units, _UNITS_NAMED)


def _excluded_rows(nodes: Iterable[ExcludedNode]) -> Iterator[list[str]]:
    by_reason: dict[str, list[str]] = {}
    for node in nodes:
        by_reason.setdefault(node.because.text, []).append(node.name)
    for text, names in sorted(by_reason.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        yield [str(len(names)), text, listed(sorted(names), _NODES_NAMED)]
