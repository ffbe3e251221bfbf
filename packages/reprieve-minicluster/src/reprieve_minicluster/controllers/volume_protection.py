"""Storage protection: deleted claims stay while pods use them, and deleted volumes while bound to claims.

Admission adds finalizers to new claims and volumes; this controller removes them. It also creates the claims
of ephemeral volumes, which are deleted with their pods.
"""

from collections.abc import Iterator

from reprieve.cluster.admission.admission_plugins import CLAIM_PROTECTION, VOLUME_PROTECTION
from reprieve_minicluster.controllers.api_writes import Create, Update, Write
from reprieve_minicluster.controllers.controller_cache import ControllerCache, key_of
from reprieve_minicluster.controllers.objects import (
    ClaimFacts,
    PodFacts,
    Thing,
    VolumeFacts,
    VolumeUse,
    owner_of,
)
from reprieve_minicluster.kinds import peek
from reprieve_minicluster.store import Key
from reprieve_minicluster.store.metadata import without_finalizer


def affected(cache: ControllerCache, thing: Thing) -> Iterator[Key]:
    match thing:
        case ClaimFacts():
            yield key_of(thing)
            if thing.spec.volume_name:
                yield Key(VolumeFacts.resource, "", thing.spec.volume_name)
        case VolumeFacts():
            yield key_of(thing)
        case PodFacts():
            for use in thing.spec.volumes:
                if name := claim_of(thing, use):
                    yield Key(ClaimFacts.resource, thing.metadata.namespace, name)
            if any(use.ephemeral is not None for use in thing.spec.volumes):
                yield key_of(thing)


def claim_of(pod: PodFacts, use: VolumeUse) -> str:
    """The name of the claim of a pod's volume; empty if it has none."""
    if use.ephemeral is not None:
        return f"{pod.metadata.name}-{use.name}"
    return use.persistent_volume_claim.claim_name if use.persistent_volume_claim is not None else ""


def reconcile(cache: ControllerCache, key: Key, now: float) -> Iterator[Write]:
    if key.resource == PodFacts.resource:
        pod = cache.find(PodFacts, key)
        if pod is not None and pod.is_active:
            yield from _ephemeral_claims(cache, pod)
    elif key.resource == ClaimFacts.resource:
        claim = cache.find(ClaimFacts, key)
        if claim is not None and not _is_used(cache, claim):
            yield from _released(key, claim, CLAIM_PROTECTION)
    else:
        volume = cache.find(VolumeFacts, key)
        if volume is not None and volume.status.phase != "Bound":
            yield from _released(key, volume, VOLUME_PROTECTION)


def _is_used(cache: ControllerCache, claim: ClaimFacts) -> bool:
    return any(
        claim_of(pod, use) == claim.metadata.name
        for pod in cache.of(PodFacts).inside(claim.metadata.namespace)
        for use in pod.spec.volumes
        if not pod.is_over
    )


def _released(key: Key, thing: ClaimFacts | VolumeFacts, finalizer: str) -> Iterator[Write]:
    meta = thing.metadata
    if meta.deletion_timestamp is not None and finalizer in meta.finalizers:
        yield Update(key, meta.uid, lambda body: without_finalizer(body, finalizer))


def _ephemeral_claims(cache: ControllerCache, pod: PodFacts) -> Iterator[Write]:
    for use in pod.spec.volumes:
        namespace, name = pod.metadata.namespace, claim_of(pod, use)
        if use.ephemeral is None or cache.of(ClaimFacts).get(namespace, name) is not None:
            continue
        template = use.ephemeral.volume_claim_template
        meta = {
            **peek(template, "metadata"),
            "namespace": namespace,
            "name": name,
            "ownerReferences": [owner_of(pod).reference()],
        }
        yield Create(ClaimFacts.resource, {"metadata": meta, "spec": peek(template, "spec")})
