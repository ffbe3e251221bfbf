"""From a place to a bound pod: the promise, the hand-shake over volumes, and the ways back.

A promise is made in the ledger, and the world is told to count the pod anew: always in this order, and both
before anything else is decided. The answer to a bind, the sight of the bound pod and a failure may come in
any order; each step here looks the promise up and does nothing if it has ended.
"""

from dataclasses import replace

from reprieve.model.effects import Bind, BindVolume, Nominate, Target
from reprieve.model.groups import group_key
from reprieve.model.moment import Moment
from reprieve.placement.demand import Ask
from reprieve.placement.rejection_codes import Code
from reprieve.scheduler.demand_key import DemandKey, DemandKind
from reprieve.scheduler.demands import DecisionContext
from reprieve.scheduler.events.enqueueing import end_waiting, enqueue, on_member_settled, settle_promise
from reprieve.scheduler.execution.nomination_withdrawal import unreserve
from reprieve.scheduler.execution.plan_driver import advance_without
from reprieve.scheduler.ledger.assumed import Assumed, AssumedPods, Promise
from reprieve.scheduler.ledger.nominations import NominationReason
from reprieve.scheduler.mirror import volumes
from reprieve.scheduler.mirror.group_mirror import GroupMirror
from reprieve.scheduler.mirror.pod_rows import pod_key
from reprieve.scheduler.outbox import Outbox
from reprieve.scheduler.plans.handover import unmark
from reprieve.scheduler.reporting.status_reporter import Notice
from reprieve.scheduler.state import State
from reprieve.scheduler.targets import pod_target


def assume(state: State, context: DecisionContext, ask: Ask, node: int, now: Moment) -> None:
    """Promises a node to a pod. Pods of its demand that were placed before it count as placed."""
    pod, name = ask.view.pods.compiled[ask.pod].pod, ask.view.nodes.names[node]
    steps = volumes.steps(ask, node) if ask.shape.claims else ()
    assumed = Assumed(pod_target(pod), name, Promise.SENT)
    if steps:
        due = now.elapsed + state.settings.volume_seconds
        assumed = replace(assumed, state=Promise.PREPARING, steps=steps, due=due)
    nomination = state.ledger.nominations.of(assumed.pod)
    if nomination is not None and nomination.node == name:
        state.ledger.nominations.withdraw(assumed.pod)  # the pod takes its room, so none becomes free
    unreserve(state.ledger.nominations, state.queue, [assumed.pod], context.requester.key, now)
    state.ledger.assumed.promise(assumed)
    state.queue.wake_all(state.world.count_anew(pod_key(pod)), now.elapsed, nodes=(name,))
    if steps:
        state.world.volume_steps_changed()
    state.outbox.put(*(volumes.first(steps) or (assumed.bind,)))


def on_bound(state: State, pod: Target, now: Moment) -> None:
    """The pod stays assumed until it is seen there; its demand may be complete by now.

    If the sight came before the answer, the promise has ended already.
    """
    key = state.ledger.parts.get(pod)
    if key is None or pod not in state.ledger.assumed:
        return
    enqueue(state, key, now, changed=False)
    known = state.world.pod((pod.namespace, pod.name))
    if known is not None:
        on_member_settled(state, known.pod, now)


def on_bind_failed(state: State, bind: Bind, error: str, now: Moment) -> None:
    """Other pods of a gang may be bound already, so the room is kept for those that are not."""
    give_up(state, bind.target, f"binding failed: {error}", now)
    key = state.ledger.parts.get(bind.target)
    if key is not None and _needs_others(state.world.groups, key) and state.world.has_node(bind.node):
        state.ledger.nominations.nominate(bind.target, bind.node, NominationReason.KEPT)
        state.outbox.put(Nominate(bind.target, bind.node))


def _needs_others(groups: GroupMirror, key: DemandKey) -> bool:
    """Whether a pod is part of a gang, or of a tree, which is one."""
    if not key.kind.is_of_groups:
        return False
    group = groups.group(key.object) if key.kind is DemandKind.GROUP else None
    return key.kind is DemandKind.TREE or (group is not None and group.spec.gang is not None)


