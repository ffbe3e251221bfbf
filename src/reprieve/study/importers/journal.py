"""The jobs of a cluster that Reprieve scheduled, from its journal: last week, under another policy.

A pod that was preempted and its replacement are one job, so that the counterfactual does not inherit what
preemption did. What a journal cannot say, such as how long a pod would have run, is named as invented.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import median

from reprieve.model.events import Gone, Seen
from reprieve.model.footprint import footprint
from reprieve.model.objects import Node, Pod, PodGroup, Ref
from reprieve.model.resources import CPU, PODS, Problems
from reprieve.runtime.journal_lines import Entry, Observed
from reprieve.study.importers.rows import label
from reprieve.study.job import Job
from reprieve.study.text_lines import TraceError
from reprieve.study.trace import Trace, in_order

_OVER = ("Succeeded", "Failed")
_SHORTEST, _UNKNOWN = 1.0, 3600.0
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
    jobs = in_order([*_gangs(reading, guess), *_single_pods(reading, guess)])
    return JournaledCluster(
        Trace(name, jobs, invented=tuple(_invented(reading, guess))), tuple(reading.nodes.values())
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
        if _group_of(reading, slot.pod) is None:
            yield _job(f"pod-{i}", [slot], reading, guess)


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
        grace=float(30 if grace is None else grace),
        selector=tuple(sorted(pod.spec.node_selector.items())),
    )


def _quantity(resource: str, amount: int) -> str:
    return f"{amount}m" if resource == CPU else str(amount)


def _invented(reading: _Reading, guess: float) -> Iterable[str]:
    running = sum(slot.started is not None and slot.ended is None for slot in reading.slots)
    waiting = sum(slot.started is None for slot in reading.slots)
    if running:
        yield f"{running} pods still ran at the end of the journal: they run for as long as they had by then"
    cut_off = sum(slot.was_cut_off for slot in reading.slots)
    if cut_off:
        yield f"{cut_off} pods were cut off and not replaced: they run for as long as they had by then"
    if waiting:
        yield f"{waiting} pods had not started: they run for the median of the others, {guess:.0f} s"
    yield "affinity, spread, volumes, tolerations and budgets are not taken over; checkpoints are unknown"
