"""A resize in place that its kubelet has deferred, as a demand.

It needs room on the pod's own node and nothing else.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from reprieve.model.annotations import parse_int
from reprieve.model.columns import Ints, sealed
from reprieve.model.conditions import (
    INFEASIBLE,
    deferred_since,
    is_deferred,
    resize_preemption_disabled,
    resize_preemption_opponents,
    resize_reason,
)
from reprieve.model.formatting import listed
from reprieve.model.objects import Node, Pod
from reprieve.model.shape import CompiledPod
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.model.whatif import without
from reprieve.placement.constraints.resources import resources
from reprieve.placement.demand import Demand
from reprieve.placement.effort import Effort
from reprieve.placement.profile import DEFAULT_PROFILE, Profile
from reprieve.preemption.gangs import degraded

DEADLINE = "reprieve.dev/resize-deadline-seconds"


class Accounting(StrEnum):
    """The arithmetic by which a resize fits: the kubelet's or kube-scheduler's."""

    KUBELET = "Kubelet"
    UPSTREAM = "Upstream"


@dataclass(frozen=True, slots=True)
class DeferredResizes:
    accounting: Accounting = Accounting.KUBELET
    # Of plans, those that leave no other gang with too few pods come first; there is none for a member of a
    # gang that has too few itself.
    spares_gangs: bool = True

    def is_waiting(self, pod: Pod) -> bool:
        return bool(pod.spec.node_name) and is_deferred(pod)

    def is_hopeless(self, pod: Pod) -> bool:
        return resize_reason(pod) == INFEASIBLE

    def forbidden(self, pod: Pod, node: Node) -> str:
        """Why no pod may be evicted for this resize; empty if pods may."""
        if opponents := resize_preemption_opponents(node):
            by = listed(sorted(opponents))
            return f"preemption for resizes on node {node.metadata.name} is disabled by {by}"
        if resize_preemption_disabled(pod):
            return f"node {node.metadata.name} reports that no pod is preempted for a resize there"
        text = pod.metadata.annotations.get(DEADLINE)
        if text is not None and _seconds(text) is None:
            wrong = f"expected a positive number of seconds, got {text!r}"
            return f"annotation {DEADLINE}: {wrong}; write a whole number in digits"
        return ""

    def demand(
        self, view: Snapshot, row: int, now: float, profile: Profile = DEFAULT_PROFILE
    ) -> tuple[Demand, Snapshot]:
        """The demand of a running pod, and the cluster as that demand sees it: without the pod itself."""
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
            alone=True,
            spares_gangs=self.spares_gangs,
            degraded=degraded(view, row) if self.spares_gangs else None,
            until=_until(pod, now),
            effort=Effort(profile.planning_effort),
        )
        counted = _as_the_kubelet_counts(view, row) if self.accounting is Accounting.KUBELET else view
        return demand, without(counted, [row])


# --- the arithmetic ------------------------------------------------------------------------------


def _as_the_kubelet_counts(view: Snapshot, row: int) -> Snapshot:
    """Other pods count with what they were granted, or with what they want if the kubelet serves them first.

    For a new pod, the scheduler counts what all pods want, so that the new pod does not get room that
    another is to grow into. For one resize that would be too much: it would cost victims in vain.
    """
    later = list(_served_later(view, row))
    if not later:
        return view
    rows = [other for other, _ in later]
    amounts = np.stack([amount for _, amount in later], axis=1)
    requests, requested = view.pods.requests.copy(), view.requested.copy()
    requests[:, rows] -= amounts
    requested[:, view.where[row]] -= amounts.sum(axis=1)
    pods = replace(view.pods, requests=sealed(requests))
    return replace(view, pods=pods, requested=sealed(requested), cached_scores=None)


def _served_later(view: Snapshot, row: int) -> Iterator[tuple[int, Ints]]:
    """Pods on the node that the kubelet does not serve first, and how much more they want than they have."""
    node = int(view.where[row])
    for other in np.flatnonzero(view.where == node).tolist() if node != NOWHERE else ():
        compiled = view.pods.compiled[other]
        if other == row or compiled.weight.held == compiled.weight.charged:
            continue
        if not _is_served_first(view, other, row):
            yield other, _growth(compiled, view)


def _is_served_first(view: Snapshot, other: int, row: int) -> bool:
    """Whether the kubelet gives room to the other pod first: not if no eviction could make enough for it.

    Of pods of equal priority, only members of one group are compared: those that asked first count, so that
    members on one node do not count on the same victims.
    """
    pods = view.pods
    if not is_deferred(pods.compiled[other].pod) or not _comes_first(view, other, row):
        return False
    node = int(view.where[other])
    staying = (view.where == node) & (pods.priority >= pods.priority[other])
    staying[other] = False
    held = pods.requests[:, staying].sum(axis=1)
    for each in np.flatnonzero(staying).tolist():
        held -= _growth(pods.compiled[each], view)
    return bool((held + pods.requests[:, other] <= view.allocatable[:, node]).all())


def _comes_first(view: Snapshot, other: int, row: int) -> bool:
    pods, group = view.pods, view.pods.groups[row]
    if pods.priority[other] != pods.priority[row] or group is None or pods.groups[other] != group:
        return bool(pods.priority[other] > pods.priority[row])
    return _asked(pods.compiled[other].pod) < _asked(pods.compiled[row].pod)


def _asked(pod: Pod) -> tuple[float, str]:
    """The kubelet serves pods that have waited longer first."""
    since = deferred_since(pod)
    return math.inf if since is None else since, pod.metadata.name


def _growth(compiled: CompiledPod, view: Snapshot) -> Ints:
    """[resource] how much more the pod wants than it holds."""
    weight = compiled.weight
    return np.array([weight.charged.get(n, 0) - weight.held.get(n, 0) for n in view.axis.names], np.int64)


# --- how long it may take ------------------------------------------------------------------------


def _until(pod: Pod, now: float) -> float | None:
    """When the resize is no longer wanted: so many seconds after the kubelet deferred it."""
    seconds = _seconds(pod.metadata.annotations.get(DEADLINE, ""))
    since = deferred_since(pod)
    return None if seconds is None else (now if since is None else since) + seconds


def _seconds(text: str) -> int | None:
    seconds = parse_int(text, 64)
    return seconds if seconds is not None and seconds > 0 else None
