"""Until when does a priority class protect a pod from preemption?

Two annotations on the class say from which priority on demands may preempt its pods at once (a minimum), and
for how long after a pod was scheduled lower priorities may not (seconds; a negative number: as long as it
runs). A pod of a group that is evicted as a whole counts by the group's clock: the start of its present run.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from reprieve.model.annotations import parse_int
from reprieve.model.columns import Floats, Ints, Mask
from reprieve.model.conditions import NEVER, run_started_at
from reprieve.model.events import Change
from reprieve.model.formatting import lasted, listed
from reprieve.model.groups import GroupKey, Groups
from reprieve.model.objects import PriorityClass
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.placement.demand import Demand
from reprieve.preemption.eligibility import Advice, ProtectedPods, Protection, Verdict, protecting
from reprieve.preemption.units import Units

_PREFIX = "preemption-toleration.scheduling.x-k8s.io/"
MINIMUM_PRIORITY = _PREFIX + "minimum-preemptable-priority"
SECONDS = _PREFIX + "toleration-seconds"
ENDED_BY = frozenset({Change.TOLERATIONS, Change.CLOCKS})

NOT_AT_ALL = -math.inf
FOREVER = math.inf

_LAST_MOMENT = 253_402_300_799.0  # the end of the year 9999; no timestamp can tell of a later one
_SHOWN = 40  # characters of a value that cannot be read


@dataclass(frozen=True, slots=True)
class PreemptionToleration:
    minimum: int  # demands of this priority need not wait
    seconds: int  # since a pod was scheduled; negative: for as long as it runs

    def length_against(self, priority: int) -> float:
        """How many seconds demands of this priority have to wait; zero: not at all."""
        if priority >= self.minimum or self.seconds == 0:
            return 0.0
        return float(self.seconds) if self.seconds > 0 else FOREVER


@dataclass(frozen=True, slots=True)
class TolerationFault:
    """An annotation that does nothing."""

    annotation: str
    text: str

    def __str__(self) -> str:
        return f"annotation {self.annotation}: {self.text}"


NO_TOLERATION = PreemptionToleration(minimum=0, seconds=0)


# --- one class -----------------------------------------------------------------------------------


def end_of(length: float, since: float) -> float:
    """When a toleration of this length ends; never, if the pod is not known to be scheduled."""
    if not length:
        return NOT_AT_ALL
    end = FOREVER if length == FOREVER else since + length
    return end if end <= _LAST_MOMENT else FOREVER


def toleration_of(priority_class: PriorityClass) -> PreemptionToleration:
    """One annotation that cannot be read makes both void."""
    minimum, seconds = _written(priority_class)
    return NO_TOLERATION if minimum is None or seconds is None else PreemptionToleration(minimum, seconds)


def faults_of(priority_class: PriorityClass) -> tuple[TolerationFault, ...]:
    """What is wrong with the annotations of a class."""
    annotations, (minimum, seconds) = priority_class.metadata.annotations, _written(priority_class)
    faults = []
    if minimum is None:
        faults.append(_unreadable(MINIMUM_PRIORITY, annotations, 32))
    elif MINIMUM_PRIORITY in annotations and minimum <= priority_class.value:
        text = f"{minimum} is not above the value of the class, {priority_class.value}: it protects no pod"
        faults.append(TolerationFault(MINIMUM_PRIORITY, text))
    if seconds is None:
        faults.append(_unreadable(SECONDS, annotations, 64))
    if not faults:
        faults.extend(_alone(annotations))
    return tuple(faults)


def _alone(annotations: Mapping[str, str]) -> Iterator[TolerationFault]:
    """One annotation without the other: the default of the other makes both void."""
    for given, missing, default in (
        (MINIMUM_PRIORITY, SECONDS, "0"),
        (SECONDS, MINIMUM_PRIORITY, "the value of the class plus one"),
    ):
        if given in annotations and missing not in annotations:
            text = f"it protects no pod without {missing}, whose default is {default}; set both"
            yield TolerationFault(given, text)


def _written(priority_class: PriorityClass) -> tuple[int | None, int | None]:
    """The minimum priority and the seconds, with their defaults; None for what cannot be read."""
    annotations = priority_class.metadata.annotations
    minimum, seconds = annotations.get(MINIMUM_PRIORITY), annotations.get(SECONDS)
    return (
        priority_class.value + 1 if minimum is None else parse_int(minimum, 32),
        0 if seconds is None else parse_int(seconds, 64),
    )


def _unreadable(annotation: str, annotations: Mapping[str, str], bits: int) -> TolerationFault:
    value = annotations[annotation]
    shown = value if len(value) <= _SHOWN else value[:_SHOWN] + "…"
    text = f'expected a whole number of {bits} bits, got "{shown}"; the class protects no pod'
    return TolerationFault(annotation, text)


# --- for all pods at once ------------------------------------------------------------------------


def tolerated_ends(view: Snapshot, groups: Groups, priority: int) -> Floats | None:
    """[pod] From when on demands of this priority may preempt it; None: no class protects from them.

    A pod is protected by its own class and by that of the outermost of its groups, whichever lasts longer.
    """
    lengths = _lengths(view, priority)
    if not lengths:
        return None
    pods = view.pods
    length = np.array([lengths.get(name, 0.0) for name in pods.classes.things])[pods.classes.codes]
    since = pods.scheduled
    if groups.pod_groups:
        of_groups = _of_groups(pods.groups.things, groups, lengths)
        length = np.maximum(length, of_groups.length[pods.groups.codes])
        clock = of_groups.since[pods.groups.codes]
        since = np.where(clock == NEVER, since, clock)
    return _ends(length, since, view.where != NOWHERE)


def _lengths(view: Snapshot, priority: int) -> dict[str, float]:
    """The classes that protect from demands of this priority, and for how long."""
    classes = view.priority_classes.items()
    lengths = {name: toleration_of(known).length_against(priority) for name, known in classes}
    return {name: length for name, length in lengths.items() if length}


def _ends(length: Floats, since: Floats, running: Mask) -> Floats:
    """[pod] what ``end_of`` says of each that runs; the others have no toleration.

    length, since, running  [pod]  seconds, Unix time, whether it runs
    """
    ends = np.full(len(length), NOT_AT_ALL)
    ends[running & (length == FOREVER)] = FOREVER
    counting = np.flatnonzero(running & (length > 0) & (length < FOREVER))
    ends[counting] = since[counting] + length[counting]
    ends[ends > _LAST_MOMENT] = FOREVER
    return ends


@dataclass(frozen=True, slots=True, eq=False)
class _OfGroups:
    length: Floats  # [group] for how long its class protects its pods
    since: Floats  # [group] from when on that is counted; never: each pod has its own clock


def _of_groups(keys: Sequence[GroupKey | None], groups: Groups, lengths: Mapping[str, float]) -> _OfGroups:
    roots = [groups.root(key) for key in keys]
    length = [lengths.get(root.spec.priority_class_name, 0.0) if root is not None else 0.0 for root in roots]
    return _OfGroups(np.array(length), np.array([group_clock(groups, key) for key in keys]))


def group_clock(groups: Groups, key: GroupKey | None) -> float:
    """When the present run of a unit started, as its group says or else one within it.

    Never: each pod has its own clock.
    """
    unit, clock = groups.unit(key), NEVER
    if unit is None:
        return NEVER
    for name, group in groups.chain(key):
        started = run_started_at(group)
        clock = clock if started == NEVER else started
        if name == unit[0]:
            break
    return clock


def protectors(view: Snapshot, groups: Groups, pod: int, priority: int) -> Iterator[tuple[str, float]]:
    """The priority classes that protect a pod from demands of this priority, and until when."""
    key = view.pods.groups[pod]
    root, clock = groups.root(key), group_clock(groups, key)
    since = float(view.pods.scheduled[pod]) if clock == NEVER else clock
    for name in {view.pods.classes[pod], root.spec.priority_class_name if root is not None else ""}:
        known = view.priority_classes.get(name)
        length = toleration_of(known).length_against(priority) if known is not None else 0.0
        if length:
            yield name, end_of(length, since)


# --- the rule ------------------------------------------------------------------------------------


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
    """[as rows] a number that is equal for pods of one class and one group."""
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
