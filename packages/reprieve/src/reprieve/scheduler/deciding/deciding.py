"""One decision: where a demand goes, which pods are preempted for it, or why it must wait.

What a plan reserves, starts and reports when it is opened is in ``plan_opening``.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from math import inf

from msgspec import structs

from reprieve.model.effects import Effect, Nominate, Target
from reprieve.model.events import Change
from reprieve.model.groups import group_key
from reprieve.model.moment import Due, Moment
from reprieve.placement.demand import Ask
from reprieve.placement.domains import place_together
from reprieve.placement.effort import Effort
from reprieve.placement.place import Placement, Unplaceable, with_taken
from reprieve.placement.rejection_codes import Code
from reprieve.preemption.least_disturbance.deferral import Deferral, busy, not_at_all
from reprieve.preemption.least_disturbance.solver_task import ImprovePlan
from reprieve.preemption.plan import NoPlan, Plan, Why
from reprieve.preemption.policy import Policy
from reprieve.scheduler.deciding.plan_opening import open_plan, planned_evictions
from reprieve.scheduler.demands import (
    DecisionContext,
    Requester,
    WaitingGroup,
    WaitingPod,
    WaitingResize,
    report_demand,
    report_improving,
)
from reprieve.scheduler.demands.queueing_hints import ROOM_AT_RISK
from reprieve.scheduler.events.binding import assume, give_up
from reprieve.scheduler.execution.plan_driver import call_off, plan_anew
from reprieve.scheduler.ledger.nominations import NominationReason, Nominations
from reprieve.scheduler.mirror.world import World
from reprieve.scheduler.planning.current_context import context_of
from reprieve.scheduler.planning.making_room import Weighed, make_room
from reprieve.scheduler.planning.plan_feasibility import placement_in_reserved_room, still_feasible
from reprieve.scheduler.plans.handover import Handover
from reprieve.scheduler.plans.open_plans import Plans
from reprieve.scheduler.plans.plan_records import EndReason
from reprieve.scheduler.plans.preemption_backoff import PreemptionBackoff
from reprieve.scheduler.queue.equivalence import RememberedRefusal, equivalence_key_of
from reprieve.scheduler.queue.improvements import Improving
from reprieve.scheduler.queue.queue import NO_CHANGES, Queue
from reprieve.scheduler.reporting.decision import (
    Decided,
    Decision,
    Eviction,
    EvictionReason,
    Outcome,
    Preemption,
    decision_id,
    findings_of,
    improving_text,
    unproved_by,
)
from reprieve.scheduler.reporting.explanation import eviction_refusal, miss_of, preemption_of, refusal_notice
from reprieve.scheduler.reporting.status_reporter import Notice, StatusReporter
from reprieve.scheduler.set_aside import SchedulerFailure, contained_text
from reprieve.scheduler.state import State
from reprieve.scheduler.targets import group_target, pod_target, target_at


def decide(state: State, requester: Requester, now: Moment) -> Decided:
    remembered = _remembered_refusal(state, requester, now)
    if remembered is not None:
        refused, is_exact = remembered
        says_enough = is_exact and not refused.names_others(requester)
        if says_enough or _was_told(state.reporter, requester, refused):
            return _refuse_again(state, requester, refused, now)
    if _is_victim(state.plans, requester):
        return _refuse_victim(state, requester, now)
    context = context_of(state, requester, now)
    found = placement_in_reserved_room(context) or place_together(
        context.demand, context.view, context.profile, promised=context.promised
    )
    if isinstance(found, Placement):
        decided = _place(state, context, found, now)
    else:
        decided = replace(_preempt_or_wait(state, context, found, now), found=found)
    if decided.decision.outcome is not Outcome.IMPROVING:  # what is improved may not be the plan
        _replan_outranked(state, requester, set(decided.decision.nodes), now)
    return decided


def is_refused_as_before(state: State, requester: Requester, now: Moment) -> bool:
    """Whether a remembered refusal holds for a demand that was told so: then it goes on waiting."""
    remembered = _remembered_refusal(state, requester, now)
    if remembered is None or not _was_told(state.reporter, requester, remembered[0]):
        return False
    _keep_waiting(state.queue, state.preemption_backoff, requester, remembered[0], now)
    return True


def on_failure(state: State, requester: Requester, error: Exception, now: Moment) -> Decided:
    """An exception ended the decision: what was begun is taken back, and the demand is set aside."""
    text = contained_text(error)
    call_off(state, requester.key, EndReason.SCHEDULER_FAILED, now)
    targets = [pod_target(pod.pod) for pod in requester.pods]
    for pod in targets:
        give_up(state, pod, text, now, has_room=False)
    retry_at = state.queue.set_aside(requester.key, now.elapsed)
    state.failures.append(SchedulerFailure(requester.target, error, retry_at))
    for pod in targets:
        if isinstance(requester, WaitingResize):
            state.reporter.report_waiting_resize(pod, Notice(text))
        else:
            state.reporter.report_waiting_pod(pod, "SchedulerError", Notice(text))
    decision = _decision(state.world, requester, Outcome.ERROR, now)
    return Decided(structs.replace(decision, eviction=Eviction(EvictionReason("SchedulerError", text))))


# --- before it is looked at ----------------------------------------------------------------------


def _is_victim(plans: Plans, requester: Requester) -> bool:
    """Whether a pod that waits for a resize is about to be evicted."""
    return isinstance(requester, WaitingResize) and plans.is_in_flight(requester.target)


def _refuse_victim(state: State, requester: Requester, now: Moment) -> Decided:
    """No pod is evicted for a victim. If the victim is reprieved after all, it is decided again."""
    state.queue.retry(requester.key, now.elapsed)
    because = EvictionReason("GivesWayItself", "the pod itself is about to be evicted")
    decision = _decision(state.world, requester, Outcome.UNSCHEDULABLE, now)
    decision = structs.replace(decision, eviction=Eviction(because))
    call_off(state, requester.key, EndReason.PREEMPTOR_IS_VICTIM, now)
    report_demand(state.reporter, requester, Notice(decision.text))
    return Decided(decision)


def _remembered_refusal(
    state: State, requester: Requester, now: Moment
) -> tuple[RememberedRefusal, bool] | None:
    """The refusal of an equivalent demand, if it holds for this one; and whether what it says is exact.

    A demand with a plan, with reserved room, or that may not preempt for now, is not like one without.
    """
    if not len(state.refusals):
        return None
    key = equivalence_key_of(requester)
    found = state.refusals.of(key, state.stamp(), now) if key is not None else None
    return found if found is not None and _is_new(state, requester, now) else None


def _is_new(state: State, requester: Requester, now: Moment) -> bool:
    if state.plans.of(requester.key) is not None or state.improvements.of(requester.key) is not None:
        return False
    pods = [pod_target(pod.pod) for pod in requester.pods]
    nominated = any(pod in state.ledger.nominations for pod in pods)
    return not nominated and state.preemption_backoff.until(pods, now.elapsed) is None


def _was_told(reporter: StatusReporter, requester: Requester, refused: RememberedRefusal) -> bool:
    """Whether all of its pods, and its groups, say what they would be told."""
    said = refused.said
    if not all(reporter.has_reported(pod_target(pod.pod), said) for pod in requester.pods):
        return False
    groups = requester.tree.leaves() if isinstance(requester, WaitingGroup) else ()
    return all(
        reporter.is_scheduled(group) or reporter.has_reported(group_target(group), said) for group in groups
    )


def _refuse_again(state: State, requester: Requester, refused: RememberedRefusal, now: Moment) -> Decided:
    decision = refused.decision_for(requester, _id(state.world, requester, now), now.wall)
    _keep_waiting(state.queue, state.preemption_backoff, requester, refused, now)
    report_demand(state.reporter, requester, refusal_notice(decision))
    return Decided(decision)


def _replan_outranked(state: State, requester: Requester, nodes: Collection[str], now: Moment) -> None:
    """A demand of lower priority that waits for room on these nodes plans anew, if its plan holds no more."""
    for key, handover in state.plans.at(nodes) if len(state.plans) else ():
        if key == requester.key:
            continue
        other = state.demands.requester(key)
        if not isinstance(other, Requester) or other.priority >= requester.priority:
            continue
        if not still_feasible(context_of(state, other, now), handover):
            plan_anew(state, key, EndReason.OUTRANKED, now)


# --- it fits -------------------------------------------------------------------------------------


def _place(state: State, context: DecisionContext, found: Placement, now: Moment) -> Decided:
    match context.requester:
        case WaitingPod() | WaitingGroup():
            return _assume_all(state, context, found, now)
        case WaitingResize() as resize:
            return _leave_to_kubelet(state, resize, now)


def _assume_all(state: State, context: DecisionContext, found: Placement, now: Moment) -> Decided:
    requester, names = context.requester, context.view.nodes.names
    placed = [(member, found.nodes[member]) for member in found.turns]
    view = context.view
    for member, node in placed:
        ask = Ask(view, context.demand.pods[member], context.profile)
        assume(state, context, ask, node, now)
        if ask.shape.claims:
            view = with_taken(ask, node)
    places = tuple((pod_target(requester.pods[member].pod), names[node]) for member, node in placed)
    handover = state.plans.of(requester.key)
    if handover is not None and handover.victims and not handover.evicts_later:
        state.preemption_backoff.serve(pod for pod, _ in places)
    decision = _decision(state.world, requester, Outcome.PLACED, now, places)
    rest = _rest_of_plan(state.ledger.nominations, state.plans, requester)
    if rest is None:
        call_off(state, requester.key, _use_of(handover, places), now)
    else:
        state.plans.keep(requester.key, rest)
    if len(placed) < len(requester.pods) or _leaves_out(requester):
        state.queue.again(requester.key, now.elapsed)
    return Decided(decision)


def _leaves_out(requester: Requester) -> bool:
    """Whether pods of a tree wait that could not be decided about."""
    return isinstance(requester, WaitingGroup) and requester.left_out is not None


def _use_of(handover: Handover | None, places: Iterable[tuple[Target, str]]) -> EndReason:
    """Whether a demand came to the nodes of its plan. Pods of a gang may have changed places."""
    if handover is None:
        return EndReason.ROOM_USED
    planned, used = (Counter(node for _, node in there) for there in (handover.places, places))
    return EndReason.ROOM_USED if planned <= used else EndReason.PLACED_ELSEWHERE


def _leave_to_kubelet(state: State, resize: WaitingResize, now: Moment) -> Decided:
    """The kubelet does the rest. Until it has, another pod may take the room."""
    state.queue.park(resize.key, ROOM_AT_RISK, now.elapsed)
    call_off(state, resize.key, EndReason.ROOM_USED, now)
    decision = _decision(state.world, resize, Outcome.FITS, now, ((resize.target, resize.node),))
    state.reporter.report_resize_step(resize.target, "FitsInPlace", decision.text)
    return Decided(decision)


def _rest_of_plan(nominations: Nominations, plans: Plans, requester: Requester) -> Handover | None:
    """What is left of a plan for pods that do not need each other, when some of them have a node."""
    handover = plans.of(requester.key)
    if handover is None or not handover.is_open or requester.is_starting:
        return None
    places = tuple((pod, node) for pod, node in handover.places if pod in nominations)
    return replace(handover, places=places) if places else None


# --- it does not fit -----------------------------------------------------------------------------


def _preempt_or_wait(state: State, context: DecisionContext, found: Unplaceable, now: Moment) -> Decided:
    requester = context.requester
    policy = state.settings.policies.get(requester.pods[0].pod.spec.scheduler_name)
    helps = _helping(requester, found.codes, policy)
    handover = state.plans.of(requester.key)
    if handover is not None and handover.is_open and still_feasible(context, handover):
        state.queue.wait(requester.key, helps, now.elapsed)
        waits = _decision(state.world, requester, Outcome.WAITING, now)
        return Decided(structs.replace(waits, places=handover.places, preemption=handover.price))
    improving = state.improvements.of(requester.key)
    if improving is not None and improving.is_awaited(now.elapsed):
        return _keep_improving(state, requester, improving, helps, now)
    call_off(state, requester.key, EndReason.NO_LONGER_FITS, now)
    patience = (policy.patience if policy is not None else None) or 0.0
    left = patience - state.queue.waited(requester.key, now.elapsed)
    deferral = Deferral(left if left > 0.0 else patience)
    if improving is not None:
        deferral = Deferral(patience, improving.found or (), improving.plans)
    goes_ahead = left <= 0.0 or state.improvements.is_any_awaited(now.elapsed)
    weighed = Weighed(refusal=NoPlan(Why.FORBIDDEN))
    effort = context.demand.effort
    turns = _policies_in_turn(policy, deferral, effort, goes_ahead=goes_ahead)
    for tried in turns if not requester.forbidden else ():
        weighed = make_room(replace(context, unplaced=found), tried, state.settings.gangs, now.wall)
        if weighed.plans:
            break
    helps |= _helping(requester, weighed.codes, policy)
    state.queue.wait(requester.key, helps, now.elapsed)
    gang = group_key(requester.pods[0].pod) if context.demand.degraded is not None else None
    if gang is not None:
        state.gang_growth.wait_until_enough_run(gang, requester.key)
    if deferral.asked and improving is None:
        decision = _first_decision(state.world, context, found, weighed, now)
        return _begin_improving(state, context, decision, deferral, now)
    if weighed.plans:
        withdrawn = state.outbox.take()  # with the plan before: a decision begins with an empty outbox
        decided = _open(state, context, found, weighed, now)
        opening = state.outbox.take()
        state.outbox.put(*_not_renewed(withdrawn, opening), *opening)
        return decided
    decision = _refused(state.world, context, found, weighed, now)
    ended_by = weighed.refusal.ended_by if weighed.refusal is not None else NO_CHANGES
    refused = RememberedRefusal(requester, decision, helps, ended_by, lasts=improving is None)
    due = _expect_moment(state.queue, state.preemption_backoff, requester, refused, now)
    if context.restrained is None and decision.unproved is None:
        state.refusals.remember(refused, state.stamp(), due, now)
    report_demand(state.reporter, requester, refusal_notice(decision))
    return Decided(decision)


def _helping(requester: Requester, codes: Collection[Code], policy: Policy | None) -> frozenset[Change]:
    """Which changes deserve another decision about a demand that was refused nodes for these."""
    helps = requester.helped_by(codes)
    if policy is None:
        return helps
    return helps | ({Change.GROUPS, Change.BUDGETS} if policy.breaks_no_budget else {Change.GROUPS})


def _not_renewed(withdrawn: Iterable[Effect], opening: Iterable[Effect]) -> list[Effect]:
    """A nomination that is replaced at once is not withdrawn before."""
    waiting = {effect.target for effect in opening if isinstance(effect, Nominate)}
    return [e for e in withdrawn if not isinstance(e, Nominate) or e.target not in waiting]


# --- and no room is made -------------------------------------------------------------------------


def _refused(
    world: World, context: DecisionContext, found: Unplaceable, weighed: Weighed, now: Moment
) -> Decision:
    return structs.replace(
        _decision(world, context.requester, Outcome.UNSCHEDULABLE, now),
        findings=context.requester.relevant(findings_of(found.survey, found.view.nodes)),
        miss=miss_of(found, context.demand, context.profile, context.view),
        eviction=_eviction(context.requester, weighed, now),
        retry_at=weighed.refusal.retry_at if weighed.refusal else None,
        unproved=unproved_by(context.demand.effort),
    )


def _eviction(requester: Requester, weighed: Weighed, now: Moment) -> Eviction | None:
    if weighed.refusal is not None and weighed.refusal.why is Why.FORBIDDEN:
        return Eviction(EvictionReason(Why.FORBIDDEN, requester.forbidden))
    return (
        eviction_refusal(weighed.refusal, weighed.question, now.wall) if weighed.refusal is not None else None
    )


def _keep_waiting(
    queue: Queue, backoff: PreemptionBackoff, requester: Requester, refused: RememberedRefusal, now: Moment
) -> None:
    queue.wait(requester.key, refused.helps, now.elapsed)
    _expect_moment(queue, backoff, requester, refused, now)


def _expect_moment(
    queue: Queue, backoff: PreemptionBackoff, requester: Requester, refused: RememberedRefusal, now: Moment
) -> Due:
    """No backoff makes it miss the moment at which more pods may be evicted."""
    restrained = backoff.until((pod_target(pod.pod) for pod in requester.pods), now.elapsed)
    ends = [end for end in (restrained, backoff.released(now.elapsed)) if end is not None]
    # A rule protects victims until a time of day; that evictions were in vain counts for a while.
    retry_at = refused.decision.retry_at if restrained is None else None
    due = Due(min(ends, default=inf), inf if retry_at is None else retry_at)
    if refused.ended_by or due != Due():
        queue.expect(requester.key, refused.ended_by, due, now.elapsed)
    return due


# --- and a plan is improved before it is opened --------------------------------------------------


def _deferring(policy: Policy | None, deferral: Deferral) -> Policy | None:
    """The policy by which no solver runs in the decision, unless it shall."""
    if policy is None or policy.patience is None:
        return policy
    if not policy.patience:
        return replace(policy, improving=not_at_all)
    return replace(policy, improving=deferral.improving, deferral=deferral)


def _policies_in_turn(
    policy: Policy | None, deferral: Deferral, effort: Effort, *, goes_ahead: bool
) -> Iterator[Policy | None]:
    """A demand goes ahead with its first plan while the solver is busy with another one, and where the queue
    has taken its patience: in a burst, none waits both for others and for the solver.

    Where there is no such plan and a solver may find one, it is asked all the same.
    """
    if policy is not None and policy.patience and not deferral.earlier and goes_ahead:
        before = replace(effort)
        yield replace(policy, improving=busy)
        if not effort.unanswered:
            return
        effort.spent, effort.fell_short, effort.unanswered = before.spent, before.fell_short, False
    yield _deferring(policy, deferral)


def _first_decision(
    world: World, context: DecisionContext, found: Unplaceable, weighed: Weighed, now: Moment
) -> Decision:
    """With the first plan, if there is one: a solver may find one where the search does not."""
    if weighed.plans:
        decision = _preempting(world, context, found, weighed, 0, now)
        return structs.replace(decision, outcome=Outcome.IMPROVING)
    return _decision(world, context.requester, Outcome.IMPROVING, now)


def _begin_improving(
    state: State, context: DecisionContext, decision: Decision, deferral: Deferral, now: Moment
) -> Decided:
    """The room of the first plan is reserved in memory, and nothing is written."""
    requester, effort = context.requester, context.demand.effort
    for pod, node in decision.places if requester.nominates else ():
        state.ledger.nominations.nominate(pod, node, NominationReason.FIRST_PLAN)
    until = now.elapsed + deferral.patience
    first = decision.places, decision.preemption, decision.unproved
    improving = Improving(decision.id, now.elapsed, until, *first, deferral.noted)
    state.improvements.begin(requester.key, improving)
    state.queue.expect(requester.key, NO_CHANGES, Due(improving.next_time(now.elapsed)), now.elapsed)
    request = ImprovePlan(
        requester.target,
        decision.id,
        tuple(deferral.asked.values()),
        effort=effort.units - effort.spent,
        shared=bool(context.demand.topology_key),
        patience=deferral.patience,
    )
    return Decided(decision, improve=request)


def _keep_improving(
    state: State, requester: Requester, improving: Improving, helps: frozenset[Change], now: Moment
) -> Decided:
    """The demand was woken, and it still does not fit: all else is decided when the wait ends."""
    state.queue.wait(requester.key, helps, now.elapsed)
    state.queue.expect(requester.key, NO_CHANGES, Due(improving.next_time(now.elapsed)), now.elapsed)
    decision = _decision(state.world, requester, Outcome.IMPROVING, now, improving.places)
    decision = structs.replace(decision, preemption=improving.price, unproved=improving.unproved)
    if improving.is_long(now.elapsed) and isinstance(requester, WaitingGroup):
        text = improving_text(structs.replace(decision, id=improving.id))
        report_improving(state.reporter, requester, text)
    return Decided(decision)


# --- and room is made ----------------------------------------------------------------------------


def _open(
    state: State, context: DecisionContext, found: Unplaceable, weighed: Weighed, now: Moment
) -> Decided:
    going = planned_evictions(context, weighed.plans[0])
    decision = _preempting(state.world, context, found, weighed, len(going.anyway), now)
    open_plan(state, context, weighed.plans[0], decision, going, now)
    return Decided(decision)


def _preempting(  # noqa: PLR0913, PLR0917  all that the decision is made from
    world: World, context: DecisionContext, found: Unplaceable, weighed: Weighed, anyway: int, now: Moment
) -> Decision:
    """``anyway``: how many pods leave the nodes of the plan without it."""
    plan, view = weighed.plans[0], context.view
    price = Preemption(leaving=anyway)
    if weighed.question is not None:
        price = preemption_of(weighed.plans, weighed.question, anyway, now.wall, context.in_flight.tolist())
    places = tuple((target_at(view, row), view.nodes.names[node]) for row, node in plan.places)
    chosen = {node for _, node in plan.places}
    return structs.replace(
        _decision(world, context.requester, Outcome.PREEMPTS, now, places),
        findings=context.requester.relevant(findings_of(found.survey, found.view.nodes, chosen)),
        preemption=price,
        unproved=None if _is_proved(plan) else unproved_by(context.demand.effort),
    )


def _is_proved(plan: Plan) -> bool:
    """Whether no plan disturbs less: then it cannot do without its victims either."""
    return plan.quality is not None and plan.quality.proved


# --- the record ----------------------------------------------------------------------------------


def _id(world: World, requester: Requester, now: Moment) -> str:
    return decision_id(requester.target, requester.key.kind.name, world.version, now.wall)


def _decision(
    world: World,
    requester: Requester,
    outcome: Outcome,
    now: Moment,
    places: tuple[tuple[Target, str], ...] = (),
) -> Decision:
    return Decision(
        id=_id(world, requester, now),
        demand=requester.target,
        priority=requester.priority,
        at=now.wall,
        outcome=outcome,
        considered=requester.considered(world.node_count()),
        pods=len(requester.pods),
        places=places,
        growth=requester.growth,
    )
