"""Storage that is in use stays: claims until no pod has them, volumes until no claim does.

Admission has put a finalizer on both when they were made; this takes it off again. It also makes the claims
that pods bring along as templates, which go with their pods.
"""

from collections.abc import Iterator

from reprieve.cluster.apiserver.admission_plugins import CLAIM_PROTECTION, VOLUME_PROTECTION
from reprieve.cluster.mini.controllers.mirror import CLAIMS, PODS, VOLUMES, Described, Mirror, Name, key_in
from reprieve.cluster.mini.controllers.objects import (
    PersistentVolume,
    PersistentVolumeClaim,
    PodFacts,
    VolumeUse,
)
from reprieve.cluster.mini.controllers.templates import maker
from reprieve.cluster.mini.controllers.writes import Amend, Create, Write
from reprieve.cluster.mini.history import Key
from reprieve.cluster.mini.kinds import peek
from reprieve.model.json import Json


def concerned(mirror: Mirror, thing: Described) -> Iterator[Key]:
    match thing:
        case PersistentVolumeClaim():
            yield key_in(CLAIMS, thing)
            if thing.spec.volume_name:
                yield Key(VOLUMES, "", thing.spec.volume_name)
        case PersistentVolume():
            yield key_in(VOLUMES, thing)
        case PodFacts():
            for use in thing.spec.volumes:
                if name := claim_of(thing, use):
                    yield Key(CLAIMS, thing.metadata.namespace, name)
            if any(use.ephemeral is not None for use in thing.spec.volumes):
                yield key_in(PODS, thing)


def claim_of(pod: PodFacts, use: VolumeUse) -> str:
    """The claim that a volume of a pod means, if it means one."""
    if use.ephemeral is not None:
        return f"{pod.metadata.name}-{use.name}"
    return use.persistent_volume_claim.claim_name if use.persistent_volume_claim is not None else ""


def reconcile(mirror: Mirror, key: Key, now: float) -> Iterator[Write]:
    name = Name(key.namespace, key.name)
    if key.resource == PODS:
        pod = mirror.pods.get(name)
        if pod is not None and pod.is_active:
            yield from _brought_along(mirror, pod)
    elif key.resource == CLAIMS:
        claim = mirror.claims.get(name)
        if claim is not None and not _has_claim(mirror, claim):
            yield from _released(key, claim, CLAIM_PROTECTION)
    else:
        volume = mirror.volumes.get(name)
        if volume is not None and volume.status.phase != "Bound":
            yield from _released(key, volume, VOLUME_PROTECTION)


def _has_claim(mirror: Mirror, claim: PersistentVolumeClaim) -> bool:
    return any(
        claim_of(pod, use) == claim.metadata.name
        for pod in mirror.pods.inside(claim.metadata.namespace)
        for use in pod.spec.volumes
        if not pod.is_over
    )


def _released(key: Key, thing: PersistentVolumeClaim | PersistentVolume, finalizer: str) -> Iterator[Write]:
    meta = thing.metadata
    if meta.deletion_timestamp is None or finalizer not in meta.finalizers:
        return

    def change(body: Json) -> None:
        left = [name for name in body["metadata"].get("finalizers") or () if name != finalizer]
        body["metadata"]["finalizers"] = left

    yield Amend(key, meta.uid, change)


def _brought_along(mirror: Mirror, pod: PodFacts) -> Iterator[Write]:
    for use in pod.spec.volumes:
        name = Name(pod.metadata.namespace, claim_of(pod, use))
        if use.ephemeral is None or mirror.claims.get(name) is not None:
            continue
        template = use.ephemeral.volume_claim_template
        meta = {
            **peek(template, "metadata"),
            **name._asdict(),
            "ownerReferences": [maker("v1", "Pod", pod.metadata).reference()],
        }
        yield Create(CLAIMS, {"metadata": meta, "spec": peek(template, "spec")})
