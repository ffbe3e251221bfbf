"""Where is a nomination withdrawn, and what is cleared on its pod?

In the ledger it ends at once, and its room is free for other demands. What the pod shows in
``status.nominatedNodeName`` is cleared by a call, which may fail or lose its answer: then the node lingers on
the pod until a sweep clears it. When a plan is called off, and why, is for ``plan_driver``.
"""

from collections.abc import Iterable

from reprieve.model.effects import Effect, Nominate, Target
from reprieve.model.events import Change
from reprieve.model.moment import Moment
from reprieve.scheduler.demand_key import DemandKey
from reprieve.scheduler.ledger.nominations import NominationReason
from reprieve.scheduler.state import State
from reprieve.scheduler.targets import pod_target

_NONE: frozenset[Target] = frozenset()


def withdraw_nominations(state: State, key: DemandKey, now: Moment) -> None:
    """All nominations of a demand end, and what its pods show is cleared.

    The room of a first plan was never written down, so that there is nothing to clear.
    """
    waiting = state.ledger.nominated(key)
    unreserve(state, [nomination.pod for nomination in waiting], key, now)
    written = (nomination for nomination in waiting if nomination.reason is not NominationReason.FIRST_PLAN)
    state.outbox.put(*(Nominate(nomination.pod, "") for nomination in written))


def move_nomination(state: State, pod: Target, left: DemandKey, now: Moment) -> None:
    """A pod became part of another demand, and keeps the room that was written down for it."""
    nomination = state.ledger.nominations.of(pod)
    if nomination is not None and nomination.reason is NominationReason.FIRST_PLAN:
        unreserve(state, [pod], left, now)
    else:
        state.ledger.nominations.move(pod)


def unreserve(state: State, pods: Iterable[Target], key: DemandKey, now: Moment) -> None:
    """Room that no pod waits for any more: to other demands it is as if a pod had left."""
    if not state.ledger.nominations:
        return
    withdrawn = map(state.ledger.nominations.withdraw, pods)
    nodes = {nomination.node for nomination in withdrawn if nomination is not None}
    if nodes:
        state.queue.wake(Change.POD_LEFT, now.elapsed, {key}, nodes)


def on_not_cleared(state: State, effect: Effect) -> None:
    """A call failed, or its outcome is unknown: if it was to clear a nomination, a sweep has to."""
    if isinstance(effect, Nominate) and not effect.node:
        state.ledger.nominations.linger(effect.target)


def prune_lingering(state: State) -> frozenset[Target]:
    """Pods that still show a node that they do not wait for; those that do not any more are forgotten."""
    nominations = state.ledger.nominations
    if not nominations.has_lingering:
        return _NONE
    for pod in nominations.lingering:
        if not _lingers(state, pod):
            nominations.cleared(pod)
    return nominations.lingering


def _lingers(state: State, pod: Target) -> bool:
    known = state.world.pod((pod.namespace, pod.name))
    shown = known is not None and pod_target(known.pod) == pod and known.pod.status.nominated_node_name
    return bool(shown) and pod not in state.ledger.nominations and pod not in state.ledger.assumed
