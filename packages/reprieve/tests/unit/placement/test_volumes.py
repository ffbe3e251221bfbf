"""A pod's volumes: claim checks, exclusive access, limits, and zones."""

from typing import Any

import pytest
from tests.unit.placement.storage_objects import (
    CSI,
    ZONE,
    A,
    B,
    ask,
    bound,
    claim,
    csi_node,
    made,
    mount,
    node,
    pod,
    refused,
    storage_class,
    volume,
)

from reprieve.model.json import Json
from reprieve.model.objects import CSIDriver, KubernetesObject, Node, PersistentVolume, VolumeAttachment
from reprieve.model.whatif import with_pod, without
from reprieve.placement.constraints import volumes
from reprieve.placement.demand import Ask
from reprieve.placement.place import survey
from reprieve.placement.rejection_codes import Code

LATE_CLASS = storage_class()
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
ALL_RULES = (volumes.claims, volumes.exclusive, volumes.limits, volumes.binding, volumes.zones)


def everywhere(code: Code, detail: str, curable: bool = False) -> dict[str, list[tuple[Code, str, bool]]]:
    return {"a": [(code, detail, curable)], "b": [(code, detail, curable)]}


def csi_volume(name: str, handle: str = "") -> PersistentVolume:
    return volume(name, phase="Bound", csi={"driver": CSI, "volumeHandle": handle or name})


@pytest.mark.parametrize("rule", ALL_RULES)
def test_pods_without_volumes_go_anywhere(rule: Any) -> None:
    assert refused(rule, ask(pod(), LATE_CLASS, csi_node("a", csi=0))) == {}


# --- claims as such ------------------------------------------------------------------------------

