"""How a plan comes true: a plan's life, as one table.

In this order, each step only after the one before was acknowledged: the preemptor is nominated, every victim
is marked, the groups that are evicted whole are marked, all victims are evicted at once; then they drain. So
a scheduler that starts anew can read the plan from the marks. The mark on a group is the record that the
eviction of the whole group may have begun: from then on the group is finished, whatever becomes of the plan
(see ``ledger.unit_evictions``). It is open until the eviction is over (see ``ledger.open_marks``). Everything
here is a function from a handover and what happened to the next handover and what is to be done.
"""

import re
from collections.abc import Callable, Collection, Container, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import NamedTuple

from reprieve.model.conditions import MARK
from reprieve.model.effects import Announce, Effect, Evict, Nominate, SetCondition, Target
from reprieve.model.groups import kind_and_name
from reprieve.model.objects import CompositePodGroup, Condition, Pod, PodGroup
from reprieve.scheduler.reporting.decision import Preemption
from reprieve.scheduler.reporting.preemption_notes import (
    OURS,
    AnnouncedPreemptor,
    AnnouncedVictims,
    mark_text,
    preempted,
    preempted_without_plan,
    preempting,
)

MARK_REASON = "PreemptionByScheduler"

# Ends the text of a mark on a group, and says what is evicted whole: the group, or the tree that it is in. A
# group around it may come or go later; what has begun is finished as it was begun, by every leader.
_OPEN = re.compile(
    r"; (?:its pods|the pods of (?P<tree>CompositePodGroup [-.\w]+)) start when all preempted pods are gone$"
)
_DECISION = re.compile(r"\(decision (?P<id>[\w-]+)\)")


class Stage(Enum):
    NOMINATED = "nominated"  # room is reserved; that this was written down is not yet acknowledged
    MARKING = "marking"
    COMMITTING = "committing"  # groups that are evicted whole are marked, and pods that joined them since
    EVICTING = "evicting"
    DRAINING = "draining"
    READY = "ready"
    ABANDONED = "abandoned"


class Turn(Enum):
    """What takes a plan from one stage to another."""

    ANSWERED = "all calls of the stage are acknowledged, or not needed any more"
    EMPTIED = "the last one whose room is awaited is gone"
    CALLED_OFF = "a call failed for good, or the room is not needed any more, or is taken, or does not come"


# Whatever is not in this table changes nothing: a call whose answer is lost is sent again, a victim that
# vanishes needs no call any more.
LIFE: Mapping[tuple[Stage, Turn], Stage] = {
    (Stage.NOMINATED, Turn.ANSWERED): Stage.MARKING,
    (Stage.MARKING, Turn.ANSWERED): Stage.COMMITTING,
    (Stage.COMMITTING, Turn.ANSWERED): Stage.EVICTING,
    (Stage.EVICTING, Turn.ANSWERED): Stage.DRAINING,
    (Stage.DRAINING, Turn.EMPTIED): Stage.READY,
    (Stage.NOMINATED, Turn.CALLED_OFF): Stage.ABANDONED,
    (Stage.MARKING, Turn.CALLED_OFF): Stage.ABANDONED,
    (Stage.COMMITTING, Turn.CALLED_OFF): Stage.ABANDONED,
    (Stage.EVICTING, Turn.CALLED_OFF): Stage.ABANDONED,
    (Stage.DRAINING, Turn.CALLED_OFF): Stage.ABANDONED,
}


class Targets(tuple[Target, ...]):
    """Looked up in constant time: a plan may have thousands of victims, and asks for each that leaves."""

    def __contains__(self, target: object) -> bool:
        return target in self.as_set

    @cached_property
    def as_set(self) -> frozenset[Target]:
        return frozenset(self)


class NodesOfPods(tuple[tuple[Target, str], ...]):
    """Pods and their nodes, as a tuple that finds a pod at once."""

    def node_of(self, pod: Target) -> str | None:
        return self._table.get(pod)

    @cached_property
    def _table(self) -> dict[Target, str]:
        return dict(self)


class GroupsOfPods(tuple[tuple[Target, Target], ...]):
    """Pods and their PodGroups, found at once."""

    def group_of(self, pod: Target) -> Target | None:
        return self._table.get(pod)

    def groups_of(self, pods: Collection[Target]) -> set[Target]:
        """The PodGroups of these pods. Asked for whenever one of many victims leaves."""
        return set(map(self._table.__getitem__, self._table.keys() & pods))

    @cached_property
    def _table(self) -> dict[Target, Target]:
        return dict(self)


