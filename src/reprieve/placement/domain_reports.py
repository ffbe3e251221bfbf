"""What is said of a domain of a topology: how full it gets, and that nodes are outside of it."""

from collections.abc import Sequence
from dataclasses import replace

from reprieve.model.columns import Mask
from reprieve.model.resources import CPU, MEMORY
from reprieve.model.snapshot import Snapshot
from reprieve.placement.place import Unplaceable
from reprieve.placement.rejection_codes import Code, Reason, Rejection


def named(miss: Unplaceable, topology_key: str, domain: str) -> Unplaceable:
    """Says which domain it is that nodes are outside of, and which nodes are in none."""
    lacks = miss.view.nodes.label(topology_key).codes == 0
    rejections: list[Rejection] = []
    for one in miss.survey.rejections:
        if one.reason.code is not Code.OUTSIDE_DOMAIN:
            rejections.append(one)
            continue
        missing = Reason(Code.DOMAIN_LABEL_MISSING, topology_key)
        rejections.append(replace(one, rows=one.rows & lacks, reason=missing))
        rejections.append(replace(one, rows=one.rows & ~lacks, reason=Reason(one.reason.code, domain)))
    return replace(miss, survey=replace(miss.survey, rejections=tuple(rejections)))


def fullness(view: Snapshot, nodes: Mask, pods: Sequence[int]) -> int:
    """How much of the domain's cpu and memory is used then, in percent."""
    shares = []
    for kind, name in enumerate((CPU, MEMORY)):
        capacity = int(view.allocatable[view.axis.names.index(name)][nodes].sum())
        used = int(view.nonzero[kind][nodes].sum()) + int(view.pods.nonzero[kind, pods].sum())
        if capacity:
            shares.append(min(used, capacity) * 100 // capacity)
    return sum(shares) // len(shares) if shares else 0
