"""What must hold after every event, and at the end, whatever goes wrong in between.

The auditor believes the objects that the API server holds, every version of them in order, and what goes in
and out of the scheduler. Amounts are counted by the plain reading.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from tests.unit.scheduler.validation import validate

from reprieve.cluster.api.codec import Decoded, decode
from reprieve.model.effects import Effect, Target
from reprieve.model.events import Done, Event, Failed, Gone, Seen, Unknown, Unread
from reprieve.model.groups import group_key
from reprieve.model.moment import Moment
from reprieve.model.objects import KubernetesObject, Node, Pod, runs
from reprieve.model.snapshot import build
from reprieve.placement.place import Placement, place, pod_demand
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.demand_key import DemandKey, DemandKind
from reprieve.scheduler.queue.queue import Standing
from reprieve.scheduler.reporting.decision import Decided
from reprieve.scheduler.settings import SCHEDULER_NAME, Settings
from reprieve_minicluster.kinds import BY_RESOURCE
from reprieve_minicluster.store import EventType, Store, Stored, WatchEvent
from tests.reference.plain.ports import host_ports_of
from tests.reference.plain.requests import Amounts, plus, read, requests, whole_units
from tests.simulation.objects import OTHERS


class BrokenInvariantError(AssertionError):
    """Something that must never happen."""


def hold(condition: bool, sentence: str) -> None:
    if not condition:
        raise BrokenInvariantError(sentence)


# --- what the API server holds -------------------------------------------------------------------


@dataclass(slots=True)
class Books:
    """Which pod runs where, kept change by change."""

    nodes: dict[str, Node] = field(default_factory=dict)
    pods: dict[str, Pod] = field(default_factory=dict)  # by uid; those that need their room
    places: dict[str, str] = field(default_factory=dict)  # by uid, of every pod that ever got one

    def enter(self, change: WatchEvent, thing: KubernetesObject | None) -> None:
        self._check_refusals(change.object)
        if isinstance(thing, Node):
            self._enter_node(thing, change.type)
        elif isinstance(thing, Pod):
            self._enter_pod(thing, change.type)

    def _check_refusals(self, stored: Stored) -> None:
        hold(b'"reason":"OutOf' not in stored.raw, f"the kubelet refused {stored.key}")

    def _enter_node(self, node: Node, verb: EventType) -> None:
        if verb is EventType.DELETED:
            del self.nodes[node.metadata.name]
        else:
            self.nodes[node.metadata.name] = node

    def _enter_pod(self, pod: Pod, verb: EventType) -> None:
        uid, place = pod.metadata.uid, pod.spec.node_name
        before = self.places.get(uid)
        hold(before in (None, place), f"{pod.metadata.name} was on {before} and is on {place!r}")
        if verb is EventType.DELETED or not runs(pod):
            self.pods.pop(uid, None)
            return
        self.pods[uid] = pod
        if place and before is None:
            self.places[uid] = place
            self._check(place)

    def _check(self, name: str) -> None:
        """A pod has just been bound there."""
        node = self.nodes.get(name)
        here = [pod for pod in self.pods.values() if pod.spec.node_name == name]
        if node is not None and not any(taint.key == OTHERS for taint in node.spec.taints):
            self._check_room(node, here)
            _check_company(name, here)

    def _check_room(self, node: Node, pods: list[Pod]) -> None:
        offered: Amounts = whole_units(read(node.status.allocatable))
        used = plus({"pods": len(pods)}, *map(requests, pods))
        for resource, amount in used.items():
            there = offered.get(resource, 0)
            hold(amount <= there, f"{node.metadata.name} has {there} {resource} and is given {amount}")


def _check_company(node: str, pods: list[Pod]) -> None:
    ports = Counter(port.host_port for pod in pods for port in host_ports_of(pod))
    loners = Counter(pod.metadata.labels["alone"] for pod in pods if "alone" in pod.metadata.labels)
    hold(max(ports.values(), default=1) == 1, f"two pods on {node} have the same host port: {ports}")
    hold(max(loners.values(), default=1) == 1, f"pods on {node} are not alone: {loners}")


def _read(stored: Stored) -> KubernetesObject | None:
    return _decoded(stored.raw)


@lru_cache(maxsize=4096)
def _decoded(raw: bytes) -> KubernetesObject | None:
    """Kept: most objects of a listing are those of the one before, and none of them ever changes."""
    found = decode(raw)
    return found.object if isinstance(found, Decoded) else None


Tell = Callable[[str], None]


class Auditor:
    def __init__(self, store: Store, tell: Tell, books: Books | None = None) -> None:
        self._watch = store.watch(("nodes", "pods"), since=store.version)
        self._books = books or Books()
        self.tell = tell
        self.mishaps = 0

    @property
    def places(self) -> dict[str, str]:
        """By uid, of every pod that ever got one."""
        return self._books.places

    def look(self) -> None:
        for change in self._watch.poll():
            thing = _read(change.object)
            where = f" {thing.spec.node_name} {thing.status.phase}" if isinstance(thing, Pod) else ""
            self.tell(f"      {change.type} {change.object.key}{where}")
            self._books.enter(change, thing)


# --- what the scheduler does ---------------------------------------------------------------------


class AuditedScheduler(Scheduler):
    """A scheduler that is looked at after every step."""

    def __init__(self, settings: Settings, auditor: Auditor) -> None:
        super().__init__(settings)
        self._auditor = auditor
        self._unended: Counter[Effect] = Counter()
        self._shown: dict[tuple[str, str], Pod | None] = {}  # None: it cannot be read

    def observe(self, events: Iterable[Event], now: Moment) -> list[Effect]:
        events = list(events)
        effects = super().observe(events, now)
        for event in events:
            self._note(event)
        self._check(effects)
        check_failures(self)
        return effects

    def _note(self, event: Event) -> None:
        if not isinstance(event, Seen):
            self._auditor.tell(f"   <- {event}")
        match event:
            case Seen(Pod() as pod):
                self._shown[pod.metadata.namespace, pod.metadata.name] = pod
            case Unread(target) if target.kind == "Pod":
                self._shown[target.namespace, target.name] = None
            case Gone(target) if target.kind == "Pod":
                self._shown.pop((target.namespace, target.name), None)
            case Done(effect) | Failed(effect) | Unknown(effect):
                self._auditor.mishaps += not isinstance(event, Done)
                self._unended[effect] -= 1
                hold(self._unended[effect] >= 0, f"{effect} ended, and was not under way")

    def decide(self, now: Moment) -> Decided | None:
        decided = super().decide(now)
        check_failures(self)
        if decided is not None:
            self._check(decided.effects)
        return decided

    def _check(self, effects: Iterable[Effect]) -> None:
        self._unended.update(effects)
        self._auditor.look()
        promises = {promise.pod for promise in self._state.ledger.assumed}
        for key, pod in self._shown.items():
            if pod is None or not is_waiting(pod):
                continue
            promised, demand = (
                Target("Pod", *key, pod.metadata.uid) in promises,
                self._state.demands.demand_of(pod),
            )
            standing = self._state.queue.standing(demand)
            in_line = standing not in (None, Standing.DECIDING)
            # A group waits for as long as any of its pods does.
            sound = promised or in_line if demand.kind.is_of_groups else promised != in_line
            hold(sound, f"{key[1]} is {'promised, and ' if promised else ''}{standing}")
        for target in promises:
            shown = self._shown[target.namespace, target.name]
            hold(shown is None or not shown.spec.node_name, f"the promise to {target} should be over")
        validate(self)

    def check_rest(self) -> None:
        """Nothing is in flight and nothing is promised: all that was written is seen."""
        promises = [str(assumed.pod) for assumed in self._state.ledger.assumed]
        hold(not promises, f"promises are left: {promises}")
        under_way = [effect for effect, number in self._unended.items() if number]
        hold(not under_way, f"effects did not end: {under_way}")

    def check_queue(self, pods: Iterable[Pod]) -> None:
        """The queue holds the demands of these pods and no others."""
        expected = sorted({self._state.demands.demand_of(pod) for pod in pods})
        hold(
            sorted(self._state.queue._entries) == expected,
            f"in line are {sorted(self._state.queue._entries)}",
        )


def check_failures(scheduler: Scheduler) -> None:
    """What the scheduler would contain is a mistake here."""
    for failure in scheduler.failures():
        raise failure.error


def key_of(demand: Target, *, is_resize: bool = False) -> DemandKey:
    """The key of a demand that a decision names."""
    kinds = {"PodGroup": DemandKind.GROUP, "CompositePodGroup": DemandKind.TREE}
    kind = DemandKind.RESIZE if is_resize else kinds.get(demand.kind, DemandKind.POD)
    return DemandKey(kind, demand.namespace, demand.name)


def is_waiting(pod: Pod) -> bool:
    ours = pod.spec.scheduler_name == SCHEDULER_NAME
    return ours and runs(pod) and not pod.spec.node_name and pod.metadata.deletion_timestamp is None


# --- what there is at the end --------------------------------------------------------------------


def pods_in(store: Store) -> list[Pod]:
    found = (_read(item) for item in store.list(("pods",)).items)
    return [pod for pod in found if isinstance(pod, Pod)]


def waiting_in(store: Store) -> list[Pod]:
    return [pod for pod in pods_in(store) if is_waiting(pod)]


def not_started_in(store: Store) -> list[str]:
    """The names of pods that have a node."""
    pending = (pod for pod in pods_in(store) if pod.status.phase == "Pending")
    return [pod.metadata.name for pod in pending if pod.spec.node_name]


def check_all_started(store: Store) -> None:
    late = not_started_in(store)
    hold(not late, f"{late} have a node and did not start")


def waiting_in_vain(store: Store) -> set[str]:
    """The names of pods that wait by themselves, are not held back, and would fit."""
    things = (_read(item) for item in store.list(tuple(BY_RESOURCE)).items)
    view = build([thing for thing in things if thing is not None]).snapshot
    found = set()
    for pod in waiting_in(store):
        row = view.pods.rows[pod.metadata.namespace, pod.metadata.name]
        by_itself = group_key(pod) is None and not pod.spec.scheduling_gates
        if by_itself and isinstance(place(pod_demand(view, row), view), Placement):
            found.add(f"{pod.metadata.namespace}/{pod.metadata.name}")
    return found