NO_TARGETS, NO_NODES, NO_GROUPS = Targets(), NodesOfPods(), GroupsOfPods()


@dataclass(frozen=True, slots=True)
class Handover:
    id: str  # of the decision
    preemptor: Target
    places: tuple[tuple[Target, str], ...]  # pods of the preemptor, and the nodes they wait for
    victims: Targets  # pods that are evicted for it
    victim_nodes: NodesOfPods = NO_NODES  # the victims, and the nodes they run on
    leaving: Targets = NO_TARGETS  # pods that leave those nodes anyway
    elsewhere: frozenset[Target] = frozenset()  # victims that go with their group: their room is not needed
    groups: GroupsOfPods = NO_GROUPS  # victims that go with a whole group, and their PodGroups
    trees: tuple[tuple[Target, str], ...] = ()  # those of the PodGroups that go with a tree, and its name
    priority: int = 0  # of the preemptor
    excess: tuple[tuple[str, int], ...] = ()  # budgets that the plan exceeds, and by how many pods
    paid: frozenset[Target] = frozenset()  # victims that were on their way before the plan was made
    apart: bool = False  # its pods do not need each other: each may go on when its own room is there
    nominates: bool = True  # its pods are nominated to their nodes, unless they run there already
    price: Preemption | None = None  # what was decided
    stage: Stage = Stage.NOMINATED
    pending: frozenset[Effect] = frozenset()  # what this stage still waits for
    gone: frozenset[Target] = frozenset()

    @property
    def is_settling(self) -> bool:
        """While calls are under way, the preemptor is not looked at."""
        return self.evicts_later or self.stage is Stage.EVICTING

    @property
    def evicts_later(self) -> bool:
        """Whether no eviction has been sent yet."""
        return self.stage in (Stage.NOMINATED, Stage.MARKING, Stage.COMMITTING)

    @property
    def marks(self) -> tuple[Target, ...]:
        """The groups of which pods are evicted as a part of the whole."""
        going = self.groups.groups_of(self.victims.as_set - self.gone) if self.groups else set[Target]()
        return tuple(sorted(going - self.gone))

    @property
    def is_open(self) -> bool:
        return self.stage not in (Stage.READY, Stage.ABANDONED)

    def waits_for(self, pod: Target) -> bool:
        """Whether the preemptor cannot go on before this pod is gone."""
        return (pod in self.victims or pod in self.leaving) and pod not in self.elsewhere

    def needs_gone(self, pod: Target) -> bool:
        """Whether it comes to nothing if this pod does not go."""
        return self.waits_for(pod) or Evict(pod) in self.pending

    def concerns(self, target: Target) -> bool:
        is_group = target.kind != "Pod"
        return target in self.marks if is_group else target in self.victims or target in self.leaving


class Step(NamedTuple):
    handover: Handover
    effects: tuple[Effect, ...]  # in the order in which they are to be put


def opened(handover: Handover) -> Step:
    return _entered(handover, Stage.NOMINATED)


def acknowledged(handover: Handover, effect: Effect) -> Step:
    """An effect was carried out; when all of a stage were, the next begins."""
    handover, effects = _onwards(replace(handover, pending=handover.pending - {effect}))
    reported = (_reported(effect.target, handover),) if isinstance(effect, Evict) else ()
    return Step(handover, (*reported, *effects))


def vanished(handover: Handover, target: Target) -> Step:
    """A pod is gone, however that came about; of a group that is gone, nothing more is said."""
    reported = (_reported(target, handover),) if Evict(target) in handover.pending else ()
    pending = frozenset(effect for effect in handover.pending if effect.target != target)
    handover, effects = _onwards(replace(handover, gone=handover.gone | {target}, pending=pending))
    return Step(handover, (*reported, *effects))


def leaves_by_itself(handover: Handover, victim: Target) -> Handover:
    """A victim is deleted by another client: it need not be evicted, and its room counts."""
    if not handover.evicts_later or victim not in handover.victims:
        return handover
    victims = Targets(other for other in handover.victims if other != victim)
    return replace(handover, victims=victims, leaving=Targets((*handover.leaving, victim)))


