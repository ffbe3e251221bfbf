"""From a place to a bound pod: promises, the hand-shake over volumes, and ways back."""

from collections.abc import Iterator
from dataclasses import replace

from reprieve.model.effects import Bind, BindVolume, Effect, Nominate, Target
from reprieve.placement.demand import Ask
from reprieve.placement.reasons import Code
from reprieve.scheduler import volumes
from reprieve.scheduler.decision_context import DecisionContext
from reprieve.scheduler.demand_key import DemandKind
from reprieve.scheduler.enqueueing import forget, regroup, stand_in_line
from reprieve.scheduler.handover import unmark
from reprieve.scheduler.ledger import Assumed, Promise, VolumeStep
from reprieve.scheduler.plan_driver import has_left
from reprieve.scheduler.pod_rows import pod_key
from reprieve.scheduler.state import State
from reprieve.scheduler.targets import pod_target


def assume(state: State, context: DecisionContext, ask: Ask, node: int, now: float) -> tuple[Effect, ...]:
    """The pod that asks sees the others of its demand before it in their places."""
    pod, name = ask.view.pods.compiled[ask.pod].pod, ask.view.nodes.names[node]
    steps = volumes.steps(ask, node) if ask.shape.claims else ()
    assumed = Assumed(pod_target(pod), name, Promise.SENT)
    if steps:
        due = now + state.settings.volume_seconds
        assumed = replace(assumed, state=Promise.PREPARING, steps=steps, due=due)
    if state.nominated.get(assumed.pod) == name:
        del state.nominated[assumed.pod]
    state.unreserve([assumed.pod], context.requester.key, now)
    state.ledger.promise(assumed)
    state.wake(state.world.assume(pod_key(pod), name), now, name)
    state.world.reserve(steps)
    return volumes.first(steps) or (assumed.bind,)


def bound(state: State, pod: Target, now: float) -> Iterator[Effect]:
    """The pod stays assumed until it is seen there; its demand may be complete by now."""
    key = state.parts.get(pod)
    if key is None or state.ledger.of(pod) is None:
        return
    yield from stand_in_line(state, key, now, changed=False)
    known = state.world.pod((pod.namespace, pod.name))
    if known is not None:
        yield from regroup(state, known.pod, now)


def bind_failed(state: State, bind: Bind, error: str, now: float) -> Iterator[Effect]:
    """Others of a gang may have been bound, so the room is kept for those who were not."""
    yield from give_up(state, bind.target, f"binding failed: {error}", now)
    key = state.parts.get(bind.target)
    in_group = key is not None and key.kind is DemandKind.GROUP
    group = state.world.groups.group(key.object) if key is not None and in_group else None
    if group is not None and group.spec.gang is not None and state.world.has_node(bind.node):
        state.nominated[bind.target] = bind.node
        yield Nominate(bind.target, bind.node)


def give_up(state: State, pod: Target, text: str, now: float, *, has_room: bool = True) -> Iterator[Effect]:
    """A promise cannot be kept: the room is free again, and the pod is back in line.

    ``has_room``: it was not for a lack of it.
    """
    assumed = state.settle(pod, now)
    if assumed is None:
        return
    if has_room:
        state.preemption_backoff.wasted(pod, now)
    state.wake(state.world.withdraw((pod.namespace, pod.name)), now, assumed.node)
    known, key = state.world.pod((pod.namespace, pod.name)), state.parts.get(pod)
    if known is None or key is None or not state.is_ours(known.pod):
        yield from forget(state, pod, now)
        return
    yield from stand_in_line(state, key, now, changed=False)
    state.queue.retry(key, now)
    state.lingering.add(pod)  # a node that it waited for before, and that its bind would have cleared
    yield from state.reporter.waits(pod, "SchedulerError", text)
    yield from _not_in_the_way(state, pod, now)


def _not_in_the_way(state: State, pod: Target, now: float) -> Iterator[Effect]:
    """A pod that came back is not evicted any more for the room that it was to have."""
    if any(handover.is_settling and pod in handover.victims for _, handover in state.plans):
        yield from has_left(state, pod, now)
        yield unmark(pod)


def _send(state: State, assumed: Assumed) -> Bind:
    state.ledger.promise(replace(assumed, state=Promise.SENT, due=None))
    return assumed.bind


def preparing(state: State, step: VolumeStep | None = None) -> list[Assumed]:
    """Those whose volumes are not ready, because of this step."""
    waiting = [a for a in state.ledger if a.state is Promise.PREPARING]
    return waiting if step is None else [a for a in waiting if step in a.steps]


def left_hanging(state: State, now: float) -> Iterator[Effect]:
    """Volumes are being prepared for nodes that are no more."""
    for assumed in preparing(state):
        if not state.world.has_node(assumed.node):
            yield from give_up(state, assumed.pod, f"node {assumed.node} is gone", now, has_room=False)


def volume_promised(state: State, step: BindVolume) -> Iterator[Effect]:
    for assumed in preparing(state, step):
        acknowledged = assumed.acknowledged | {step}
        state.ledger.promise(replace(assumed, acknowledged=acknowledged))
        yield from volumes.following(assumed.steps, acknowledged)


def saw_volumes(state: State, now: float) -> Iterator[Effect]:
    """Sends the pods whose volumes are ready, and takes back those whose volumes will not come."""
    for assumed in preparing(state):
        claims = {step: state.world.claim(volumes.claim_of(step)) for step in assumed.steps}
        shown = assumed.shown | volumes.shown(claims)
        if volumes.are_bound(claims):
            yield from _send_if_within_reach(state, assumed, now)
        elif (step := volumes.hopeless(claims, shown)) is not None:
            text = f"{volumes.claim_of(step)} got no volume for node {assumed.node}"
            yield from give_up(state, assumed.pod, text, now)
        else:
            state.ledger.promise(replace(assumed, shown=shown))


def _send_if_within_reach(state: State, assumed: Assumed, now: float) -> Iterator[Effect]:
    """Claims may have got other volumes than we chose. A volume may be shown after its claim."""
    view = state.world.snapshot()
    ask = Ask(view, state.world.row((assumed.pod.namespace, assumed.pod.name)))
    refusals = volumes.refusals(ask, view.nodes.rows[assumed.node])
    if not refusals:
        yield _send(state, assumed)
    elif any(reason.code is not Code.VOLUME_NOT_FOUND for reason in refusals):
        text = "; ".join(f"node {assumed.node} {reason.text}" for reason in refusals)
        yield from give_up(state, assumed.pod, text, now)


def overdue(state: State, now: float) -> Iterator[Effect]:
    for assumed in state.ledger.overdue(now):
        if assumed.state is Promise.UNKNOWN:
            state.ledger.promise(replace(assumed, due=None))
            yield assumed.bind
        else:
            text = f"volumes were not ready within {state.settings.volume_seconds:g} s"
            yield from give_up(state, assumed.pod, text, now)
