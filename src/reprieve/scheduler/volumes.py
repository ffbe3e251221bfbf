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
from reprieve.model.shape import Shape
from reprieve.model.storage import Compiled, Storage, assembled, compile_storage
from reprieve.placement.constraints.volumes import bindings
from reprieve.placement.demand import Ask

VolumeStep = BindVolume | SelectNode
Claims = Mapping[Target, PersistentVolumeClaim | None]

_SELECTED_NODE = "volume.kubernetes.io/selected-node"


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


def _claim(storage: Storage, key: tuple[str, str]) -> Target:
    return Target("PersistentVolumeClaim", *key, storage.claims[key].uid)


def are_bound(storage: Storage, shape: Shape) -> bool:
    claims = (storage.claims.get((shape.namespace, name)) for name in shape.claims)
    return all(claim is not None and claim.bound for claim in claims)


def shown(steps: Iterable[VolumeStep], claims: Claims) -> frozenset[VolumeStep]:
    """Which claims the cluster shows with the node we chose."""
    return frozenset(s for s in steps if isinstance(s, SelectNode) and _node_of(claims[s.target]) == s.node)


def were_taken_back(steps: Iterable[VolumeStep], claims: Claims) -> bool:
    """A provisioner that cannot serve a node takes the node off the claim again."""
    chosen = (s for s in steps if isinstance(s, SelectNode))
    return any(_node_of(claims[s.target]) != s.node for s in chosen)


def _node_of(claim: PersistentVolumeClaim | None) -> str | None:
    return claim.metadata.annotations.get(_SELECTED_NODE) if claim is not None else None


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
    annotations = {**claim.metadata.annotations, _SELECTED_NODE: step.node}
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