def joined(
    handover: Handover,
    pods: Mapping[Target, str],
    groups: Collection[tuple[Target, Target]],
    trees: Mapping[Target, str],
) -> Step:
    """Pods joined groups that are evicted whole: they go, too, and are marked before the first eviction.

    ``pods``: with their nodes. ``groups``: all victims that go with a whole group, and their PodGroups.
    ``trees``: those of these that go with a tree, and its name.
    """
    used = {node for _, node in handover.places}
    along = (pod for pod, node in pods.items() if node not in used)
    marked, before = handover.marks, dict(handover.trees)
    handover = replace(
        handover,
        stage=Stage.COMMITTING,
        victims=Targets(dict.fromkeys((*handover.victims, *pods))),
        gone=handover.gone.difference(pods),  # one that had lost its place may have another
        victim_nodes=NodesOfPods((*handover.victim_nodes, *pods.items())),
        elsewhere=handover.elsewhere.union(along),
        groups=GroupsOfPods(groups),
        trees=tuple(trees.items()),
    )
    anew = (g for g in handover.marks if g not in marked or before.get(g) != trees.get(g))
    news = (*pods, *anew)
    calls = tuple(_mark(target, handover) for target in news)
    return Step(replace(handover, pending=frozenset(calls)), calls)


def abandoned(handover: Handover, held: Container[Target] = ()) -> Step:
    """No more of it is carried out, and marks that led to nothing are cleared.

    Marks that are ``held`` belong to other plans as well.
    """
    following = LIFE.get((handover.stage, Turn.CALLED_OFF), handover.stage)
    cleared = (unmark(target, handover.id) for target in _marked_in_vain(handover) if target not in held)
    return Step(replace(handover, stage=following, pending=frozenset()), tuple(cleared))


def _marked_in_vain(handover: Handover) -> Iterator[Target]:
    """Victims that are marked, or about to be, and not evicted; no group of which a pod was evicted."""
    if handover.stage is Stage.NOMINATED or not handover.evicts_later:
        return
    yield from (victim for victim in handover.victims if victim not in handover.gone)
    if handover.stage is Stage.COMMITTING:
        yield from handover.marks


def _onwards(handover: Handover) -> Step:
    turn = _turn(handover)
    following = LIFE.get((handover.stage, turn)) if turn is not None else None
    return _entered(handover, following) if following is not None else Step(handover, ())


def _turn(handover: Handover) -> Turn | None:
    if handover.pending:
        return None
    if handover.stage is not Stage.DRAINING:
        return Turn.ANSWERED
    if len(handover.gone) < len(handover.victims) - len(handover.elsewhere):
        return None  # which saves a look at each of many victims whenever one has left
    left = (pod for pod in (*handover.victims, *handover.leaving) if pod not in handover.gone)
    return None if any(map(handover.waits_for, left)) else Turn.EMPTIED


def _entered(handover: Handover, stage: Stage) -> Step:
    """What a stage begins with; one that has nothing to wait for is over at once."""
    calls = _CALLS[stage](handover) if stage in _CALLS else ()
    handover = replace(handover, stage=stage, pending=frozenset(calls))
    reported = _reported_on_preemptor(handover) if stage is Stage.EVICTING else ()
    handover, effects = _onwards(handover)
    return Step(handover, (*calls, *effects, *reported))


def _nominations(handover: Handover) -> tuple[Effect, ...]:
    return tuple(Nominate(pod, node) for pod, node in handover.places if handover.nominates)


def _marks(handover: Handover) -> tuple[Effect, ...]:
    return tuple(_mark(victim, handover) for victim in handover.victims if victim not in handover.gone)


def _commitments(handover: Handover) -> tuple[Effect, ...]:
    return tuple(_mark(group, handover) for group in handover.marks)


def _evictions(handover: Handover) -> tuple[Effect, ...]:
    return tuple(Evict(victim) for victim in handover.victims if victim not in handover.gone)


_CALLS: Mapping[Stage, Callable[[Handover], tuple[Effect, ...]]] = {
    Stage.NOMINATED: _nominations,
    Stage.MARKING: _marks,
    Stage.COMMITTING: _commitments,
    Stage.EVICTING: _evictions,
}


def _mark(target: Target, handover: Handover) -> SetCondition:
    text = mark_text_of(handover, target.namespace)
    if target.kind == "Pod":
        return mark(target, text)
    tree = dict(handover.trees).get(target)
    pods = f"the pods of {tree}" if tree is not None else "its pods"
    return mark(target, f"{text}; {pods} start when all preempted pods are gone")


