"""Storage objects as they are read: what is wrong with them, and disks that are named the old way."""

from typing import Any

import msgspec
import pytest

from reprieve.model.csi_migration import migrated_affinity, migrated_disk
from reprieve.model.objects import (
    CSIStorageCapacity,
    KubernetesObject,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from reprieve.model.snapshot import build

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION = "failure-domain.beta.kubernetes.io/region"
LIKE = [{"key": "k", "operator": "Like"}]


def named(
    kind: type[KubernetesObject], labels: dict[str, str] | None = None, **fields: Any
) -> KubernetesObject:
    return msgspec.convert({"metadata": {"name": "it", "labels": labels or {}}, **fields}, kind)


@pytest.mark.parametrize(
    ("thing", "problem"),
    [
        (
            named(PersistentVolume, spec={"capacity": {"storage": "much"}}),
            "PersistentVolume it: spec.capacity.storage: expected a quantity of zero or more, got 'much'",
        ),
        (
            named(
                PersistentVolume,
                spec={"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": LIKE}]}}},
            ),
            "PersistentVolume it: "
            "spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].operator: "
            "expected one of In, NotIn, Exists, DoesNotExist, Gt, Lt, got 'Like'",
        ),
        (
            named(PersistentVolume, labels={ZONE: "a__"}),
            f"PersistentVolume it: metadata.labels[{ZONE}]: expected names separated by '__', got 'a__'",
        ),
        (
            named(PersistentVolumeClaim, spec={"resources": {"requests": {"storage": "-1"}}}),
            "PersistentVolumeClaim it: spec.resources.requests.storage: "
            "expected a quantity of zero or more, got '-1'",
        ),
        (
            named(PersistentVolumeClaim, spec={"selector": {"matchExpressions": LIKE}}),
            "PersistentVolumeClaim it: spec.selector.matchExpressions[0].operator: "
            "expected one of In, NotIn, Exists, DoesNotExist, got 'Like'",
        ),
        (
            named(StorageClass, allowedTopologies=[{"matchLabelExpressions": [{"key": "k"}]}]),
            "StorageClass it: allowedTopologies[0].matchLabelExpressions[0].values: "
            "expected at least one value",
        ),
        (
            named(CSIStorageCapacity, capacity="much"),
            "CSIStorageCapacity it: capacity: expected a quantity of zero or more, got 'much'",
        ),
        (
            named(CSIStorageCapacity, nodeTopology={"matchExpressions": LIKE}),
            "CSIStorageCapacity it: nodeTopology.matchExpressions[0].operator: "
            "expected one of In, NotIn, Exists, DoesNotExist, got 'Like'",
        ),
    ],
)
def test_what_cannot_be_read_is_reported(thing: KubernetesObject, problem: str) -> None:
    assert [str(found) for found in build([thing]).problems] == [problem]


# --- disks named the old way ---------------------------------------------------------------------


def disk_volume(labels: dict[str, str] | None = None, **spec: Any) -> PersistentVolume:
    volume = named(PersistentVolume, labels, spec=spec)
    assert isinstance(volume, PersistentVolume)
    return volume


@pytest.mark.parametrize(
    ("disk", "labels", "driver", "handle"),
    [
        ({"awsElasticBlockStore": {"volumeID": "vol-1"}}, {}, "ebs.csi.aws.com", "vol-1"),
        ({"awsElasticBlockStore": {"volumeID": "aws://z/vol-1"}}, {}, "ebs.csi.aws.com", "vol-1"),
        ({"awsElasticBlockStore": {"volumeID": "aws:///vol-1"}}, {}, "ebs.csi.aws.com", "vol-1"),
        ({"awsElasticBlockStore": {"volumeID": "aws://z/disk"}}, {}, "ebs.csi.aws.com", None),
        ({"azureDisk": {"diskURI": "u", "kind": "Managed"}}, {}, "disk.csi.azure.com", "u"),
        ({"azureDisk": {"diskURI": "u"}}, {}, "disk.csi.azure.com", None),
        ({"cinder": {"volumeID": "c"}}, {}, "cinder.csi.openstack.org", "c"),
        ({"portworxVolume": {"volumeID": "p"}}, {}, "pxd.portworx.com", "p"),
        (
            {"gcePersistentDisk": {"pdName": "d"}},
            {},
            "pd.csi.storage.gke.io",
            "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d",
        ),
        (
            {"gcePersistentDisk": {"pdName": "d"}},
            {ZONE: "eu-west-a__eu-west-b"},
            "pd.csi.storage.gke.io",
            "projects/UNSPECIFIED/regions/eu-west/disks/d",
        ),
        ({"gcePersistentDisk": {"pdName": "d"}}, {ZONE: "eu-a__us-b"}, "pd.csi.storage.gke.io", None),
    ],
)
def test_the_driver_and_its_name_for_a_disk(
    disk: dict[str, Any], labels: dict[str, str], driver: str, handle: str | None
) -> None:
    volume = disk_volume(labels, **disk)
    moved = migrated_disk(volume.spec, labels)
    assert moved is not None
    assert (moved.plugin.driver, moved.handle) == (driver, handle)


def test_other_volumes_did_not_move() -> None:
    assert migrated_disk(disk_volume(nfs={"server": "s"}).spec, {}) is None


EBS_ZONE = "topology.ebs.csi.aws.com/zone"


Term = dict[str, tuple[str, ...]]


def moved_terms(labels: dict[str, str], *terms: Term) -> list[Term]:
    """Terms as keys with their values, before and after the move."""
    selector = [
        {
            "matchExpressions": [
                {"key": key, "operator": "In", "values": values} for key, values in term.items()
            ]
        }
        for term in terms
    ]
    affinity = {"nodeAffinity": {"required": {"nodeSelectorTerms": selector}}} if terms else {}
    volume = disk_volume(labels, awsElasticBlockStore={"volumeID": "vol-1"}, **affinity)
    disk = migrated_disk(volume.spec, labels)
    assert disk is not None
    moved = migrated_affinity(volume, disk.plugin)
    found = moved.node_selector_terms if moved is not None else ()
    return [{e.key: e.values for e in term.match_expressions} for term in found]


def test_the_zone_of_a_moved_disk_is_asked_by_the_label_of_its_driver() -> None:
    assert moved_terms({}, {ZONE: ("a",), "disk": ("ssd",)}) == [{EBS_ZONE: ("a",), "disk": ("ssd",)}]
    assert moved_terms({}, {BETA_ZONE: ("a",)}, {"disk": ("ssd",)}) == [
        {EBS_ZONE: ("a",)},
        {"disk": ("ssd",)},
    ]


def test_the_zone_label_of_a_volume_counts_if_its_affinity_names_no_zone() -> None:
    assert moved_terms({ZONE: "b__a"}) == [{EBS_ZONE: ("a", "b")}]
    assert moved_terms({ZONE: "a"}, {"disk": ("ssd",)}) == [{"disk": ("ssd",), EBS_ZONE: ("a",)}]
    assert moved_terms({ZONE: "b"}, {ZONE: ("a",)}) == [{EBS_ZONE: ("a",)}]


def test_an_old_region_becomes_the_new_one_beside_an_old_zone() -> None:
    old: Term = {BETA_ZONE: ("a",), BETA_REGION: ("r",)}
    assert moved_terms({}, old) == [{EBS_ZONE: ("a",), REGION: ("r",)}]
    assert moved_terms({}, {BETA_REGION: ("r",)}) == [{BETA_REGION: ("r",)}]
