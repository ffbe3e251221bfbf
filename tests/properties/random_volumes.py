"""Random storage: classes, volumes, claims, drivers and their limits, and the volumes of one pod."""

import random
from dataclasses import dataclass

from reprieve.model.json import Json
from tests.properties.vocabulary import HOSTNAME, ZONE, ZONES, chance, some

DRIVER, LOCAL = "csi.example.com", "kubernetes.io/no-provisioner"
CLASSES = {
    "immediate": (DRIVER, "Immediate"),
    "lazy": (DRIVER, "WaitForFirstConsumer"),
    "local": (LOCAL, "WaitForFirstConsumer"),
}
SIZES = ("1Gi", "5Gi", "10Gi")


@dataclass(frozen=True, slots=True)
class RandomStorage:
    """The storage objects, and the names of the claims of each namespace."""

    objects: list[Json]
    claims: dict[str, list[str]]


def random_storage(rng: random.Random, nodes: list[str], namespaces: list[str]) -> RandomStorage:
    objects = [_class(rng, name) for name in CLASSES if chance(rng, 0.9)]
    objects += [_csi_node(rng, node) for node in nodes if chance(rng, 0.8)]
    if chance(rng, 0.7):
        objects.append(_csi_driver(rng))
        objects += [_capacity(rng, zone) for zone in ZONES if chance(rng, 0.6)]
    objects += [_volume(rng, f"free{i}", nodes) for i in range(rng.randint(0, 3))]
    claims: dict[str, list[str]] = {}
    for namespace in namespaces:
        names = claims[namespace] = [f"claim{i}" for i in range(rng.randint(0, 3))]
        for name in names:
            objects += _claim_and_volume(rng, namespace, name, nodes)
    return RandomStorage(objects, claims)


def _meta(name: str, namespace: str = "") -> Json:
    meta = {"name": name, "uid": f"{namespace}-{name}" if namespace else name}
    return meta | ({"namespace": namespace} if namespace else {})


def _class(rng: random.Random, name: str) -> Json:
    provisioner, mode = CLASSES[name]
    thing: Json = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": _meta(name),
        "provisioner": provisioner,
        "volumeBindingMode": mode,
    }
    if provisioner == DRIVER and chance(rng, 0.3):
        zones = some(rng, ZONES, at_least=1, at_most=2)
        thing["allowedTopologies"] = [{"matchLabelExpressions": [{"key": ZONE, "values": zones}]}]
    return thing


def _csi_node(rng: random.Random, node: str) -> Json:
    driver: Json = {"name": DRIVER, "nodeID": node, "topologyKeys": [ZONE]}
    if chance(rng, 0.7):
        driver["allocatable"] = {"count": rng.randint(0, 3)}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": _meta(node),
        "spec": {"drivers": [driver] if chance(rng, 0.9) else []},
    }


def _csi_driver(rng: random.Random) -> Json:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIDriver",
        "metadata": _meta(DRIVER),
        "spec": {"storageCapacity": chance(rng, 0.5)},
    }


def _capacity(rng: random.Random, zone: str) -> Json:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIStorageCapacity",
        "metadata": _meta(f"capacity-{zone}", "default"),
        "storageClassName": rng.choice(("immediate", "lazy")),
        "nodeTopology": {"matchLabels": {ZONE: zone}},
        "capacity": rng.choice(("0", "4Gi", "100Gi")),
    }


def _volume(rng: random.Random, name: str, nodes: list[str]) -> Json:
    class_name = rng.choice(list(CLASSES))
    volume: Json = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": _meta(name),
        "spec": {
            "capacity": {"storage": rng.choice(SIZES)},
            "accessModes": some(rng, ("ReadWriteOnce", "ReadOnlyMany"), at_least=1),
            "storageClassName": class_name,
            "persistentVolumeReclaimPolicy": "Retain",
            "volumeMode": "Filesystem",
        },
        "status": {"phase": "Available"},
    }
    spec = volume["spec"]
    if class_name == "local":
        spec["local"] = {"path": "/mnt/disk"}
        spec["nodeAffinity"] = _reachable_from(HOSTNAME, some(rng, nodes, at_least=1, at_most=2))
        return volume
    spec["csi"] = {"driver": DRIVER, "volumeHandle": name}
    zones = some(rng, ZONES, at_least=1, at_most=2)
    if chance(rng, 0.4):
        spec["nodeAffinity"] = _reachable_from(ZONE, zones)
    if chance(rng, 0.4):
        volume["metadata"]["labels"] = {ZONE: "__".join(zones)}
    return volume


