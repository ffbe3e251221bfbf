"""What does a what-if say of a demand that cannot fit: why not, and by how little?"""

from collections.abc import Iterator

from reprieve.inquiry.text_blocks import Block, Sentence
from reprieve.inquiry.whatif_names import nodes_text, subject
from reprieve.inquiry.whatif_records import WhatIfAnswer, WhatIfReport
from reprieve.model.formatting import amount, clock_time, counted
from reprieve.report.text_layout import LineStyle
from reprieve.scheduler.decision import Miss, Outcome


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
