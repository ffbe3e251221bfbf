"""A pod's volumes: which claims no node can serve, what is held by others, and which volume a claim gets."""

from typing import Any, TypeVar

import msgspec
import pytest

from reprieve.model.json import Json
from reprieve.model.objects import (
    CSINode,
    KubernetesObject,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    StorageClass,
)
from reprieve.model.snapshot import build
from reprieve.model.whatif import without
from reprieve.placement.constraints import volumes
from reprieve.placement.constraints.volumes import Bindings, bindings
from reprieve.placement.demand import Ask, Constraint
from reprieve.placement.rejection_codes import Code

Kind = TypeVar("Kind", bound=KubernetesObject)
HOST, CSI = "kubernetes.io/hostname", "csi.example.com"


def made(kind: type[Kind], name: str, metadata: Json | None = None, **fields: Any) -> Kind:
    meta = {"name": name, "namespace": "default"} | (metadata or {})
    return msgspec.convert({"metadata": meta, **fields}, kind)


def pod(*claims: str, name: str = "pod", on: str = "") -> Pod:
    mounted = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]
    return made(Pod, name, spec={"nodeName": on, "volumes": mounted})


def storage_class(name: str, provisioner: str = CSI, mode: str = "WaitForFirstConsumer") -> StorageClass:
    return made(StorageClass, name, provisioner=provisioner, volumeBindingMode=mode)


LATE, LOCAL = storage_class("late"), storage_class("local", "kubernetes.io/no-provisioner")


def claim(
    name: str, of: str = "late", size: str = "1Gi", metadata: Json | None = None, **spec: Any
) -> PersistentVolumeClaim:
    spec = {"storageClassName": of, "resources": {"requests": {"storage": size}}} | spec
    return made(PersistentVolumeClaim, name, metadata, spec=spec, status={"phase": spec.pop("phase", "")})


def bound(name: str, to: str) -> PersistentVolumeClaim:
    notes = {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
    return claim(name, metadata=notes, phase="Bound", volumeName=to)


def volume(name: str, of: str = "late", size: str = "1Gi", on: str = "", **spec: Any) -> PersistentVolume:
    """``on``: the only host that reaches it."""
    spec |= {"storageClassName": of, "capacity": {"storage": size}}
    if on:
        term = {"matchExpressions": [{"key": HOST, "operator": "In", "values": [on]}]}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [term]}}
    return made(PersistentVolume, name, spec=spec, status={"phase": "Available"})


def attaching(node: str, count: int) -> CSINode:
    return made(CSINode, node, spec={"drivers": [{"name": CSI, "allocatable": {"count": count}}]})


def ask(asking: Pod, *objects: KubernetesObject) -> Ask:
    """On the nodes a and b."""
    nodes = [made(Node, name, {"labels": {HOST: name}}) for name in ("a", "b")]
    view = build([*nodes, *objects, asking]).snapshot
    return Ask(view, view.pods.rows["default", asking.metadata.name])


def refused(constraint: Constraint, asked: Ask) -> dict[str, list[tuple[Code, str, bool]]]:
    """For each node that is refused: code, detail and whether it is curable."""
    found = list(constraint(asked))
    by_node = {
        name: [(r.reason.code, r.reason.detail, r.curable) for r in found if r.rows[row]]
        for row, name in enumerate(asked.view.nodes.names)
    }
    return {name: reasons for name, reasons in by_node.items() if reasons}


def everywhere(code: Code, detail: str, curable: bool = False) -> dict[str, list[tuple[Code, str, bool]]]:
    return {"a": [(code, detail, curable)], "b": [(code, detail, curable)]}


@pytest.mark.parametrize(
    ("known", "code", "detail"),
    [
        ([], Code.CLAIM_NOT_FOUND, "c"),
        ([claim("c", phase="Lost")], Code.CLAIM_LOST, "c"),
        ([claim("c", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})], Code.CLAIM_DELETED, "c"),
        (
            [claim("c", of="at-once"), storage_class("at-once", mode="Immediate")],
            Code.CLAIM_UNBOUND,
            "c is not bound (Immediate binding, StorageClass at-once)",
        ),
        ([claim("c", of="")], Code.CLAIM_UNBOUND, "c is not bound (Immediate binding, no StorageClass)"),
        (
            [claim("c", of="no-such-class")],
            Code.CLAIM_UNBOUND,
            "c is not bound (StorageClass no-such-class does not exist)",
        ),
        (
            [claim("c", volumeName="pv"), volume("pv")],
            Code.CLAIM_UNBOUND,
            "c is not bound (waiting for PersistentVolume pv)",
        ),
        ([bound("c", to="pv")], Code.VOLUME_NOT_FOUND, "pv"),
    ],
)
def test_claims_that_no_node_can_serve(known: list[Any], code: Code, detail: str) -> None:
    asked = ask(pod("c"), LATE, *known)
    assert refused(volumes.claims, asked) == everywhere(code, detail)
    assert refused(volumes.binding, asked) == everywhere(code, detail)


def test_a_claim_for_one_pod_is_held_against_every_node_while_that_pod_runs() -> None:
    exclusive = claim("c", accessModes=["ReadWriteOncePod"])
    asked = ask(pod("c"), pod("c", name="other", on="a"), LATE, exclusive)
    assert refused(volumes.exclusive, asked) == everywhere(Code.CLAIM_IN_USE, "c", curable=True)
    assert refused(volumes.exclusive, Ask(without(asked.view, [0]), asked.pod)) == {}


def test_a_volume_that_is_there_already_is_counted_once() -> None:
    """Both run on a, which attaches two; b attaches one."""
    things: list[KubernetesObject] = [attaching("a", 2), attaching("b", 1)]
    for name in ("x", "y"):
        attached = volume(name, csi={"driver": CSI, "volumeHandle": name})
        things += [pod(name, name=f"with-{name}", on="a"), bound(name, to=name), attached]
    assert refused(volumes.limits, ask(pod("x", "y"), *things)) == {"b": [(Code.VOLUME_LIMIT, CSI, True)]}


def test_a_bound_volume_must_be_within_reach() -> None:
    asked = ask(pod("c"), bound("c", to="pv"), volume("pv", on="a"))
    assert refused(volumes.binding, asked) == {"b": [(Code.VOLUME_NODE_AFFINITY, "pv", False)]}


def test_the_claims_of_a_pod_get_different_volumes_and_the_small_one_chooses_first() -> None:
    things: list[Any] = [claim("large", "local", "2Gi"), claim("small", "local", "1Gi"), LOCAL]
    stock = [volume("v1", "local", "3Gi"), volume("v2", "local", "4Gi")]
    expected = ((("default", "small"), "v1"), (("default", "large"), "v2"))
    assert bindings(ask(pod("large", "small"), *things, *stock), 0) == Bindings(bound=expected)
    only_one = ask(pod("large", "small"), *things, stock[0])
    assert refused(volumes.binding, only_one) == everywhere(Code.NO_VOLUME_TO_BIND, "large")


def test_an_existing_volume_goes_before_a_new_one() -> None:
    asked = ask(pod("c"), LATE, claim("c"), volume("pv", on="a"))
    assert bindings(asked, 0) == Bindings(bound=((("default", "c"), "pv"),))
    assert bindings(asked, 1) == Bindings(provisioned=(("default", "c"),))
