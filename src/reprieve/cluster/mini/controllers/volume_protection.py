"""Storage protection: deleted claims stay while pods use them, and deleted volumes while bound to claims.

Admission adds finalizers to new claims and volumes; this controller removes them. It also creates the claims
of ephemeral volumes, which are deleted with their pods.
"""

from collections.abc import Iterator

from reprieve.cluster.apiserver.admission_plugins import CLAIM_PROTECTION, VOLUME_PROTECTION
from reprieve.cluster.mini.controllers.api_writes import Create, Update, Write
from reprieve.cluster.mini.controllers.controller_cache import (
    CLAIMS,
    PODS,
    VOLUMES,
    ControllerCache,
    HasMetadata,
    NamespacedName,
    key_in,
)
from reprieve.cluster.mini.controllers.objects import (
    PersistentVolumeClaim,
    PodFacts,
    VolumeFacts,
    VolumeUse,
    owner_of,
)
from reprieve.cluster.mini.kinds import peek
from reprieve.cluster.mini.stored_objects import Key
from reprieve.model.json import Json


def affected(cache: ControllerCache, thing: HasMetadata) -> Iterator[Key]:
    match thing:
        case PersistentVolumeClaim():
            yield key_in(CLAIMS, thing)
            if thing.spec.volume_name:
                yield Key(VOLUMES, "", thing.spec.volume_name)
        case VolumeFacts():
            yield key_in(VOLUMES, thing)
        case PodFacts():
            for use in thing.spec.volumes:
                if name := claim_of(thing, use):
                    yield Key(CLAIMS, thing.metadata.namespace, name)
            if any(use.ephemeral is not None for use in thing.spec.volumes):
                yield key_in(PODS, thing)


def claim_of(pod: PodFacts, use: VolumeUse) -> str:
    """The name of the claim of a pod's volume; empty if it has none."""
    if use.ephemeral is not None:
        return f"{pod.metadata.name}-{use.name}"
    return use.persistent_volume_claim.claim_name if use.persistent_volume_claim is not None else ""


def reconcile(cache: ControllerCache, key: Key, now: float) -> Iterator[Write]:
    name = NamespacedName(key.namespace, key.name)
    if key.resource == PODS:
        pod = cache.pods.get(name)
        if pod is not None and pod.is_active:
            yield from _ephemeral_claims(cache, pod)
    elif key.resource == CLAIMS:
        claim = cache.claims.get(name)
        if claim is not None and not _is_used(cache, claim):
            yield from _released(key, claim, CLAIM_PROTECTION)
    else:
        volume = cache.volumes.get(name)
        if volume is not None and volume.status.phase != "Bound":
            yield from _released(key, volume, VOLUME_PROTECTION)


def _is_used(cache: ControllerCache, claim: PersistentVolumeClaim) -> bool:
    return any(
        claim_of(pod, use) == claim.metadata.name
        for pod in cache.pods.inside(claim.metadata.namespace)
        for use in pod.spec.volumes
        if not pod.is_over
    )


def _released(key: Key, thing: PersistentVolumeClaim | VolumeFacts, finalizer: str) -> Iterator[Write]:
    meta = thing.metadata
    if meta.deletion_timestamp is None or finalizer not in meta.finalizers:
        return

    def change(body: Json) -> None:
        left = [name for name in body["metadata"].get("finalizers") or () if name != finalizer]
        body["metadata"]["finalizers"] = left

    yield Update(key, meta.uid, change)


def _ephemeral_claims(cache: ControllerCache, pod: PodFacts) -> Iterator[Write]:
    for use in pod.spec.volumes:
        name = NamespacedName(pod.metadata.namespace, claim_of(pod, use))
        if use.ephemeral is None or cache.claims.get(name) is not None:
            continue
        template = use.ephemeral.volume_claim_template
        meta = {
            **peek(template, "metadata"),
            **name._asdict(),
            "ownerReferences": [owner_of("v1", "Pod", pod.metadata).reference()],
        }
        yield Create(CLAIMS, {"metadata": meta, "spec": peek(template, "spec")})
