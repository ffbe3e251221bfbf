"""What does `why` say of a running pod that rules protect from preemption?"""

from collections.abc import Iterator

from reprieve.inquiry.exposure import running_view
from reprieve.inquiry.past_evictions import with_evictions
from reprieve.inquiry.trials import Asking
from reprieve.inquiry.why import Evidence, Source, Statement
from reprieve.model.objects import Pod
from reprieve.preemption.exposure import exposure
from reprieve.scheduler.targets import pod_target


def protection_statements(pod: Pod, evidence: Evidence, asking: Asking) -> Iterator[Statement]:
    policy, now = next(iter(asking.settings.policies.values()), None), evidence.now
    if policy is None:
        return
    view = with_evictions(running_view(evidence.cluster.seen), evidence.cluster, now)
    target = pod_target(pod)
    rows = {row for row, known in enumerate(view.pods.compiled) if pod_target(known.pod) == target}
    for one in exposure(view, policy, now, rows):
        for protection in one.protections:
            yield Statement("Protected", protection.code, protection.sentence(now), Source.OBJECT)
