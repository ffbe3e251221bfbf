"""What would have protected a victim from a preemptor of this priority, and how is that to be had?

Only the rules of preemption count: a pod of the preemptor's priority, or one that a rule protects from it, is
never a victim of it; a budget or a group makes a victim dearer, and no more.
"""

from collections.abc import Iterator, Sequence

from reprieve.inquiry.exposure import running_view
from reprieve.inquiry.seen_events import with_evictions
from reprieve.inquiry.trials import Asking
from reprieve.inquiry.why import Evidence, Remedy, Source, Statement
from reprieve.model.effects import Target
from reprieve.model.groups import group_key, groups_table, kind_and_name
from reprieve.model.objects import Pod, PriorityClass
from reprieve.placement.demand import Demand
from reprieve.preemption.exposure import exposure
from reprieve.preemption.preemption_priority import ANNOTATION
from reprieve.scheduler.reporting.decision import Victim
from reprieve.scheduler.targets import pod_target

_HIGHEST_OF_USERS = 1_000_000_000
_OF_SYSTEM = "system-"


def protections_against(
    priority: int, subject: Target, victim: Victim | None, evidence: Evidence, asking: Asking
) -> tuple[Remedy, ...]:
    """``victim``: as Reprieve decided; None where kube-scheduler did, which knows no further rules."""
    return tuple(_protections(priority, subject, victim, evidence, asking))


def _protections(
    priority: int, subject: Target, victim: Victim | None, evidence: Evidence, asking: Asking
) -> Iterator[Remedy]:
    usable = [known for known in evidence.classes() if _may_use(known, subject.namespace)]
    yield _by_priority(priority, usable)
    if victim is not None:
        yield from _by_rules(priority, subject, victim, evidence, asking)
    yield _by_budget(victim)
    if subject.kind == "Pod" and victim is not None and victim.unit.startswith("Pod/"):
        yield Remedy(
            "DisruptionModeAll",
            "If it is of use only together with other pods: a PodGroup that is evicted whole or not at all. "
            "It counts with all of its pods, and the scheduler prefers to evict fewer.",
            "put the pods into a PodGroup with disruptionMode: {all: {}}",
        )


def _by_rules(
    priority: int, subject: Target, victim: Victim, evidence: Evidence, asking: Asking
) -> Iterator[Remedy]:
    policy = next(iter(asking.settings.policies.values()), None)
    if policy is None:
        return
    units = policy.units(running_view(evidence.cluster.seen))
    for rule in policy.rules:
        advise = rule(units, Demand((), (), needed=0, priority=priority), evidence.now).advise
        advice = advise(subject.namespace, victim.priority) if advise is not None else None
        if advice is not None:
            yield Remedy(*advice)


def _by_priority(priority: int, classes: Sequence[PriorityClass]) -> Remedy:
    text = f"A priority of {priority} or more: only lower priorities are preempted by {priority}."
    enough = next((known for known in classes if known.value >= priority), None)
    if enough is not None:
        how = f"priorityClassName: {enough.metadata.name} (value {enough.value})"
    elif priority > _HIGHEST_OF_USERS:
        how = (
            f"not to be had: priorities above {_HIGHEST_OF_USERS} are for the classes {_OF_SYSTEM}* in the "
            "namespace kube-system"
        )
    else:
        how = f"no PriorityClass has such a value: create one with value: {priority} or more"
    return Remedy("Priority", text, how)


def _by_budget(victim: Victim | None) -> Remedy:
    if victim is not None and victim.budgets:
        return Remedy(
            "RespectBudgets",
            "Budgets that are never exceeded. One covered it, and the scheduler exceeds budgets if no other "
            "plan makes room.",
            "respectBudgets: Always in the configuration of the scheduler",
        )
    return Remedy(
        "Budget",
        "A PodDisruptionBudget that allows no disruption: the scheduler then prefers other victims, and "
        "evicts this one only if nothing else makes room"
        + (" (never, with respectBudgets: Always in its configuration)." if victim is not None else "."),
        "kubectl create poddisruptionbudget NAME --selector=LABEL=VALUE --min-available=100%",
    )


def _may_use(known: PriorityClass, namespace: str) -> bool:
    return not known.metadata.name.startswith(_OF_SYSTEM) or namespace == "kube-system"


# --- a running pod -------------------------------------------------------------------------------


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


_BY = " (by the configuration of this command: `--policy FILE` gives it that of the scheduler)"


def preemption_priority_statements(pod: Pod, evidence: Evidence, asking: Asking) -> Iterator[Statement]:
    policy = next(iter(asking.settings.policies.values()), None)
    permitted = policy.permitted_classes if policy is not None else None
    around = groups_table(one.object for one in evidence.cluster.seen).root(group_key(pod))
    if permitted is None or around is None or ANNOTATION not in around.metadata.annotations:
        return
    classes = {known.metadata.name: known for known in evidence.classes()}
    fault, name = permitted.fault(around, classes), kind_and_name(around)
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