def _reachable_from(key: str, values: list[str]) -> Json:
    expression = {"key": key, "operator": "In", "values": values}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}


def _claim_and_volume(rng: random.Random, namespace: str, name: str, nodes: list[str]) -> list[Json]:
    if chance(rng, 0.4):
        return [_claim(rng, namespace, name, rng.choice(list(CLASSES)))]
    volume = _volume(rng, f"pv-{namespace}-{name}", nodes)
    claim = _claim(rng, namespace, name, volume["spec"]["storageClassName"])
    _bind(claim, volume)
    if chance(rng, 0.1):
        return [claim]  # the volume was deleted
    return [claim, volume]


def _claim(rng: random.Random, namespace: str, name: str, class_name: str) -> Json:
    claim: Json = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": _meta(name, namespace),
        "spec": {
            "accessModes": [rng.choice(("ReadWriteOnce", "ReadWriteOnce", "ReadWriteOncePod"))],
            "storageClassName": class_name,
            "volumeMode": "Filesystem",
            "resources": {"requests": {"storage": rng.choice(SIZES)}},
        },
        "status": {"phase": rng.choice(("Pending", "Pending", "Pending", "Lost"))},
    }
    if chance(rng, 0.05):
        claim["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        claim["metadata"]["finalizers"] = ["kubernetes.io/pvc-protection"]
    return claim


def _bind(claim: Json, volume: Json) -> None:
    meta = claim["metadata"]
    meta["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    claim["spec"]["volumeName"] = volume["metadata"]["name"]
    claim["status"]["phase"] = volume["status"]["phase"] = "Bound"
    volume["spec"]["accessModes"] = claim["spec"]["accessModes"]
    volume["spec"]["claimRef"] = {
        "kind": "PersistentVolumeClaim",
        "namespace": meta["namespace"],
        "name": meta["name"],
        "uid": meta["uid"],
    }


# --- the volumes of one pod ----------------------------------------------------------------------


def random_pod_volumes(rng: random.Random, claims: list[str]) -> list[Json]:
    volumes: list[Json] = [
        {"name": f"v{i}", "persistentVolumeClaim": {"claimName": claim}}
        for i, claim in enumerate(some(rng, claims, at_most=2))
    ]
    if chance(rng, 0.03):
        volumes.append({"name": "gone", "persistentVolumeClaim": {"claimName": "no-such-claim"}})
    if chance(rng, 0.25):
        volumes.append({"name": "disk"} | _disk(rng))
    if chance(rng, 0.2):
        volumes.append({"name": "inline", "csi": {"driver": DRIVER}})
    return volumes


def _disk(rng: random.Random) -> Json:
    read_only = chance(rng, 0.5)
    name = rng.choice(("a", "b"))
    match rng.randrange(4):
        case 0:
            return {"gcePersistentDisk": {"pdName": name, "readOnly": read_only}}
        case 1:
            return {"awsElasticBlockStore": {"volumeID": name, "readOnly": read_only}}
        case 2:
            portal = {"targetPortal": "10.0.0.1:3260", "iqn": f"iqn.2026-01.example:{name}", "lun": 0}
            return {"iscsi": portal | {"readOnly": read_only}}
        case _:
            monitors = some(rng, ("10.0.0.1", "10.0.0.2"), at_least=1)
            return {"rbd": {"monitors": monitors, "image": name, "pool": "rbd", "readOnly": read_only}}