DELETED = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("known", "code", "detail"),
    [
        ([], Code.CLAIM_NOT_FOUND, "c"),
        ([claim("c", phase="Lost")], Code.CLAIM_LOST, "c"),
        ([claim("c", metadata=DELETED)], Code.CLAIM_DELETED, "c"),
        (
            [claim("c", of="at-once")],
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
    asked = ask(pod(*mount("c")), LATE_CLASS, storage_class("at-once", volumeBindingMode="Immediate"), *known)
    assert refused(volumes.claims, asked) == everywhere(code, detail)
    assert refused(volumes.binding, asked) == everywhere(code, detail)


def test_claims_are_looked_at_before_any_node() -> None:
    cordoned = made(Node, "a", spec={"unschedulable": True})
    found = survey(ask(pod(*mount("c")), cordoned))
    assert [reason.code for reason in found.reasons_of(0)] == [Code.CLAIM_NOT_FOUND]


def test_claims_of_another_namespace_are_not_the_pods() -> None:
    elsewhere = claim("c", metadata={"namespace": "other"})
    assert refused(volumes.claims, ask(pod(*mount("c")), LATE_CLASS, elsewhere))


@pytest.mark.parametrize(("owner", "usable"), [("uid-pod", True), ("uid-other", False)])
def test_an_ephemeral_volume_needs_a_claim_made_for_the_pod(owner: str, usable: bool) -> None:
    private = claim("pod-scratch", metadata={"ownerReferences": [{"uid": owner, "controller": True}]})
    asked = ask(pod({"name": "scratch", "ephemeral": {}}), LATE_CLASS, private)
    expected = {} if usable else everywhere(Code.CLAIM_OF_ANOTHER, "pod-scratch")
    assert refused(volumes.claims, asked) == expected


# --- exclusive access ----------------------------------------------------------------------------


def gce(read_only: bool) -> Json:
    return {"gcePersistentDisk": {"pdName": "d", "readOnly": read_only}}


def ebs(read_only: bool) -> Json:
    return {"awsElasticBlockStore": {"volumeID": "d", "readOnly": read_only}}


def iscsi(read_only: bool) -> Json:
    return {"iscsi": {"iqn": "q", "lun": int(read_only), "readOnly": read_only}}


def rbd(read_only: bool, *monitors: str) -> Json:
    return {"rbd": {"monitors": monitors or ("m1",), "image": "i", "readOnly": read_only}}


@pytest.mark.parametrize(
    ("mine", "theirs", "conflict"),
    [
        (gce(True), gce(True), False),
        (gce(True), gce(False), True),
        (ebs(True), ebs(True), True),
        (iscsi(True), iscsi(True), False),
        (iscsi(False), iscsi(True), True),
        (rbd(False, "m1", "m2"), rbd(False, "m2", "m3"), True),
        (rbd(False, "m1"), rbd(False, "m2"), False),
        (rbd(True), rbd(True), False),
        (gce(False), ebs(False), False),
    ],
)
def test_disks_that_cannot_be_shared(mine: Json, theirs: Json, conflict: bool) -> None:
    asked = ask(pod(mine), pod(theirs, name="other", on="a"), pod(theirs, name="waiting"))
    expected = {"a": [(Code.DISK_CONFLICT, "", True)]} if conflict else {}
    assert refused(volumes.exclusive, asked) == expected


def test_a_claim_for_one_pod_is_held_against_every_node_while_that_pod_runs() -> None:
    asked = ask(
        pod(*mount("c")),
        pod(*mount("c"), name="other", on="a"),
        LATE_CLASS,
        claim("c", accessModes=["ReadWriteOncePod"]),
    )
    assert refused(volumes.exclusive, asked) == everywhere(Code.CLAIM_IN_USE, "c", curable=True)
    assert refused(volumes.exclusive, Ask(without(asked.view, [0]), asked.pod)) == {}


def test_the_pod_is_not_in_its_own_way() -> None:
    asked = ask(pod(gce(False), *mount("c")), LATE_CLASS, claim("c", accessModes=["ReadWriteOncePod"]))
    assert refused(volumes.exclusive, Ask(with_pod(asked.view, asked.pod, 0), asked.pod)) == {}


def test_other_claims_can_be_shared() -> None:
    asked = ask(pod(*mount("c")), pod(*mount("c"), name="other", on="a"), LATE_CLASS, claim("c"))
    assert refused(volumes.exclusive, asked) == {}


# --- limits --------------------------------------------------------------------------------------

FULL = (Code.VOLUME_LIMIT, CSI, True)


def used(*claims: str) -> list[KubernetesObject]:
    """A pod on node a for each of the claims, each bound to a volume of the same name."""
    pods = [pod(*mount(name), name=f"with-{name}", on="a") for name in claims]
    return [*pods, *(bound(name, to=name) for name in claims), *(csi_volume(name) for name in claims)]


def test_a_node_attaches_no_more_volumes_than_it_can() -> None:
    objects = [csi_node("a", csi=2), csi_node("b", csi=3), *used("x", "y"), claim("c"), LATE_CLASS]
    assert refused(volumes.limits, ask(pod(*mount("c")), *objects)) == {"a": [FULL]}


def test_a_volume_that_is_there_already_is_counted_once() -> None:
    objects = [csi_node("a", csi=2), csi_node("b", csi=1), *used("x", "y")]
    assert refused(volumes.limits, ask(pod(*mount("x", "y")), *objects)) == {"b": [FULL]}


def test_two_claims_of_one_handle_are_one_volume() -> None:
    objects: list[KubernetesObject] = [
        bound("x", to="x"),
        bound("y", to="y"),
        csi_volume("x", "same"),
        csi_volume("y", "same"),
    ]
    assert refused(volumes.limits, ask(pod(*mount("x", "y")), csi_node("a", csi=1), *objects)) == {}


def test_volumes_of_pods_that_leave_no_longer_count() -> None:
    asked = ask(pod(*mount("c")), csi_node("a", csi=1), *used("x"), claim("c"), LATE_CLASS)
    assert refused(volumes.limits, asked) == {"a": [FULL]}
    assert refused(volumes.limits, Ask(without(asked.view, [0]), asked.pod)) == {}


def test_volumes_left_attached_count_too() -> None:
    left = made(
        VolumeAttachment,
        "left",
        spec={"attacher": CSI, "nodeName": "a", "source": {"persistentVolumeName": "old"}},
    )
    objects: list[KubernetesObject] = [csi_node("a", csi=1), left, csi_volume("old"), claim("c"), LATE_CLASS]
    assert refused(volumes.limits, ask(pod(*mount("c")), *objects)) == {"a": [FULL]}


def test_without_a_limit_there_is_none() -> None:
    objects = [csi_node("a", csi=None), *used("x", "y"), claim("c"), LATE_CLASS]
    assert refused(volumes.limits, ask(pod(*mount("c")), *objects)) == {}


def test_disks_named_the_old_way_are_attached_by_the_driver_that_took_them_over() -> None:
    disk: Json = {"gcePersistentDisk": {"pdName": "d"}}
    objects: list[KubernetesObject] = [
        volume("pv", phase="Bound", **disk),
        bound("c", to="pv"),
        csi_node("a", gce=0),
    ]
    gce_full = (Code.VOLUME_LIMIT, "pd.csi.storage.gke.io", True)
    assert refused(volumes.limits, ask(pod(disk), *objects)) == {"a": [gce_full]}
    assert refused(volumes.limits, ask(pod(*mount("c")), *objects)) == {"a": [gce_full]}


def test_a_class_of_an_old_provisioner_makes_volumes_of_the_new_driver() -> None:
    old = storage_class(provisioner="kubernetes.io/aws-ebs")
    asked = ask(pod(*mount("c")), old, claim("c"), csi_node("a", ebs=0))
    assert refused(volumes.limits, asked) == {"a": [(Code.VOLUME_LIMIT, "ebs.csi.aws.com", True)]}


def test_a_driver_can_insist_on_being_there() -> None:
    strict = made(CSIDriver, CSI, spec={"preventPodSchedulingIfMissing": True})
    asked = ask(pod(*mount("c")), strict, LATE_CLASS, claim("c"), csi_node("a", csi=None))
    assert refused(volumes.limits, asked) == {"b": [(Code.DRIVER_MISSING, CSI, False)]}


# --- zones ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "refused_nodes"),
    [
        ({ZONE: "za"}, {"b"}),
        ({ZONE: "za__zb"}, set()),
        ({ZONE: "zc"}, {"a", "b"}),
        ({BETA_ZONE: "zb"}, {"a"}),
        ({"topology.kubernetes.io/region": "r"}, {"a", "b"}),
        ({ZONE: "zc__"}, set()),  # cannot be read, and is no rule
    ],
)
def test_bound_volumes_stay_in_their_zone(labels: dict[str, str], refused_nodes: set[str]) -> None:
    bare = node("bare")  # a node that tells no zone takes any volume
    objects: list[KubernetesObject] = [
        A,
        B,
        bare,
        bound("c", to="pv"),
        volume("pv", metadata={"labels": labels}, phase="Bound"),
    ]
    found = refused(volumes.zones, ask(pod(*mount("c")), *objects))
    assert found == {name: [(Code.VOLUME_ZONE, "pv", False)] for name in refused_nodes}


def test_claims_that_wait_have_no_zone_yet() -> None:
    free = volume("pv", metadata={"labels": {ZONE: "zc"}})
    assert refused(volumes.zones, ask(pod(*mount("c")), LATE_CLASS, claim("c"), free)) == {}


def test_ephemeral_claims_are_not_asked_for_their_zone() -> None:
    owners = {"ownerReferences": [{"uid": "uid-pod", "controller": True}]}
    private = claim("pod-scratch", metadata=owners, volumeName="pv")
    zoned = volume("pv", metadata={"labels": {ZONE: "zc"}})
    assert refused(volumes.zones, ask(pod({"name": "scratch", "ephemeral": {}}), private, zoned)) == {}
