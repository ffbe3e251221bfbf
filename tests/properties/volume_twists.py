"""Rarer things about storage, done to a random world: old names of disks, promises, leftovers."""

import random
from copy import deepcopy

from hypothesis import strategies as st

from reprieve.model.json import Json
from tests.properties.random_volumes import DRIVER
from tests.properties.vocabulary import ZONE, ZONES, chance, some
from tests.properties.worlds import World, worlds

REGION = "topology.kubernetes.io/region"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION = "failure-domain.beta.kubernetes.io/region"
# The zone label of each driver that took over a plugin that was built in.
ZONE_LABELS = (
    "topology.gke.io/zone",
    "topology.ebs.csi.aws.com/zone",
    "topology.cinder.csi.openstack.org/zone",
)
GCE, EBS, AZURE = "pd.csi.storage.gke.io", "ebs.csi.aws.com", "disk.csi.azure.com"
PLUGINS = [f"kubernetes.io/{name}" for name in ("gce-pd", "aws-ebs", "cinder", "azure-disk")]


def twisted(world: World, seed: int) -> World:
    rng = random.Random(seed)
    objects, newcomer = deepcopy(world.objects), deepcopy(world.newcomer)
    by_kind: dict[str, list[Json]] = {}
    for thing in objects:
        by_kind.setdefault(thing["kind"], []).append(thing)
    for kind, twist in TWISTS.items():
        for thing in by_kind.get(kind, ()):
            twist(rng, thing)
    _add_disk(rng, newcomer)
    waiting, spare = _waiting_claims(rng, newcomer), [_spare_volume(rng, i) for i in range(rng.randint(0, 5))]
    volumes = by_kind.get("PersistentVolume", []) + spare
    private = [
        thing for pod in (*by_kind.get("Pod", ()), newcomer) for thing in _with_private_claim(rng, pod)
    ]
    _set_aside(rng, by_kind.get("PersistentVolumeClaim", []) + waiting, volumes)
    left = [_left_attached(rng, i, by_kind["Node"], volumes) for i in range(2) if volumes]
    return World([*objects, *waiting, *spare, *private, *left], newcomer)


def storage_worlds() -> st.SearchStrategy[World]:
    return st.builds(twisted, worlds(frozenset({"volumes"})), st.integers(0, 2**32 - 1))


def _twist_node(rng: random.Random, node: Json) -> None:
    labels = node["metadata"].setdefault("labels", {})
    labels |= {key: rng.choice(ZONES) for key in (BETA_ZONE, *ZONE_LABELS) if chance(rng, 0.6)}
    labels |= {key: "r" for key in (REGION, BETA_REGION) if chance(rng, 0.3)}


def _twist_csi_node(rng: random.Random, node: Json) -> None:
    migrated = ",".join(some(rng, PLUGINS))
    node["metadata"]["annotations"] = {"storage.alpha.kubernetes.io/migrated-plugins": migrated}
    for driver in some(rng, (GCE, EBS, AZURE)):
        node["spec"]["drivers"].append({"name": driver, "allocatable": {"count": rng.randint(0, 2)}})


def _twist_driver(rng: random.Random, driver: Json) -> None:
    driver["spec"]["preventPodSchedulingIfMissing"] = chance(rng, 0.3)


def _twist_class(rng: random.Random, storage_class: Json) -> None:
    if chance(rng, 0.2):
        storage_class["provisioner"] = rng.choice((*PLUGINS, "kubernetes.io/azure-file"))


def _twist_volume(rng: random.Random, volume: Json) -> None:
    spec, labels = volume["spec"], volume["metadata"].setdefault("labels", {})
    if "csi" in spec and chance(rng, 0.5):
        del spec["csi"]
        spec |= _old_disk(rng)
    if chance(rng, 0.3):
        labels[BETA_ZONE] = rng.choice(("z0", "z1__ z2", "us-a-1__us-a-2", "z0__"))
    if chance(rng, 0.2):
        labels |= {rng.choice((REGION, BETA_REGION)): rng.choice(("r", "s"))}
    if chance(rng, 0.3):
        spec["nodeAffinity"] = {
            "required": {"nodeSelectorTerms": [_term(rng) for _ in range(rng.randint(0, 2))]}
        }
    if chance(rng, 0.2):
        spec["volumeMode"] = "Block"
    if chance(rng, 0.1):
        volume["status"]["phase"] = "Released"


def _old_disk(rng: random.Random) -> Json:
    name = rng.choice(("a", "b"))
    disks: list[Json] = [
        {"gcePersistentDisk": {"pdName": name}},
        {"awsElasticBlockStore": {"volumeID": rng.choice((name, f"aws://z0/vol-{name}", "aws://z0/a"))}},
        {"azureDisk": {"diskURI": name, "kind": rng.choice(("Managed", "Shared"))}},
        {"cinder": {"volumeID": name}},
        {"portworxVolume": {"volumeID": name}},
    ]
    return rng.choice(disks)


def _term(rng: random.Random) -> Json:
    key = rng.choice((ZONE, BETA_ZONE, BETA_REGION, REGION))
    values = some(rng, ("r", "s") if "region" in key else ZONES, at_least=1, at_most=2)
    operator = rng.choice(("In", "In", "NotIn", "Exists"))
    expression = {"key": key, "operator": operator} | ({} if operator == "Exists" else {"values": values})
    fields = [{"key": "metadata.name", "operator": "In", "values": ["n0"]}]
    return {"matchExpressions": [expression]} | ({"matchFields": fields} if chance(rng, 0.2) else {})


