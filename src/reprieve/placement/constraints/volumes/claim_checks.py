"""Checks of the pod's claims that hold for all nodes: they exist, are its own, and are bound if required."""

from collections.abc import Iterator

import numpy as np

from reprieve.model.volumes import CompiledClaim
from reprieve.placement.demand import Ask
from reprieve.placement.rejection_codes import Code, Reason, Rejection


def claims(ask: Ask) -> Iterator[Rejection]:
    if not ask.shape.claims:
        return
    for reason in _reasons(ask):
        yield Rejection(np.ones(len(ask.view.nodes), np.bool_), reason, curable=False)


def claims_of(ask: Ask) -> Iterator[CompiledClaim]:
    """The pod's claims that exist, in the order of its volumes."""
    shape, known = ask.shape, ask.view.storage.claims
    for name in shape.claims:
        if (claim := known.get((shape.namespace, name))) is not None:
            yield claim


def _reasons(ask: Ask) -> Iterator[Reason]:
    shape, storage = ask.shape, ask.view.storage
    for name in shape.claims:
        claim = storage.claims.get((shape.namespace, name))
        if claim is None:
            yield Reason(Code.CLAIM_NOT_FOUND, name)
        elif claim.lost:
            yield Reason(Code.CLAIM_LOST, name)
        elif claim.deleting:
            yield Reason(Code.CLAIM_DELETED, name)
        elif name in shape.ephemeral_claims and claim.owner_uid != _uid(ask):
            yield Reason(Code.CLAIM_OF_ANOTHER, name)
        elif claim.bound and claim.volume_name not in storage.volumes:
            yield Reason(Code.VOLUME_NOT_FOUND, claim.volume_name)
        elif not claim.bound and not _may_wait(ask, claim):
            yield Reason(Code.CLAIM_UNBOUND, f"{name} is not bound ({_why_unbound(ask, claim)})")


def _uid(ask: Ask) -> str:
    return ask.view.pods.compiled[ask.pod].pod.metadata.uid


def _why_unbound(ask: Ask, claim: CompiledClaim) -> str:
    """Whatever the scheduler does, another component has to act first."""
    if claim.volume_name:
        return f"waiting for PersistentVolume {claim.volume_name}"
    if not claim.class_name:
        return "Immediate binding, no StorageClass"
    if claim.class_name not in ask.view.storage.classes:
        return f"StorageClass {claim.class_name} does not exist"
    return f"Immediate binding, StorageClass {claim.class_name}"


def _may_wait(ask: Ask, claim: CompiledClaim) -> bool:
    """Whether the scheduler binds the claim; the volume controller binds one that names its volume."""
    storage_class = ask.view.storage.classes.get(claim.class_name)
    return storage_class is not None and storage_class.waits and not claim.volume_name
