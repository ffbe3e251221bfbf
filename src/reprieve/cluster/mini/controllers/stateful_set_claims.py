"""The claims of a StatefulSet: one for each template and ordinal. By default they outlive the pods."""

from collections.abc import Iterator, Mapping

from reprieve.cluster.api.templates import claim_name
from reprieve.cluster.mini.controllers.api_writes import Create, Update, Write
from reprieve.cluster.mini.controllers.controller_cache import CLAIMS, ControllerCache, NamespacedName, key_in
from reprieve.cluster.mini.controllers.objects import (
    PersistentVolumeClaim,
    PodFacts,
    StatefulSetFacts,
    owner_of,
)
from reprieve.cluster.mini.kinds import peek
from reprieve.model.json import Json


def may_belong(owner: StatefulSetFacts, claim: PersistentVolumeClaim) -> bool:
    name = claim.metadata.name
    return any(name.startswith(claim_name(t, f"{owner.metadata.name}-")) for t in _templates(owner))


def _templates(owner: StatefulSetFacts) -> list[str]:
    return [str(peek(t, "metadata").get("name") or "") for t in owner.spec.volume_claim_templates]


def _claims(cache: ControllerCache, owner: StatefulSetFacts, number: int) -> Iterator[PersistentVolumeClaim]:
    for template in _templates(owner):
        name = claim_name(template, f"{owner.metadata.name}-{number}")
        found = cache.claims.get(NamespacedName(owner.metadata.namespace, name))
        if found is not None:
            yield found


def missing(cache: ControllerCache, owner: StatefulSetFacts, number: int) -> Iterator[Write]:
    """Create the claims that a pod needs and that do not exist."""
    there = {claim.metadata.name for claim in _claims(cache, owner, number)}
    for template in owner.spec.volume_claim_templates:
        meta = peek(template, "metadata")
        name = claim_name(str(meta.get("name") or ""), f"{owner.metadata.name}-{number}")
        if name not in there:
            labels = {**peek(meta, "labels"), **peek(owner.spec.selector, "matchLabels")}
            own: Json = {"name": name, "namespace": owner.metadata.namespace, "labels": labels}
            if owner.spec.persistent_volume_claim_retention_policy.when_deleted == "Delete":
                own["ownerReferences"] = [_reference(owner)]
            if annotations := peek(meta, "annotations"):
                own["annotations"] = annotations
            yield Create(CLAIMS, {"metadata": own, "spec": peek(template, "spec")})


def are_stale(cache: ControllerCache, owner: StatefulSetFacts, number: int) -> bool:
    """Whether a claim still exists that is deleted with an earlier pod: a new pod must not get it."""
    return any(
        claim.metadata.deletion_timestamp is not None
        or any(ref.kind == "Pod" for ref in claim.metadata.owner_references)
        for claim in _claims(cache, owner, number)
    )


def retained(
    cache: ControllerCache, owner: StatefulSetFacts, pods: Mapping[int, PodFacts], wanted: range
) -> Iterator[Write]:
    """Set the owners of claims by the retention policy: the set, a surplus pod, or none."""
    policy = owner.spec.persistent_volume_claim_retention_policy
    for number, pod in pods.items():
        if policy.when_scaled == "Delete" and number not in wanted:
            reference: Json | None = owner_of("v1", "Pod", pod.metadata).reference()
        else:
            reference = _reference(owner) if policy.when_deleted == "Delete" else None
        for claim in _claims(cache, owner, number):
            yield from _owned(claim, owner, pod, reference)


def _owned(
    claim: PersistentVolumeClaim, owner: StatefulSetFacts, pod: PodFacts, reference: Json | None
) -> Iterator[Write]:
    ours = {owner.metadata.uid, pod.metadata.uid}
    has = [ref.uid for ref in claim.metadata.owner_references if ref.uid in ours]
    if has == ([reference["uid"]] if reference is not None else []):
        return

    def change(body: Json) -> None:
        others = [r for r in body["metadata"].get("ownerReferences") or () if r.get("uid") not in ours]
        body["metadata"]["ownerReferences"] = [*others, *([reference] if reference is not None else [])]

    yield Update(key_in(CLAIMS, claim), claim.metadata.uid, change)


def _reference(owner: StatefulSetFacts) -> Json:
    return owner_of("apps/v1", "StatefulSet", owner.metadata).reference()
