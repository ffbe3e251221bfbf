"""What would have protected a victim from a preemptor of this priority, and how is that to be had?

Only the rules of preemption count: a pod of the preemptor's priority, or one that a rule protects from it, is
never a victim of it; a budget or a group makes a victim dearer, and no more.
"""

from collections.abc import Iterator, Sequence

from reprieve.inquiry.exposure import running_view
from reprieve.inquiry.trials import Asking
from reprieve.inquiry.why import Evidence, Remedy
from reprieve.model.effects import Target
from reprieve.model.objects import PriorityClass
from reprieve.placement.demand import Demand
from reprieve.scheduler.decision import Victim

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
