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
from reprieve.scheduler.ledger import Ledger
from reprieve.scheduler.ledger.nominations import NominationReason, Nominations
from reprieve.scheduler.mirror.world import World
from reprieve.scheduler.outbox import Outbox
from reprieve.scheduler.queue.queue import Queue
from reprieve.scheduler.targets import pod_target

_NONE: frozenset[Target] = frozenset()


def withdraw_nominations(ledger: Ledger, queue: Queue, outbox: Outbox, key: DemandKey, now: Moment) -> None:
    """All nominations of a demand end, and what its pods show is cleared.

    The room of a first plan was never written down, so that there is nothing to clear.
    """
    waiting = ledger.nominated(key)
    unreserve(ledger.nominations, queue, [nomination.pod for nomination in waiting], key, now)
    written = (nomination for nomination in waiting if nomination.reason is not NominationReason.FIRST_PLAN)
    outbox.put(*(Nominate(nomination.pod, "") for nomination in written))


def move_nomination(
    nominations: Nominations, queue: Queue, pod: Target, left: DemandKey, now: Moment
) -> None:
    """A pod became part of another demand, and keeps the room that was written down for it."""
    nomination = nominations.of(pod)
    if nomination is not None and nomination.reason is NominationReason.FIRST_PLAN:
        unreserve(nominations, queue, [pod], left, now)
    else:
        nominations.move(pod)


def unreserve(
    nominations: Nominations, queue: Queue, pods: Iterable[Target], key: DemandKey, now: Moment
) -> None:
    """Room that no pod waits for any more: to other demands it is as if a pod had left."""
    if not nominations:
        return
    withdrawn = map(nominations.withdraw, pods)
    nodes = {nomination.node for nomination in withdrawn if nomination is not None}
    if nodes:
        queue.wake(Change.POD_LEFT, now.elapsed, {key}, nodes)


def on_not_cleared(nominations: Nominations, effect: Effect) -> None:
    """A call failed, or its outcome is unknown: if it was to clear a nomination, a sweep has to."""
    if isinstance(effect, Nominate) and not effect.node:
        nominations.linger(effect.target)


def prune_lingering(ledger: Ledger, world: World) -> frozenset[Target]:
    """Pods that still show a node that they do not wait for; those that do not any more are forgotten."""
    nominations = ledger.nominations
    if not nominations.has_lingering:
        return _NONE
    for pod in nominations.lingering:
        if not _lingers(ledger, world, pod):
            nominations.on_cleared(pod)
    return nominations.lingering


def _lingers(ledger: Ledger, world: World, pod: Target) -> bool:
    known = world.pod((pod.namespace, pod.name))
    shown = known is not None and pod_target(known.pod) == pod and known.pod.status.nominated_node_name
    return bool(shown) and pod not in ledger.nominations and pod not in ledger.assumed
