"""The hand-shake for claims that wait for their pod's node: what to ask for, and when it has been given."""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from reprieve.model.effects import BindVolume, SelectNode, Target
from reprieve.model.objects import (
    KubernetesObject,
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
    ref_of,
)
from reprieve.model.resources import Problems
from reprieve.model.storage import Compiled, Storage, assembled, compile_storage
from reprieve.model.volumes import SELECTED_NODE, is_bound
from reprieve.placement.constraints.volumes import binding, bindings
from reprieve.placement.demand import Ask
from reprieve.placement.rejection_codes import Reason
from reprieve.scheduler.ledger.assumed import VolumeStep

Claims = Mapping[VolumeStep, PersistentVolumeClaim | None]  # what each step is for, as the cluster shows it


def steps(ask: Ask, node: int) -> tuple[VolumeStep, ...]:
    """What must happen to the pod's claims before it can be bound to the node."""
    storage, name = ask.view.storage, ask.view.nodes.names[node]
    wanted = bindings(ask, node)
    bound = (
        BindVolume(Target("PersistentVolume", "", volume, storage.volumes[volume].uid), _claim(storage, key))
        for key, volume in wanted.bound
    )
    made = (SelectNode(_claim(storage, key), name) for key in wanted.provisioned)
    return (*bound, *made)


def first(steps: tuple[VolumeStep, ...]) -> tuple[VolumeStep, ...]:
    """Existing volumes are scarce: only when it has them does a pod ask for others to be made at its node.

    In the other order, a faster pod could take the one and leave this pod tied to a place it cannot use.
    """
    return tuple(step for step in steps if isinstance(step, BindVolume)) or steps


def following(steps: tuple[VolumeStep, ...], acknowledged: frozenset[VolumeStep]) -> tuple[VolumeStep, ...]:
    """What is asked for next, once all that was asked for first has been granted."""
    if any(isinstance(step, BindVolume) and step not in acknowledged for step in steps):
        return ()
    return tuple(step for step in steps if isinstance(step, SelectNode))


def _claim(storage: Storage, key: tuple[str, str]) -> Target:
    return Target("PersistentVolumeClaim", *key, storage.claims[key].uid)


def claim_of(step: VolumeStep) -> Target:
    return step.claim if isinstance(step, BindVolume) else step.target


def are_bound(claims: Claims) -> bool:
    return all(claim is not None and is_bound(claim) for claim in claims.values())


def shown_steps(claims: Claims) -> frozenset[VolumeStep]:
    """Which claims the cluster shows with the node that was chosen."""
    return frozenset(s for s, c in claims.items() if isinstance(s, SelectNode) and _node_of(c) == s.node)


def hopeless(claims: Claims, shown: frozenset[VolumeStep]) -> VolumeStep | None:
    """A step that will not be completed: its claim is gone, or had the node taken off it again.

    The latter is how a provisioner says that it cannot serve the node.
    """
    for step, claim in claims.items():
        if claim is None or (isinstance(step, SelectNode) and step in shown and _node_of(claim) != step.node):
            return step
    return None


def _node_of(claim: PersistentVolumeClaim | None) -> str | None:
    return claim.metadata.annotations.get(SELECTED_NODE) if claim is not None else None


def refusals(ask: Ask, node: int) -> list[Reason]:
    """Why the pod's volumes, now that they are bound, cannot be had on the node."""
    return [rejection.reason for rejection in binding(ask) if rejection.rows[node]]


def with_steps(
    objects: Iterable[KubernetesObject], under_way: Mapping[Target, VolumeStep]
) -> Iterator[KubernetesObject]:
    """The objects as they will be once the steps have been carried out."""
    for thing in objects:
        meta = thing.metadata
        step = under_way.get(Target(type(thing).__name__, meta.namespace, meta.name, meta.uid))
        match thing, step:
            case PersistentVolume(), BindVolume():
                yield _promised(thing, step)
            case PersistentVolumeClaim(), SelectNode():
                yield _selected(thing, step)
            case _:
                yield thing


def _promised(volume: PersistentVolume, step: BindVolume) -> PersistentVolume:
    claim = ObjectReference(namespace=step.claim.namespace, name=step.claim.name, uid=step.claim.uid)
    return msgspec.structs.replace(volume, spec=msgspec.structs.replace(volume.spec, claim_ref=claim))


def _selected(claim: PersistentVolumeClaim, step: SelectNode) -> PersistentVolumeClaim:
    annotations = {**claim.metadata.annotations, SELECTED_NODE: step.node}
    metadata = msgspec.structs.replace(claim.metadata, annotations=annotations)
    return msgspec.structs.replace(claim, metadata=metadata)


class StorageMirror:
    """Storage as it will be once the steps under way are done; objects are compiled when they change."""

    def __init__(self) -> None:
        self._compiled: dict[tuple[type, str, str], tuple[KubernetesObject, Compiled | None]] = {}

    def storage(self, objects: Iterable[KubernetesObject], under_way: Mapping[Target, VolumeStep]) -> Storage:
        before, self._compiled = self._compiled, {}
        for thing in with_steps(objects, under_way):
            key = (type(thing), thing.metadata.namespace, thing.metadata.name)
            known = before.get(key)
            if known is None or known[0] is not thing:
                known = thing, compile_storage(thing, Problems(ref_of(thing)))
            self._compiled[key] = known
        return assembled(compiled for _, compiled in self._compiled.values() if compiled is not None)
