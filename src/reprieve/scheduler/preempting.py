"""What to do for a demand that does not fit: a plan that counts what is leaving anyway as gone."""

from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from reprieve.model.columns import Ints
from reprieve.model.effects import Target
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.model.whatif import without
from reprieve.placement.demand import Demand, Promised
from reprieve.placement.domains import place_together
from reprieve.placement.place import Placement, Unplaceable, with_promises
from reprieve.placement.profile import Profile
from reprieve.placement.reasons import Code
from reprieve.preemption.plan import NoPlan, Plan, Why
from reprieve.preemption.policy import Policy
from reprieve.preemption.question import Question
from reprieve.preemption.ranking import rank
from reprieve.preemption.search import plans_worth_ranking
from reprieve.preemption.sparing import holds
from reprieve.scheduler.demands import Asker
from reprieve.scheduler.handover import Handover


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A demand that is being decided, in words and in rows."""

    who: Asker
    demand: Demand
    view: Snapshot
    profile: Profile
    promised: Promised  # room that others wait for


def leaving(view: Snapshot) -> Ints:
    """Pods that are being deleted, for whatever reason: their room will be free."""
    return np.flatnonzero(view.pods.terminating & (view.where != NOWHERE))


class RoomFor(Enum):
    """For how many pods of a gang room is made at once."""

    NEEDED = "as many as it needs to start"
    ALL = "all"
    ONE = "one by one, as if they were no gang"


@dataclass(frozen=True, slots=True, eq=False)
class Weighed:
    """The plans that make room, the best first; or why there is none."""

    plans: tuple[Plan, ...] = ()
    question: Question | None = None  # None: nobody had to be asked
    refusal: NoPlan | None = None
    kept: tuple[tuple[int, int], ...] = ()  # pods besides those of the plan that wait for a node, and which


def plans_for(
    case: Case, found: Unplaceable, policy: Policy | None, now: float, room_for: RoomFor
) -> Weighed:
    if policy is None:
        return Weighed(refusal=NoPlan(Why.OFF))
    demand = _to_make_room_for(case, found, room_for)
    view = without(with_promises(case.view, case.promised), leaving(case.view))
    match place_together(demand, view, case.profile, policy.choose):
        case Placement() as placement:
            return Weighed((Plan("", placement, (), (), 0, pods=demand.pods),))
        case Unplaceable() as first if room_for is RoomFor.ONE:
            question = Question(_alone(demand, first), first.view, first.survey, case.profile, policy)
            return replace(_weighed(question, now), kept=_placed(demand, first.view))
        case Unplaceable(survey=survey):
            return _weighed(Question(demand, view, survey, case.profile, policy), now)


def _weighed(question: Question, now: float) -> Weighed:
    plans = plans_worth_ranking(question, now)
    if isinstance(plans, NoPlan):
        return Weighed(question=question, refusal=plans)
    ranked = sorted(plans, key=lambda plan: rank(plan, question.policy.ranking))
    return Weighed(tuple(ranked), question)


def _alone(demand: Demand, first: Unplaceable) -> Demand:
    """The first pod without a node, asking for itself; it must not leave the domain of those before it."""
    outside = [r.rows for r in first.survey.rejections if r.reason.code is Code.OUTSIDE_DOMAIN]
    return replace(
        demand,
        pods=(first.pod,),
        needed=1,
        most=None,
        priority=int(first.view.pods.priority[first.pod]),
        allowed=~outside[0] if outside else None,
        topology_key="",
        nominated=(),
    )


def _placed(demand: Demand, view: Snapshot) -> tuple[tuple[int, int], ...]:
    return tuple((pod, int(view.where[pod])) for pod in demand.pods if view.where[pod] != NOWHERE)


def _to_make_room_for(case: Case, found: Unplaceable, room_for: RoomFor) -> Demand:
    """For as many pods as the gang needs; whoever is beyond that asks for himself alone."""
    demand = case.demand
    group = case.who.group
    if room_for is RoomFor.ALL or len(demand.pods) == 1:
        return demand
    if group is None or group.spec.gang is None or case.who.running >= group.spec.gang.min_count:
        return replace(demand, pods=(found.pod,), needed=1, nominated=())
    return replace(demand, most=demand.needed)


def still_feasible(case: Case, handover: Handover) -> bool:
    """Whether the pods could be where they wait to be, once those who have to go are gone."""
    view = with_promises(case.view, case.promised)
    going = [
        view.pods.rows[key] for t in handover.victims if (key := (t.namespace, t.name)) in view.pods.rows
    ]
    view = without(view, np.union1d(leaving(view), np.array(going, np.int64)))
    nodes = []
    for row in case.demand.pods:
        meta = view.pods.compiled[row].pod.metadata
        target = Target("Pod", meta.namespace, meta.name, meta.uid)
        nodes.append(view.nodes.rows.get(dict(handover.places).get(target, ""), NOWHERE))
    if all(node == NOWHERE for node in nodes):
        return False
    return holds(case.demand, Placement(tuple(nodes)), view, case.profile)
