"""StatefulSet: numbered pods that come in order, go in reverse, and find their claims again.

With the policy Parallel they come and go all at once. A new template replaces them from the highest number
down to the partition.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from reprieve.cluster.api.templates import ControllerOwner, pod_of_set
from reprieve.cluster.mini.controllers import claims
from reprieve.cluster.mini.controllers.adoption import matches, settled
from reprieve.cluster.mini.controllers.mirror import (
    PODS,
    STATEFUL_SETS,
    Described,
    Mirror,
    Name,
    key_in,
)
from reprieve.cluster.mini.controllers.objects import (
    PersistentVolumeClaim,
    PodFacts,
    Revision,
    StatefulSet,
    controller_uid,
)
from reprieve.cluster.mini.controllers.readiness import available_at, is_available
from reprieve.cluster.mini.controllers.revisions import (
    HASH_LABEL,
    Version,
    Versions,
    forgotten,
    recorded,
    versions_of,
)
from reprieve.cluster.mini.controllers.templates import maker, scaled
from reprieve.cluster.mini.controllers.writes import Create, LookAgain, Remove, Report, Write
from reprieve.cluster.mini.history import Key
from reprieve.model.json import Json

_NUMBERED = re.compile(r"(.+)-(0|[1-9]\d{0,9})", re.ASCII)


def concerned(mirror: Mirror, thing: Described) -> Iterator[Key]:
    match thing:
        case StatefulSet():
            yield key_in(STATEFUL_SETS, thing)
        case Revision() | PodFacts():
            uid = controller_uid(thing.metadata)
            owner = mirror.stateful_sets.by_uid(uid)
            if owner is not None:
                yield key_in(STATEFUL_SETS, owner)
            elif not uid and isinstance(thing, PodFacts):
                yield from _interested(mirror, thing)
        case PersistentVolumeClaim():
            for owner in mirror.stateful_sets.inside(thing.metadata.namespace):
                if claims.may_belong(owner, thing):
                    yield key_in(STATEFUL_SETS, owner)


def _interested(mirror: Mirror, pod: PodFacts) -> Iterator[Key]:
    for owner in mirror.stateful_sets.inside(pod.metadata.namespace):
        if ordinal_of(owner, pod) is not None and matches(owner.spec.selector, pod.metadata.labels):
            yield key_in(STATEFUL_SETS, owner)


def ordinal_of(owner: StatefulSet, pod: PodFacts) -> int | None:
    numbered = _NUMBERED.fullmatch(pod.metadata.name)
    return int(numbered[2]) if numbered is not None and numbered[1] == owner.metadata.name else None


def reconcile(mirror: Mirror, key: Key, now: float) -> Iterator[Write]:
    owner = mirror.stateful_sets.get(Name(key.namespace, key.name))
    if owner is None:
        return
    crowd = _crowd(mirror, owner, now)
    if owner.metadata.deletion_timestamp is None:
        yield from recorded(crowd.versions)
        yield from _moves(mirror, owner) or _steps(mirror, crowd)
        yield from claims.owned_as_told(mirror, owner, crowd.pods, crowd.numbers)
        yield from forgotten(crowd.versions, crowd.revisions_in_use, owner.spec.revision_history_limit)
    yield Report(key, owner.metadata.uid, _status(crowd))
    waits = (available_at(pod, owner.spec.min_ready_seconds) for pod in crowd.pods.values())
    yield from (LookAgain(at) for at in waits if at is not None and at > now)


def _moves(mirror: Mirror, owner: StatefulSet) -> list[Write]:
    meta = owner.metadata
    free = (pod for pod in mirror.pods.free(meta.namespace) if ordinal_of(owner, pod) is not None)
    return list(settled(PODS, owner.spec.selector, _maker(owner), mirror.pods.owned_by(meta.uid), free))


def _maker(owner: StatefulSet) -> ControllerOwner:
    return maker("apps/v1", "StatefulSet", owner.metadata)


# --- who is there --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Crowd:
    """A set and its pods by number; ``numbers`` are those that it should have, in order."""

    owner: StatefulSet
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


def _crowd(mirror: Mirror, owner: StatefulSet, now: float) -> Crowd:
    versions = versions_of(mirror, _maker(owner), owner.spec.template)
    pods = {}
    for pod in mirror.pods.owned_by(owner.metadata.uid):
        number = ordinal_of(owner, pod)
        if number is not None:
            pods[number] = pod
    start = owner.spec.ordinals.start
    current = versions.find(owner.status.current_revision)
    return Crowd(owner, versions, current, pods, range(start, start + owner.spec.replicas), now)


# --- what to do ----------------------------------------------------------------------------------


def _steps(mirror: Mirror, crowd: Crowd) -> Iterator[Write]:
    """First all that it should have, then nobody else, then everybody renewed."""
    waits = False
    for number in crowd.numbers:
        writes = list(_kept(mirror, crowd, number))
        yield from writes
        if not crowd.is_well(number):
            waits = True
            if crowd.is_ordered:
                return
    if crowd.condemned:
        yield from _dismissed(crowd)
    elif not (waits and crowd.is_ordered) and crowd.owner.spec.update_strategy.type == "RollingUpdate":
        yield from _renewed(crowd)


def _kept(mirror: Mirror, crowd: Crowd, number: int) -> Iterator[Write]:
    pod, owner = crowd.pods.get(number), crowd.owner
    if pod is None:
        yield from claims.missing(mirror, owner, number)
        if not claims.are_stale(mirror, owner, number):
            yield Create(PODS, _pod(crowd, number))
    elif pod.is_over and not pod.is_leaving:
        yield Remove(key_in(PODS, pod), pod.metadata.uid)
    elif pod.status.phase == "Pending":
        yield from claims.missing(mirror, owner, number)


def _pod(crowd: Crowd, number: int) -> Json:
    """Below the partition, pods stay what they were."""
    owner, strategy = crowd.owner, crowd.owner.spec.update_strategy
    below = number < crowd.numbers.start + strategy.rolling_update.partition
    version = crowd.current if strategy.type == "RollingUpdate" and below else crowd.versions.update
    spec = {
        "template": version.template,
        "serviceName": owner.spec.service_name,
        "volumeClaimTemplates": owner.spec.volume_claim_templates,
    }
    pod = pod_of_set(spec, _maker(owner), number)
    pod["metadata"]["labels"][HASH_LABEL] = version.name
    return pod


def _dismissed(crowd: Crowd) -> Iterator[Write]:
    """In order: the highest one, when nobody below it is unwell but perhaps itself."""
    unwell = [n for n in reversed(crowd.condemned) if not crowd.is_well(n)]
    for number in crowd.condemned:
        pod = crowd.pods[number]
        if crowd.is_ordered and (
            pod.is_leaving or (unwell and not crowd.is_well(number) and unwell[0] != number)
        ):
            return
        if not pod.is_leaving:
            yield Remove(key_in(PODS, pod), pod.metadata.uid)
        if crowd.is_ordered:
            return


def _renewed(crowd: Crowd) -> Iterator[Write]:
    """From the highest down to the partition, as many at a time as may be unavailable."""
    rolling = crowd.owner.spec.update_strategy.rolling_update
    most = max(1, scaled(rolling.max_unavailable, len(crowd.numbers), round_up=True) or 0)
    spare = most - sum(not crowd.is_well(number) for number in crowd.numbers)
    old = [n for n in reversed(crowd.numbers[rolling.partition :]) if crowd.is_old(n)]
    if not crowd.is_ordered:
        unwell = [n for n in old if not crowd.is_well(n)]
        well = [n for n in old if crowd.is_well(n)]
        chosen = [*unwell, *well[: max(0, spare)]]
    else:
        chosen = old[: max(0, spare)]
    for number in chosen:
        pod = crowd.pods[number]
        yield Remove(key_in(PODS, pod), pod.metadata.uid)


# --- what to tell --------------------------------------------------------------------------------


def _status(crowd: Crowd) -> Json:
    pods = list(crowd.pods.values())
    staying = [revision_of(pod) for pod in pods if not pod.is_leaving]
    update, current = crowd.versions.update.name, crowd.current.name
    ready = [pod for pod in pods if pod.is_ready and not pod.is_over]
    updated = staying.count(update)
    if crowd.owner.spec.update_strategy.type == "RollingUpdate" and updated == len(pods) == len(ready):
        current = update
    return {
        "replicas": len(pods),
        "readyReplicas": len(ready),
        "availableReplicas": sum(crowd.is_pod_well(pod) for pod in pods),
        "currentReplicas": staying.count(current),
        "updatedReplicas": updated,
        "currentRevision": current,
        "updateRevision": update,
        "collisionCount": 0,
        "observedGeneration": crowd.owner.metadata.generation,
    }
