"""All that the scheduler remembers, and the small steps that keep its parts in agreement.

The world mirrors what the cluster shows, the ledger keeps what was promised and is not shown yet, the queue
orders demands, and plans are being carried out. What follows from events is decided elsewhere: `enqueueing`
(which demands there are), `binding` (pods that have a place), `plan_driver` (open plans), `deciding`.
"""

from collections.abc import Iterable, Iterator
from math import inf

from reprieve.model.effects import Effect, Target
from reprieve.model.groups import GroupKey
from reprieve.model.objects import Node, Pod, PodGroup
from reprieve.model.shape import CompiledPod
from reprieve.preemption.policy import InPlace
from reprieve.preemption.toleration import toleration_of
from reprieve.scheduler.changes import Change
from reprieve.scheduler.demands import IN_PLACE, Asker, NotYet, asker, asker_in_place, pod_target
from reprieve.scheduler.equivalence import RememberedRefusal
from reprieve.scheduler.handover import is_marked
from reprieve.scheduler.incomplete_gangs import IncompleteGangs
from reprieve.scheduler.ledger import Ledger
from reprieve.scheduler.ledger.assumed import Assumed, Promise
from reprieve.scheduler.plans import Plans
from reprieve.scheduler.preemption_backoff import PreemptionBackoff
from reprieve.scheduler.queue import Key, Queue
from reprieve.scheduler.settings import Settings
from reprieve.scheduler.status_reporter import StatusReporter
from reprieve.scheduler.tombstones import Tombstones
from reprieve.scheduler.unknown_outcomes import UnknownOutcomes
from reprieve.scheduler.world import World


