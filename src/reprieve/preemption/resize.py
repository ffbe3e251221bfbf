"""A resize in place that its node has put off, as a demand.

It asks on the pod's own node alone, for room and for nothing else, and what follows a fit is waiting for the
kubelet: nothing is bound, nothing is nominated. Who gives way to it, and in which order that happens, is not
known here.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from reprieve.model.columns import Ints, sealed
from reprieve.model.formatting import listed
from reprieve.model.objects import Node, Pod
from reprieve.model.resizing import (
    deferred_since,
    is_deferred,
    resize_preemption_disabled,
    resize_preemption_opponents,
)
from reprieve.model.shape import CompiledPod
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.model.whatif import without
from reprieve.placement.constraints.resources import resources
from reprieve.placement.demand import Demand

DEADLINE = "reprieve.dev/resize-deadline-seconds"


class Accounting(StrEnum):
    """Whose arithmetic says whether a resize fits."""

    KUBELET = "Kubelet"
    UPSTREAM = "Upstream"


@dataclass(frozen=True, slots=True)
class DeferredResizes:
    accounting: Accounting = Accounting.KUBELET

    def asks(self, pod: Pod) -> bool:
        return bool(pod.spec.node_name) and is_deferred(pod)

    def forbidden(self, pod: Pod, node: Node) -> str:
        """Why nobody may be evicted for this resize, whoever there is; empty if somebody may."""
        if opponents := resize_preemption_opponents(node):
            who = listed(sorted(opponents))
            return f"preemption for resizes on node {node.metadata.name} is disabled by {who}"
        if resize_preemption_disabled(pod):
            return f"node {node.metadata.name} reports that nobody is preempted for a resize there"
        text = pod.metadata.annotations.get(DEADLINE)
        if text is not None and _seconds(text) is None:
            return f"annotation {DEADLINE}: expected a positive number of seconds, got {text!r}"
        return ""

    def asked(self, view: Snapshot, row: int, now: float) -> tuple[Demand, Snapshot]:
        """The demand of a pod that runs, and the cluster as it counts for that: without the pod itself."""
        pod, node = view.pods.compiled[row].pod, int(view.where[row])
        around = view.groups.root(view.pods.groups[row])
        home = np.zeros(len(view.nodes), np.bool_)
        if node != NOWHERE:
            home[node] = True
        demand = Demand(
            pods=(row,),
            constraints=(resources,),
            needed=1,
            priority=(pod if around is None else around).spec.priority or 0,
            may_preempt=pod.spec.preemption_policy != "Never",
            allowed=home,
            in_place=True,
            until=_until(pod, now),
        )
        counted = _as_the_kubelet_counts(view, row) if self.accounting is Accounting.KUBELET else view
        return demand, without(counted, [row])


# --- whose arithmetic ----------------------------------------------------------------------------


def _as_the_kubelet_counts(view: Snapshot, row: int) -> Snapshot:
    """Others have what they were granted, and what they wish only if the kubelet serves them first.

    A scheduler counts everybody's wishes, so that a newcomer does not take what somebody is to grow into; for
    one resize that would be too much, and cost victims that its node does not need.
    """
    wishes = list(_wishes(view, row))
    if not wishes:
        return view
    rows = [other for other, _ in wishes]
    amounts = np.stack([amount for _, amount in wishes], axis=1)
    requests, requested = view.pods.requests.copy(), view.requested.copy()
    requests[:, rows] -= amounts
    requested[:, view.where[row]] -= amounts.sum(axis=1)
    pods = replace(view.pods, requests=sealed(requests))
    return replace(view, pods=pods, requested=sealed(requested), cached_scores=None)


def _wishes(view: Snapshot, row: int) -> Iterator[tuple[int, Ints]]:
    """Pods on the same node that are not served first, and how much more they wish than they have."""
    node = int(view.where[row])
    for other in np.flatnonzero(view.where == node).tolist() if node != NOWHERE else ():
        compiled = view.pods.compiled[other]
        if other == row or compiled.weight.held == compiled.weight.charged:
            continue
        if not _is_served_first(view, other, row):
            yield other, _growth(compiled, view)


def _is_served_first(view: Snapshot, other: int, row: int) -> bool:
    """Whether the kubelet gives room to the other first: not if no eviction could make enough for that."""
    pods = view.pods
    if not is_deferred(pods.compiled[other].pod) or pods.priority[other] <= pods.priority[row]:
        return False
    node = int(view.where[other])
    staying = (view.where == node) & (pods.priority >= pods.priority[other])
    staying[other] = False
    held = pods.requests[:, staying].sum(axis=1)
    for each in np.flatnonzero(staying).tolist():
        held -= _growth(pods.compiled[each], view)
    return bool((held + pods.requests[:, other] <= view.allocatable[:, node]).all())


def _growth(compiled: CompiledPod, view: Snapshot) -> Ints:
    weight = compiled.weight
    return np.array([weight.charged.get(n, 0) - weight.held.get(n, 0) for n in view.axis.names], np.int64)


# --- how long it may take ------------------------------------------------------------------------


def _until(pod: Pod, now: float) -> float | None:
    """When whoever asked for the resize gives up: so long after the node put it off."""
    seconds = _seconds(pod.metadata.annotations.get(DEADLINE, ""))
    since = deferred_since(pod)
    return None if seconds is None else (now if since is None else since) + seconds


def _seconds(text: str) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if 0 < seconds < float("inf") else None
