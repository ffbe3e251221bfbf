"""Which pods could make room but for the eviction limit? Rows become workloads and words. Decides nothing."""

from collections.abc import Sequence

import numpy as np

from reprieve.model.columns import Floats, Ints
from reprieve.model.formatting import counted, lasted
from reprieve.model.workloads import workload_of
from reprieve.preemption.eviction_limit import EvictionLimit, limited_ends
from reprieve.preemption.plan import NoPlan
from reprieve.preemption.question import Question
from reprieve.scheduler.decision import Limited

CODE = "EvictionLimit"


def held_by_limit(refusal: NoPlan, question: Question, tolerated: Floats | None, now: float) -> Ints:
    """The pods (rows) that the limit protects longest. ``tolerated``: when the tolerations of pods end."""
    held, limit = np.array(refusal.held, np.int64), question.policy.eviction_limit
    if limit is None or question.demand.priority >= limit.below_priority or not len(held):
        return held[:0]
    ends = limited_ends(question.view, limit, now)
    if ends is None:
        return held[:0]
    others = tolerated[held] if tolerated is not None else -np.inf
    longest: Ints = held[(ends[held] > now) & (ends[held] > others)]
    return longest


def limited_of(rows: Ints, question: Question, now: float) -> tuple[Limited, ...]:
    """By workload; the one that may be evicted first comes first."""
    view, limit = question.view, question.policy.eviction_limit
    if limit is None:
        return ()
    pods: dict[str, int] = {}
    for row in rows.tolist():
        workload = workload_of(view.pods.compiled[row].pod, view.groups, view.owners)
        pods[workload] = pods.get(workload, 0) + 1
    found = []
    for workload, count in pods.items():
        moments = view.evictions[workload]
        found.append(Limited(workload, count, limit.count(moments, now), limit.end(moments)))
    return tuple(sorted(found, key=lambda one: (one.until, one.workload)))


def limited_text(limited: Sequence[Limited], limit: EvictionLimit) -> str:
    """Without names: its reader may not see the namespaces of others."""
    pods, often = counted(sum(one.pods for one in limited), "pod"), counted(limit.evictions, "time")
    within = f"within {lasted(limit.window)} (evictionLimit)"
    if len(limited) == 1:
        return f"{pods} of a workload that was evicted {counted(limited[0].evictions, 'time')} {within}"
    return f"{pods} of {len(limited)} workloads that were evicted {often} or more {within}"
