"""How a plan comes true: a plan's life, step by step.

In this order, each step only after the one before was acknowledged: the preemptor is nominated, every victim
is marked, the victims are evicted; then they drain. So whoever starts anew can read the plan from the marks.
Everything here is a function from a handover and what happened to the next handover and what is to be done.
"""

from collections.abc import Container
from dataclasses import dataclass, replace
from enum import Enum

from reprieve.model.effects import Announce, Effect, Evict, Nominate, SetCondition, Target, Tone
from reprieve.model.objects import Pod
from reprieve.scheduler.decision import Preemption, by_node, giving_way_text

MARK = "DisruptionTarget"
MARK_REASON = "PreemptionByScheduler"
_OURS = "reprieve: "  # other schedulers mark their victims, too


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
    elsewhere: frozenset[Target] = frozenset()  # victims that only go along: nobody waits for their room
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
        """Whether the preemptor cannot go on before this pod is gone."""
        return (pod in self.victims or pod in self.leaving) and pod not in self.elsewhere

    def concerns(self, target: Target) -> bool:
        return target in self.victims or target in self.leaving or target in self.marks


Step = tuple[Handover, tuple[Effect, ...]]


def opened(handover: Handover) -> Step:
    return _entered(handover, Stage.NOMINATING, [Nominate(pod, node) for pod, node in handover.places])


def acknowledged(handover: Handover, effect: Effect) -> Step:
    """An effect was carried out; when all of a stage were, the next begins."""
    handover, effects = _onwards(replace(handover, pending=handover.pending - {effect}))
    told = (_told(effect.target, handover),) if isinstance(effect, Evict) else ()
    return handover, (*told, *effects)


def vanished(handover: Handover, target: Target) -> Step:
    """A pod is gone, however that came about; of a group that is gone, nothing more is said."""
    told = (_told(target, handover),) if Evict(target) in handover.pending else ()
    pending = frozenset(effect for effect in handover.pending if effect.target != target)
    handover, effects = _onwards(replace(handover, gone=handover.gone | {target}, pending=pending))
    return handover, (*told, *effects)


def _onwards(handover: Handover) -> Step:
    """If nothing is left to wait for, the next stage begins."""
    if handover.pending:
        return handover, ()
    victims = [victim for victim in handover.victims if victim not in handover.gone]
    match handover.stage:
        case Stage.NOMINATING:
            marks = [mark for mark in handover.marks if mark not in handover.gone]
            return _entered(
                handover, Stage.MARKING, [_mark(target, handover) for target in (*victims, *marks)]
            )
        case Stage.MARKING:
            evictions: list[Effect] = [Evict(victim) for victim in victims]
            handover, effects = _entered(handover, Stage.EVICTING, evictions)
            return handover, (*effects, *_told_preemptor(victims, handover))
        case Stage.EVICTING:
            return _entered(handover, Stage.DRAINING, [])
        case Stage.DRAINING if not any(
            map(handover.waits_for, {*victims, *handover.leaving} - handover.gone)
        ):
            return replace(handover, stage=Stage.READY), ()
        case _:
            return handover, ()


def _entered(handover: Handover, stage: Stage, effects: list[Effect]) -> Step:
    handover = replace(handover, stage=stage, pending=frozenset(effects))
    return (handover, tuple(effects)) if effects else _onwards(handover)


def abandoned(handover: Handover, held: Container[Target] = ()) -> Step:
    """No more of it is carried out, and marks that led to nothing are cleared.

    Marks that are ``held`` belong to other plans as well.
    """
    marked = (*handover.victims, *handover.marks) if handover.stage is Stage.MARKING else ()
    cleared = (unmark(target) for target in marked if target not in handover.gone and target not in held)
    return replace(handover, stage=Stage.ABANDONED, pending=frozenset()), tuple(cleared)


def _mark(target: Target, handover: Handover) -> SetCondition:
    kind = handover.preemptor.kind.lower()
    text = f"{_OURS}preempting to accommodate a higher priority {kind} (decision {handover.id})"
    return SetCondition(target, MARK, "True", MARK_REASON, text)


def is_marked(pod: Pod) -> bool:
    """Whether we are about to evict the pod, and have not yet."""
    marks = (c for c in pod.status.conditions if c.type == MARK and c.reason == MARK_REASON)
    marked = any(mark.status == "True" and mark.message.startswith(_OURS) for mark in marks)
    return marked and pod.metadata.deletion_timestamp is None


def unmark(target: Target) -> SetCondition:
    return SetCondition(target, MARK, "False", "PreemptionAbandoned", "the preemption was called off")


def _told(victim: Target, handover: Handover) -> Announce:
    """Each side learns no name of the other, which may be of another namespace: a UID, or how many.

    The node is the one that the preemptor goes to, or the victim's own if it goes to several.
    """
    preemptor = handover.preemptor
    nodes = sorted({node for _, node in handover.places})
    where = nodes[0] if len(nodes) == 1 else dict(handover.homes).get(victim, nodes[0])
    note = f"Preempted by {preemptor.kind.lower()} {preemptor.uid} on node {where} (decision {handover.id})"
    return Announce(victim, Tone.NORMAL, "Preempted", "Preempting", note)


def _told_preemptor(victims: list[Target], handover: Handover) -> tuple[Effect, ...]:
    homes = dict(handover.homes)
    told = giving_way_text(by_node(homes[victim] for victim in victims if victim in homes))
    note = f"{told} (decision {handover.id})"
    return (Announce(handover.preemptor, Tone.NORMAL, "Preempting", "Preempting", note),) if told else ()