class State:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.ledger = Ledger(settings.stuck_victim_seconds)
        self.world = World(self.ledger.assumed, self.ledger.budget_lag)
        self.queue = Queue(settings.backoff)
        self.plans = Plans(self.ledger.victims)
        self.faults: dict[Target, str] = {}  # pods whose spec cannot be honoured
        self.reporter = StatusReporter()
        self.incomplete_gangs = IncompleteGangs()
        self.tombstones = Tombstones()
        self.preemption_backoff = PreemptionBackoff()
        self.unknown_outcomes: UnknownOutcomes[Effect] = UnknownOutcomes()
        self.regrouped: set[GroupKey] = set()  # groups whose priorities are to be compared
        self.refused: RememberedRefusal | None = None  # the last decision, if that was one
        self.synced = False
        self._now = -inf

    def notice(self, now: float) -> None:
        """The clock may be put back: then every wait lasts as long as it was meant to, and no longer."""
        if now < self._now:
            for timed in (*self._timed(), self.preemption_backoff):
                timed.shift(now - self._now)
        self._now = now

    def next_time(self) -> float | None:
        """When something is to be done even if nothing happens."""
        return min((time for one in self._timed() if (time := one.next_time()) is not None), default=None)

    def _timed(self) -> tuple[Queue | Ledger | IncompleteGangs | UnknownOutcomes[Effect], ...]:
        return self.queue, self.ledger, self.incomplete_gangs, self.unknown_outcomes

    def asker(self, key: Key) -> Asker | NotYet | None:
        found = self._asker_in_place(key) if key[0] == IN_PLACE else self._asker(key)
        if isinstance(found, Asker) and self.world.is_ending(key[1]):
            # A server lets nothing start there: to try would be in vain, and to evict others for it worse.
            return NotYet(f"namespace {key[1]} is being deleted, and nothing can start there", found.pods)
        return found

    def _asker(self, key: Key) -> Asker | NotYet | None:
        found = asker(self.world, key, self.settings.group_rules)
        if not isinstance(found, Asker):
            return found
        faulty = [pod for pod in found.pods if pod_target(pod.pod) in self.faults]
        if not faulty:
            return found
        text = f"PodGroup {key[1]}/{key[2]} waits for pod {faulty[0].pod.metadata.name}, which is faulty"
        return NotYet(text, tuple(pod for pod in found.pods if pod not in faulty))

    def _asker_in_place(self, key: Key) -> Asker | NotYet | None:
        in_place = self.in_place(key)
        if in_place is None:
            return None
        found = asker_in_place(self.world, key, in_place, self.settings.group_rules)
        faulty = isinstance(found, Asker) and pod_target(found.pods[0].pod) in self.faults
        return NotYet("") if faulty else found

    def in_place(self, key: Key) -> InPlace | None:
        """How the pod of this name asks for more where it runs, if it may."""
        known = self.world.pod(key[1:])
        policy = self.settings.policies.get(known.pod.spec.scheduler_name) if known is not None else None
        return policy.in_place if policy is not None else None

    def forbidden(self, key: Key, pod: Pod, node: Node) -> str:
        """Why no pod would be evicted for a pod like this on a node like this."""
        in_place = self.in_place(key)
        return in_place.forbidden(pod, node) if in_place is not None else ""

    def home(self, key: Key) -> str:
        """The only node where anything can help a demand; empty if any can."""
        known = self.world.pod(key[1:]) if key[0] == IN_PLACE else None
        return known.pod.spec.node_name if known is not None else ""

    def is_ours(self, pod: Pod) -> bool:
        return pod.spec.scheduler_name in self.settings.profiles and not pod.metadata.deletion_timestamp

    def wake(self, changes: Iterable[Change], now: float, *nodes: str) -> None:
        """``nodes`` is where it happened, if anywhere."""
        for change in changes:
            self.queue.wake(change, now, nodes=nodes)

    def clock_began(self, since: float) -> None:
        """The time of pods that tolerate preemption counts from now on: no toleration can end before this."""
        lengths = (toleration_of(known).seconds for known in self.world.groups.classes.values())
        shortest = min((seconds for seconds in lengths if seconds > 0), default=inf)
        if shortest < inf:
            self.queue.hasten(Change.CLOCKS, since + shortest)

    def settle(self, pod: Target, now: float) -> Assumed | None:
        """Ends a promise. Volumes count as they are shown again, unless another promise shares the step."""
        assumed = self.ledger.assumed.settle(pod)
        if assumed is not None and not all(map(self.ledger.assumed.needs, assumed.steps)):
            self.wake(self.world.volume_steps_changed(), now)
        return assumed

    def unreserve(self, pods: Iterable[Target], key: Key, now: float) -> None:
        """Room that no pod waits for any more: to other demands it is as if a pod had left."""
        withdrawn = map(self.ledger.nominations.withdraw, pods)
        nodes = {nomination.node for nomination in withdrawn if nomination is not None}
        if nodes:
            self.queue.wake(Change.POD_LEFT, now, {key}, nodes)

    def saw_mark(self, thing: Pod | PodGroup) -> None:
        """The object shows a mark, or shows none any more."""
        meta = thing.metadata
        target = Target(type(thing).__name__, meta.namespace, meta.name, meta.uid)
        self.ledger.victims.saw(target, marked=is_marked(thing))

    def runs_on(self, group: Target) -> bool:
        """Whether pods of a group have their node, and none of them is leaving."""
        pods = map(self.world.pod, self.world.groups.members((group.namespace, group.name)))
        placed = [pod.pod for pod in pods if pod is not None and pod.pod.spec.node_name]
        return bool(placed) and not any(
            pod.metadata.deletion_timestamp or pod_target(pod) in self.ledger.terminating for pod in placed
        )

    def say(
        self,
        pods: Iterable[CompiledPod],
        group: PodGroup | None,
        text: str,
        told_otherwise: Target | None = None,
    ) -> Iterator[Effect]:
        for pod in pods:
            target = pod_target(pod.pod)
            if pod.pod.spec.node_name:
                yield from self.reporter.no_room_in_place(target, text)
            else:
                yield from self.reporter.waits(target, "Unschedulable", text, aloud=target != told_otherwise)
        if group is not None:
            yield from self.reporter.group_waits(group, text)

    def say_all(self, who: Asker, text: str, told_otherwise: Target | None = None) -> Iterator[Effect]:
        """``told_otherwise``: the object that needs no event about it."""
        yield from self.say(who.pods, who.group, text, told_otherwise)

    def is_preparing(self, pod: Target) -> bool:
        assumed = self.ledger.assumed.of(pod)
        return assumed is not None and assumed.state is Promise.PREPARING
