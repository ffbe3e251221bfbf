"""Deployment: a ReplicaSet for each template; a rollout scales the new one up and the old ones down."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from reprieve.cluster.api.rollouts import DeploymentRules, SeenReplicaSet, size_of_new, sizes_of_old
from reprieve.model.annotations import parse_int
from reprieve.model.json import Json
from reprieve_minicluster.controllers.api_writes import (
    Create,
    Delete,
    RequeueAt,
    Update,
    UpdateStatus,
    Write,
)
from reprieve_minicluster.controllers.controller_cache import ControllerCache, key_of
from reprieve_minicluster.controllers.objects import (
    DeploymentFacts,
    PodFacts,
    ReplicaSetFacts,
    ReplicationControllerFacts,
    Thing,
    controller_uid,
    owner_of,
)
from reprieve_minicluster.controllers.owners import (
    adoptions,
    available_at,
    is_available,
    matches,
    owners_of,
    requeues,
    template_hash,
)
from reprieve_minicluster.kinds import peek, section
from reprieve_minicluster.store import Key
from reprieve_minicluster.store.conditions import StatusCondition

DONE = "NewReplicaSetAvailable"
_TYPE = "Progressing"


@dataclass(frozen=True, slots=True)
class Progress:
    """Numbers of pods: wanted, present, of the newest template, and available.

    ``reported``: the reason of the condition so far. ``last``: the time of the last progress. ``deadline``:
    how many seconds may pass without progress.
    """

    wanted: int
    present: int
    updated: int
    available: int
    reported: str
    last: float
    deadline: float

    @property
    def is_done(self) -> bool:
        """A complete rollout stays complete, whatever becomes of its pods, until the template changes."""
        if self.updated != self.present:
            return False
        return self.reported == DONE or self.wanted == self.present == self.available

    @property
    def ends(self) -> float:
        return self.last + self.deadline


def progressing(progress: Progress, now: float, *, paused: bool) -> StatusCondition:
    if paused:
        return StatusCondition(_TYPE, "Unknown", "DeploymentPaused", "Deployment is paused")
    if progress.is_done:
        return StatusCondition(
            _TYPE, "True", DONE, "the ReplicaSet of the newest template has successfully progressed"
        )
    if now >= progress.ends:
        why = f"the ReplicaSet of the newest template has made no progress for {progress.deadline:g} seconds"
        return StatusCondition(_TYPE, "False", "ProgressDeadlineExceeded", why)
    return StatusCondition(
        _TYPE, "True", "ReplicaSetUpdated", "the ReplicaSet of the newest template is progressing"
    )


# --- the controller -------------------------------------------------------------------------------


HASH_LABEL = "pod-template-hash"
REVISION, CAUSE = "deployment.kubernetes.io/revision", "kubernetes.io/change-cause"


def affected(cache: ControllerCache, thing: Thing) -> Iterator[Key]:
    match thing:
        case DeploymentFacts():
            yield key_of(thing)
        case ReplicationControllerFacts():
            return
        case ReplicaSetFacts():
            labels = thing.metadata.labels
            yield from owners_of(
                cache, DeploymentFacts, thing, lambda owner: matches(owner.spec.selector, labels)
            )
        case PodFacts():
            replica_set = cache.of(ReplicaSetFacts).by_uid(controller_uid(thing.metadata))
            if replica_set is not None:
                yield from affected(cache, replica_set)


def reconcile(cache: ControllerCache, key: Key, now: float, speed: float = 1.0) -> Iterator[Write]:
    """``speed``: divides the progress deadline."""
    owner = cache.find(DeploymentFacts, key)
    if owner is None:
        return
    rollout = _rollout(cache, owner, now)
    if not owner.is_leaving:
        yield from _adoptions(cache, owner) or _steps(rollout)
    progress = _progress(rollout, now, speed)
    conditions = (_available(rollout), progressing(progress, now, paused=owner.spec.paused))
    yield UpdateStatus(key, owner.metadata.uid, _counts(rollout), conditions)
    if not progress.is_done and not owner.spec.paused and now < progress.ends:
        yield RequeueAt(progress.ends)
    pods = (pod for group in rollout.replica_sets for pod in group.pods)
    yield from requeues(pods, owner.spec.min_ready_seconds, now)


def _adoptions(cache: ControllerCache, owner: DeploymentFacts) -> list[Write]:
    """Adopt and release ReplicaSets first; the rollout counts them once the cache shows it."""
    sets = cache.of(ReplicaSetFacts)
    owned, free = sets.owned_by(owner.metadata.uid), sets.free(owner.metadata.namespace)
    return adoptions(owner.spec.selector, owner_of(owner), owned, free)


@dataclass(frozen=True, slots=True)
class ReplicaSetState:
    """A ReplicaSet and its pods. ``present`` counts terminating ones as well.

    ``moved``: the last time that a pod was created or became available, or the ReplicaSet was created.
    """

    replica_set: ReplicaSetFacts
    asked: int
    present: int
    pods: Sequence[PodFacts]
    available: int
    moved: float

    @property
    def active(self) -> int:
        return len(self.pods)

    @property
    def seen(self) -> SeenReplicaSet:
        return SeenReplicaSet(self.asked, self.present, self.available)


@dataclass(frozen=True, slots=True)
class Rollout:
    """A deployment in progress: the old ReplicaSets by age, and the new one if it exists."""

    owner: DeploymentFacts
    hash: str
    old: Sequence[ReplicaSetState]
    new: ReplicaSetState | None

    @property
    def available(self) -> int:
        return sum(g.available for g in self.replica_sets)

    @property
    def seen(self) -> tuple[list[SeenReplicaSet], SeenReplicaSet | None]:
        return [g.seen for g in self.old], self.new.seen if self.new is not None else None

    @property
    def revision(self) -> str:
        """The revision of the new ReplicaSet: one more than any before it, also after a rollback."""
        return str(1 + max((_revision(g.replica_set) for g in self.old), default=0))

    @property
    def replica_sets(self) -> Sequence[ReplicaSetState]:
        return [*self.old, self.new] if self.new is not None else self.old


def _rollout(cache: ControllerCache, owner: DeploymentFacts, now: float) -> Rollout:
    name = template_hash(owner.spec.template)
    owned = sorted(cache.of(ReplicaSetFacts).owned_by(owner.metadata.uid), key=_age)
    found = [_state_of(cache, replica_set, owner.spec.min_ready_seconds, now) for replica_set in owned]
    current = [g for g in found if g.replica_set.metadata.labels.get(HASH_LABEL) == name]
    old = [g for g in found if g not in current]
    return Rollout(owner, name, old, current[0] if current else None)


def _revision(replica_set: ReplicaSetFacts) -> int:
    return max(0, parse_int(replica_set.metadata.annotations.get(REVISION, ""), 64) or 0)


def _age(replica_set: ReplicaSetFacts) -> tuple[float, str]:
    return replica_set.created, replica_set.metadata.name


def _state_of(
    cache: ControllerCache, replica_set: ReplicaSetFacts, seconds: int, now: float
) -> ReplicaSetState:
    pods = [pod for pod in cache.of(PodFacts).owned_by(replica_set.metadata.uid) if not pod.is_over]
    active = [pod for pod in pods if pod.is_active]
    available = [pod for pod in active if is_available(pod, seconds, now)]
    times = (pod.created for pod in active), (available_at(pod, seconds) or 0.0 for pod in available)
    moved = max([_age(replica_set)[0], *chain(*times)])
    return ReplicaSetState(replica_set, replica_set.spec.replicas, len(pods), active, len(available), moved)


def _steps(rollout: Rollout) -> Iterator[Write]:
    target = size_of_new(_rules(rollout.owner), *rollout.seen)
    if rollout.new is None:
        if not rollout.owner.spec.paused:
            yield Create(ReplicaSetFacts.resource, _new_replica_set(rollout, target))
    elif target != rollout.new.asked:
        yield _scale(rollout.new, target)
    yield from _min_ready_seconds(rollout)
    yield from _revision_annotations(rollout)
    yield from _scale_down(rollout)
    yield from _history_cleanup(rollout)


def _min_ready_seconds(rollout: Rollout) -> Iterator[Write]:
    """It is no part of the template: a change of it starts no rollout."""
    seconds = rollout.owner.spec.min_ready_seconds
    if rollout.new is not None and rollout.new.replica_set.spec.min_ready_seconds != seconds:
        yield Update.of(
            rollout.new.replica_set, lambda body: section(body, "spec").update(minReadySeconds=seconds)
        )


def _revision_annotations(rollout: Rollout) -> Iterator[Write]:
    """Annotate the new ReplicaSet with its revision and change cause, which `kubectl rollout undo` reads."""
    owner, revision = rollout.owner, rollout.revision
    if rollout.new is None:
        return
    replica_set = rollout.new.replica_set
    if _revision(replica_set) < int(revision):
        yield Update.of(replica_set, _annotate(rollout))
    else:
        revision = str(_revision(replica_set))
    if owner.metadata.annotations.get(REVISION) != revision:
        key, uid = key_of(owner), owner.metadata.uid
        yield Update(key, uid, lambda body: _set_annotation(body, REVISION, revision), keeps_generation=True)


def _annotate(rollout: Rollout) -> Callable[[Json], None]:
    def change(body: Json) -> None:
        for name, text in _annotations(rollout).items():
            _set_annotation(body, name, text)

    return change


def _set_annotation(body: Json, name: str, text: str) -> None:
    section(body["metadata"], "annotations")[name] = text


def _annotations(rollout: Rollout) -> dict[str, str]:
    cause = rollout.owner.metadata.annotations.get(CAUSE)
    return {REVISION: rollout.revision, **({CAUSE: cause} if cause else {})}


def _scale_down(rollout: Rollout) -> Iterator[Write]:
    sizes = sizes_of_old(_rules(rollout.owner), *rollout.seen)
    for state, size in zip(rollout.old, sizes, strict=True):
        if size != state.asked:
            yield _scale(state, size)


def _rules(owner: DeploymentFacts) -> DeploymentRules:
    strategy = owner.spec.strategy
    rolling = strategy.rolling_update
    return DeploymentRules.of(owner.spec.replicas, strategy.type, rolling.max_surge, rolling.max_unavailable)


def _history_cleanup(rollout: Rollout) -> Iterator[Write]:
    empty = [g for g in rollout.old if g.asked == 0 and g.present == 0]
    for state in empty[: max(0, len(empty) - rollout.owner.spec.revision_history_limit)]:
        yield Delete.of(state.replica_set)


def _scale(state: ReplicaSetState, replicas: int) -> Write:
    return Update.of(state.replica_set, lambda body: section(body, "spec").update(replicas=replicas))


def _new_replica_set(rollout: Rollout, replicas: int) -> Json:
    owner, label = rollout.owner, {HASH_LABEL: rollout.hash}
    template, selector = owner.spec.template, owner.spec.selector
    meta = peek(template, "metadata")
    labels = {**peek(meta, "labels"), **label}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"{owner.metadata.name}-{rollout.hash}",
            "namespace": owner.metadata.namespace,
            "labels": labels,
            "annotations": _annotations(rollout),
            "ownerReferences": [owner_of(owner).reference()],
        },
        "spec": {
            "replicas": replicas,
            **({"minReadySeconds": seconds} if (seconds := owner.spec.min_ready_seconds) else {}),
            "selector": {**selector, "matchLabels": {**peek(selector, "matchLabels"), **label}},
            "template": {**template, "metadata": {**meta, "labels": labels}},
        },
    }


def _counts(rollout: Rollout) -> Json:
    new = rollout.new
    replicas = sum(g.active for g in rollout.replica_sets)
    return {
        "replicas": replicas,
        "updatedReplicas": new.active if new is not None else 0,
        "readyReplicas": sum(pod.is_ready for g in rollout.replica_sets for pod in g.pods),
        "availableReplicas": rollout.available,
        "unavailableReplicas": max(0, rollout.owner.spec.replicas - rollout.available),
        "observedGeneration": rollout.owner.metadata.generation,
    }


def _progress(rollout: Rollout, now: float, speed: float) -> Progress:
    spec, new = rollout.owner.spec, rollout.new
    reported = (c.reason for c in rollout.owner.status.conditions if c.type == "Progressing")
    return Progress(
        wanted=spec.replicas,
        present=sum(g.active for g in rollout.replica_sets),
        updated=new.active if new is not None else -1,
        available=rollout.available,
        reported=next(reported, ""),
        last=new.moved if new is not None else now,
        deadline=spec.progress_deadline_seconds / speed,
    )


def _available(rollout: Rollout) -> StatusCondition:
    if rollout.available >= rollout.owner.spec.replicas - _rules(rollout.owner).unavailable:
        return StatusCondition(
            "Available", "True", "MinimumReplicasAvailable", "Deployment has minimum availability."
        )
    return StatusCondition(
        "Available", "False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability."
    )
