"""StatefulSet: numbered pods that come in order, go in reverse, and find their claims again.

With the policy Parallel they come and go all at once. A new template replaces them from the highest number
down to the partition.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from reprieve.cluster.api.templates import Owner, pod_of_set
from reprieve.cluster.mini.controllers import stateful_set_claims
from reprieve.cluster.mini.controllers.adoption import adopt_and_release, matches
from reprieve.cluster.mini.controllers.api_writes import Create, Delete, RequeueAt, UpdateStatus, Write
from reprieve.cluster.mini.controllers.controller_cache import (
    PODS,
    STATEFUL_SETS,
    ControllerCache,
    HasMetadata,
    NamespacedName,
    key_in,
)
from reprieve.cluster.mini.controllers.controller_revisions import (
    HASH_LABEL,
    Version,
    Versions,
    forgotten,
    recorded,
    versions_of,
)
from reprieve.cluster.mini.controllers.int_or_percent import scaled
from reprieve.cluster.mini.controllers.objects import (
    PersistentVolumeClaim,
    PodFacts,
    RevisionFacts,
    StatefulSetFacts,
    controller_uid,
    owner_of,
)
from reprieve.cluster.mini.controllers.pod_availability import available_at, is_available
from reprieve.cluster.mini.kinds import Json
from reprieve.cluster.mini.stored_objects import Key

_NUMBERED = re.compile(r"(.+)-(0|[1-9]\d{0,9})", re.ASCII)


def affected(cache: ControllerCache, thing: HasMetadata) -> Iterator[Key]:
    match thing:
        case StatefulSetFacts():
            yield key_in(STATEFUL_SETS, thing)
        case RevisionFacts() | PodFacts():
            uid = controller_uid(thing.metadata)
            owner = cache.stateful_sets.by_uid(uid)
            if owner is not None:
                yield key_in(STATEFUL_SETS, owner)
            elif not uid and isinstance(thing, PodFacts):
                yield from _interested(cache, thing)
        case PersistentVolumeClaim():
            for owner in cache.stateful_sets.inside(thing.metadata.namespace):
                if stateful_set_claims.may_belong(owner, thing):
                    yield key_in(STATEFUL_SETS, owner)


def _interested(cache: ControllerCache, pod: PodFacts) -> Iterator[Key]:
    for owner in cache.stateful_sets.inside(pod.metadata.namespace):
        if ordinal_of(owner, pod) is not None and matches(owner.spec.selector, pod.metadata.labels):
            yield key_in(STATEFUL_SETS, owner)


def ordinal_of(owner: StatefulSetFacts, pod: PodFacts) -> int | None:
    numbered = _NUMBERED.fullmatch(pod.metadata.name)
    return int(numbered[2]) if numbered is not None and numbered[1] == owner.metadata.name else None


def reconcile(cache: ControllerCache, key: Key, now: float) -> Iterator[Write]:
    owner = cache.stateful_sets.get(NamespacedName(key.namespace, key.name))
    if owner is None:
        return
    state = _state_of(cache, owner, now)
    if owner.metadata.deletion_timestamp is None:
        yield from recorded(state.versions)
        yield from _moves(cache, owner) or _steps(cache, state)
        yield from stateful_set_claims.owned_as_told(cache, owner, state.pods, state.numbers)
        yield from forgotten(state.versions, state.revisions_in_use, owner.spec.revision_history_limit)
    yield UpdateStatus(key, owner.metadata.uid, _status(state))
    waits = (available_at(pod, owner.spec.min_ready_seconds) for pod in state.pods.values())
    yield from (RequeueAt(at) for at in waits if at is not None and at > now)


def _moves(cache: ControllerCache, owner: StatefulSetFacts) -> list[Write]:
    meta = owner.metadata
    free = (pod for pod in cache.pods.free(meta.namespace) if ordinal_of(owner, pod) is not None)
    return list(
        adopt_and_release(PODS, owner.spec.selector, _maker(owner), cache.pods.owned_by(meta.uid), free)
    )


def _maker(owner: StatefulSetFacts) -> Owner:
    return owner_of("apps/v1", "StatefulSet", owner.metadata)


# --- who is there --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StatefulSetState:
    """A set and its pods by number; ``numbers`` are those that it should have, in order."""

    owner: StatefulSetFacts
    versions: Versions
    current: Version
    pods: Mapping[int, PodFacts]
    numbers: range
    now: float

    @property
    def condemned(self) -> Sequence[int]:
        """Those that are too many, the highest first."""
        return sorted((n for n in self.pods if n not in self.numbers), reverse=True)

    @property
    def revisions_in_use(self) -> set[str]:
        names = {self.current.name, self.versions.update.name}
        return names | {revision_of(pod) for pod in self.pods.values()}

    @property
    def is_ordered(self) -> bool:
        return self.owner.spec.pod_management_policy != "Parallel"

    def is_well(self, number: int) -> bool:
        pod = self.pods.get(number)
        return pod is not None and self.is_pod_well(pod)

    def is_pod_well(self, pod: PodFacts) -> bool:
        return pod.is_active and is_available(pod, self.owner.spec.min_ready_seconds, self.now)

    def is_old(self, number: int) -> bool:
        """Whether it is there, stays, and is not of the template that is wanted."""
        pod = self.pods.get(number)
        return pod is not None and not pod.is_leaving and revision_of(pod) != self.versions.update.name


def revision_of(pod: PodFacts) -> str:
    return pod.metadata.labels.get(HASH_LABEL, "")


def _state_of(cache: ControllerCache, owner: StatefulSetFacts, now: float) -> StatefulSetState:
    versions = versions_of(cache, _maker(owner), owner.spec.template)
    pods = {}
    for pod in cache.pods.owned_by(owner.metadata.uid):
        number = ordinal_of(owner, pod)
        if number is not None:
            pods[number] = pod
    start = owner.spec.ordinals.start
    current = versions.find(owner.status.current_revision)
    return StatefulSetState(owner, versions, current, pods, range(start, start + owner.spec.replicas), now)


# --- what to do ----------------------------------------------------------------------------------


def _steps(cache: ControllerCache, state: StatefulSetState) -> Iterator[Write]:
    """First all that it should have, then nobody else, then everybody renewed."""
    waits = False
    for number in state.numbers:
        writes = list(_kept(cache, state, number))
        yield from writes
        if not state.is_well(number):
            waits = True
            if state.is_ordered:
                return
    if state.condemned:
        yield from _dismissed(state)
    elif not (waits and state.is_ordered) and state.owner.spec.update_strategy.type == "RollingUpdate":
        yield from _renewed(state)


def _kept(cache: ControllerCache, state: StatefulSetState, number: int) -> Iterator[Write]:
    pod, owner = state.pods.get(number), state.owner
    if pod is None:
        yield from stateful_set_claims.missing(cache, owner, number)
        if not stateful_set_claims.are_stale(cache, owner, number):
            yield Create(PODS, _pod(state, number))
    elif pod.is_over and not pod.is_leaving:
        yield Delete(key_in(PODS, pod), pod.metadata.uid)
    elif pod.status.phase == "Pending":
        yield from stateful_set_claims.missing(cache, owner, number)


def _pod(state: StatefulSetState, number: int) -> Json:
    """Below the partition, pods stay what they were."""
    owner, strategy = state.owner, state.owner.spec.update_strategy
    below = number < state.numbers.start + strategy.rolling_update.partition
    version = state.current if strategy.type == "RollingUpdate" and below else state.versions.update
    spec = {
        "template": version.template,
        "serviceName": owner.spec.service_name,
        "volumeClaimTemplates": owner.spec.volume_claim_templates,
    }
    pod = pod_of_set(spec, _maker(owner), number)
    pod["metadata"]["labels"][HASH_LABEL] = version.name
    return pod


def _dismissed(state: StatefulSetState) -> Iterator[Write]:
    """In order: the highest one, when nobody below it is unwell but perhaps itself."""
    unwell = [n for n in reversed(state.condemned) if not state.is_well(n)]
    for number in state.condemned:
        pod = state.pods[number]
        if state.is_ordered and (
            pod.is_leaving or (unwell and not state.is_well(number) and unwell[0] != number)
        ):
            return
        if not pod.is_leaving:
            yield Delete(key_in(PODS, pod), pod.metadata.uid)
        if state.is_ordered:
            return


def _renewed(state: StatefulSetState) -> Iterator[Write]:
    """From the highest down to the partition, as many at a time as may be unavailable."""
    rolling = state.owner.spec.update_strategy.rolling_update
    most = max(1, scaled(rolling.max_unavailable, len(state.numbers), round_up=True) or 0)
    spare = most - sum(not state.is_well(number) for number in state.numbers)
    old = [n for n in reversed(state.numbers[rolling.partition :]) if state.is_old(n)]
    if not state.is_ordered:
        unwell = [n for n in old if not state.is_well(n)]
        well = [n for n in old if state.is_well(n)]
        chosen = [*unwell, *well[: max(0, spare)]]
    else:
        chosen = old[: max(0, spare)]
    for number in chosen:
        pod = state.pods[number]
        yield Delete(key_in(PODS, pod), pod.metadata.uid)


# --- what to tell --------------------------------------------------------------------------------


def _status(state: StatefulSetState) -> Json:
    pods = list(state.pods.values())
    staying = [revision_of(pod) for pod in pods if not pod.is_leaving]
    update, current = state.versions.update.name, state.current.name
    ready = [pod for pod in pods if pod.is_ready and not pod.is_over]
    updated = staying.count(update)
    if state.owner.spec.update_strategy.type == "RollingUpdate" and updated == len(pods) == len(ready):
        current = update
    return {
        "replicas": len(pods),
        "readyReplicas": len(ready),
        "availableReplicas": sum(state.is_pod_well(pod) for pod in pods),
        "currentReplicas": staying.count(current),
        "updatedReplicas": updated,
        "currentRevision": current,
        "updateRevision": update,
        "collisionCount": 0,
        "observedGeneration": state.owner.metadata.generation,
    }
