"""What does `why` say of a running pod whose workload was evicted too often, and is protected for now?"""

from collections.abc import Iterator

from reprieve.inquiry.exposure import running_view
from reprieve.inquiry.past_evictions import with_evictions
from reprieve.inquiry.trials import Asking
from reprieve.inquiry.why import Evidence, Source, Statement
from reprieve.model.formatting import clock_time, counted, lasted
from reprieve.model.objects import Pod
from reprieve.model.workloads import shown_workload, workload_of


def limit_statements(pod: Pod, evidence: Evidence, asking: Asking) -> Iterator[Statement]:
    policy = next(iter(asking.settings.policies.values()), None)
    limit, now = policy.eviction_limit if policy is not None else None, evidence.now
    if limit is None:
        return
    view = with_evictions(running_view(evidence.cluster.seen), evidence.cluster, now)
    workload = workload_of(pod, view.groups, view.owners)
    moments = view.evictions.get(workload, ())
    end = limit.end(moments)
    if end > now:
        often = f"{counted(limit.count(moments, now), 'time')} within {lasted(limit.window)}"
        text = (
            f"Its workload, {shown_workload(workload)}, was evicted {often}: demands of a priority below "
            f"{limit.below_priority} may not preempt it until {clock_time(end, now)} (evictionLimit)."
        )
        yield Statement("Protected", "EvictionLimit", text, Source.EVENT)
