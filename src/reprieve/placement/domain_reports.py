"""What is said of a domain of a topology: how good it is, and that nodes are outside of it."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from reprieve.model.columns import Ints, Mask
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


def domain_score(view: Snapshot, nodes: Mask, pods: Sequence[int], most: int) -> int:
    """The more pods the better, and the fuller the domain gets. ``most``: of all domains."""
    return (len(pods) * 100 // most if most else 0) + _fullness(view, nodes, pods)


def _fullness(view: Snapshot, nodes: Mask, pods: Sequence[int]) -> int:
    """How much of the domain's cpu and memory is used then, in percent."""
    return fullness_of_each(view, np.where(nodes, 0, 1), 2, pods)[0]


def fullness_of_each(view: Snapshot, domain_of: Ints, domains: int, pods: Sequence[int]) -> Sequence[int]:
    """The same for each of so many domains, if the pods go there; ``domain_of``: the domain of each node."""
    shares: list[list[int]] = [[] for _ in range(domains)]
    for kind, name in enumerate((CPU, MEMORY)):
        capacity = _sums(view.allocatable[view.axis.names.index(name)], domain_of, domains)
        used, more = _sums(view.nonzero[kind], domain_of, domains), int(view.pods.nonzero[kind, pods].sum())
        for share, most, some in zip(shares, capacity, used, strict=True):
            if most:
                share.append(min(some + more, most) * 100 // most)
    return [sum(share) // len(share) if share else 0 for share in shares]


def _sums(amounts: Ints, domain_of: Ints, domains: int) -> list[int]:
    # Not bincount, which adds floats: bytes of many nodes are too many for them.
    sums = np.zeros(domains, np.int64)
    np.add.at(sums, domain_of, amounts)
    return sums.tolist()
