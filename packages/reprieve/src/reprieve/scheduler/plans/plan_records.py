"""What happened to plans, as typed records: opened, stage reached, ended and why, victims used or wasted.

The scheduler makes a record where the thing happens; metrics, the log, the journal and commands read records
and infer nothing. A plan has the id of the decision that made it.

``PlanOpened`` comes first. ``StageReached`` follows in the order of the stages: a stage that has nothing to
wait for is reached and left in one step. ``PlanEnded`` comes once, unless the scheduler stops before.

A victim is *evicted* if the scheduler sent its eviction and the API server did not refuse that.
``VictimsJudged`` comes once for each evicted victim of each plan:

- It is *used* if its preemptor came to the room: a pod of the preemptor that had no node when the plan was
  opened is bound to the node that the victim ran on, or, if the preemptor is a pod that wants to grow, the
  node has granted the growth. A unit is judged as a whole: one used victim makes all of it used.
- It is *wasted* otherwise. That is known when the preemptor is gone, and when it has its nodes: one of its
  pods is bound, no other is nominated or assumed, and no plan for it is open.

So the verdict may come long after the end of the plan: a preemptor that plans anew may still come to that
node. The scheduler remembers evictions for as long as the preemptor waits, and for its last
``PLANS_REMEMBERED`` plans: when it opens yet another, what the oldest of them evicted is wasted. An eviction
that is refused after its verdict does not change it.
"""

from dataclasses import dataclass
from enum import StrEnum

from reprieve.model.effects import Target
from reprieve.scheduler.plans.handover import Stage

PLANS_REMEMBERED = 8


class Preemptor(StrEnum):
    POD = "pod"
    POD_GROUP = "podgroup"  # also a tree of groups, as kube-scheduler counts it
    GROWTH = "growth"  # a pod that wants more where it runs


class EndReason(StrEnum):
    """Why a plan ended."""

    ROOM_USED = "RoomUsed"  # the preemptor was placed where the plan said, or may grow there
    PLACED_ELSEWHERE = "PlacedElsewhere"
    NO_LONGER_NEEDED = "NoLongerNeeded"  # the preemptor has room before the first eviction was sent
    NO_LONGER_FITS = "NoLongerFits"  # the preemptor would not fit any more when its victims are gone
    OUTRANKED = "Outranked"  # a more important demand took the room
    PREEMPTOR_IS_VICTIM = "PreemptorIsVictim"  # a pod that wants to grow is to be evicted itself
    PREEMPTOR_GONE = (
        "PreemptorGone"  # deleted, bound by another scheduler, or its growth is not wanted any more
    )
    PREEMPTOR_CHANGED = "PreemptorChanged"  # it asks for something else than the plan is for
    PREEMPTOR_NOT_READY = "PreemptorNotReady"  # a gang has too few pods, a spec is faulty, a namespace ends
    PREEMPTION_FORBIDDEN = (
        "PreemptionForbidden"  # the node of a pod that wants to grow forbids evictions for it
    )
    TOLERATIONS_CHANGED = "TolerationsChanged"  # a priority class changed: victims may be protected by now
    VICTIMS_CHANGED = "VictimsChanged"  # victims are protected by now, or exceed a budget that they did not
    NOMINATION_FAILED = "NominationFailed"
    MARK_FAILED = "MarkFailed"
    EVICTION_FAILED = "EvictionFailed"
    VICTIM_STUCK = "VictimStuck"  # a victim did not terminate in time
    NODE_GONE = "NodeGone"
    SCHEDULER_FAILED = "SchedulerFailed"  # an exception ended a decision about the preemptor


@dataclass(frozen=True, slots=True)
class _OfPlan:
    decision: str  # the id of the decision that made the plan
    demand: Target
    preemptor: Preemptor
    victims: int  # how many pods the plan was to evict when it was opened
    at: float
    seconds: float  # since the plan was opened


@dataclass(frozen=True, slots=True)
class PlanOpened(_OfPlan):
    """Room is reserved; nothing has been done yet."""


@dataclass(frozen=True, slots=True)
class StageReached(_OfPlan):
    stage: Stage


@dataclass(frozen=True, slots=True)
class PlanEnded(_OfPlan):
    reason: EndReason
    stage: Stage  # the last that it reached


@dataclass(frozen=True, slots=True)
class VictimsJudged(_OfPlan):
    used: tuple[Target, ...] = ()
    wasted: tuple[Target, ...] = ()


class GrowthEnd(StrEnum):
    GRANTED = "granted"
    WITHDRAWN = "withdrawn"  # the pod wants less, or nothing more
    INFEASIBLE = "infeasible"  # its node can never grant it
    GONE = "gone"  # the pod is


@dataclass(frozen=True, slots=True)
class GrowthEnded:
    """A pod that wanted more where it runs waits no longer; there was at least one decision about it."""

    demand: Target
    end: GrowthEnd
    at: float
    seconds: float  # since the first decision


PlanRecord = PlanOpened | StageReached | PlanEnded | VictimsJudged | GrowthEnded
