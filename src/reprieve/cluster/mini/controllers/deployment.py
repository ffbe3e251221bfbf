"""Deployment: one ReplicaSet for each template it had, and the old ones give way to the new.

Pods count as available as soon as they are ready.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from reprieve.cluster.mini.conditions import Condition
from reprieve.cluster.mini.controllers.adoption import matches, settled
from reprieve.cluster.mini.controllers.mirror import (
    DEPLOYMENTS,
    REPLICA_SETS,
    Described,
    Mirror,
    Name,
    key_in,
)
from reprieve.cluster.mini.controllers.objects import (
    Deployment,
    PodFacts,
    ReplicaSet,
    ReplicationController,
    controller_uid,
)
from reprieve.cluster.mini.controllers.progress import Progress, progressing
from reprieve.cluster.mini.controllers.templates import maker, scaled, template_hash
from reprieve.cluster.mini.controllers.writes import Amend, Create, LookAgain, Remove, Report, Write
from reprieve.cluster.mini.history import Key
from reprieve.cluster.mini.kinds import peek, section
from reprieve.model.json import Json

HASH_LABEL = "pod-template-hash"
REVISION, CAUSE = "deployment.kubernetes.io/revision", "kubernetes.io/change-cause"


def concerned(mirror: Mirror, thing: Described) -> Iterator[Key]:
    match thing:
        case Deployment():
            yield key_in(DEPLOYMENTS, thing)
        case ReplicationController():
            return
        case ReplicaSet():
            uid = controller_uid(thing.metadata)
            owner = mirror.deployments.by_uid(uid)
            if owner is not None:
                yield key_in(DEPLOYMENTS, owner)
            elif not uid:
                yield from _interested(mirror, thing)
        case PodFacts():
            replica_set = mirror.replica_sets.by_uid(controller_uid(thing.metadata))
            if replica_set is not None:
                yield from concerned(mirror, replica_set)


def _interested(mirror: Mirror, replica_set: ReplicaSet) -> Iterator[Key]:
    for owner in mirror.deployments.inside(replica_set.metadata.namespace):
        if matches(owner.spec.selector, replica_set.metadata.labels):
            yield key_in(DEPLOYMENTS, owner)


def reconcile(mirror: Mirror, key: Key, now: float, speed: float = 1.0) -> Iterator[Write]:
    """``speed``: how many times as fast as usual its patience ends."""
    owner = mirror.deployments.get(Name(key.namespace, key.name))
    if owner is None:
        return
    rollout = _rollout(mirror, owner)
    if owner.metadata.deletion_timestamp is None:
        yield from _moves(mirror, owner) or _steps(rollout)
    progress = _progress(rollout, now, speed)
    told = (_available(rollout), progressing(progress, now, paused=owner.spec.paused))
    yield Report(key, owner.metadata.uid, _counts(rollout), told)
    if not progress.is_done and not owner.spec.paused and now < progress.ends:
        yield LookAgain(progress.ends)


def _moves(mirror: Mirror, owner: Deployment) -> list[Write]:
    """Whoever comes or goes is part of the rollout when that is seen."""
    meta = owner.metadata
    owned, free = mirror.replica_sets.owned_by(meta.uid), mirror.replica_sets.free(meta.namespace)
    adopter = maker("apps/v1", "Deployment", meta)
    return list(settled(REPLICA_SETS, owner.spec.selector, adopter, owned, free))


@dataclass(frozen=True, slots=True)
class Generation:
    """A ReplicaSet and its pods. ``present`` counts those that are leaving, too.

    ``moved``: when one of them came or became ready, or the ReplicaSet itself came.
    """

    replica_set: ReplicaSet
    asked: int
    present: int
    active: int
    ready: int
    moved: float


@dataclass(frozen=True, slots=True)
class Rollout:
    """A deployment half way: the old generations by age, and the new one if it exists."""

    owner: Deployment
    hash: str
    old: Sequence[Generation]
    new: Generation | None

    @property
    def ready(self) -> int:
        return sum(g.ready for g in self.generations)

    @property
    def revision(self) -> str:
        """Of the new generation: one more than any before it. Who goes back gets a new number, too."""
        return str(1 + max((_revision(g.replica_set) for g in self.old), default=0))

    @property
    def generations(self) -> Sequence[Generation]:
        return [*self.old, self.new] if self.new is not None else self.old


def _rollout(mirror: Mirror, owner: Deployment) -> Rollout:
    name = template_hash(owner.spec.template)
    owned = sorted(mirror.replica_sets.owned_by(owner.metadata.uid), key=_age)
    found = [_generation(mirror, replica_set) for replica_set in owned]
    current = [g for g in found if g.replica_set.metadata.labels.get(HASH_LABEL) == name]
    old = [g for g in found if g not in current]
    return Rollout(owner, name, old, current[0] if current else None)


def _revision(replica_set: ReplicaSet) -> int:
    text = replica_set.metadata.annotations.get(REVISION, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def _age(replica_set: ReplicaSet) -> tuple[float, str]:
    created = replica_set.metadata.creation_timestamp
    return created.timestamp() if created is not None else 0.0, replica_set.metadata.name


def _generation(mirror: Mirror, replica_set: ReplicaSet) -> Generation:
    pods = [pod for pod in mirror.pods.owned_by(replica_set.metadata.uid) if not pod.is_over]
    active = [pod for pod in pods if pod.is_active]
    ready = sum(pod.is_ready for pod in active)
    moved = max((_age(replica_set)[0], *(_moved(pod) for pod in active)))
    return Generation(replica_set, replica_set.spec.replicas, len(pods), len(active), ready, moved)


def _moved(pod: PodFacts) -> float:
    turned = (
        c.last_transition_time for c in pod.status.conditions if c.type == "Ready" and c.status == "True"
    )
    times = (pod.metadata.creation_timestamp, *turned)
    return max((time.timestamp() for time in times if time is not None), default=0.0)


def _steps(rollout: Rollout) -> Iterator[Write]:
    target = _new_size(rollout)
    if rollout.new is None:
        if not rollout.owner.spec.paused:
            yield Create(REPLICA_SETS, _new_replica_set(rollout, target))
    elif target != rollout.new.asked:
        yield _scale(rollout.new, target)
    yield from _numbered(rollout)
    yield from _shrink(rollout)
    yield from _forget_history(rollout)


def _numbered(rollout: Rollout) -> Iterator[Write]:
    """By the number, and by what its owner says of the cause, people find the way back to a generation."""
    owner, revision = rollout.owner, rollout.revision
    if rollout.new is None:
        return
    replica_set = rollout.new.replica_set
    if _revision(replica_set) < int(revision):
        yield Amend(key_in(REPLICA_SETS, replica_set), replica_set.metadata.uid, _noting(rollout))
    else:
        revision = str(_revision(replica_set))
    if owner.metadata.annotations.get(REVISION) != revision:
        key, uid = key_in(DEPLOYMENTS, owner), owner.metadata.uid
        yield Amend(key, uid, lambda body: _note(body, REVISION, revision), quietly=True)


def _noting(rollout: Rollout) -> Callable[[Json], None]:
    def change(body: Json) -> None:
        for name, text in _notes(rollout).items():
            _note(body, name, text)

    return change


def _note(body: Json, name: str, text: str) -> None:
    section(body["metadata"], "annotations")[name] = text


def _notes(rollout: Rollout) -> dict[str, str]:
    cause = rollout.owner.metadata.annotations.get(CAUSE)
    return {REVISION: rollout.revision, **({CAUSE: cause} if cause else {})}


def _new_size(rollout: Rollout) -> int:
    """How many pods the new generation may have while the old ones are still there."""
    spec = rollout.owner.spec
    old = sum(g.asked for g in rollout.old)
    has = rollout.new.asked if rollout.new is not None else 0
    if spec.strategy.type == "Recreate":
        return 0 if any(g.present for g in rollout.old) else spec.replicas
    surge, _ = _slack(rollout.owner)
    room = max(0, spec.replicas + surge - old - has)
    return min(spec.replicas, has + room)


def _shrink(rollout: Rollout) -> Iterator[Write]:
    """The old generations, oldest first, as far as enough pods stay available."""
    spec = rollout.owner.spec
    if rollout.new is None and spec.strategy.type != "Recreate":
        return
    spare = _spare(rollout)
    for generation in rollout.old:
        taken = min(generation.asked, spare)
        if taken > 0:
            spare -= taken
            yield _scale(generation, generation.asked - taken)


def _spare(rollout: Rollout) -> int:
    """How many pods of the old generations are not needed for availability."""
    spec = rollout.owner.spec
    asked = sum(g.asked for g in rollout.generations)
    if spec.strategy.type == "Recreate":
        return asked
    _, unavailable = _slack(rollout.owner)
    not_yet = rollout.new.asked - rollout.new.ready if rollout.new is not None else 0
    return max(0, asked - (spec.replicas - unavailable) - not_yet)


def _slack(owner: Deployment) -> tuple[int, int]:
    """How many pods more, and how many available pods fewer, than asked for. Both zero would never end."""
    rolling, total = owner.spec.strategy.rolling_update, owner.spec.replicas
    surge = scaled(rolling.max_surge, total, round_up=True) or 0
    unavailable = min(scaled(rolling.max_unavailable, total, round_up=False) or 0, total)
    return (surge, unavailable) if surge or unavailable else (0, 1)


def _forget_history(rollout: Rollout) -> Iterator[Write]:
    empty = [g for g in rollout.old if g.asked == 0 and g.present == 0]
    for generation in empty[: max(0, len(empty) - rollout.owner.spec.revision_history_limit)]:
        meta = generation.replica_set.metadata
        yield Remove(key_in(REPLICA_SETS, generation.replica_set), meta.uid)


def _scale(generation: Generation, replicas: int) -> Write:
    def change(body: Json) -> None:
        section(body, "spec")["replicas"] = replicas

    thing = generation.replica_set
    return Amend(key_in(REPLICA_SETS, thing), thing.metadata.uid, change)


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
            "annotations": _notes(rollout),
            "ownerReferences": [maker("apps/v1", "Deployment", owner.metadata).reference()],
        },
        "spec": {
            "replicas": replicas,
            "selector": {**selector, "matchLabels": {**peek(selector, "matchLabels"), **label}},
            "template": {**template, "metadata": {**meta, "labels": labels}},
        },
    }


def _counts(rollout: Rollout) -> Json:
    new = rollout.new
    replicas = sum(g.active for g in rollout.generations)
    return {
        "replicas": replicas,
        "updatedReplicas": new.active if new is not None else 0,
        "readyReplicas": rollout.ready,
        "availableReplicas": rollout.ready,
        "unavailableReplicas": max(0, rollout.owner.spec.replicas - rollout.ready),
        "observedGeneration": rollout.owner.metadata.generation,
    }


def _progress(rollout: Rollout, now: float, speed: float) -> Progress:
    spec, new = rollout.owner.spec, rollout.new
    told = (c.reason for c in rollout.owner.status.conditions if c.type == "Progressing")
    return Progress(
        wanted=spec.replicas,
        present=sum(g.active for g in rollout.generations),
        updated=new.active if new is not None else -1,
        ready=rollout.ready,
        told=next(told, ""),
        last=new.moved if new is not None else now,
        patience=spec.progress_deadline_seconds / speed,
    )


def _available(rollout: Rollout) -> Condition:
    _, unavailable = _slack(rollout.owner)
    if rollout.ready >= rollout.owner.spec.replicas - unavailable:
        return Condition("Available", "True", "MinimumReplicasAvailable", "enough pods are available")
    return Condition("Available", "False", "MinimumReplicasUnavailable", "too few pods are available")
