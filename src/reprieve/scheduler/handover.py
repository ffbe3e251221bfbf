"""How a plan comes true: a plan's life, step by step.

In this order, each step only after the one before was acknowledged: the preemptor is nominated, every victim
is marked, the victims are evicted; then they drain. So whoever starts anew can read the plan from the marks.
Everything here is a function from a handover and what happened to the next handover and what is to be done.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum

from reprieve.model.effects import Announce, Effect, Evict, Nominate, SetCondition, Target, Tone
from reprieve.scheduler.decision import Preemption, by_node, giving_way_text

MARK = "DisruptionTarget"
MARK_REASON = "PreemptionByScheduler"


class Stage(Enum):
    NOMINATING = "nominating"
    MARKING = "marking"
    EVICTING = "evicting"
    DRAINING = "draining"
    READY = "ready"
    ABANDONED = "abandoned"


@dataclass(frozen=True, slots=True)
class Handover:
    id: str  # of the decision
    preemptor: Target
    places: tuple[tuple[Target, str], ...]  # pods of the preemptor, and the nodes they wait for
    victims: tuple[Target, ...]  # pods that are evicted for it
    homes: tuple[tuple[Target, str], ...] = ()  # the victims, and the nodes they run on
    leaving: tuple[Target, ...] = ()  # pods that leave those nodes anyway
    marks: tuple[Target, ...] = ()  # whole groups that are told, too
    price: Preemption | None = None  # what was decided
    stage: Stage = Stage.NOMINATING
    pending: frozenset[Effect] = frozenset()  # what this stage still waits for
    gone: frozenset[Target] = frozenset()

    @property
    def is_settling(self) -> bool:
        """While calls are under way, the preemptor is not looked at."""
        return self.stage in (Stage.NOMINATING, Stage.MARKING, Stage.EVICTING)

    @property
    def is_open(self) -> bool:
        return self.stage not in (Stage.READY, Stage.ABANDONED)

    def waits_for(self, pod: Target) -> bool:
        return pod in self.victims or pod in self.leaving


Step = tuple[Handover, tuple[Effect, ...]]


def opened(handover: Handover) -> Step:
    return _entered(handover, Stage.NOMINATING, [Nominate(pod, node) for pod, node in handover.places])


def acknowledged(handover: Handover, effect: Effect) -> Step:
    """An effect was carried out; when all of a stage were, the next begins."""
    handover = replace(handover, pending=handover.pending - {effect})
    if handover.pending or not handover.is_settling:
        return handover, ()
    left = [victim for victim in handover.victims if victim not in handover.gone]
    match handover.stage:
        case Stage.NOMINATING:
            return _entered(handover, Stage.MARKING, [_mark(v, handover) for v in (*left, *handover.marks)])
        case Stage.MARKING:
            handover, evictions = _entered(handover, Stage.EVICTING, [Evict(victim) for victim in left])
            return handover, (*evictions, *_told(left, handover))
        case _:
            return _drained(replace(handover, stage=Stage.DRAINING))


def _entered(handover: Handover, stage: Stage, effects: list[Effect]) -> Step:
    handover = replace(handover, stage=stage, pending=frozenset(effects))
    if effects:
        return handover, tuple(effects)
    return acknowledged(handover, Nominate(handover.preemptor, ""))  # nothing to wait for: on to the next


def vanished(handover: Handover, pod: Target) -> Step:
    """A pod is gone, however that came about."""
    pending = frozenset(effect for effect in handover.pending if effect.target != pod)
    handover = replace(handover, gone=handover.gone | {pod}, pending=pending)
    if handover.is_settling and not pending:
        return acknowledged(handover, Evict(pod))
    return _drained(handover)


def _drained(handover: Handover) -> Step:
    awaited = {*handover.victims, *handover.leaving}
    if handover.stage is Stage.DRAINING and awaited <= handover.gone:
        return replace(handover, stage=Stage.READY), ()
    return handover, ()


def abandoned(handover: Handover) -> Step:
    """No more of it is carried out: room is given back, and marks that led to nothing are cleared."""
    evicted = handover.stage in (Stage.EVICTING, Stage.DRAINING, Stage.READY)
    marked = () if evicted or handover.stage is Stage.NOMINATING else (*handover.victims, *handover.marks)
    effects: list[Effect] = [Nominate(pod, "") for pod, _ in handover.places if pod not in handover.gone]
    effects += [_unmark(victim) for victim in marked if victim not in handover.gone]
    return replace(handover, stage=Stage.ABANDONED, pending=frozenset()), tuple(effects)


def _mark(target: Target, handover: Handover) -> SetCondition:
    kind = handover.preemptor.kind.lower()
    text = f"reprieve: preempting to accommodate a higher priority {kind} (decision {handover.id})"
    return SetCondition(target, MARK, "True", MARK_REASON, text)


def _unmark(target: Target) -> SetCondition:
    return SetCondition(target, MARK, "False", "PreemptionAbandoned", "the preemption was called off")


def _told(victims: list[Target], handover: Handover) -> Iterator[Announce]:
    """Both sides learn of each other no name, which may be of another namespace: a UID, and how many.

    The node is the one that the preemptor goes to, or the victim's own if it goes to several.
    """
    preemptor = handover.preemptor
    nodes = sorted({node for _, node in handover.places})
    homes = {**dict.fromkeys(victims, nodes[0]), **dict(handover.homes)}
    who, note = f"{preemptor.kind.lower()} {preemptor.uid}", f"(decision {handover.id})"
    for victim in victims:
        where = nodes[0] if len(nodes) == 1 else homes[victim]
        yield _announced(victim, "Preempted", f"Preempted by {who} on node {where} {note}")
    if victims:
        told = giving_way_text(by_node(homes[victim] for victim in victims))
        yield _announced(preemptor, "Preempting", f"{told} {note}")


def _announced(target: Target, reason: str, note: str) -> Announce:
    return Announce(target, Tone.NORMAL, reason, "Preempting", note)