def mark(target: Target, text: str) -> SetCondition:
    return SetCondition(target, MARK, "True", MARK_REASON, text)


def mark_text_of(handover: Handover, namespace: str) -> str:
    """``namespace``: of the marked pods and groups."""
    return mark_text(_preemptor(handover), namespace)


def is_marked(thing: Pod | PodGroup) -> bool:
    """Whether we are about to evict it, and have not yet."""
    return thing.metadata.deletion_timestamp is None and any(map(_is_mark, thing.status.conditions))


def shown_mark(thing: Pod | PodGroup) -> str:
    """The text of the mark that we set on it, terminating or not; empty if it has none."""
    return next((c.message for c in thing.status.conditions if _is_mark(c)), "")


def is_open(group: PodGroup) -> bool:
    """Whether the mark of a group says that its eviction may have begun, and has not ended."""
    return _OPEN.search(shown_mark(group)) is not None


def tree_in(unit: str) -> str | None:
    """Kind and name of the tree, if a unit of this name is one."""
    kind, _, name = unit.split("/", 2)
    return f"{kind} {name}" if kind == CompositePodGroup.__name__ else None


def unit_being_evicted(group: PodGroup) -> str | None:
    """The name of the unit that its open mark is about; None if it has none."""
    found = _OPEN.search(shown_mark(group))
    if found is None or found["tree"] is None:
        return kind_and_name(group) if found is not None else None
    kind, _, name = found["tree"].partition(" ")
    return "/".join((kind, group.metadata.namespace, name))


def closed_text(group: PodGroup) -> str:
    """The text of the mark of a group when it is closed; that of the marks on its pods."""
    return _OPEN.sub("", shown_mark(group))


def shows_called_off(pod: Pod, decision: str) -> bool:
    """Whether a pod was unmarked because the plan of this decision was called off."""
    ends = (c.message for c in pod.status.conditions if c.type == MARK and c.status == "False")
    return any(decision_in(text) == decision for text in ends)


def decision_in(text: str) -> str:
    """The decision that a mark or an event names; empty if it names none."""
    found = _DECISION.search(text)
    return found["id"] if found is not None else ""


def _is_mark(condition: Condition) -> bool:
    ours = condition.reason == MARK_REASON and condition.message.startswith(OURS)
    return condition.type == MARK and condition.status == "True" and ours


def unmark(target: Target, decision: str = "") -> SetCondition:
    """``decision``: that was called off before its first eviction."""
    named = f" (decision {decision})" if decision else ""
    return SetCondition(target, MARK, "False", "PreemptionAbandoned", f"the preemption was called off{named}")


def outlived(group: Target) -> SetCondition:
    """The mark of a group that runs, whether its earlier pods were evicted or not."""
    return SetCondition(group, MARK, "False", "PreemptionOver", "no pod of the group is being preempted")


def _preemptor(handover: Handover) -> AnnouncedPreemptor:
    return AnnouncedPreemptor(handover.preemptor, handover.priority, handover.id)


def _reported(victim: Target, handover: Handover) -> Announce:
    node = handover.victim_nodes.node_of(victim) or min(node for _, node in handover.places)
    group = handover.groups.group_of(victim)
    whole = dict(handover.trees).get(group, f"{group.kind} {group.name}") if group is not None else ""
    return preempted(victim, _preemptor(handover), node, whole)


def reported_again(pod: Pod) -> Announce | None:
    """Re-emits Preempted for a terminating victim: the previous leader may have died before announcing it."""
    if pod.metadata.deletion_timestamp is None:
        return None
    meta = pod.metadata
    target = Target("Pod", meta.namespace, meta.name, meta.uid)
    return preempted_without_plan(target, shown_mark(pod), pod.spec.node_name)


def _reported_on_preemptor(handover: Handover) -> tuple[Effect, ...]:
    victims = [victim for victim in handover.victims if victim not in handover.gone]
    listed = handover.price.victims if handover.price is not None else ()
    priorities = {victim.pod: victim.priority for victim in listed}
    cost = AnnouncedVictims(victims, dict(handover.victim_nodes), priorities, handover.excess)
    event = preempting(_preemptor(handover), cost)
    return (event,) if event is not None else ()
