"""StatefulSet: pods with ordinals, created in order, deleted in reverse, each with its own claims.

The policy Parallel creates and deletes them in batches. A new template replaces pods from the highest
ordinal down to the partition.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from reprieve.cluster.api.rollouts import (
    SeenPod,
    StatefulSetRules,
    outdated_to_delete,
    surplus_to_delete,
)
from reprieve.cluster.api.templates import claim_name, pod_of_set
from reprieve.model.json import Json
from reprieve_minicluster.controllers.api_writes import Create, Delete, RequeueAt, Update, UpdateStatus, Write
from reprieve_minicluster.controllers.controller_cache import ControllerCache, key_of
from reprieve_minicluster.controllers.controller_revisions import (
    HASH_LABEL,
    Version,
    Versions,
    history_cleanup,
    recorded,
    versions_of,
)
from reprieve_minicluster.controllers.objects import (
    ClaimFacts,
    PodFacts,
    RevisionFacts,
    StatefulSetFacts,
    Thing,
    owner_of,
)
from reprieve_minicluster.controllers.owners import (
    adoptions,
    available_at,
    is_available,
    matches,
    next_batch,
    owners_of,
)
from reprieve_minicluster.kinds import peek
from reprieve_minicluster.store import Key

_NUMBERED = re.compile(r"(.+)-(0|[1-9]\d{0,9})", re.ASCII)


def affected(cache: ControllerCache, thing: Thing) -> Iterator[Key]:
    match thing:
        case StatefulSetFacts():
            yield key_of(thing)
        case RevisionFacts() | PodFacts():
            yield from owners_of(cache, StatefulSetFacts, thing, lambda owner: _would_adopt(owner, thing))
        case ClaimFacts():
            for owner in cache.of(StatefulSetFacts).inside(thing.metadata.namespace):
                if _may_own(owner, thing):
                    yield key_of(owner)


def _would_adopt(owner: StatefulSetFacts, thing: Thing) -> bool:
    if not isinstance(thing, PodFacts) or ordinal_of(owner, thing) is None:
        return False
    return matches(owner.spec.selector, thing.metadata.labels)


def ordinal_of(owner: StatefulSetFacts, pod: PodFacts) -> int | None:
    numbered = _NUMBERED.fullmatch(pod.metadata.name)
    return int(numbered[2]) if numbered is not None and numbered[1] == owner.metadata.name else None


def reconcile(cache: ControllerCache, key: Key, now: float) -> Iterator[Write]:
    owner = cache.find(StatefulSetFacts, key)
    if owner is None:
        return
    state = _state_of(cache, owner, now)
    if not owner.is_leaving:
        yield from recorded(state.versions)
        yield from _adoptions(cache, owner) or _steps(cache, state)
        yield from _retained_claims(cache, owner, state.pods, state.numbers)
        yield from history_cleanup(state.versions, state.revisions_in_use, owner.spec.revision_history_limit)
    yield UpdateStatus(key, owner.metadata.uid, _status(state))
    waits = (available_at(pod, owner.spec.min_ready_seconds) for pod in state.pods.values())
    yield from (RequeueAt(at) for at in waits if at is not None and at > now)


def _adoptions(cache: ControllerCache, owner: StatefulSetFacts) -> list[Write]:
    pods, meta = cache.of(PodFacts), owner.metadata
    free = (pod for pod in pods.free(meta.namespace) if ordinal_of(owner, pod) is not None)
    return adoptions(owner.spec.selector, owner_of(owner), pods.owned_by(meta.uid), free)


# --- state ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StatefulSetState:
    """A set and its pods by ordinal; ``numbers`` are the ordinals that it should have, in order."""

    owner: StatefulSetFacts
    versions: Versions
    current: Version
    pods: Mapping[int, PodFacts]
    numbers: range
    now: float

    @property
    def present(self) -> Sequence[int]:
        """Ordinals that it should have and has, in order."""
        return sorted(n for n in self.pods if n in self.numbers)

    @property
    def revisions_in_use(self) -> set[str]:
        names = {self.current.name, self.versions.update.name}
        return names | {revision_of(pod) for pod in self.pods.values()}

    @property
    def is_ordered(self) -> bool:
        return self.owner.spec.pod_management_policy != "Parallel"

    def is_healthy(self, number: int) -> bool:
        pod = self.pods.get(number)
        return pod is not None and self.is_pod_healthy(pod)

    def is_pod_healthy(self, pod: PodFacts) -> bool:
        return pod.is_active and is_available(pod, self.owner.spec.min_ready_seconds, self.now)

    def seen(self, number: int) -> SeenPod:
        pod = self.pods[number]
        is_new = revision_of(pod) == self.versions.update.name
        return SeenPod(pod.metadata.name, is_new, pod.is_leaving, self.is_pod_healthy(pod))

    @property
    def rules(self) -> StatefulSetRules:
        rolling = self.owner.spec.update_strategy.rolling_update
        return StatefulSetRules(self.numbers, self.is_ordered, rolling.partition, rolling.max_unavailable)


def revision_of(pod: PodFacts) -> str:
    return pod.metadata.labels.get(HASH_LABEL, "")


def _state_of(cache: ControllerCache, owner: StatefulSetFacts, now: float) -> StatefulSetState:
    versions = versions_of(cache, owner_of(owner), owner.spec.template)
    pods = {}
    for pod in cache.of(PodFacts).owned_by(owner.metadata.uid):
        number = ordinal_of(owner, pod)
        if number is not None:
            pods[number] = pod
    start = owner.spec.ordinals.start
    current = versions.find(owner.status.current_revision)
    return StatefulSetState(owner, versions, current, pods, range(start, start + owner.spec.replicas), now)


# --- steps ---------------------------------------------------------------------------------------


def _steps(cache: ControllerCache, state: StatefulSetState) -> Iterator[Write]:
    """First create missing pods, then delete surplus pods, then replace outdated pods."""
    waits = False
    for number in state.numbers if state.is_ordered else _present_and_next(state):
        yield from _ensured(cache, state, number)
        if not state.is_healthy(number):
            waits = True
            if state.is_ordered:
                return
    seen = {number: state.seen(number) for number in state.pods}
    chosen = list[int]()
    if any(number not in state.numbers for number in state.pods):
        chosen = surplus_to_delete(state.rules, seen)
    elif not (waits and state.is_ordered) and state.owner.spec.update_strategy.type == "RollingUpdate":
        chosen = outdated_to_delete(state.rules, seen)
    yield from (Delete.of(state.pods[number]) for number in chosen)


def _present_and_next(state: StatefulSetState) -> list[int]:
    """The ordinals that have pods, and the next that get one. There may be too many to look at them all."""
    present = state.present
    missing = (number for number in state.numbers if number not in state.pods)
    batch = next_batch(len(state.numbers) - len(present), state.pods.values())
    return sorted((*present, *islice(missing, batch)))


def _ensured(cache: ControllerCache, state: StatefulSetState, number: int) -> Iterator[Write]:
    pod, owner = state.pods.get(number), state.owner
    if pod is None:
        yield from _missing_claims(cache, owner, number)
        if not _has_stale_claims(cache, owner, number):
            yield Create(PodFacts.resource, _pod(state, number))
    elif pod.is_over and not pod.is_leaving:
        yield Delete.of(pod)
    elif pod.status.phase == "Pending":
        yield from _missing_claims(cache, owner, number)


def _pod(state: StatefulSetState, number: int) -> Json:
    """Pods below the partition keep the current revision."""
    owner, strategy = state.owner, state.owner.spec.update_strategy
    below = number < state.numbers.start + strategy.rolling_update.partition
    version = state.current if strategy.type == "RollingUpdate" and below else state.versions.update
    spec = {
        "template": version.template,
        "serviceName": owner.spec.service_name,
        "volumeClaimTemplates": owner.spec.volume_claim_templates,
    }
    pod = pod_of_set(spec, owner_of(owner), number)
    pod["metadata"]["labels"][HASH_LABEL] = version.name
    return pod


# --- status --------------------------------------------------------------------------------------


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
        "availableReplicas": sum(state.is_pod_healthy(pod) for pod in pods),
        "currentReplicas": staying.count(current),
        "updatedReplicas": updated,
        "currentRevision": current,
        "updateRevision": update,
        "collisionCount": 0,
        "observedGeneration": state.owner.metadata.generation,
    }


# --- claims ---------------------------------------------------------------------------------------


def _may_own(owner: StatefulSetFacts, claim: ClaimFacts) -> bool:
    name = claim.metadata.name
    return any(name.startswith(claim_name(t, f"{owner.metadata.name}-")) for t in _template_names(owner))


def _template_names(owner: StatefulSetFacts) -> list[str]:
    return [str(peek(t, "metadata").get("name") or "") for t in owner.spec.volume_claim_templates]


def _claims_of(cache: ControllerCache, owner: StatefulSetFacts, number: int) -> Iterator[ClaimFacts]:
    for template in _template_names(owner):
        name = claim_name(template, f"{owner.metadata.name}-{number}")
        found = cache.of(ClaimFacts).get(owner.metadata.namespace, name)
        if found is not None:
            yield found


def _missing_claims(cache: ControllerCache, owner: StatefulSetFacts, number: int) -> Iterator[Write]:
    """Create the claims that a pod needs and that do not exist."""
    there = {claim.metadata.name for claim in _claims_of(cache, owner, number)}
    for template in owner.spec.volume_claim_templates:
        meta = peek(template, "metadata")
        name = claim_name(str(meta.get("name") or ""), f"{owner.metadata.name}-{number}")
        if name not in there:
            labels = {**peek(meta, "labels"), **peek(owner.spec.selector, "matchLabels")}
            own: Json = {"name": name, "namespace": owner.metadata.namespace, "labels": labels}
            if owner.spec.persistent_volume_claim_retention_policy.when_deleted == "Delete":
                own["ownerReferences"] = [owner_of(owner).reference()]
            if annotations := peek(meta, "annotations"):
                own["annotations"] = annotations
            yield Create(ClaimFacts.resource, {"metadata": own, "spec": peek(template, "spec")})


def _has_stale_claims(cache: ControllerCache, owner: StatefulSetFacts, number: int) -> bool:
    """Whether a claim still exists that is deleted with an earlier pod: a new pod must not get it."""
    return any(
        claim.metadata.deletion_timestamp is not None
        or any(ref.kind == "Pod" for ref in claim.metadata.owner_references)
        for claim in _claims_of(cache, owner, number)
    )


def _retained_claims(
    cache: ControllerCache, owner: StatefulSetFacts, pods: Mapping[int, PodFacts], wanted: range
) -> Iterator[Write]:
    """Set the owners of claims by the retention policy: the set, a surplus pod, or none."""
    policy = owner.spec.persistent_volume_claim_retention_policy
    for number, pod in pods.items():
        if policy.when_scaled == "Delete" and number not in wanted:
            reference: Json | None = owner_of(pod).reference()
        else:
            reference = owner_of(owner).reference() if policy.when_deleted == "Delete" else None
        for claim in _claims_of(cache, owner, number):
            yield from _with_owner(claim, owner, pod, reference)


def _with_owner(
    claim: ClaimFacts, owner: StatefulSetFacts, pod: PodFacts, reference: Json | None
) -> Iterator[Write]:
    ours = {owner.metadata.uid, pod.metadata.uid}
    has = [ref.uid for ref in claim.metadata.owner_references if ref.uid in ours]
    if has == ([reference["uid"]] if reference is not None else []):
        return

    def change(body: Json) -> None:
        others = [r for r in body["metadata"].get("ownerReferences") or () if r.get("uid") not in ours]
        body["metadata"]["ownerReferences"] = [*others, *([reference] if reference is not None else [])]

    yield Update.of(claim, change)
