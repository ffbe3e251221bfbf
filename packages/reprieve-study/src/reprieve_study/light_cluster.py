"""A cluster that is only what a scheduler sees of it: objects as records, kubelets as moments on an agenda.

Calls end at once and never fail. There is no store, no JSON and no versions; a test holds it equal to the
mini cluster, decision by decision. Sights that no decision can follow from are kept until there is news.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from msgspec.structs import replace

from reprieve.model.effects import (
    Announce,
    Bind,
    Effect,
    Evict,
    Nominate,
    SetCondition,
)
from reprieve.model.events import Done, Event, Failed, Gone, Seen
from reprieve.model.objects import (
    Condition,
    GroupStatus,
    Node,
    Pod,
    PodDisruptionBudget,
    PodGroup,
    PodStatus,
)
from reprieve_study.agenda import Agenda
from reprieve_study.job import stamp, target_of

START_SECONDS = 1.0
REACTION_SECONDS = 0.1  # until a controller has seen what happened to its pod
Status = TypeVar("Status", PodStatus, GroupStatus)


class LightCluster:
    """``on_*``: called with the UID of a pod and the time, soon after it happened."""

    def __init__(self, nodes: Iterable[Node], agenda: Agenda) -> None:
        self._agenda = agenda
        self._pods: dict[str, Pod] = {}
        self._groups: dict[str, PodGroup] = {}
        self._inbox: list[Event] = [Seen(node) for node in nodes]
        self._unsettled: set[str] = set()  # pods that wait for a node, and pods that terminate
        self._sights: dict[str, int] = {}  # where in the inbox pods that settled are shown, by their UID
        self._is_news = True
        self._now = 0.0
        self.on_started: Callable[[str, float], None] = _ignore
        self.on_leaving: Callable[[str, float], None] = _ignore
        self.on_gone: Callable[[str, float], None] = _ignore

    def advance(self, now: float) -> None:
        """Whatever is due by now happens."""
        self._now = now
        for act in self._agenda.due(now):
            act(now)

    def taken(self) -> list[Event]:
        """What a watch would have shown since this was asked last."""
        events, self._inbox = self._inbox, []
        self._sights.clear()
        self._is_news = False
        return events

    @property
    def has_news(self) -> bool:
        """Whether the scheduler may decide or do anything because of what happened.

        While no pod waits or terminates, it does nothing when a pod is bound, starts or ends: these sights
        can wait for the next arrival, and be observed with it. Always news are pods of groups, on which the
        scheduler reports, and preemptors, which end plans.
        """
        return self._is_news or (bool(self._unsettled) and bool(self._inbox))

    def pods(self) -> Iterable[Pod]:
        return self._pods.values()

    # --- for job controllers ---------------------------------------------------------------------

    def create(self, thing: Pod | PodGroup | PodDisruptionBudget) -> None:
        match thing:
            case Pod():
                self._pods[thing.metadata.uid] = thing
                self._unsettled.add(thing.metadata.uid)
            case PodGroup():
                self._groups[thing.metadata.uid] = thing
        self._inbox.append(Seen(thing))
        self._is_news = True

    def update(self, budget: PodDisruptionBudget) -> None:
        self._inbox.append(Seen(budget))

    def delete(self, uid: str) -> None:
        pod = self._pods.get(uid)
        if pod is not None and pod.metadata.deletion_timestamp is None:
            self._terminate(pod)

    def finish(self, uid: str) -> None:
        pod = self._pods.pop(uid, None)
        if pod is not None:
            self._lose(pod)

    def remove(self, thing: PodGroup | PodDisruptionBudget) -> None:
        self._groups.pop(thing.metadata.uid, None)
        self._inbox.append(Gone(target_of(thing)))
        self._is_news |= isinstance(thing, PodGroup)

    # --- for the scheduler -----------------------------------------------------------------------

    def perform(self, effects: Iterable[Effect]) -> None:
        """Answers show up with what is taken next, but for events: the scheduler awaits no answer to those,
        and each would cost a step."""
        for effect in effects:
            if not isinstance(effect, Announce):
                done = self._happens(effect)
                self._inbox.append(Done(effect) if done else _missing(effect))
                self._is_news |= not done or not isinstance(effect, Bind)

    def _happens(self, effect: Effect) -> bool:
        """False if the object does not exist any more."""
        match effect:
            case Evict():
                self.delete(effect.target.uid)
                return True  # a pod that is gone counts as evicted
            case SetCondition() if effect.target.kind == PodGroup.__name__:
                return self._write_group(effect)
            case SetCondition() | Nominate() | Bind():
                return self._write_pod(effect)
        return False  # volumes: jobs have none

    def _write_pod(self, effect: SetCondition | Nominate | Bind) -> bool:
        pod = self._pods.get(effect.target.uid)
        if pod is None:
            return False
        match effect:
            case SetCondition():
                self._see(replace(pod, status=_with_condition(pod.status, effect, self._now)))
            case Nominate():
                self._see(replace(pod, status=replace(pod.status, nominated_node_name=effect.node)))
            case Bind():
                return self._bind(pod, effect)
        return True

    def _bind(self, pod: Pod, effect: Bind) -> bool:
        if pod.spec.node_name or pod.metadata.deletion_timestamp is not None:
            return False
        scheduled = SetCondition(effect.target, "PodScheduled", "True", "", "")
        status = replace(_with_condition(pod.status, scheduled, self._now), nominated_node_name="")
        self._see(replace(pod, spec=replace(pod.spec, node_name=effect.node), status=status))
        uid = pod.metadata.uid
        self._agenda.at(self._now + START_SECONDS, lambda now: self._start(uid, now))
        return True

    def _write_group(self, effect: SetCondition) -> bool:
        group = self._groups.get(effect.target.uid)
        if group is None:
            return False
        group = replace(group, status=_with_condition(group.status, effect, self._now))
        self._groups[effect.target.uid] = group
        self._inbox.append(Seen(group))
        self._is_news = True
        return True

    # --- kubelets --------------------------------------------------------------------------------

    def _start(self, uid: str, now: float) -> None:
        pod = self._pods.get(uid)
        if pod is None or pod.metadata.deletion_timestamp is not None:
            return
        self._see(replace(pod, status=replace(pod.status, phase="Running", start_time=stamp(now))))
        self._tell(self.on_started, uid)

    def _terminate(self, pod: Pod) -> None:
        uid, grace = pod.metadata.uid, pod.spec.termination_grace_period_seconds or 0
        seconds = grace if pod.status.phase == "Running" else 0
        meta = replace(
            pod.metadata,
            deletion_timestamp=stamp(self._now + seconds),
            deletion_grace_period_seconds=seconds,
        )
        self._see(replace(pod, metadata=meta))
        self._tell(self.on_leaving, uid)
        self._agenda.at(self._now + seconds, lambda _: self._collect(uid))

    def _collect(self, uid: str) -> None:
        pod = self._pods.pop(uid, None)
        if pod is not None:
            self._lose(pod)
            self._tell(self.on_gone, uid)

    def _tell(self, controller: Callable[[str, float], None], uid: str) -> None:
        self._agenda.at(self._now + REACTION_SECONDS, lambda now: controller(uid, now))

    def _see(self, pod: Pod) -> None:
        uid = pod.metadata.uid
        is_preemptor = bool(self._pods[uid].status.nominated_node_name)
        self._pods[uid] = pod
        if not pod.spec.node_name or pod.metadata.deletion_timestamp is not None:
            self._unsettled.add(uid)
        elif pod.spec.scheduling_group is not None or is_preemptor:
            self._unsettled.discard(uid)
            self._is_news = True
        else:
            self._unsettled.discard(uid)
            if (known := self._sights.get(uid)) is not None:
                self._inbox[known] = Seen(pod)  # as an informer does: of two sights, the later one counts
                return
            self._sights[uid] = len(self._inbox)
        self._inbox.append(Seen(pod))

    def _lose(self, pod: Pod) -> None:
        self._unsettled.discard(pod.metadata.uid)
        self._is_news |= pod.spec.scheduling_group is not None or pod.metadata.deletion_timestamp is not None
        self._inbox.append(Gone(target_of(pod)))


def _with_condition(status: Status, written: SetCondition, now: float) -> Status:
    return replace(status, conditions=_conditions(status.conditions, written, now))


def _conditions(known: Sequence[Condition], written: SetCondition, now: float) -> tuple[Condition, ...]:
    """One of each type; the time of one moves with its status, or is as the effect says."""
    since = stamp(now if written.since is None else written.since)
    old = next((one for one in known if one.type == written.type), None)
    if old is not None and old.status == written.status and written.since is None:
        since = old.last_transition_time or since
    new = Condition(
        type=written.type,
        status=written.status,
        reason=written.reason,
        message=written.message,
        last_transition_time=since,
    )
    return (*(one for one in known if one.type != written.type), new)


def _missing(effect: Effect) -> Failed:
    return Failed(effect, f"{effect.target} does not exist", missing=True)


def _ignore(_uid: str, _now: float) -> None:
    pass
