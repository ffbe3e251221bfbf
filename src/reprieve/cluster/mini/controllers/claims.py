"""The claims of a StatefulSet: one for each template and number. They outlive the pods unless told."""

from collections.abc import Iterator, Mapping

from reprieve.cluster.api.templates import claim_name
from reprieve.cluster.mini.controllers.mirror import CLAIMS, Mirror, Name, key_in
from reprieve.cluster.mini.controllers.objects import PersistentVolumeClaim, PodFacts, StatefulSet
from reprieve.cluster.mini.controllers.templates import maker
from reprieve.cluster.mini.controllers.writes import Amend, Create, Write
from reprieve.cluster.mini.kinds import peek
from reprieve.model.json import Json


def may_belong(owner: StatefulSet, claim: PersistentVolumeClaim) -> bool:
    name = claim.metadata.name
    return any(name.startswith(claim_name(t, f"{owner.metadata.name}-")) for t in _templates(owner))


def _templates(owner: StatefulSet) -> list[str]:
    return [str(peek(t, "metadata").get("name") or "") for t in owner.spec.volume_claim_templates]


def _claims(mirror: Mirror, owner: StatefulSet, number: int) -> Iterator[PersistentVolumeClaim]:
    for template in _templates(owner):
        name = claim_name(template, f"{owner.metadata.name}-{number}")
        found = mirror.claims.get(Name(owner.metadata.namespace, name))
        if found is not None:
            yield found


def missing(mirror: Mirror, owner: StatefulSet, number: int) -> Iterator[Write]:
    """Those that a pod needs and that are not there."""
    there = {claim.metadata.name for claim in _claims(mirror, owner, number)}
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


def are_stale(mirror: Mirror, owner: StatefulSet, number: int) -> bool:
    """Whether a claim is still there, and goes with a pod that is gone: a new pod must not get it."""
    return any(
        claim.metadata.deletion_timestamp is not None
        or any(ref.kind == "Pod" for ref in claim.metadata.owner_references)
        for claim in _claims(mirror, owner, number)
    )


def owned_as_told(
    mirror: Mirror, owner: StatefulSet, pods: Mapping[int, PodFacts], wanted: range
) -> Iterator[Write]:
    """With whom claims go: with the set, with a pod that is too many, or with nobody."""
    policy = owner.spec.persistent_volume_claim_retention_policy
    for number, pod in pods.items():
        if policy.when_scaled == "Delete" and number not in wanted:
            reference: Json | None = maker("v1", "Pod", pod.metadata).reference()
        else:
            reference = _reference(owner) if policy.when_deleted == "Delete" else None
        for claim in _claims(mirror, owner, number):
            yield from _owned(claim, owner, pod, reference)


def _owned(
    claim: PersistentVolumeClaim, owner: StatefulSet, pod: PodFacts, reference: Json | None
) -> Iterator[Write]:
    ours = {owner.metadata.uid, pod.metadata.uid}
    has = [ref.uid for ref in claim.metadata.owner_references if ref.uid in ours]
    if has == ([reference["uid"]] if reference is not None else []):
        return

    def change(body: Json) -> None:
        others = [r for r in body["metadata"].get("ownerReferences") or () if r.get("uid") not in ours]
        body["metadata"]["ownerReferences"] = [*others, *([reference] if reference is not None else [])]

    yield Amend(key_in(CLAIMS, claim), claim.metadata.uid, change)


def _reference(owner: StatefulSet) -> Json:
    return maker("apps/v1", "StatefulSet", owner.metadata).reference()
