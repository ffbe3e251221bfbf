"""What does `why` say of a running pod whose group names a class for preemption?"""

from collections.abc import Iterator

from reprieve.inquiry.trials import Asking
from reprieve.inquiry.why import Evidence, Source, Statement
from reprieve.model.groups import group_key, groups_table, name_of
from reprieve.model.objects import Pod
from reprieve.preemption.preemption_priority import ANNOTATION

_BY = " (by the configuration of this command: `--policy FILE` gives it that of the scheduler)"


def preemption_priority_statements(pod: Pod, evidence: Evidence, asking: Asking) -> Iterator[Statement]:
    policy = next(iter(asking.settings.policies.values()), None)
    permitted = policy.permitted_classes if policy is not None else None
    around = groups_table(one.object for one in evidence.cluster.seen).root(group_key(pod))
    if permitted is None or around is None or ANNOTATION not in around.metadata.annotations:
        return
    classes = {known.metadata.name: known for known in evidence.classes()}
    fault, name = permitted.fault(around, classes), name_of(around)
    if fault:
        yield Statement("Protected", "InvalidPreemptionPriority", f"{name}: {fault}{_BY}.", Source.OBJECT)
        return
    priority, named = permitted.priority_of(around, classes), around.metadata.annotations[ANNOTATION]
    text = (
        f"{name} names the class {named} for preemption: only demands of a priority "
        f"above {priority} may preempt it. It was scheduled with {around.spec.priority or 0}, and preempts "
        "with that."
    )
    yield Statement("Protected", "PreemptionPriority", text, Source.OBJECT)
