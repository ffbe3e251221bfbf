"""A snapshot keeps what placement, preemption and admission read, and nothing that is secret."""

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest

from reprieve.cluster.api.codec import Decoded, decode
from reprieve.inquiry.cluster_objects import ApiObject, ClusterObjects
from reprieve.inquiry.joined_files import cluster_in
from reprieve.inquiry.object_files import parse_objects
from reprieve.inquiry.snapshot_file import (
    contents_document,
    contents_lines,
    contents_of,
    pruned,
    snapshot_lines,
)
from reprieve.model.json import Json
from tests.architecture.source import ROOT

SECRET = "s3cr3t"
DECISION: Json = {"apiVersion": "reprieve.dev/v1alpha1", "kind": "Decision", "id": "d"}
CONTAINER: Json = {
    "name": "c",
    "image": "registry/app:1",
    "command": [SECRET],
    "args": [SECRET],
    "env": [{"name": "PASSWORD", "value": SECRET}],
    "envFrom": [{"secretRef": {"name": SECRET}}],
    "livenessProbe": {"httpGet": {"path": f"/{SECRET}", "port": 80}},
    "lifecycle": {"preStop": {"exec": {"command": [SECRET]}}},
    "resources": {"requests": {"cpu": "1"}},
    "ports": [{"containerPort": 80, "hostPort": 8080}],
}
META: Json = {
    "name": "x",
    "namespace": "team",
    "uid": "u",
    "labels": {"app": "x"},
    "annotations": {
        "kubectl.kubernetes.io/last-applied-configuration": SECRET,
        "example.com/note": SECRET,
        "plain": SECRET,
        "kubernetes.io/config.mirror": "yes",
    },
    "managedFields": [{"manager": SECRET}],
}
SPEC: Json = {
    "nodeName": "n",
    "containers": [CONTAINER],
    "initContainers": [CONTAINER],
    "imagePullSecrets": [{"name": SECRET}],
    "volumes": [
        {"name": "v", "secret": {"secretName": SECRET}},
        {"name": "d", "persistentVolumeClaim": {"claimName": "data"}},
    ],
    "affinity": None,
}
POD: Json = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": META,
    "spec": SPEC,
    "status": {"phase": "Running"},
}
OTHERS: list[Json] = [
    {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": META,
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"app": "x"}},
            "template": {"metadata": META, "spec": SPEC},
        },
    }
    for kind in ("Deployment", "DaemonSet", "ReplicaSet", "StatefulSet")
]
CRON: Json = {
    "apiVersion": "batch/v1",
    "kind": "CronJob",
    "metadata": META,
    "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": {"spec": SPEC}}}},
}
VOLUME: Json = {
    "apiVersion": "v1",
    "kind": "PersistentVolume",
    "metadata": {"name": "pv", "uid": "pv"},
    "spec": {
        "capacity": {"storage": "1Gi"},
        "csi": {"driver": "d", "nodePublishSecretRef": {"name": SECRET}},
    },
}
CLASS: Json = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "fast", "uid": "fast"},
    "provisioner": "d",
    "parameters": {"password": SECRET},
}


def cluster(*bodies: Json) -> ClusterObjects:
    objects = tuple(ApiObject(b["kind"], b["apiVersion"], json.dumps(b).encode()) for b in bodies)
    return ClusterObjects(objects, 1_800_000_000.0, "41", {"profiles": [{}]}, (DECISION,))


def saved(found: ClusterObjects) -> bytes:
    return b"".join(snapshot_lines(pruned(found)))


def test_no_secret_is_written() -> None:
    text = saved(cluster(POD, *OTHERS, CRON, VOLUME, CLASS)).decode()
    assert SECRET not in text
    assert "managedFields" not in text
    assert "registry/app:1" in text
    assert "config.mirror" in text


def test_what_controllers_need_is_kept() -> None:
    bodies = [json.loads(thing.body) for thing in pruned(cluster(*OTHERS, CRON)).objects]
    assert [body["spec"].get("replicas") for body in bodies] == [3, 3, 3, 3, None]
    assert bodies[0]["spec"]["template"]["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "1"}}
    assert bodies[-1]["spec"]["schedule"] == "* * * * *"
    assert bodies[-1]["spec"]["jobTemplate"]["spec"]["template"]["spec"]["nodeName"] == "n"


def test_a_saved_cluster_is_read_again() -> None:
    found = pruned(cluster(POD, *OTHERS, CRON, VOLUME, CLASS))
    file = parse_objects(gzip.compress(saved(found)), "f")
    assert file.problems == ()
    again = cluster_in([file], 0.0)
    assert (again.taken_at, again.resource_version) == (found.taken_at, "41")
    assert again.configuration == found.configuration
    assert [thing.kind for thing in again.objects] == [thing.kind for thing in found.objects]
    assert [thing.body for thing in again.objects] == [thing.body for thing in found.objects]


def test_of_which_namespaces_the_pods_are_is_kept() -> None:
    part = replace(cluster(POD), pods_read_in=("team-a",))
    files = [parse_objects(saved(found), "f") for found in (part, replace(part, pods_read_in=("b",)))]
    assert cluster_in(files[:1], 0.0).pods_read_in == ("team-a",)
    assert cluster_in(files, 0.0).pods_read_in == ("b", "team-a")
    whole = parse_objects(saved(cluster(VOLUME)), "f")
    assert cluster_in([*files, whole], 0.0).pods_read_in is None


def test_any_cut_is_noticed() -> None:
    text = saved(cluster(POD, VOLUME))
    cuts = range(1, len(text) - 1)
    assert all(parse_objects(text[:cut], "f").problems for cut in cuts)


def test_an_object_that_cannot_be_decoded_is_told() -> None:
    found = pruned(cluster(VOLUME, {**POD, "spec": 3}))
    assert [thing.kind for thing in found.objects] == ["PersistentVolume"]
    assert found.notes == ("left out objects that cannot be decoded: Pod (1)",)


CASES = sorted((ROOT / "tests" / "reference" / "observed").glob("*.json"))


def objects_in(case: object) -> list[Json]:
    """Everything in a recorded case that looks like an object of the API."""
    match case:
        case {"apiVersion": str(), "kind": str(), "metadata": dict()}:
            return [case]  # type: ignore[list-item]
        case dict():
            return [found for value in case.values() for found in objects_in(value)]
        case list():
            return [found for value in case for found in objects_in(value)]
    return []


@pytest.mark.parametrize("part", range(4))
def test_what_is_decoded_stays_the_same(part: int) -> None:
    """Of every object of the recorded cases, but for annotations that no rule reads."""
    seen = 0
    for file in CASES[part::4]:
        for body in objects_in(json.loads(Path(file).read_text())):
            before = decode(json.dumps(body).encode())
            if not isinstance(before, Decoded):
                continue
            (kept,) = pruned(cluster(body)).objects
            assert decode(kept.body) == before
            seen += 1
    assert seen


def test_contents_are_counted_by_kind() -> None:
    contents = contents_of(cluster(POD, VOLUME, CLASS, {**VOLUME, "metadata": {"name": "other"}}))
    assert [line.text for line in contents_lines(contents)] == [
        "Taken at 2027-01-15T08:00:00Z, resource version 41.",
        "",
        "KIND              OBJECTS",
        "PersistentVolume        2",
        "Pod                     1",
        "StorageClass            1",
        "Decision                1",
        "",
        "It has the configuration of the scheduler of default-scheduler.",
    ]
    assert contents_document(contents)["objects"] == {"PersistentVolume": 2, "Pod": 1, "StorageClass": 1}
