"""The rule of preemption tolerations: pods are protected whose class tolerates preemption by the demand."""

from functools import partial

from reprieve.model.columns import Ints
from reprieve.model.events import Change
from reprieve.model.formatting import lasted, listed
from reprieve.model.snapshot import Snapshot
from reprieve.placement.demand import Demand
from reprieve.preemption.eligibility import Advice, ProtectedPods, Protection, Verdict, protecting
from reprieve.preemption.toleration import (
    MINIMUM_PRIORITY,
    SECONDS,
    protectors,
    tolerated_ends,
    toleration_of,
)
from reprieve.preemption.units import Units

ENDED_BY = frozenset({Change.TOLERATIONS, Change.CLOCKS})


def tolerating(units: Units, demand: Demand, now: float) -> Verdict:
    """A unit is protected for as long as one of its pods tolerates preemption by the demand."""
    view, priority, protected = units.view, demand.priority, None
    ends = tolerated_ends(view, units.groups, priority)
    if ends is not None:
        told, alike = partial(_told, units, priority), partial(_of_class_and_group, view)
        protected = ProtectedPods(ends, told, alike, ENDED_BY)
    return protecting(units, protected, now, partial(_advise, view, priority))


def _told(units: Units, priority: int, row: int) -> Protection:
    """What protects a pod: of the classes that do so longest, those with the highest minimum."""
    found = [*protectors(units.view, units.groups, row, priority)]
    until = max(end for _, end in found)
    minimums = {
        name: toleration_of(units.view.priority_classes[name]).minimum for name, end in found if end == until
    }
    minimum = max(minimums.values())
    names = sorted(name for name in minimums if minimums[name] == minimum)
    of_class = f"of class {listed(names)}"
    one = len(names) == 1
    return Protection(
        code="Toleration",
        by=tuple(names),
        from_priority=minimum,
        until=until,
        reason=f"priority class{'' if one else 'es'} {listed(names)} tolerate{'s' if one else ''} preemption",
        pods=of_class,
        ends=f"a toleration {of_class}",
        verbs=("tolerates", "tolerate"),
    )


def _of_class_and_group(view: Snapshot, rows: Ints) -> Ints:
    """Equal for pods of one class and one group."""
    pods = view.pods
    codes: Ints = pods.classes.codes[rows] * len(pods.groups.things) + pods.groups.codes[rows]
    return codes


def _advise(view: Snapshot, priority: int, namespace: str, victim: int) -> Advice:
    text = (
        f"A class that tolerates preemption by priority {priority} for some time after the pod was scheduled."
    )
    classes = sorted(view.priority_classes.values(), key=lambda known: (known.value, known.metadata.name))
    for known in classes:
        name, toleration = known.metadata.name, toleration_of(known)
        usable = namespace == "kube-system" or not name.startswith("system-")
        if usable and known.value <= priority and toleration.length_against(priority):
            long = f"for {lasted(toleration.seconds)}" if toleration.seconds > 0 else "for as long as it runs"
            how = f"priorityClassName: {name} (value {known.value}, protects {long})"
            return Advice("Toleration", text, how)
    how = (
        f"annotate a PriorityClass of value {victim} with {MINIMUM_PRIORITY}: "
        f'"{priority + 1}" and {SECONDS}: "3600"'
    )
    return Advice("Toleration", text, how)
