"""What follows when members of one gang ask to grow: they wait for each other, and are decided in one go.

Their group reports how many of its running members have what they ask for: the condition ResizesGranted.
"""

from collections.abc import Collection, Iterator
from dataclasses import replace

from reprieve.model.conditions import is_deferred
from reprieve.model.formatting import counted, listed
from reprieve.model.groups import GroupKey, group_key
from reprieve.model.moment import Due, Moment
from reprieve.model.shape import CompiledPod
from reprieve.placement.domains import place_together
from reprieve.placement.place import Placement
from reprieve.preemption.gangs import degraded
from reprieve.scheduler.demand_key import DemandKey
from reprieve.scheduler.demand_lookup import DemandLookup
from reprieve.scheduler.demands import WaitingResize
from reprieve.scheduler.demands.queueing_hints import ROOM_IN_PLACE
from reprieve.scheduler.mirror.world import World
from reprieve.scheduler.planning.current_context import context_of
from reprieve.scheduler.planning.making_room import make_room
from reprieve.scheduler.queue.gang_growth import GangGrowth
from reprieve.scheduler.queue.queue import NO_CHANGES, Queue, Standing
from reprieve.scheduler.reporting.explanation import victim_nodes
from reprieve.scheduler.reporting.status_reporter import StatusReporter
from reprieve.scheduler.state import State

_TO_BE_DECIDED = (Standing.ACTIVE, Standing.WAITING)
_COMPARED = 16  # members of which it is tried out whose victims would help others


def gather_or_wait(state: State, resize: WaitingResize, now: Moment) -> bool:
    """Parks a member until others of its gang may have asked as well, or all of them to be decided next.

    False: decide it now. It has waited already, or fits, or no pod may be evicted for it: then no other
    member can be in its way. While one member waits, every other that asks waits with it, and nothing is
    searched.
    """
    growth, gang = state.gang_growth, resize.gang
    if gang is None or not growth.is_on or growth.was_gathered(resize.key):
        return False
    if resize.forbidden or not resize.may_preempt or state.plans.of(resize.key) is not None:
        return False
    if _is_silent(state.demands, state.world, gang, growth.waited_for(gang, now.elapsed)):
        _wait(state.gang_growth, state.queue, gang, resize, now)
        return True
    members = running_members(state.world, gang)
    if len(members) == 1 or _fits(state, resize, now):
        return False
    silent = next((pod for pod in members if not asks_to_grow(state.demands, pod)), None)
    if silent is not None and growth.waits_until(gang, now.elapsed) is not None:
        growth.wait_for(gang, (silent.pod.metadata.namespace, silent.pod.metadata.name))
        _wait(state.gang_growth, state.queue, gang, resize, now)
        return True
    others = [*_others(state, resize, members)]
    growing = _most_helpful_first(state, [resize, *others], now) if others else [resize]
    state.queue.park(resize.key, ROOM_IN_PLACE, now.elapsed)
    growth.gather(gang, [one.key for one in growing])
    return True


def _wait(growth: GangGrowth, queue: Queue, gang: GroupKey, resize: WaitingResize, now: Moment) -> None:
    queue.park(resize.key, ROOM_IN_PLACE, now.elapsed)
    until = growth.waits_until(gang, now.elapsed)
    if until is not None:
        queue.expect(resize.key, NO_CHANGES, Due(until), now.elapsed)


def beside_others(growth: GangGrowth, resize: WaitingResize) -> WaitingResize:
    """The demand, with the members of its gang that are decided in the same go."""
    others = tuple(sorted(key.name for key in growth.decided_with(resize.key)))
    return replace(resize, beside=others) if others else resize


def _fits(state: State, resize: WaitingResize, now: Moment) -> bool:
    context = context_of(state, resize, now)
    found = place_together(context.demand, context.view, context.profile, promised=context.promised)
    return isinstance(found, Placement)


def _others(state: State, resize: WaitingResize, members: list[CompiledPod]) -> Iterator[WaitingResize]:
    """Other members to be decided: not those that have a plan, are in backoff, or were refused and wait."""
    for key in sorted(DemandKey.of_resize(pod.pod) for pod in members if pod is not resize.pod):
        found = state.demands.requester(key) if state.queue.standing(key) in _TO_BE_DECIDED else None
        if not isinstance(found, WaitingResize) or state.gang_growth.was_gathered(key):
            continue
        if state.plans.of(key) is None:
            yield found