def _twist_claim(rng: random.Random, claim: Json) -> None:
    notes, spec = claim["metadata"].setdefault("annotations", {}), claim["spec"]
    if claim["status"]["phase"] == "Lost" and chance(rng, 0.7):
        claim["status"]["phase"] = "Pending"
    if "volumeName" not in spec and chance(rng, 0.2):
        notes["volume.kubernetes.io/selected-node"] = "n0"
    if chance(rng, 0.1):
        notes["volume.beta.kubernetes.io/storage-class"] = rng.choice(("lazy", "local"))
    if chance(rng, 0.1):
        spec["selector"] = {"matchLabels": {ZONE: "z0"}}
    if chance(rng, 0.1):
        spec["volumeMode"] = "Block"


def _add_disk(rng: random.Random, pod: Json) -> None:
    """A disk without a claim, often the same one as other pods have."""
    if chance(rng, 0.5):
        return
    disks: list[Json] = [
        {"gcePersistentDisk": {"pdName": "a"}},
        {"awsElasticBlockStore": {"volumeID": "a"}},
        {"iscsi": {"iqn": "a"}},
        {"rbd": {"monitors": some(rng, ("m0", "m1"), at_least=1), "image": "a"}},
    ]
    disk = rng.choice(disks)
    next(iter(disk.values()))["readOnly"] = chance(rng, 0.5)
    pod["spec"].setdefault("volumes", []).append({"name": "added"} | rng.choice((disk, _old_disk(rng))))


TWISTS = {
    "Pod": _add_disk,
    "Node": _twist_node,
    "CSINode": _twist_csi_node,
    "CSIDriver": _twist_driver,
    "StorageClass": _twist_class,
    "PersistentVolume": _twist_volume,
    "PersistentVolumeClaim": _twist_claim,
}


def _waiting_claims(rng: random.Random, pod: Json) -> list[Json]:
    """Claims that wait for the pod, and compete for the spare volumes."""
    claims: list[Json] = []
    for name in some(rng, ("want0", "want1", "want2")):
        spec = {
            "storageClassName": rng.choice(("local", "local", "lazy")),
            "accessModes": [rng.choice(("ReadWriteOnce", "ReadOnlyMany"))],
            "resources": {"requests": {"storage": rng.choice(("1Gi", "2Gi", "3Gi"))}},
        }
        meta = {"name": name, "namespace": pod["metadata"]["namespace"], "uid": name}
        thing = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": meta,
            "spec": spec,
            "status": {"phase": "Pending"},
        }
        claims.append(thing)
        volume = {"name": name, "persistentVolumeClaim": {"claimName": name}}
        pod["spec"].setdefault("volumes", []).append(volume)
    return claims


def _spare_volume(rng: random.Random, number: int) -> Json:
    volume: Json = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"spare{number}", "labels": {}},
        "spec": {
            "capacity": {"storage": rng.choice(("1Gi", "2Gi", "3Gi"))},
            "accessModes": some(rng, ("ReadWriteOnce", "ReadOnlyMany"), at_least=1),
            "storageClassName": rng.choice(("local", "local", "lazy")),
        },
        "status": {"phase": "Available"},
    }
    if chance(rng, 0.5):
        volume["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": [_term(rng)]}}
    return volume


def _with_private_claim(rng: random.Random, pod: Json) -> list[Json]:
    """A generic ephemeral volume for the pod, and mostly the claim that goes with it."""
    if chance(rng, 0.7):
        return []
    meta = pod["metadata"]
    pod["spec"].setdefault("volumes", []).append({"name": "scratch", "ephemeral": {}})
    owner = meta["uid"] if chance(rng, 0.9) else "somebody else"
    claim: Json = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": f"{meta['name']}-scratch",
            "namespace": meta["namespace"],
            "ownerReferences": [{"uid": owner, "controller": True}],
        },
        "spec": {"storageClassName": "lazy", "accessModes": ["ReadWriteOncePod"]},
        "status": {"phase": "Pending"},
    }
    return [claim] if chance(rng, 0.9) else []


def _set_aside(rng: random.Random, claims: list[Json], volumes: list[Json]) -> None:
    """Some free volumes are promised to claims, one at most to each."""
    free = [volume for volume in volumes if "claimRef" not in volume["spec"]]
    for claim, volume in zip(some(rng, claims, at_most=2), some(rng, free), strict=False):
        meta = claim["metadata"]
        ref = {"namespace": meta["namespace"], "name": meta["name"]}
        volume["spec"]["claimRef"] = ref | rng.choice(
            ({}, {"uid": meta["uid"]}, {"uid": "of the one before"})
        )


def _left_attached(rng: random.Random, number: int, nodes: list[Json], volumes: list[Json]) -> Json:
    source = {"persistentVolumeName": rng.choice(volumes)["metadata"]["name"]}
    node = rng.choice(nodes)["metadata"]["name"]
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "VolumeAttachment",
        "metadata": {"name": f"left{number}"},
        "spec": {"attacher": DRIVER, "nodeName": node, "source": source},
    }
