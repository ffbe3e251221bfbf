"""DaemonSet: one pod on every node that it may be on. Each is made for its node, and placed by the scheduler.

A new template replaces them as far as enough stay available or, if it says so, beside the old ones.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from reprieve.cluster.api.templates import ControllerOwner, daemon_pod
from reprieve.cluster.mini.controllers.adoption import matches, settled
from reprieve.cluster.mini.controllers.mirror import DAEMON_SETS, PODS, Described, Mirror, Name, key_in
from reprieve.cluster.mini.controllers.objects import (
    DaemonPlace,
    DaemonSet,
    Node,
    PodFacts,
    Revision,
    controller_uid,
)
from reprieve.cluster.mini.controllers.readiness import available_at, is_available
from reprieve.cluster.mini.controllers.revisions import HASH_LABEL, forgotten, recorded, versions_of
from reprieve.cluster.mini.controllers.templates import maker, scaled
from reprieve.cluster.mini.controllers.writes import Create, LookAgain, Remove, Report, Write
from reprieve.cluster.mini.history import Key
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

_RESTING = 10  # seconds that a pod which has failed stays, so that nobody fails all the time


def concerned(mirror: Mirror, thing: Described) -> Iterator[Key]:
    match thing:
        case DaemonSet():
            yield key_in(DAEMON_SETS, thing)
        case Node():
            yield from (key_in(DAEMON_SETS, owner) for owner in mirror.daemon_sets)
        case Revision() | PodFacts():
            uid = controller_uid(thing.metadata)
            owner = mirror.daemon_sets.by_uid(uid)
            if owner is not None:
                yield key_in(DAEMON_SETS, owner)
            elif not uid and isinstance(thing, PodFacts):
                yield from _interested(mirror, thing)


def _interested(mirror: Mirror, pod: PodFacts) -> Iterator[Key]:
    for owner in mirror.daemon_sets.inside(pod.metadata.namespace):
        if matches(owner.spec.selector, pod.metadata.labels):
            yield key_in(DAEMON_SETS, owner)


def reconcile(mirror: Mirror, key: Key, now: float) -> Iterator[Write]:
    owner = mirror.daemon_sets.get(Name(key.namespace, key.name))
    if owner is None:
        return
    versions = versions_of(mirror, _maker(owner), owner.spec.template)
    watch = Watch(owner, versions.update.hash, _stations(mirror, owner), now)
    if owner.metadata.deletion_timestamp is None:
        yield from recorded(versions)
        yield from _moves(mirror, owner) or list(_managed(mirror, watch)) or _renewed(watch)
        in_use = {versions.update.name}
        in_use |= {f"{key.name}-{_hash(pod)}" for station in watch.stations for pod in station.pods}
        yield from forgotten(versions, in_use, owner.spec.revision_history_limit)
        yield from _later(watch)
    yield Report(key, owner.metadata.uid, _status(watch))


def _moves(mirror: Mirror, owner: DaemonSet) -> list[Write]:
    owned, free = mirror.pods.owned_by(owner.metadata.uid), mirror.pods.free(owner.metadata.namespace)
    return list(settled(PODS, owner.spec.selector, _maker(owner), owned, free))


def _maker(owner: DaemonSet) -> ControllerOwner:
    return maker("apps/v1", "DaemonSet", owner.metadata)


# --- where ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Station:
    """A node, the pods that are there or meant for it, and whether new ones may come and old ones stay."""

    name: str
    pods: Sequence[PodFacts]
    may_come: bool
    may_stay: bool

    @property
    def staying(self) -> list[PodFacts]:
        return [pod for pod in self.pods if pod.is_active]


@dataclass(frozen=True, slots=True)
class Watch:
    """A set and its stations; ``hash`` is that of the template that is wanted."""

    owner: DaemonSet
    hash: str
    stations: Sequence[Station]
    now: float

    @property
    def wanted(self) -> int:
        return sum(station.may_come for station in self.stations)

    @property
    def surge(self) -> int:
        strategy = self.owner.spec.update_strategy
        if strategy.type != "RollingUpdate":
            return 0
        return scaled(strategy.rolling_update.max_surge, self.wanted, round_up=True) or 0

    def is_available(self, pod: PodFacts) -> bool:
        return is_available(pod, self.owner.spec.min_ready_seconds, self.now)

    def split(self, station: Station) -> tuple[list[PodFacts], list[PodFacts]]:
        """The new pods and the old ones."""
        new = [pod for pod in station.staying if _hash(pod) == self.hash]
        return new, [pod for pod in station.staying if pod not in new]


def _hash(pod: PodFacts) -> str:
    return pod.metadata.labels.get(HASH_LABEL, "")


def node_of(pod: PodFacts) -> str:
    """The node that it is on, or was made for."""
    required = pod.spec.affinity.node_affinity.required_during_scheduling_ignored_during_execution
    if pod.spec.node_name or required is None:
        return pod.spec.node_name
    fields = (field for term in required.node_selector_terms for field in term.match_fields)
    return next((field.values[0] for field in fields if field.key == "metadata.name" and field.values), "")


def _stations(mirror: Mirror, owner: DaemonSet) -> list[Station]:
    place = _place(owner)
    query = _query(place)
    pods: dict[str, list[PodFacts]] = {}
    for pod in sorted(mirror.pods.owned_by(owner.metadata.uid), key=_seniority):
        pods.setdefault(node_of(pod), []).append(pod)
    nodes = sorted(mirror.nodes, key=lambda node: node.metadata.name)
    return [_station(node, pods.get(node.metadata.name, []), place, query) for node in nodes]


def _seniority(pod: PodFacts) -> tuple[bool, float, str]:
    created = pod.metadata.creation_timestamp
    return not pod.spec.node_name, created.timestamp() if created is not None else 0.0, pod.metadata.name


def _place(owner: DaemonSet) -> DaemonPlace:
    """What its pods say of nodes, with what all such pods tolerate; nowhere if that cannot be read."""
    pod = daemon_pod(owner.spec.template, _maker(owner), "")
    try:
        return msgspec.convert(pod["spec"], DaemonPlace)
    except msgspec.ValidationError:
        return DaemonPlace(node_name=" ")


def _query(place: DaemonPlace) -> NodeQuery:
    labels = (Requirement(k, Operator.IN, frozenset({v})) for k, v in sorted(place.node_selector.items()))
    return NodeQuery(tuple(labels), compile_node_selector(place.required, "", _NOBODY))


_NOBODY = Problems(Ref(kind="", namespace="", name=""))


def _station(node: Node, pods: Sequence[PodFacts], place: DaemonPlace, query: NodeQuery) -> Station:
    name, taints = node.metadata.name, node.spec.taints
    fits = place.node_name in ("", name) and query.matches(node.metadata.labels, name)
    driven = (taint for taint in taints if taint.effect == "NoExecute")
    return Station(
        name,
        pods,
        may_come=fits and first_untolerated(taints, place.tolerations) is None,
        may_stay=fits and first_untolerated(driven, place.tolerations) is None,
    )


# --- one on each node ----------------------------------------------------------------------------


def _managed(mirror: Mirror, watch: Watch) -> Iterator[Write]:
    for station in watch.stations:
        if not station.may_stay:
            yield from _removed(pod for pod in station.pods if not pod.is_leaving)
            continue
        yield from _removed(pod for pod in station.pods if _has_rested(pod, watch.now))
        yield from _removed(_too_many(watch, station))
        blocked = bool(station.staying) if watch.surge else bool(station.pods)
        if station.may_come and not blocked:
            yield Create(PODS, _pod(watch, station))
    known = {station.name for station in watch.stations}
    lost = [pod for pod in mirror.pods.owned_by(watch.owner.metadata.uid) if node_of(pod) not in known]
    yield from _removed(pod for pod in lost if not pod.spec.node_name and not pod.is_leaving)


def _removed(pods: Iterator[PodFacts]) -> Iterator[Write]:
    for pod in pods:
        yield Remove(key_in(PODS, pod), pod.metadata.uid)


def _has_rested(pod: PodFacts, now: float) -> bool:
    return pod.is_over and not pod.is_leaving and _rests_until(pod) <= now


def _rests_until(pod: PodFacts) -> float:
    created = pod.metadata.creation_timestamp
    return (created.timestamp() if created is not None else 0.0) + _RESTING


def _too_many(watch: Watch, station: Station) -> Iterator[PodFacts]:
    """All but the oldest; of two templates, both may be there while the new one is not available yet."""
    if not watch.surge:
        yield from station.staying[1:]
        return
    new, old = watch.split(station)
    yield from (*new[1:], *old[1:])
    if new and old and (watch.is_available(new[0]) or not watch.is_available(old[0])):
        yield old[0]


def _pod(watch: Watch, station: Station) -> Json:
    pod = daemon_pod(watch.owner.spec.template, _maker(watch.owner), station.name)
    pod["metadata"]["labels"][HASH_LABEL] = watch.hash
    return pod


# --- new templates -------------------------------------------------------------------------------


def _renewed(watch: Watch) -> Iterator[Write]:
    if watch.owner.spec.update_strategy.type != "RollingUpdate":
        return
    if watch.surge:
        yield from _added(watch)
    else:
        yield from _replaced(watch)


def _replaced(watch: Watch) -> Iterator[Write]:
    """Old pods that are not available go at once, others as far as enough stay."""
    rolling = watch.owner.spec.update_strategy.rolling_update
    most = max(1, scaled(rolling.max_unavailable, watch.wanted, round_up=True) or 0)
    missing, useless, useful = 0, [], []
    for station in watch.stations:
        if not station.pods and not station.may_come:
            continue
        new, old = watch.split(station)
        useless += [pod for pod in old if not watch.is_available(pod)]
        useful += [pod for pod in old if watch.is_available(pod)]
        missing += not any(watch.is_available(pod) for pod in (*new, *old))
    yield from _removed(iter((*useless, *useful[: max(0, most - missing)])))


def _added(watch: Watch) -> Iterator[Write]:
    """A new pod beside each old one that is not available, and beside as many others as may be too many."""
    spare = watch.surge - sum(all(watch.split(s)) for s in watch.stations)
    for station in watch.stations:
        new, old = watch.split(station)
        if new or not old or not station.may_come:
            continue
        if watch.is_available(old[0]):
            if spare <= 0:
                continue
            spare -= 1
        yield Create(PODS, _pod(watch, station))


# --- what to tell, and when to look again --------------------------------------------------------


def _later(watch: Watch) -> Iterator[Write]:
    for station in watch.stations:
        for pod in station.pods:
            at = _rests_until(pod) if pod.is_over else available_at(pod, watch.owner.spec.min_ready_seconds)
            if at is not None and at > watch.now and not pod.is_leaving:
                yield LookAgain(at)


def _status(watch: Watch) -> Json:
    here = [station for station in watch.stations if station.may_come]
    first = [station.pods[0] for station in here if station.pods]
    available = sum(watch.is_available(pod) for pod in first)
    return {
        "desiredNumberScheduled": len(here),
        "currentNumberScheduled": len(first),
        "numberMisscheduled": sum(bool(s.pods) and not s.may_come for s in watch.stations),
        "numberReady": sum(pod.is_ready for pod in first),
        "updatedNumberScheduled": sum(_hash(pod) == watch.hash for pod in first),
        "numberAvailable": available,
        "numberUnavailable": len(here) - available,
        "observedGeneration": watch.owner.metadata.generation,
    }
