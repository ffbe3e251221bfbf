"""What to do for a demand that does not fit: a plan that counts what is leaving anyway as gone."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from reprieve.model.columns import Ints, Mask
from reprieve.model.effects import Target
from reprieve.model.shape import Shape
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.model.whatif import without
from reprieve.placement.demand import Ask, Demand, Promised
from reprieve.placement.domains import place_together
from reprieve.placement.place import Placement, Unplaceable, with_promises
from reprieve.placement.profile import Profile
from reprieve.placement.reasons import NO_CODES, Code
from reprieve.placement.taking import with_taken
from reprieve.preemption.budgets import paid_for
from reprieve.preemption.eligibility import Rule, Verdict, eligible
from reprieve.preemption.plan import NoPlan, Plan, Why, earliest
from reprieve.preemption.pod_by_pod import joined, plans_pod_by_pod
from reprieve.preemption.policy import Policy
from reprieve.preemption.question import Question
from reprieve.preemption.ranking import rank
from reprieve.preemption.reprieve import holds, pods_that_matter
from reprieve.preemption.search import CLUSTER, plans_worth_ranking, refusal, search
from reprieve.preemption.units import Units
from reprieve.scheduler.demands import Asker
from reprieve.scheduler.explanation import target_at
from reprieve.scheduler.handover import Handover


@dataclass(frozen=True, slots=True, eq=False)
class DecisionContext:
    """A demand that is being decided, in words and in rows."""

    who: Asker
    demand: Demand
    view: Snapshot
    profile: Profile
    promised: Promised  # room that others wait for
    doomed: tuple[int, ...] = ()  # pods that others have asked to go, or that were marked before we came
    stuck: tuple[int, ...] = ()  # pods that should be gone, and may never go
    staying: tuple[int, ...] = ()  # pods that the server did not let us evict
    later: frozenset[int] = frozenset()  # equals who planned beside room that the demand waited for already
    restrained: float | None = None  # until when nobody goes for it, since others went in vain

    @property
    def promised_before(self) -> Promised:
        """Room that others wait for as they did when room was reserved for the demand."""
        pairs = zip(self.promised.pods, self.promised.nodes, strict=True)
        kept = [(pod, node) for pod, node in pairs if pod not in self.later]
        return Promised(tuple(pod for pod, _ in kept), tuple(node for _, node in kept))

    def beside(self, plan: Plan) -> "DecisionContext":
        """The same for the next pod of the demand: room is reserved as the plan says, and its victims go."""
        pods, nodes = zip(*plan.places, strict=True)
        promised = Promised((*self.promised.pods, *pods), (*self.promised.nodes, *nodes))
        victims = {row for unit in plan.victims for row in unit.pods}
        return replace(self, promised=promised, doomed=tuple(sorted(victims.union(self.doomed))))

    @property
    def leaving(self) -> Ints:
        """Pods that are being deleted, for whatever reason: their room will be free."""
        view = self.view
        return np.setdiff1d(np.flatnonzero(view.pods.terminating & (view.where != NOWHERE)), self.stuck)


_AT_ONCE = 16  # pods of a group, each for itself; more would hold up others who wait for their decision


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
    codes: frozenset[Code] = NO_CODES  # what keeps it out even without those who may be taken


def plans_for(
    case: DecisionContext, found: Unplaceable, policy: Policy | None, now: float, room_for: RoomFor
) -> Weighed:
    """If several pods ask each for itself, room is made for as many as possible, one beside the other."""
    if policy is None:
        return Weighed(refusal=NoPlan(Why.OFF))
    pods = case.demand.pods
    made: list[Weighed] = []
    tried: dict[Shape, Weighed] = {}  # of those who are alike, only one is refused
    for demand in _to_make_room_for(case, room_for):
        if made and (demand.topology_key or len(made) == _AT_ONCE):
            break  # the first decides where the others go; and others wait for a decision meanwhile
        shape = case.view.pods.shape(demand.pods[0])
        if shape in tried:
            continue
        weighed = _plans(case, demand, policy, now, room_for)
        if weighed.plans:
            made.append(weighed)
            case = case.beside(weighed.plans[0])
        else:
            tried[shape] = weighed
    return _together(pods, made) if made else _refused(list(tried.values()))


def _together(pods: tuple[int, ...], made: Sequence[Weighed]) -> Weighed:
    if len(made) == 1:
        return made[0]
    plans = [weighed.plans[0] for weighed in made]
    places = dict(place for plan in plans for place in plan.places)
    plan = joined(CLUSTER, pods, [places.get(pod, NOWHERE) for pod in pods], plans)
    return Weighed((plan,), next((weighed.question for weighed in made if weighed.question), None))


def _refused(tried: Sequence[Weighed]) -> Weighed:
    refusal = earliest([weighed.refusal for weighed in tried if weighed.refusal])
    return replace(tried[0], refusal=refusal, codes=NO_CODES.union(*(one.codes for one in tried)))


def _plans(case: DecisionContext, demand: Demand, policy: Policy, now: float, room_for: RoomFor) -> Weighed:
    emptied, policy = without(case.view, case.leaving), _sparing(policy, case.stuck, case.staying)
    found = place_together(demand, emptied, case.profile, policy.choose, case.promised)
    if isinstance(found, Placement):
        return Weighed((Plan("", found, (), (), 0, pods=demand.pods),))
    if case.restrained is not None:
        return Weighed(refusal=NoPlan(Why.IN_VAIN, retry_at=case.restrained))
    view = paid_for(with_promises(emptied, case.promised), case.doomed)
    question = Question(demand, view, found.survey, case.profile, policy)
    singly = room_for is RoomFor.ONE
    weighed, plans = _holding(case, question, now, singly=singly)
    if weighed.plans and not plans:  # the best do not hold; others may
        weighed, plans = _holding(case, replace(question, most=len(view.nodes)), now, singly=singly)
    refusal = _not_for_now(question, now) if weighed.plans and not plans else weighed.refusal
    codes = _kept_out_by(question, refusal, now) if refusal is not None else NO_CODES
    return Weighed(plans, question, refusal, codes)


def _kept_out_by(question: Question, refusal: NoPlan, now: float) -> frozenset[Code]:
    """For what nodes are refused when everybody is gone who may be taken: room hides what else is wrong."""
    if refusal.why not in (Why.NO_HELP, Why.TOLERATED):
        return NO_CODES
    units = question.policy.units(question.view)
    allowed = eligible(units, question.demand, question.policy.rules, now).allowed
    emptied = without(question.view, units.pods_of(np.flatnonzero(allowed)))
    found = place_together(question.demand, emptied, question.profile, question.policy.choose)
    if isinstance(found, Unplaceable):
        return found.codes
    return frozenset(Code) if refusal.why is Why.NO_HELP else NO_CODES  # nobody can tell


def _not_for_now(question: Question, now: float) -> NoPlan:
    """There are plans, and none that holds; there may be others when more pods may be taken."""
    return replace(refusal(question, now), why=Why.NO_HELP)


def _holding(
    case: DecisionContext, question: Question, now: float, *, singly: bool
) -> tuple[Weighed, tuple[Plan, ...]]:
    """What there is, and the plans of it that will do."""
    weighed = _weighed(question, now, case.doomed, singly=singly)
    return weighed, tuple(plan for plan in weighed.plans if _holds_anyway(case, plan))


def _holds_anyway(case: DecisionContext, plan: Plan) -> bool:
    """Nobody may count on pods that only wait for their nodes."""
    demand, waiting = replace(case.demand, pods=plan.pods), list(case.promised.pods)
    if not waiting or not pods_that_matter(demand, case.view, case.profile)[waiting].any():
        return True
    view = without(case.view, _going(case, plan))
    return holds(demand, plan.placement, view, case.profile)


def _going(case: DecisionContext, plan: Plan) -> Ints:
    """Everybody who goes: because of the plan, or anyway."""
    victims = [row for unit in plan.victims for row in unit.pods]
    return np.union1d(case.leaving, np.array(victims, np.int64))


def awaited(case: DecisionContext, plan: Plan) -> Ints:
    """Who must be gone before the demand can be where the plan puts it.

    Those on the nodes that it uses; everybody who goes, if constraints look further.
    """
    going = _going(case, plan)
    near = going[np.isin(case.view.where[going], [node for _, node in plan.places])]
    if len(near) == len(going):
        return going
    view = without(with_promises(case.view, case.promised), near)
    demand = replace(case.demand, pods=plan.pods)
    return near if holds(demand, plan.placement, view, case.profile) else going


def _weighed(question: Question, now: float, doomed: Sequence[int], *, singly: bool) -> Weighed:
    if singly and len(question.demand.pods) > 1:
        plans = plans_pod_by_pod(question, lambda one: _best(one, now, doomed))
    else:
        plans = _plans_with(question, now, doomed)
    if isinstance(plans, NoPlan):
        return Weighed(question=question, refusal=plans)
    ranked = sorted(plans, key=lambda plan: rank(plan, question.policy.ranking))
    return Weighed(tuple(ranked), question)


def _best(question: Question, now: float, doomed: Sequence[int]) -> Plan | NoPlan:
    plans = _plans_with(question, now, doomed)
    if isinstance(plans, NoPlan):
        return plans
    return min(plans, key=lambda plan: rank(plan, question.policy.ranking))


def _plans_with(question: Question, now: float, doomed: Sequence[int]) -> list[Plan] | NoPlan:
    """Nobody else is disturbed if it is enough that those go who were asked to already.

    If it is not, they count as gone, so that only what else a plan costs is compared.
    """
    if not doomed:
        return plans_worth_ranking(question, now)
    found = _plans_taking(question, doomed, now)
    if isinstance(found, NoPlan):
        found = _plans_beside(question, doomed, now)
    return plans_worth_ranking(question, now) if isinstance(found, NoPlan) else found


def _plans_taking(question: Question, pods: Sequence[int], now: float) -> list[Plan] | NoPlan:
    policy = replace(question.policy, rules=(*question.policy.rules, _one_of(pods)))
    return plans_worth_ranking(replace(question, policy=policy), now)


def _plans_beside(question: Question, doomed: Sequence[int], now: float) -> list[Plan] | NoPlan:
    """The best plan for whatever those who go anyway do not suffice for; it names whom of them it needs."""
    units = question.policy.units(question.view)
    eligible_units = eligible(units, question.demand, question.policy.rules, now).allowed
    gone = units.pods_of(np.flatnonzero(eligible_units & units.with_any(_mask(question.view, doomed))))
    best = search(replace(question, view=without(question.view, gone)), now)
    if isinstance(best, NoPlan):
        return best
    there = np.zeros(len(question.view.nodes), np.bool_)
    there[[node for _, node in best.places]] = True
    demand = replace(question.demand, allowed=there)
    taken = [*gone.tolist(), *(row for unit in best.victims for row in unit.pods)]
    return _plans_taking(replace(question, demand=demand), taken, now)


def _one_of(pods: Sequence[int]) -> Rule:
    def rule(units: Units, _: Demand, __: float) -> Verdict:
        return Verdict(units.with_any(_mask(units.view, pods)))

    return rule


def _sparing(policy: Policy, stuck: Sequence[int], staying: Sequence[int]) -> Policy:
    """Who does not go when asked is asked no more; one who is stuck is no part of his group any more."""
    if not stuck and not staying:
        return policy

    def rule(units: Units, _: Demand, __: float) -> Verdict:
        return Verdict(~units.with_any(_mask(units.view, (*stuck, *staying))))

    def units(view: Snapshot) -> Units:
        return policy.units(view).apart(_mask(view, stuck))

    return replace(policy, units=units if stuck else policy.units, rules=(*policy.rules, rule))


def _mask(view: Snapshot, pods: Sequence[int]) -> Mask:
    mask = np.zeros(len(view.pods), np.bool_)
    mask[list(pods)] = True
    return mask


def _to_make_room_for(case: DecisionContext, room_for: RoomFor) -> list[Demand]:
    """As many pods as the gang needs; whoever is beyond that asks for himself."""
    demand = case.demand
    if room_for is RoomFor.ALL or len(demand.pods) == 1:
        return [demand]
    if case.who.is_starting:
        return [replace(demand, most=demand.needed)]
    alone = zip(demand.pods, demand.nominated, strict=True)
    return [replace(demand, pods=(pod,), needed=1, nominated=(node,)) for pod, node in alone]


def where_it_waits(case: DecisionContext) -> Placement | None:
    """Room that is reserved for the demand, if it is there: equals who came later planned beside it."""
    if len(case.demand.pods) > 1 and not case.who.is_starting:
        return _rooms_that_are_there(case)
    demand, placement = case.demand, Placement(case.demand.nominated)
    if not case.later or sum(node != NOWHERE for node in placement.nodes) < demand.needed:
        return None
    views = (case.view, with_promises(case.view, case.promised_before))
    fits = all(holds(demand, placement, view, case.profile) for view in views)
    return placement if fits else None


def _rooms_that_are_there(case: DecisionContext) -> Placement | None:
    """Of pods that do not need each other, whoever has its own room takes it, before anybody else can."""
    nodes, views = [], [case.view, with_promises(case.view, case.promised_before)]
    for pod, node in zip(case.demand.pods, case.demand.nominated, strict=True):
        alone, there = replace(case.demand, pods=(pod,)), Placement((node,))
        fits = node != NOWHERE and all(holds(alone, there, view, case.profile) for view in views)
        nodes.append(node if fits else NOWHERE)
        if fits:
            views = [with_taken(Ask(view, pod, case.profile), node) for view in views]
    return Placement(tuple(nodes)) if any(node != NOWHERE for node in nodes) else None


def still_feasible(case: DecisionContext, handover: Handover) -> bool:
    """Whether the pods could be where they wait to be, once those who have to go are gone."""
    view = with_promises(case.view, case.promised_before)
    going = rows_of(view, (victim for victim in handover.victims if victim not in handover.gone))
    view = without(view, np.union1d(case.leaving, np.array(going, np.int64)))
    nodes = {target_at(view, row): NOWHERE for row in case.demand.pods}
    if any(pod not in nodes or name not in view.nodes.rows for pod, name in handover.places):
        return False  # it was made for somebody who does not ask any more, or for a node that is gone
    if len(handover.places) < case.demand.needed:
        return False  # more pods are needed than when it was made
    nodes.update((pod, view.nodes.rows[name]) for pod, name in handover.places)
    return holds(case.demand, Placement(tuple(nodes.values())), view, case.profile)


def rows_of(view: Snapshot, pods: Iterable[Target]) -> list[int]:
    """The rows of those that are still there; a namesake of one that was is somebody else."""
    rows = ((pod, view.pods.rows.get((pod.namespace, pod.name))) for pod in pods)
    return [row for pod, row in rows if row is not None and target_at(view, row) == pod]
