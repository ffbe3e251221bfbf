"""The rule of the eviction limit: pods of workloads that were evicted too often are protected for now."""

from dataclasses import dataclass

from reprieve.model.events import Change
from reprieve.model.formatting import counted, lasted
from reprieve.model.workloads import shown_workload, workload_of
from reprieve.placement.demand import Demand
from reprieve.preemption.eligibility import ProtectedPods, Protection, Verdict, protecting
from reprieve.preemption.eviction_limit import EvictionLimit, limited_ends
from reprieve.preemption.units import Units

ENDED_BY = frozenset({Change.EVICTIONS, Change.CONTROLLERS})


@dataclass(frozen=True, slots=True)
class WithinLimit:
    """A plan is judged before it is made: it may evict several pods of a workload that is not protected."""

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