def _most_helpful_first(state: State, growing: list[WaitingResize], now: Moment) -> list[WaitingResize]:
    """Members whose victims also leave the nodes of others come first: the others may need no more then.

    Of many, that would take as long as their decisions.
    """
    if len(growing) > _COMPARED:
        return sorted(growing, key=lambda one: one.key)
    nodes = {one.node for one in growing}

    def helped(one: WaitingResize) -> int:
        policy = state.settings.policies.get(one.pod.pod.spec.scheduler_name)
        context = context_of(state, one, now)
        plans = make_room(context, policy, state.settings.gangs, now.wall).plans
        left = {node for _, node in victim_nodes(plans[0], context.view)} if plans else set()
        return len(left & nodes - {one.node})

    return sorted(growing, key=lambda one: (-helped(one), one.key))


def wake_members(state: State, changed: Collection[GroupKey], now: Moment) -> None:
    """Members of gangs of which enough runs again are decided. A tree of groups is in one namespace."""
    namespaces = {namespace for namespace, _ in changed}
    for gang, members in [*state.gang_growth.degraded().items()]:
        if gang[0] not in namespaces:
            continue
        view = state.world.snapshot()
        rows = [view.pods.rows[member.object] for member in members if member.object in view.pods.rows]
        if not rows or degraded(view, rows[0]) is None:
            for member in state.gang_growth.take_degraded(gang):
                state.queue.again(member, now.elapsed)


def asks_to_grow(demands: DemandLookup, pod: CompiledPod) -> bool:
    resizes = demands.resizes_of(pod.pod) if demands.is_ours(pod.pod) else None
    return resizes is not None and resizes.is_waiting(pod.pod)


def _is_silent(demands: DemandLookup, world: World, gang: GroupKey, key: GroupKey | None) -> bool:
    """Whether this is a running pod of the gang that has not asked."""
    pod = world.pod(key) if key is not None else None
    return pod is not None and group_key(pod.pod) == gang and _runs(pod) and not asks_to_grow(demands, pod)


def running_members(world: World, gang: GroupKey) -> list[CompiledPod]:
    members = map(world.pod, world.groups.members(gang))
    return [pod for pod in members if pod is not None and _runs(pod)]


def _runs(pod: CompiledPod) -> bool:
    return bool(pod.pod.spec.node_name) and pod.pod.metadata.deletion_timestamp is None


# --- what the group reports of it ----------------------------------------------------------------


_NAMED = 5  # pods in the text; more are counted


def note_resize(state: State, before: CompiledPod | None, known: CompiledPod | None) -> None:
    """A pod comes, changes or goes: how many members have what they ask for may be another number."""
    pods = [pod for pod in (before, known) if pod is not None]
    group = group_key(pods[-1].pod) if pods and state.gang_growth.is_on else None
    if group is None:
        return
    if any(is_deferred(pod.pod) for pod in pods):
        state.group_news.resize(group)
        return
    shown = state.world.groups.group(group)
    if shown is not None and state.reporter.reports_growth(shown):
        state.group_news.resize(group)


def report_granted(demands: DemandLookup, world: World, reporter: StatusReporter, gang: GroupKey) -> None:
    group = world.groups.group(gang)
    if group is None or group.spec.gang is None or group.metadata.deletion_timestamp is not None:
        return
    running = running_members(world, gang)
    short = [pod for pod in running if not _has_what_it_asks_for(pod)]
    if any(asks_to_grow(demands, pod) for pod in short) or reporter.reports_growth(group):
        reporter.report_growth(group, _text(running, short), is_complete=not short)


def _has_what_it_asks_for(pod: CompiledPod) -> bool:
    weight = pod.weight
    return all(weight.held.get(name, 0) >= wants for name, wants in weight.desired.items())


def _text(running: list[CompiledPod], short: list[CompiledPod]) -> str:
    if not running:
        return "no pod of the group runs"
    if not short:
        one = "the only running pod has the resources that it asks for"
        many = f"all {len(running)} running pods have the resources that they ask for"
        return one if len(running) == 1 else many
    names = sorted(f"{pod.pod.metadata.name} on {pod.pod.spec.node_name}" for pod in short)
    has, wait = (
        f"{len(running) - len(short)} of {counted(len(running), 'running pod')}",
        listed(names, _NAMED),
    )
    return f"{has} have the resources that they ask for; waiting: {wait}"
