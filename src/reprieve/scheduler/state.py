"""All that the scheduler remembers, and the small steps that keep its parts in agreement.

What follows from events is decided elsewhere: ``enqueueing`` (demands), ``binding`` (pods that have a place),
``plan_driver`` (open plans), ``deciding``.
"""

from collections.abc import Iterable, Iterator
from math import inf

from reprieve.model.effects import Effect, Target
from reprieve.model.groups import GroupKey
from reprieve.model.objects import Node, Pod
from reprieve.preemption.policy import Resizes
from reprieve.preemption.toleration import toleration_of
from reprieve.scheduler.changes import Change
from reprieve.scheduler.demand_key import DemandKey, DemandKind
from reprieve.scheduler.demands import (
    NotYet,
    Requester,
    WaitingGroup,
    report_waiting,
    requester_of,
)
from reprieve.scheduler.equivalence import RememberedRefusal
from reprieve.scheduler.incomplete_gangs import IncompleteGangs
from reprieve.scheduler.ledger import Assumed, Ledger, Promise
from reprieve.scheduler.plan_log import PlanLog
from reprieve.scheduler.plans import Plans
from reprieve.scheduler.preemption_backoff import PreemptionBackoff
from reprieve.scheduler.queue import Queue
from reprieve.scheduler.set_aside import SchedulerFailure, SetAsideEvents
from reprieve.scheduler.settings import Settings
from reprieve.scheduler.status_reporter import StatusReporter
from reprieve.scheduler.targets import pod_target
from reprieve.scheduler.terminating import TerminatingPods
from reprieve.scheduler.tombstones import Tombstones
from reprieve.scheduler.unknown_outcomes import UnknownOutcomes
from reprieve.scheduler.world import World


class State:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.world = World()
        self.ledger = Ledger()
        self.queue = Queue(settings.backoff)
        self.plans = Plans()
        self.plan_log = PlanLog()
        self.nominated: dict[Target, str] = {}  # pods that wait for a node, and which
        self.parts: dict[Target, DemandKey] = {}  # pods that wait, and the demand they are part of
        self.faults: dict[Target, str] = {}  # pods whose spec we cannot honour
        self.reporter = StatusReporter()
        self.lingering: set[Target] = set()  # pods that may still show a node they do not wait for any more
        self.terminating = TerminatingPods(settings.stuck_victim_seconds)
        self.incomplete_gangs = IncompleteGangs()
        self.tombstones = Tombstones()
        self.preemption_backoff = PreemptionBackoff()
        self.unknown_outcomes: UnknownOutcomes[Effect] = UnknownOutcomes()
        self.regrouped: set[GroupKey] = set()  # groups whose priorities are to be compared
        self.set_aside = SetAsideEvents()
        self.failures: list[SchedulerFailure] = []  # those of the last step
        self.refused: RememberedRefusal | None = None  # the last decision, if that was one
        self.synced = False
        self._now = -inf

    def notice(self, now: float) -> None:
        """A clock may be put back: then everybody waits as long as he was to wait, and not longer."""
        if now < self._now:
            for timed in (*self._timed(), self.preemption_backoff, self.plan_log):
                timed.shift(now - self._now)
        self._now = now

    def next_time(self) -> float | None:
        """When something is to be done even if nothing happens."""
        return min((time for one in self._timed() if (time := one.next_time()) is not None), default=None)

    def _timed(
        self,
    ) -> tuple[
        Queue | Ledger | Plans | TerminatingPods | IncompleteGangs | UnknownOutcomes[Effect] | SetAsideEvents,
        ...,
    ]:
        return (
            self.queue,
            self.ledger,
            self.plans,
            self.terminating,
            self.incomplete_gangs,
            self.unknown_outcomes,
            self.set_aside,
        )

    def requester(self, key: DemandKey) -> Requester | NotYet | None:
        """The demand of this key as things stand; None if it needs nothing any more."""
        found = requester_of(self.world, key, self.settings.group_rules, self.resizes(key))
        if found is None or isinstance(found, NotYet):
            return found
        return self._held_back(found) or found

    def _held_back(self, requester: Requester) -> NotYet | None:
        key = requester.key
        faulty = [pod for pod in requester.pods if pod_target(pod.pod) in self.faults]
        if faulty and isinstance(requester, WaitingGroup):
            name = faulty[0].pod.metadata.name
            text = f"PodGroup {key.namespace}/{key.name} waits for pod {name}, which is faulty"
            return NotYet(text, tuple(pod for pod in requester.pods if pod not in faulty))
        if faulty:
            return NotYet("")
        if self.world.is_ending(key.namespace):
            # The API server starts nothing there: a bind would fail, and evictions for it would be in vain.
            text = f"namespace {key.namespace} is being deleted, and nothing can start there"
            return NotYet(text, requester.pods)
        return None

    def resizes(self, key: DemandKey) -> Resizes | None:
        """How a resize of the pod of this name becomes a demand; None if it does not."""
        known = self.world.pod(key.object) if key.kind is DemandKind.RESIZE else None
        policy = self.settings.policies.get(known.pod.spec.scheduler_name) if known is not None else None
        return policy.resizes if policy is not None else None

    def forbidden(self, key: DemandKey, pod: Pod, node: Node) -> str:
        """Why no pod would be evicted for a resize of a pod like this on a node like this."""
        resizes = self.resizes(key)
        return resizes.forbidden(pod, node) if resizes is not None else ""

    def only_node(self, key: DemandKey) -> str:
        """The only node that can help a demand; empty if any can."""
        known = self.world.pod(key.object) if key.kind is DemandKind.RESIZE else None
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
        assumed = self.ledger.settle(pod)
        if assumed is not None and assumed.steps:
            shared = {step for other in self.ledger for step in other.steps}
            self.wake(self.world.release(s for s in assumed.steps if s not in shared), now)
        return assumed

    def unreserve(self, pods: Iterable[Target], key: DemandKey, now: float) -> None:
        """Room that nobody waits for any more: to others it is as if somebody had left."""
        nodes = {self.nominated.pop(pod) for pod in pods if pod in self.nominated}
        if nodes:
            self.queue.wake(Change.POD_LEFT, now, {key}, nodes)

    def runs_on(self, group: Target) -> bool:
        """Whether pods of a group have their node, and none of them is leaving."""
        pods = map(self.world.pod, self.world.groups.members((group.namespace, group.name)))
        placed = [pod.pod for pod in pods if pod is not None and pod.pod.spec.node_name]
        return bool(placed) and not any(
            pod.metadata.deletion_timestamp or pod_target(pod) in self.terminating for pod in placed
        )

    def report(self, requester: Requester, text: str) -> Iterator[Effect]:
        """Why a demand has not got what it needs, on each of its pods and on its group."""
        yield from report_waiting(self.reporter, requester.key, requester.pods, text)
        if isinstance(requester, WaitingGroup):
            yield from self.report_groups(requester, text)

    def report_groups(self, requester: WaitingGroup, text: str) -> Iterator[Effect]:
        for group in requester.tree.groups():
            yield from self.reporter.group_waits(group, text)

    def is_preparing(self, pod: Target) -> bool:
        assumed = self.ledger.of(pod)
        return assumed is not None and assumed.state is Promise.PREPARING
