"""The jobs of a cluster that Reprieve scheduled, from its journal: last week, under another policy.

A pod that was preempted and its replacement are one job, so that the counterfactual does not inherit what
preemption did. What a journal cannot say, such as how long a pod would have run, is named as invented.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import ceil
from statistics import median

from reprieve.model.events import Gone, Seen
from reprieve.model.footprint import footprint
from reprieve.model.objects import Node, Pod, PodDisruptionBudget, PodGroup, Ref
from reprieve.model.resources import CPU, PODS, Problems
from reprieve.model.selectors import Selector, compile_selector
from reprieve.runtime.journal_lines import Entry, Observed
from reprieve_study.importers.foreign_formats import label
from reprieve_study.job import Job
from reprieve_study.text_lines import TraceError
from reprieve_study.trace import Trace, in_order

_OVER = ("Succeeded", "Failed")
_SHORTEST, _UNKNOWN = 1.0, 3600.0
_TOGETHER = 60.0  # seconds in which the pods of one owner arrive
_MARK = "DisruptionTarget"


@dataclass(slots=True)
class _Slot:
    """A pod and the pods that replaced it after preemptions. ``started``, ``ended``: of the last of them."""

    pod: Pod
    arrived: float
    started: float | None = None
    runs: bool = False
    ended: float | None = None
    was_cut_off: bool = False


@dataclass(slots=True)
class _Reading:
    slots: list[_Slot] = field(default_factory=list)
    by_uid: dict[str, _Slot] = field(default_factory=dict)
    vacant: dict[str, list[_Slot]] = field(default_factory=lambda: defaultdict(list))  # by owner
    groups: dict[tuple[str, str], PodGroup] = field(default_factory=dict)
    budgets: dict[tuple[str, str], tuple[Selector, PodDisruptionBudget]] = field(default_factory=dict)
    nodes: dict[str, Node] = field(default_factory=dict)
    first: float | None = None
    last: float = 0.0


@dataclass(frozen=True, slots=True)
class JournaledCluster:
    """``nodes``: as they were seen last."""

    trace: Trace
    nodes: tuple[Node, ...]


def read(name: str, entries: Iterable[Entry]) -> JournaledCluster:
    """Raises TraceError if no pod is in it."""
    reading = _Reading()
    for entry in entries:
        if isinstance(entry, Observed):
            _observe(reading, entry)
    if not reading.slots:
        raise TraceError(f"{name}: expected a journal with pods, got none")
    known = [seconds for slot in reading.slots if (seconds := _seconds(slot)) is not None]
    guess = median(known) if known else _UNKNOWN
    services = list(_services(reading, guess))
    jobs = in_order([*_gangs(reading, guess), *services, *_single_pods(reading, guess)])
    return JournaledCluster(
        Trace(name, jobs, invented=tuple(_invented(reading, guess, services))), tuple(reading.nodes.values())
    )


def _observe(reading: _Reading, entry: Observed) -> None:
    reading.first = entry.at if reading.first is None else reading.first
    reading.last = entry.at
    for event in entry.events:
        match event:
            case Seen(object=Pod() as pod):
                _see(reading, pod, entry.at)
            case Seen(object=PodGroup() as group):
                reading.groups[group.metadata.namespace, group.metadata.name] = group
            case Seen(object=PodDisruptionBudget() as budget):
                reading.budgets[budget.metadata.namespace, budget.metadata.name] = _selecting(budget), budget
            case Seen(object=Node() as node):
                reading.nodes[node.metadata.name] = node
            case Gone(target=target) if target.uid in reading.by_uid:
                _leave(reading, reading.by_uid.pop(target.uid), entry.at)


def _see(reading: _Reading, pod: Pod, at: float) -> None:
    slot = reading.by_uid.get(pod.metadata.uid)
    if slot is None:
        slot = _taken(reading, pod, at)
        reading.by_uid[pod.metadata.uid] = slot
    slot.pod = pod
    begun = pod.status.start_time
    if not slot.runs and begun is not None:
        slot.started, slot.runs = max(begun.timestamp(), slot.arrived), True
    elif slot.started is None and pod.spec.node_name:
        slot.started = at  # until its kubelet says when: what comes before is no work
    if slot.ended is None and pod.status.phase in _OVER:
        slot.ended = at


def _taken(reading: _Reading, pod: Pod, at: float) -> _Slot:
    """The place of a preempted pod of the same owner, or a new one."""
    vacant = reading.vacant.get(_controller(pod))
    if vacant:
        slot = vacant.pop(0)
        slot.started, slot.runs, slot.ended, slot.was_cut_off = None, False, None, False  # it begins anew
        return slot
    slot = _Slot(pod, at)
    reading.slots.append(slot)
    return slot


def _leave(reading: _Reading, slot: _Slot, at: float) -> None:
    if slot.ended is not None:
        return
    slot.ended, slot.was_cut_off = at, _was_cut_off(reading, slot.pod)
    controller = _controller(slot.pod)
    if controller and slot.was_cut_off:
        reading.vacant[controller].append(slot)


def _controller(pod: Pod) -> str:
    """What makes replacements of a pod, or the group that it is in; empty: nothing does."""
    owner = next((owner.uid for owner in pod.metadata.owner_references if owner.controller), "")
    group = pod.spec.scheduling_group
    return owner or (f"{pod.metadata.namespace}/{group.pod_group_name}" if group else "")


def _was_cut_off(reading: _Reading, pod: Pod) -> bool:
    """It was preempted, or deleted with the rest of a gang that begins anew."""
    return _was_preempted(pod) or (
        pod.metadata.deletion_timestamp is not None and _group_of(reading, pod) is not None
    )


def _was_preempted(pod: Pod) -> bool:
    return any(one.type == _MARK and one.status == "True" for one in pod.status.conditions)


def _seconds(slot: _Slot) -> float | None:
    """How long it ran; None if that is not known."""
    if slot.started is None or slot.ended is None:
        return None
    return max(slot.ended - slot.started, _SHORTEST)


def _duration(slot: _Slot, last: float, guess: float) -> float:
    """A pod that still runs at the end has run for at least as long as it did."""
    known = _seconds(slot)
    if known is not None:
        return known
    return max(last - slot.started, _SHORTEST) if slot.started is not None else guess


# --- jobs ----------------------------------------------------------------------------------------


def _group_of(reading: _Reading, pod: Pod) -> PodGroup | None:
    named = pod.spec.scheduling_group
    group = reading.groups.get((pod.metadata.namespace, named.pod_group_name)) if named else None
    return group if group is not None and group.spec.gang is not None else None


def _single_pods(reading: _Reading, guess: float) -> Iterable[Job]:
    for i, slot in enumerate(reading.slots):
        if _group_of(reading, slot.pod) is None and _budget_of(reading, slot.pod) is None:
            yield _job(f"pod-{i}", [slot], reading, guess)


def _services(reading: _Reading, guess: float) -> Iterable[Job]:
    """Pods under a budget, which only a job as a whole can have: those of one owner that arrive together."""
    together: dict[str, list[_Slot]] = {}
    found: list[list[_Slot]] = []
    for slot in reading.slots:
        if _group_of(reading, slot.pod) is not None or _budget_of(reading, slot.pod) is None:
            continue
        slots = together.get(_controller(slot.pod))
        if slots is None or slot.arrived - slots[0].arrived > _TOGETHER or not _controller(slot.pod):
            slots = together[_controller(slot.pod)] = []
            found.append(slots)
        slots.append(slot)
    return [_job(f"service-{i}", slots, reading, guess) for i, slots in enumerate(found)]


def _budget_of(reading: _Reading, pod: Pod) -> PodDisruptionBudget | None:
    for (namespace, _), (selector, budget) in reading.budgets.items():
        if namespace == pod.metadata.namespace and selector.matches(pod.metadata.labels):
            return budget
    return None


def _selecting(budget: PodDisruptionBudget) -> Selector:
    meta = budget.metadata
    problems = Problems(Ref(kind="PodDisruptionBudget", namespace=meta.namespace, name=meta.name))
    return compile_selector(budget.spec.selector, "spec.selector", problems)


def _available(budget: PodDisruptionBudget, pods: int) -> int | None:
    """How many of so many pods it wants available; None if it does not say."""
    spec = budget.spec
    if spec.min_available is not None:
        wanted = _scaled(spec.min_available, pods)
        return None if wanted is None else min(wanted, pods)
    unavailable = _scaled(spec.max_unavailable, pods) if spec.max_unavailable is not None else None
    return None if unavailable is None else max(0, pods - unavailable)


def _scaled(value: int | str, pods: int) -> int | None:
    """A number, or a percentage, which is rounded up."""
    if isinstance(value, int):
        return max(0, value)
    number = value.removesuffix("%")
    return (
        ceil(int(number) * pods / 100) if number != value and number.isascii() and number.isdigit() else None
    )


def _gangs(reading: _Reading, guess: float) -> Iterable[Job]:
    members: dict[tuple[str, str], list[_Slot]] = defaultdict(list)
    for slot in reading.slots:
        group = _group_of(reading, slot.pod)
        if group is not None:
            members[group.metadata.namespace, group.metadata.name].append(slot)
    for i, (key, slots) in enumerate(members.items()):
        yield _job(f"gang-{i}", slots, reading, guess, reading.groups[key])


def _job(
    name: str, slots: list[_Slot], reading: _Reading, guess: float, group: PodGroup | None = None
) -> Job:
    pod = slots[0].pod
    meta = pod.metadata
    asked = footprint(pod, Problems(Ref(kind="Pod", namespace=meta.namespace, name=meta.name))).desired
    own = group.spec.priority if group is not None else None
    grace = pod.spec.termination_grace_period_seconds
    budget = _budget_of(reading, pod)
    return Job(
        name=name,
        arrival=min(slot.arrived for slot in slots),
        duration=max(_duration(slot, reading.last, guess) for slot in slots),
        pods=len(slots),
        requests=tuple(
            (resource, _quantity(resource, amount))
            for resource, amount in asked.items()
            if amount and resource != PODS
        ),
        priority=own if own is not None else pod.spec.priority or 0,
        gang=min(group.spec.gang.min_count, len(slots)) if group is not None and group.spec.gang else 0,
        whole=group is not None and group.spec.disrupted_whole,
        tenant=label(pod.metadata.namespace),
        budget=None if budget is None else _available(budget, len(slots)),
        grace=float(30 if grace is None else grace),
        selector=tuple(sorted(pod.spec.node_selector.items())),
    )


def _quantity(resource: str, amount: int) -> str:
    return f"{amount}m" if resource == CPU else str(amount)


def _invented(reading: _Reading, guess: float, services: Sequence[Job]) -> Iterable[str]:
    running = sum(slot.started is not None and slot.ended is None for slot in reading.slots)
    waiting = sum(slot.started is None for slot in reading.slots)
    if running:
        yield f"{running} pods still ran at the end of the journal: they run for as long as they had by then"
    cut_off = sum(slot.was_cut_off for slot in reading.slots)
    if cut_off:
        yield f"{cut_off} pods were cut off and not replaced: they run for as long as they had by then"
    if waiting:
        yield f"{waiting} pods had not started: they run for the median of the others, {guess:.0f} s"
    if services:
        pods = sum(job.pods for job in services)
        yield (
            f"{pods} pods under budgets are {len(services)} jobs, by their owners: pods of a job arrive with "
            "its first and run for as long as its longest"
        )
    yield "affinity, spread, volumes and tolerations are not taken over; checkpoints are unknown"
