"""One decision: where a demand goes, who gives way to it, or why it must wait."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from reprieve.model.effects import Effect, Nominate, Target
from reprieve.model.shape import CompiledPod
from reprieve.model.snapshot import Snapshot
from reprieve.model.words import counted
from reprieve.placement.demand import Ask
from reprieve.placement.domains import place_together
from reprieve.placement.place import Placement, Unplaceable
from reprieve.placement.reasons import Code
from reprieve.placement.taking import with_taken
from reprieve.preemption.plan import NoPlan, Plan, Why
from reprieve.preemption.policy import Policy
from reprieve.preemption.units import Kind
from reprieve.scheduler.binding import assume, give_up
from reprieve.scheduler.changes import ABOUT_TOLERATIONS, ROOM_AT_RISK, ROOM_IN_PLACE, Change, helpful
from reprieve.scheduler.decision import (
    Because,
    Decided,
    Decision,
    Eviction,
    Finding,
    Outcome,
    Preemption,
    decision_id,
    findings_of,
)
from reprieve.scheduler.decision_context import case_of
from reprieve.scheduler.demands import IN_PLACE, Asker, pod_target
from reprieve.scheduler.equivalence import RememberedRefusal, wish_of
from reprieve.scheduler.explanation import eviction_of, growth_of, homes_of, miss_of, preemption_of, target_at
from reprieve.scheduler.handover import Handover, opened
from reprieve.scheduler.ledger.nominations import Reason
from reprieve.scheduler.plan_driver import call_off, plan_anew
from reprieve.scheduler.planning import (
    DecisionContext,
    Weighed,
    awaited,
    plans_for,
    still_feasible,
    where_it_waits,
)
from reprieve.scheduler.queue import NO_CHANGES
from reprieve.scheduler.state import State
from reprieve.scheduler.status_reporter import group_target
from reprieve.scheduler.toleration_changes import orphans


def decide(state: State, who: Asker, now: float) -> Decided:
    before, state.refused = state.refused, None
    if before is not None and before.decision.at == now and _is_alike(state, who, before):
        return _refused_again(state, who, before, now)
    if _must_go_itself(state, who):
        return _goes_itself(state, who, now)
    case = case_of(state, who, now)
    found = where_it_waits(case) or place_together(
        case.demand, case.view, case.profile, promised=case.promised
    )
    if isinstance(found, Placement) and case.demand.in_place:
        decided = _fits_in_place(state, case, now)
    elif isinstance(found, Placement):
        decided = _placed(state, case, found.nodes, now)
    else:
        decided = _unplaced(state, case, found, now)
    taken = _crowd_out(state, who, set(decided.decision.nodes), now)
    return replace(decided, effects=(*decided.effects, *taken))


def _must_go_itself(state: State, who: Asker) -> bool:
    return who.key[0] == IN_PLACE and pod_target(who.pods[0].pod) in state.plans.doomed()


def _goes_itself(state: State, who: Asker, now: float) -> Decided:
    """Nobody gives way to a pod that is to give way to others. If it is spared after all, it asks again."""
    state.queue.retry(who.key, now)
    because = Because("GivesWayItself", "it has to give way to others itself")
    decision = replace(_decision(state, who, Outcome.UNSCHEDULABLE, now), eviction=Eviction(because))
    return Decided(decision, (*call_off(state, who.key, now), *state.say_all(who, decision.text)))


def _is_alike(state: State, who: Asker, refused: RememberedRefusal) -> bool:
    """A demand that has a plan, or room that is reserved for it, asks for something else."""
    nominated = pod_target(who.pods[0].pod) in state.ledger.nominations
    is_new = state.plans.of(who.key) is None and not nominated
    return is_new and wish_of(who) == refused.wish


def _refused_again(state: State, who: Asker, refused: RememberedRefusal, now: float) -> Decided:
    target = _target_of(state, who)
    decision = refused.decision_for(target, decision_id(target.uid, state.world.version, now))
    state.queue.wait(who.key, refused.helps, now)
    return _told(state, who, replace(refused, decision=decision), now)


def _told(state: State, who: Asker, refused: RememberedRefusal, now: float) -> Decided:
    moments = [refused.decision.retry_at, state.preemption_backoff.released(now)]
    moment = min((moment for moment in moments if moment is not None), default=None)
    if refused.about_tolerations or moment is not None:
        changes = ABOUT_TOLERATIONS if refused.about_tolerations else NO_CHANGES
        state.queue.expect(who.key, changes, moment, now)
    state.refused = refused if refused.wish is not None else None
    return Decided(refused.decision, tuple(state.say_all(who, refused.decision.text)))


def _crowd_out(state: State, who: Asker, nodes: Collection[str], now: float) -> Iterator[Effect]:
    """Who waits for room that somebody more important has taken plans anew, if it no longer suffices."""
    for key, handover in state.plans:
        if key == who.key or not any(node in nodes for _, node in handover.places):
            continue
        other = state.asker(key)
        if not isinstance(other, Asker) or other.priority >= who.priority:
            continue
        if not still_feasible(case_of(state, other, now), handover):
            yield from plan_anew(state, key, now)


def _placed(state: State, case: DecisionContext, nodes: tuple[int, ...], now: float) -> Decided:
    names = case.view.nodes.names
    effects: list[Effect] = []
    placed = [(member, node) for member, node in enumerate(nodes) if node >= 0]
    view = case.view
    for member, node in placed:
        ask = Ask(view, case.demand.pods[member], case.profile)
        effects.extend(assume(state, case, ask, node, now))
        if ask.shape.claims:
            view = with_taken(ask, node)
    places = tuple((pod_target(case.who.pods[member].pod), names[node]) for member, node in placed)
    handover = state.plans.of(case.who.key)
    if handover is not None and handover.victims and not handover.evicts_later:
        state.preemption_backoff.serve(pod for pod, _ in places)
    decision = replace(_decision(state, case.who, Outcome.PLACED, now), places=places)
    rest = _rest_of_plan(state, case.who)
    if rest is None:
        effects.extend(call_off(state, case.who.key, now))
    else:
        state.plans.keep(case.who.key, rest)
    if len(placed) < len(case.who.pods):
        state.queue.again(case.who.key)
    return Decided(decision, tuple(effects))


def _fits_in_place(state: State, case: DecisionContext, now: float) -> Decided:
    """The kubelet does the rest. Until it has, somebody else may take the room."""
    state.queue.park(case.who.key, ROOM_AT_RISK, now)
    done = call_off(state, case.who.key, now)
    target, node = pod_target(case.who.pods[0].pod), case.who.pods[0].pod.spec.node_name
    decision = replace(_decision(state, case.who, Outcome.FITS, now), places=((target, node),))
    return Decided(decision, (*done, *state.reporter.in_place(target, "FitsInPlace", decision.text)))


def _rest_of_plan(state: State, who: Asker) -> Handover | None:
    """What is left of a plan for pods that do not need each other, when some of their group have a node."""
    handover = state.plans.of(who.key)
    if handover is None or not handover.is_open or who.is_starting:
        return None
    nominated = state.ledger.nominations
    places = tuple((pod, node) for pod, node in handover.places if pod in nominated)
    return replace(handover, places=places) if places else None


def _unplaced(state: State, case: DecisionContext, found: Unplaceable, now: float) -> Decided:
    policy = state.settings.policies.get(case.who.pods[0].pod.spec.scheduler_name)
    helps = _helping(case, found.codes, policy)
    handover = state.plans.of(case.who.key)
    if handover is not None and handover.is_open and still_feasible(case, handover):
        state.queue.wait(case.who.key, helps, now)
        waits = _decision(state, case.who, Outcome.WAITING, now)
        return Decided(replace(waits, places=handover.places, preemption=handover.price), ())
    withdrawn = call_off(state, case.who.key, now)
    if case.who.forbidden:
        weighed = Weighed(refusal=NoPlan(Why.FORBIDDEN))
    else:
        weighed = plans_for(case, found, policy, now, state.settings.room_for)
    helps |= _helping(case, weighed.codes, policy)
    state.queue.wait(case.who.key, helps, now)
    if weighed.plans:
        decided = _make_room(state, case, found, weighed, now)
        return replace(decided, effects=(*_not_renewed(withdrawn, decided.effects), *decided.effects))
    held = weighed.refusal is not None and bool(weighed.refusal.held)
    wish = wish_of(case.who) if case.restrained is None else None
    refused = RememberedRefusal(wish, _refused(state, case, found, weighed, now), helps, held)
    decided = _told(state, case.who, refused, now)
    return replace(decided, effects=(*withdrawn, *decided.effects))


def _helping(case: DecisionContext, codes: Collection[Code], policy: Policy | None) -> frozenset[Change]:
    """Which changes deserve another look at a demand that was refused nodes for these."""
    helps = ROOM_IN_PLACE if case.demand.in_place else helpful(codes)
    if policy is None:
        return helps
    return helps | ({Change.GROUPS, Change.BUDGETS} if policy.breaks_no_budget else {Change.GROUPS})


def _not_renewed(withdrawn: Iterable[Effect], effects: Iterable[Effect]) -> Iterator[Effect]:
    """Who waits for a node once more need not be told in between that it waits for none."""
    waiting = {effect.target for effect in effects if isinstance(effect, Nominate)}
    return (e for e in withdrawn if not isinstance(e, Nominate) or e.target not in waiting)


def _findings(case: DecisionContext, found: Unplaceable) -> tuple[Finding, ...]:
    """Nobody wonders why a pod that runs cannot grow on other nodes."""
    findings = findings_of(found.survey)
    if not case.demand.in_place:
        return findings
    return tuple(finding for finding in findings if finding.reason.code is not Code.OUTSIDE_DOMAIN)


def _refused(
    state: State, case: DecisionContext, found: Unplaceable, weighed: Weighed, now: float
) -> Decision:
    return replace(
        _decision(state, case.who, Outcome.UNSCHEDULABLE, now),
        findings=_findings(case, found),
        miss=miss_of(found, case.demand, case.profile, case.view),
        eviction=_eviction(case, weighed, now),
        retry_at=weighed.refusal.retry_at if weighed.refusal else None,
    )


def _eviction(case: DecisionContext, weighed: Weighed, now: float) -> Eviction | None:
    if weighed.refusal is not None and weighed.refusal.why is Why.FORBIDDEN:
        return Eviction(Because(Why.FORBIDDEN, case.who.forbidden))
    return eviction_of(weighed.refusal, weighed.question, now) if weighed.refusal is not None else None


def _make_room(
    state: State, case: DecisionContext, found: Unplaceable, weighed: Weighed, now: float
) -> Decided:
    """Room is reserved from now on; the rest follows step by step."""
    plan, view = weighed.plans[0], case.view
    places = tuple((target_at(view, row), view.nodes.names[node]) for row, node in plan.places)
    going = [target_at(view, row) for unit in plan.victims for row in unit.pods]
    before = [target_at(view, int(row)) for row in awaited(case, plan)]
    anyway = [pod for pod in before if pod not in going]
    price = Preemption(leaving=len(anyway))
    if weighed.question is not None:
        price = preemption_of(weighed.plans, weighed.question, len(anyway))
    decision = replace(
        _decision(state, case.who, Outcome.PREEMPTS, now),
        places=places,
        findings=_findings(case, found),
        preemption=price,
    )
    handover = Handover(
        id=decision.id,
        preemptor=decision.demand,
        places=places,
        victims=tuple(pod for pod in going if not state.is_preparing(pod)),
        leaving=tuple(anyway),
        elsewhere=frozenset(going).difference(before),
        homes=homes_of(plan, view),
        price=price,
        marks=tuple(_groups_of(state, plan, view)),
        in_place=case.demand.in_place,
        apart=len(places) > 1 and not case.who.is_starting,
    )
    effects: list[Effect] = [*orphans(state, plan, view)]
    for pod in filter(state.is_preparing, going):
        why = f"it gives way to others (decision {decision.id})"
        effects.extend(give_up(state, pod, why, now, has_room=False))
    for key in [(IN_PLACE, pod.namespace, pod.name) for pod in going]:
        if state.plans.of(key) is not None:
            effects.extend(plan_anew(state, key, now))
    if not handover.in_place:
        for pod, node in places:
            state.ledger.nominations.nominate(pod, node, Reason.PLAN)
    handover, first = opened(handover)
    state.plans.keep(case.who.key, handover)
    if handover.is_settling:  # not if nothing is to be nominated, marked or evicted
        state.queue.hold(case.who.key)
    effects.extend(first)
    effects.extend(_told_of_plan(state, case.who, handover, decision.text))
    return Decided(decision, tuple(effects))


def _told_of_plan(state: State, who: Asker, handover: Handover, text: str) -> Iterator[Effect]:
    """One event for each: for whom others give way is told that when they are asked to, and no more."""
    preemptor = handover.preemptor
    if not handover.in_place:
        told_otherwise = preemptor if handover.victims else None
        served = [pod for pod in who.pods if pod_target(pod.pod) in dict(handover.places)]
        yield from state.say_all(replace(who, pods=tuple(served)), text, told_otherwise=told_otherwise)
        yield from _told_to_wait(state, [pod for pod in who.pods if pod not in served], handover)
    elif handover.victims:
        state.reporter.forget(preemptor)
    else:
        yield from state.reporter.in_place(preemptor, "MakesRoomInPlace", text)


def _told_to_wait(state: State, others: Sequence[CompiledPod], handover: Handover) -> Iterator[Effect]:
    """Pods of a group for which no room is made yet do not wait for any."""
    pods = counted(len(handover.places), "other pod")
    text = f"waits while room is made for {pods} of {handover.preemptor} (decision {handover.id})"
    yield from state.say(others, None, text)


def _decision(state: State, who: Asker, outcome: Outcome, now: float) -> Decision:
    target = _target_of(state, who)
    return Decision(
        id=decision_id(target.uid, state.world.version, now),
        demand=target,
        priority=who.priority,
        at=now,
        outcome=outcome,
        considered=1 if who.key[0] == IN_PLACE else state.world.node_count(),
        pods=len(who.pods),
        growth=growth_of(who.pods[0]) if who.key[0] == IN_PLACE else None,
    )


def _target_of(state: State, who: Asker) -> Target:
    if who.group is None:
        return pod_target(who.pods[0].pod)
    return group_target(who.group)


def _groups_of(state: State, plan: Plan, view: Snapshot) -> Iterator[Target]:
    """Whole groups that go, by themselves or with the group around them."""
    wholes = (unit for unit in plan.victims if unit.kind is not Kind.POD)
    keys = {key for unit in wholes for row in unit.pods if (key := view.pods.groups[row]) is not None}
    for key in sorted(keys):
        if (group := state.world.groups.group(key)) is not None:
            yield group_target(group)
