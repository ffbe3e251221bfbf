"""Until when is a workload protected because it was evicted too often?

A limit says how many evictions within a window are enough, and from which priority on demands need not care.
It ends when so many evictions have left the window that fewer than the limit are in it. When pods were
evicted is part of the snapshot, however that was found out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reprieve.model.columns import Floats
from reprieve.model.conditions import LONG_AGO
from reprieve.model.events import Change
from reprieve.model.formatting import counted, lasted
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.model.workloads import own_workload, root_name, shown_workload, workload_of
from reprieve.placement.demand import Demand
from reprieve.preemption.eligibility import ProtectedPods, Protection, Verdict, protecting
from reprieve.preemption.units import Units

ENDED_BY = frozenset({Change.EVICTIONS, Change.CONTROLLERS})


@dataclass(frozen=True, slots=True)
class EvictionLimit:
    evictions: int  # so many within the window are enough
    window: float  # seconds
    below_priority: int  # demands of this priority or more preempt all the same

    def end(self, moments: Sequence[float]) -> float:
        """When it ends for a workload that was evicted at these moments, the oldest first."""
        return moments[-self.evictions] + self.window if len(moments) >= self.evictions else LONG_AGO

    def count(self, moments: Sequence[float], now: float) -> int:
        """How many of these evictions are in the window."""
        return sum(moment + self.window > now for moment in moments)


def limited_workloads(view: Snapshot, limit: EvictionLimit, now: float) -> dict[str, float]:
    """The workloads that are protected, and until when."""
    ends = {workload: limit.end(moments) for workload, moments in view.evictions.items()}
    return {workload: end for workload, end in ends.items() if end > now}


def limited_ends(view: Snapshot, limit: EvictionLimit, now: float) -> Floats | None:
    """[pod] From when on the limit does not protect it; None: it protects no pod."""
    limited = limited_workloads(view, limit, now)
    if not limited:
        return None
    roots = [root_name(view.groups, key) for key in view.pods.groups.things]
    ends = np.array([limited.get(root, LONG_AGO) for root in roots])[view.pods.groups.codes]
    alone = np.array([not root for root in roots])[view.pods.groups.codes]
    ends[alone] = _by_controller(view, limited)[alone]
    ends[view.where == NOWHERE] = LONG_AGO
    return ends


def _by_controller(view: Snapshot, limited: Mapping[str, float]) -> Floats:
    """[pod] until when its controller protects it. Only pods in the namespaces of these workloads are looked
    at."""
    ends = np.full(len(view.pods), LONG_AGO)
    namespaces = frozenset(workload.split("/")[1] for workload in limited)
    of_owner: dict[str, float] = {}  # all pods of a controller are of one workload
    for row in np.flatnonzero(view.pods.namespaces.where_in(namespaces)).tolist():
        compiled = view.pods.compiled[row]
        owner = compiled.shape.owner_uid
        if owner not in of_owner or not owner:
            of_owner[owner] = limited.get(own_workload(compiled.pod, view.owners), LONG_AGO)
        ends[row] = of_owner[owner]
    return ends


@dataclass(frozen=True, slots=True)
class WithinLimit:
    """The rule: pods of workloads that were evicted too often are protected for now.

    It decides before a plan is made: a plan may evict several pods of a workload that is not protected.
    """

    limit: EvictionLimit

    def __call__(self, units: Units, demand: Demand, now: float) -> Verdict:
        view, limit = units.view, self.limit
        ends = limited_ends(view, limit, now) if demand.priority < limit.below_priority else None

        def told(row: int) -> Protection:
            workload = workload_of(view.pods.compiled[row].pod, view.groups, view.owners)
            moments, within = view.evictions[workload], f"within {lasted(limit.window)}"
            often = counted(limit.count(moments, now), "time")
            return Protection(
                code="EvictionLimit",
                by=(workload,),
                from_priority=limit.below_priority,
                until=limit.end(moments),
                reason=f"its workload, {shown_workload(workload)}, was evicted {often} {within}",
                pods=f"of a workload that was evicted {often} {within} (evictionLimit)",
                several=f"workloads that were evicted {counted(limit.evictions, 'time')} or more {within} "
                "(evictionLimit)",
                ends=f"the protection of {shown_workload(workload)} by evictionLimit",
                source="evictionLimit",
            )

        protected = ProtectedPods(ends, told, ended_by=ENDED_BY) if ends is not None else None
        return protecting(units, protected, now)
