"""How do the sentences of a what-if name demands, pods and nodes?"""

from collections import Counter
from collections.abc import Sequence

from reprieve.inquiry.whatif_records import WhatIfReport
from reprieve.model.effects import Target
from reprieve.model.formatting import counted

_NODES_NAMED = 4  # in a sentence or a cell


def demand_name(report: WhatIfReport) -> str:
    demand = report.demand
    if demand.kind == "Node":
        return f"Drain of node {demand.name}"
    name = f"{demand.kind} {demand.namespace}/{demand.name}"
    return f"Resize of {name}" if report.resize else name


def subject(report: WhatIfReport) -> str:
    """With what matters of it: how many pods, and how important they are."""
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