def give_up(state: State, pod: Target, text: str, now: Moment, *, has_room: bool = True) -> None:
    """A promise cannot be kept: the room is free again, and the pod's demand is back in the queue.

    ``has_room``: the pod could not be bound for another reason than a lack of room.
    """
    assumed = settle_promise(state.ledger, state.world, state.queue, pod, now)
    if assumed is None:
        return
    if has_room:
        state.preemption_backoff.on_room_wasted(pod, now.elapsed)
    changes = state.world.count_anew((pod.namespace, pod.name))
    state.queue.wake_all(changes, now.elapsed, nodes=(assumed.node,))
    known, key = state.world.pod((pod.namespace, pod.name)), state.ledger.parts.get(pod)
    if known is None or key is None or not state.demands.is_ours(known.pod):
        end_waiting(state, pod, now)
        return
    enqueue(state, key, now, changed=False)
    state.queue.retry(key, now.elapsed)
    # The pod may show the node that it was nominated to before: its bind would have cleared that.
    state.ledger.nominations.linger(pod)
    state.reporter.report_waiting_pod(pod, "SchedulerError", Notice(text))
    _spare_from_eviction(state, pod, now)


def _spare_from_eviction(state: State, pod: Target, now: Moment) -> None:
    """A pod that came back is not evicted any more for the room that it was to have."""
    plans = state.plans.concerned(pod)
    evicted = any(handover.is_settling and pod in handover.victims for _, handover in plans)
    if evicted or pod in state.ledger.unit_evictions:
        advance_without(state, pod, now)
        state.outbox.put(unmark(pod))


def _send(assumed_pods: AssumedPods, outbox: Outbox, assumed: Assumed) -> None:
    assumed_pods.promise(replace(assumed, state=Promise.SENT, due=None))
    outbox.put(assumed.bind)


def give_up_on_lost_nodes(state: State, now: Moment) -> None:
    """Withdraws the promises whose volumes are being prepared for a node that is gone."""
    for assumed in state.ledger.assumed.preparing():
        if not state.world.has_node(assumed.node):
            give_up(state, assumed.pod, f"node {assumed.node} is gone", now, has_room=False)


def on_volume_bound(assumed_pods: AssumedPods, outbox: Outbox, step: BindVolume) -> None:
    for assumed in assumed_pods.preparing(step):
        acknowledged = assumed.acknowledged | {step}
        assumed_pods.promise(replace(assumed, acknowledged=acknowledged))
        outbox.put(*volumes.following(assumed.steps, acknowledged))


def on_volumes_seen(state: State, now: Moment) -> None:
    """Sends the binds of pods whose volumes are ready, and withdraws promises whose volumes will not come."""
    for assumed in state.ledger.assumed.preparing():
        claims = {step: state.world.claim(volumes.claim_of(step)) for step in assumed.steps}
        shown = assumed.shown | volumes.shown_steps(claims)
        if volumes.are_bound(claims):
            _send_if_reachable(state, assumed, now)
        elif (step := volumes.hopeless(claims, shown)) is not None:
            text = f"{volumes.claim_of(step)} got no volume for node {assumed.node}"
            give_up(state, assumed.pod, text, now)
        else:
            state.ledger.assumed.promise(replace(assumed, shown=shown))


def _send_if_reachable(state: State, assumed: Assumed, now: Moment) -> None:
    """Claims may have got other volumes than were chosen. A volume may be shown after its claim."""
    view = state.world.snapshot()
    ask = Ask(view, state.world.row((assumed.pod.namespace, assumed.pod.name)))
    refusals = volumes.refusals(ask, view.nodes.rows[assumed.node])
    group = group_key(ask.view.pods.compiled[ask.pod].pod)
    if group is not None and state.units.is_being_preempted(group):
        text = f"PodGroup {'/'.join(group)} is being preempted"
        give_up(state, assumed.pod, text, now, has_room=False)
    elif not refusals:
        _send(state.ledger.assumed, state.outbox, assumed)
    elif any(reason.code is not Code.VOLUME_NOT_FOUND for reason in refusals):
        text = "; ".join(f"node {assumed.node} {reason.text}" for reason in refusals)
        give_up(state, assumed.pod, text, now)


def follow_up_overdue(state: State, now: Moment) -> None:
    """Acts on promises whose time has come: sends a bind again, or gives up on volumes."""
    for assumed in state.ledger.assumed.overdue(now.elapsed):
        if assumed.state is Promise.UNKNOWN:
            state.ledger.assumed.promise(replace(assumed, due=None))
            state.outbox.put(assumed.bind)
        else:
            text = f"volumes were not ready within {state.settings.volume_seconds:g} s"
            give_up(state, assumed.pod, text, now)
