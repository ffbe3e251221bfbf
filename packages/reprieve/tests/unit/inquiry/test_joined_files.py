"""Objects that contradict each other, repeat, or are of unknown kinds: counted and told, never fatal."""

import json

from reprieve.inquiry.cluster_objects import ClusterObjects
from reprieve.inquiry.joined_files import cluster_in
from reprieve.inquiry.object_files import parse_objects
from reprieve.model.json import Json

NOW = 1_800_000_000.0
NODE: Json = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "uid": "u-n"}}


def pod(name: str, uid: str = "", **spec: object) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "uid": uid or f"u-{name}"},
        "spec": spec,
    }


def joined(*files: list[Json]) -> ClusterObjects:
    texts = ("".join(json.dumps(body) + "\n" for body in file).encode() for file in files)
    return cluster_in([parse_objects(text, f"f{i}") for i, text in enumerate(texts)], NOW)


def bodies(cluster: ClusterObjects) -> list[Json]:
    return [json.loads(thing.body) for thing in cluster.objects]


def test_files_are_one_cluster() -> None:
    cluster = joined([NODE], [pod("a", nodeName="n")])
    assert [thing.kind for thing in cluster.objects] == ["Node", "Pod"]
    assert (cluster.taken_at, cluster.notes) == (NOW, ())


def test_the_last_object_of_a_name_counts() -> None:
    cluster = joined([NODE, pod("a")], [pod("a", nodeName="n")])
    assert bodies(cluster)[1]["spec"] == {"nodeName": "n"}
    assert cluster.notes == (
        "1 object occurred again under the same name, and the last version counts: Pod default/a",
    )


def test_unknown_kinds_are_counted() -> None:
    gateways = [
        {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway", "metadata": {"name": f"g{i}"}}
        for i in range(2)
    ]
    cluster = joined([NODE, *gateways])
    assert bodies(cluster) == [NODE]
    assert cluster.notes == (
        "left out objects of kinds that Reprieve does not read: Gateway of gateway.networking.k8s.io/v1 (2)",
    )


def test_secrets_are_not_kept() -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"password": "aGk="}}
    assert bodies(joined([NODE, secret])) == [NODE]


def test_pods_of_unknown_nodes_and_groups_are_counted() -> None:
    pods = [pod(f"p{i}", nodeName="gone", schedulingGroup={"podGroupName": "g"}) for i in range(3)]
    ended = {**pod("old", nodeName="long-gone"), "status": {"phase": "Succeeded"}}
    cluster = joined([NODE, *pods, ended])
    assert len(cluster.objects) == 5
    assert cluster.notes == (
        "3 pods are on nodes that are not known, and count nowhere: gone",
        "3 pods are in PodGroups that are not known: default/g",
    )


def test_every_object_has_a_uid_of_its_own() -> None:
    unnamed = {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "x-"}}
    bare = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "bare"}}
    cluster = joined([NODE, pod("a", "same"), pod("b", "same"), bare, unnamed])
    assert [body["metadata"]["uid"] for body in bodies(cluster)] == [
        "u-n",
        "same",
        "Pod/default/b",
        "Pod/default/bare",
    ]
    assert cluster.notes == (
        "left out objects without a readable metadata.name: Pod (1)",
        "1 object had the UID of another object, and got a new one: Pod default/b",
    )


def test_an_object_of_the_wrong_shape_is_left_out() -> None:
    cluster = joined([NODE, {"apiVersion": "v1", "kind": "Pod", "metadata": []}])
    assert bodies(cluster) == [NODE]
    assert cluster.notes == ("left out objects without a readable metadata.name: Pod (1)",)
