"""DaemonSet: one pod on every eligible node. Each pod has an affinity for its node; the scheduler binds it.

A rolling update replaces pods within maxUnavailable or, with maxSurge, creates new ones beside the old.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from reprieve.cluster.api.rollouts import (
    SeenDaemonNode,
    SeenPod,
    daemons_to_replace,
    daemons_too_many,
    nodes_to_surge,
    scaled,
)
from reprieve.cluster.api.templates import daemon_pod
from reprieve.model.json import Json
from reprieve.model.objects import Ref
from reprieve.model.resources import Problems
from reprieve.model.selectors import (
    NodeQuery,
    Operator,
    Requirement,
    compile_node_selector,
    first_untolerated,
)
from reprieve_minicluster.controllers.api_writes import Create, Delete, RequeueAt, UpdateStatus, Write
from reprieve_minicluster.controllers.controller_cache import ControllerCache, key_of
from reprieve_minicluster.controllers.controller_revisions import (
    HASH_LABEL,
    history_cleanup,
    recorded,
    versions_of,
)
from reprieve_minicluster.controllers.objects import (
    DaemonPodFacts,
    DaemonSetFacts,
    NodeFacts,
    PodFacts,
    RevisionFacts,
    Thing,
    owner_of,
)
from reprieve_minicluster.controllers.owners import (
    adoptions,
    available_at,
    is_available,
    matches,
    owners_of,
)
from reprieve_minicluster.store import Key

_FAILED_SECONDS = 10  # that a failed pod stays, so that its replacements do not fail in a tight loop


def affected(cache: ControllerCache, thing: Thing) -> Iterator[Key]:
    match thing:
        case DaemonSetFacts():
            yield key_of(thing)
        case NodeFacts():
            yield from (key_of(owner) for owner in cache.of(DaemonSetFacts))
        case RevisionFacts() | PodFacts():
            labels, is_pod = thing.metadata.labels, isinstance(thing, PodFacts)
            yield from owners_of(
                cache, DaemonSetFacts, thing, lambda owner: is_pod and matches(owner.spec.selector, labels)
            )


def reconcile(cache: ControllerCache, key: Key, now: float) -> Iterator[Write]:
    owner = cache.find(DaemonSetFacts, key)
    if owner is None:
        return
    versions = versions_of(cache, owner_of(owner), owner.spec.template)
    state = DaemonSetState(owner, versions.update.hash, _daemon_nodes(cache, owner), now)
    if not owner.is_leaving:
        yield from recorded(versions)
        yield from _adoptions(cache, owner) or list(_one_per_node(cache, state)) or _rolling_update(state)
        in_use = {versions.update.name}
        in_use |= {f"{key.name}-{_hash(pod)}" for node in state.nodes for pod in node.pods}
        yield from history_cleanup(versions, in_use, owner.spec.revision_history_limit)
        yield from _requeues(state)
    yield UpdateStatus(key, owner.metadata.uid, _status(state))


def _adoptions(cache: ControllerCache, owner: DaemonSetFacts) -> list[Write]:
    pods = cache.of(PodFacts)
    owned, free = pods.owned_by(owner.metadata.uid), pods.free(owner.metadata.namespace)
    return adoptions(owner.spec.selector, owner_of(owner), owned, free)


# --- eligible nodes ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DaemonNode:
    """A node, its pods of the set, bound or not, and whether new pods may be created and old ones stay."""

    name: str
    pods: Sequence[PodFacts]
    may_create: bool
    may_stay: bool

    @property
    def staying(self) -> list[PodFacts]:
        return [pod for pod in self.pods if pod.is_active]


@dataclass(frozen=True, slots=True)
class DaemonSetState:
    """A set and its nodes; ``hash`` is that of its current template."""

    owner: DaemonSetFacts
    hash: str
    nodes: Sequence[DaemonNode]
    now: float

    @property
    def wanted(self) -> int:
        return sum(node.may_create for node in self.nodes)

    @property
    def surge(self) -> int:
        strategy = self.owner.spec.update_strategy
        if strategy.type != "RollingUpdate":
            return 0
        return scaled(strategy.rolling_update.max_surge, self.wanted, round_up=True) or 0

    def is_available(self, pod: PodFacts) -> bool:
        return is_available(pod, self.owner.spec.min_ready_seconds, self.now)

    def seen(self, node: DaemonNode) -> SeenDaemonNode:
        pods = [
            SeenPod(pod.metadata.name, _hash(pod) == self.hash, not pod.is_active, self.is_available(pod))
            for pod in node.pods
        ]
        return SeenDaemonNode(pods, node.may_create)

    def deletions(self, chosen: Iterable[SeenPod]) -> Iterator[Write]:
        """In the order in which they were chosen."""
        by_name = {pod.metadata.name: pod for node in self.nodes for pod in node.pods}
        return (Delete.of(by_name[pod.name]) for pod in chosen)


def _hash(pod: PodFacts) -> str:
    return pod.metadata.labels.get(HASH_LABEL, "")


def node_of(pod: PodFacts) -> str:
    """The node that it is bound to, or that its affinity names."""
    required = pod.spec.affinity.node_affinity.required_during_scheduling_ignored_during_execution
    if pod.spec.node_name or required is None:
        return pod.spec.node_name
    fields = (field for term in required.node_selector_terms for field in term.match_fields)
    return next((field.values[0] for field in fields if field.key == "metadata.name" and field.values), "")


def _daemon_nodes(cache: ControllerCache, owner: DaemonSetFacts) -> list[DaemonNode]:
    place = _constraints(owner)
    query = _query(place)
    pods: dict[str, list[PodFacts]] = {}
    for pod in sorted(cache.of(PodFacts).owned_by(owner.metadata.uid), key=_seniority):
        pods.setdefault(node_of(pod), []).append(pod)
    nodes = sorted(cache.of(NodeFacts), key=lambda node: node.metadata.name)
    return [_daemon_node(node, pods.get(node.metadata.name, []), place, query) for node in nodes]


def _seniority(pod: PodFacts) -> tuple[bool, float, str]:
    return not pod.spec.node_name, pod.created, pod.metadata.name


def _constraints(owner: DaemonSetFacts) -> DaemonPodFacts:
    """The node constraints of its pods and default tolerations; a malformed template matches no node."""
    pod = daemon_pod(owner.spec.template, owner_of(owner), "")
    try:
        return msgspec.convert(pod["spec"], DaemonPodFacts)
    except msgspec.ValidationError:
        return DaemonPodFacts(node_name=" ")


def _query(place: DaemonPodFacts) -> NodeQuery:
    labels = (Requirement(k, Operator.IN, frozenset({v})) for k, v in sorted(place.node_selector.items()))
    return NodeQuery(tuple(labels), compile_node_selector(place.required, "", _UNREPORTED))


_UNREPORTED = Problems(Ref(kind="", namespace="", name=""))


def _daemon_node(
    node: NodeFacts, pods: Sequence[PodFacts], place: DaemonPodFacts, query: NodeQuery
) -> DaemonNode:
    name, taints = node.metadata.name, node.spec.taints
    fits = place.node_name in ("", name) and query.matches(node.metadata.labels, name)
    evicting = (taint for taint in taints if taint.effect == "NoExecute")
    return DaemonNode(
        name,
        pods,
        may_create=fits and first_untolerated(taints, place.tolerations) is None,
        may_stay=fits and first_untolerated(evicting, place.tolerations) is None,
    )


# --- one pod on each node ------------------------------------------------------------------------


def _one_per_node(cache: ControllerCache, state: DaemonSetState) -> Iterator[Write]:
    for node in state.nodes:
        if not node.may_stay:
            yield from (Delete.of(pod) for pod in node.pods if not pod.is_leaving)
            continue
        yield from (Delete.of(pod) for pod in node.pods if _is_expired_failure(pod, state.now))
        yield from state.deletions(daemons_too_many(state.seen(node), state.surge))
        blocked = bool(node.staying) if state.surge else bool(node.pods)
        if node.may_create and not blocked:
            yield Create(PodFacts.resource, _pod(state, node))
    known = {node.name for node in state.nodes}
    lost = [pod for pod in cache.of(PodFacts).owned_by(state.owner.metadata.uid) if node_of(pod) not in known]
    yield from (Delete.of(pod) for pod in lost if not pod.spec.node_name and not pod.is_leaving)


def _is_expired_failure(pod: PodFacts, now: float) -> bool:
    return pod.is_over and not pod.is_leaving and _failure_expires(pod) <= now


def _failure_expires(pod: PodFacts) -> float:
    return pod.created + _FAILED_SECONDS


def _pod(state: DaemonSetState, node: DaemonNode) -> Json:
    pod = daemon_pod(state.owner.spec.template, owner_of(state.owner), node.name)
    pod["metadata"]["labels"][HASH_LABEL] = state.hash
    return pod


# --- rolling update ------------------------------------------------------------------------------


def _rolling_update(state: DaemonSetState) -> Iterator[Write]:
    if state.owner.spec.update_strategy.type != "RollingUpdate":
        return
    seen = [state.seen(node) for node in state.nodes]
    if state.surge:
        rows = nodes_to_surge(seen, state.surge)
        yield from (Create(PodFacts.resource, _pod(state, state.nodes[row])) for row in rows)
    else:
        most = state.owner.spec.update_strategy.rolling_update.max_unavailable
        at_a_time = max(1, scaled(most, state.wanted, round_up=True) or 0)
        yield from state.deletions(daemons_to_replace(seen, at_a_time))


# --- requeue and status --------------------------------------------------------------------------


def _requeues(state: DaemonSetState) -> Iterator[Write]:
    for node in state.nodes:
        for pod in node.pods:
            at = (
                _failure_expires(pod)
                if pod.is_over
                else available_at(pod, state.owner.spec.min_ready_seconds)
            )
            if at is not None and at > state.now and not pod.is_leaving:
                yield RequeueAt(at)


def _status(state: DaemonSetState) -> Json:
    here = [node for node in state.nodes if node.may_create]
    first = [node.pods[0] for node in here if node.pods]
    available = sum(state.is_available(pod) for pod in first)
    return {
        "desiredNumberScheduled": len(here),
        "currentNumberScheduled": len(first),
        "numberMisscheduled": sum(bool(s.pods) and not s.may_create for s in state.nodes),
        "numberReady": sum(pod.is_ready for pod in first),
        "updatedNumberScheduled": sum(_hash(pod) == state.hash for pod in first),
        "numberAvailable": available,
        "numberUnavailable": len(here) - available,
        "observedGeneration": state.owner.metadata.generation,
    }
