"""One object: what comes out of good input, and what is said about bad input."""

import json
from typing import Any

import msgspec
import pytest
from tests.unit.cluster.api.examples import (
    ALL,
    BUDGET,
    NODE,
    POD,
    POD_GROUP,
    PRIORITY_CLASS,
    changed,
    without,
)

from reprieve.cluster.api.codec import (
    READERS,
    Decoded,
    UnknownKind,
    Unreadable,
    decode,
    decode_pod,
    decode_value,
)
from reprieve.model.objects import KubernetesObject, Node, Pod, PriorityClass, group_of, ref_of


def raw(value: object) -> bytes:
    return json.dumps(value).encode()


def decoded(value: object) -> KubernetesObject:
    result = decode(raw(value))
    assert isinstance(result, Decoded), result
    return result.object


def problem(data: bytes) -> tuple[str, str]:
    result = decode(data)
    assert isinstance(result, Unreadable), result
    return result.problem.path, result.problem.expected


def pod_problem(path: str, value: object) -> tuple[str, str]:
    return problem(raw(changed(POD, path, value)))


def test_a_pod() -> None:
    pod = decoded(POD)
    assert isinstance(pod, Pod)
    assert (pod.metadata.namespace, pod.metadata.name, pod.spec.node_name) == ("team-a", "web-0", "n1")
    assert pod.spec.containers[0].resources.requests == {"cpu": "500m", "memory": 1024}
    assert pod.spec.containers[0].resources.limits == {"cpu": 1.5}
    assert pod.spec.containers[0].ports[0].host_port == 8080
    assert pod.status.start_time is not None
    assert pod.status.start_time.isoformat() == "2026-01-02T03:04:06+00:00"


@pytest.mark.parametrize("example", ALL, ids=lambda e: f"{e['apiVersion']} {e['kind']}")
def test_bytes_and_parsed_values_give_the_same(example: dict[str, Any]) -> None:
    thing = decoded(example)
    assert type(thing).__name__ == example["kind"]
    assert decode_value(example) == decode(raw(example))


@pytest.mark.parametrize("namespace", ["team", ""])
def test_what_was_applied_is_not_kept_beside_what_there_is(namespace: str) -> None:
    """It is the whole object as text, secrets in the environment of containers included."""
    notes = {"kubectl.kubernetes.io/last-applied-configuration": "{…}", "a": "b"}
    assert decoded(changed(POD, "metadata.annotations", notes)).metadata.annotations == {"a": "b"}
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": namespace, "annotations": notes},
    }
    thing = decode_value(body)
    assert isinstance(thing, Decoded)
    assert thing.object.metadata.annotations == {"a": "b"}
    assert thing.object.metadata.namespace == (namespace or "default")


def test_the_fast_path_for_pods_gives_the_same() -> None:
    assert decode_pod(raw(POD)) == decode(raw(POD))
    assert decode_pod(msgspec.Raw(raw(POD))) == decode(raw(POD))


def test_a_reader_serves_one_kind() -> None:
    assert READERS["v1", "Node"].read(raw(without(NODE, "kind"))) == decode(raw(NODE))


def test_namespaces() -> None:
    assert decoded(without(POD, "metadata.namespace")).metadata.namespace == "default"
    assert decoded(without(POD_GROUP, "metadata.namespace")).metadata.namespace == "default"
    assert decoded(without(POD, "metadata")).metadata.namespace == "default"
    assert decoded(changed(NODE, "metadata.namespace", "stray")).metadata.namespace == ""
    assert decoded(PRIORITY_CLASS).metadata.namespace == ""


@pytest.mark.parametrize(
    ("path", "value", "same"),
    [
        ("metadata.labels", None, {}),
        ("metadata.labels", {"app": None}, {}),
        ("metadata.uid", None, ""),
        ("spec.affinity", None, {}),
        ("spec.affinity.podAntiAffinity", None, {}),
        ("spec.containers.0.resources", None, {}),
        ("spec.containers.0.ports.0.hostPort", None, 0),
        ("status", None, {}),
    ],
)
def test_null_is_as_good_as_absent(path: str, value: object, same: object) -> None:
    assert decoded(changed(POD, path, value)) == decoded(changed(POD, path, same))
    assert decode_value(changed(POD, path, value)) == decode_value(changed(POD, path, same))


def test_null_in_a_union_of_a_group() -> None:
    with_null = changed(POD_GROUP, "spec.disruptionMode", {"single": None, "all": {}})
    assert decoded(with_null) == decoded(POD_GROUP)


def test_an_empty_pod_will_do() -> None:
    pod = decoded({"apiVersion": "v1", "kind": "Pod"})
    assert isinstance(pod, Pod)
    assert str(ref_of(pod)) == "Pod default/"


def test_the_group_of_a_pod() -> None:
    by_field = changed(POD, "spec.schedulingGroup", {"podGroupName": "train"})
    by_label = changed(POD, "metadata.labels", {"scheduling.x-k8s.io/pod-group": "crew"})
    both = changed(by_label, "spec.schedulingGroup", {"podGroupName": "train"})
    groups = [group_of(pod) for pod in map(decoded, (POD, by_field, by_label, both)) if isinstance(pod, Pod)]
    assert groups == ["", "train", "crew", "train"]


# --- what is wrong, and where --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "expected JSON, got something else: input data was truncated"),
        (b"<html>", "expected JSON, got something else: invalid character (byte 0)"),
        (b'{"kind": "\xff"}', "expected JSON in UTF-8"),
        (b"[" * 100_000, "expected fewer levels of nesting"),
        (b"[1]", "expected an object, got a list"),
        (b"3", "expected an object, got an integer"),
    ],
)
def test_no_object_at_all(data: bytes, expected: str) -> None:
    assert problem(data) == ("", expected)


def test_no_kind() -> None:
    assert problem(raw(without(POD, "kind"))) == ("kind", "expected a string, got nothing")
    assert problem(raw(changed(POD, "kind", None))) == ("kind", "expected a string, got nothing")
    assert problem(raw(changed(POD, "kind", 7))) == ("kind", "expected a string, got an integer")
    assert problem(raw(changed(POD, "kind", ""))) == ("kind", "expected a string, got nothing")
    assert problem(raw(without(POD, "apiVersion"))) == ("apiVersion", "expected a string, got nothing")


@pytest.mark.parametrize(("version", "kind"), [("apps/v1", "Deployment"), ("v2", "Pod"), ("v1", "PodGroup")])
def test_an_unknown_kind_is_another_matter(version: str, kind: str) -> None:
    thing = {"apiVersion": version, "kind": kind, "metadata": {"name": "a", "namespace": "b"}}
    result = decode(raw(thing))
    assert isinstance(result, UnknownKind)
    assert result.api_version == version
    assert str(result.problem.ref) == f"{kind} b/a"
    assert result.problem.expected == f"expected a kind that Reprieve reads, got {kind} of {version}"
    assert decode_value(thing) == result


@pytest.mark.parametrize(
    ("path", "value", "where", "expected"),
    [
        ("spec.priority", "x", "spec.priority", "expected an integer, got a string"),
        ("spec.priority", 1.5, "spec.priority", "expected an integer, got a number"),
        ("spec.priority", 2**31, "spec.priority", "expected an integer of at most 2147483647"),
        ("spec.priority", -(2**31) - 1, "spec.priority", "expected an integer of at least -2147483648"),
        ("spec.containers", {}, "spec.containers", "expected a list, got an object"),
        ("spec.containers.0", None, "spec.containers[0]", "expected an object, got null"),
        ("metadata.labels.app", 7, "metadata.labels[app]", "expected a string, got an integer"),
        ("metadata.labels.app", True, "metadata.labels[app]", "expected a string, got true or false"),
        ("status.startTime", "noon", "status.startTime", "expected a time such as 2006-01-02T15:04:05Z"),
        (
            "status.startTime",
            "2026-01-02T03:04:06",
            "status.startTime",
            "expected a time with a time zone, such as 2006-01-02T15:04:05Z",
        ),
        (
            "spec.containers.0.ports.0.hostPort",
            "web",
            "spec.containers[0].ports[0].hostPort",
            "expected an integer, got a string",
        ),
        (
            "spec.containers.0.resources.requests.cpu",
            [],
            "spec.containers[0].resources.requests[cpu]",
            "expected a number or a string, got a list",
        ),
        (
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution",
            {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone"}]}]},
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
            ".nodeSelectorTerms[0].matchExpressions[0].operator",
            "expected a value, because it is required",
        ),
    ],
)
def test_a_wrong_field_is_named(path: str, value: object, where: str, expected: str) -> None:
    assert pod_problem(path, value) == (where, expected)


def test_numbers_beyond_all_bounds() -> None:
    data = raw(POD).replace(b'"priority": 100', b'"priority": ' + b"9" * 5000)
    result = decode(data)
    assert isinstance(result, Unreadable)
    assert str(result.problem) == "Pod team-a/web-0: spec.priority: expected a smaller number"


def test_a_problem_reads_as_a_sentence() -> None:
    result = decode(raw(changed(POD, "spec.priority", "x")))
    assert isinstance(result, Unreadable)
    assert str(result.problem) == "Pod team-a/web-0: spec.priority: expected an integer, got a string"
    nameless = decode(b"null")
    assert isinstance(nameless, Unreadable)
    assert str(nameless.problem) == "expected an object, got null"


def test_the_reference_says_what_could_be_read() -> None:
    result = decode(raw(changed(POD, "metadata", {"name": "a", "namespace": 5})))
    assert isinstance(result, Unreadable)
    assert str(result.problem) == "Pod default/a: metadata.namespace: expected a string, got an integer"
    budget = decode(raw(changed(BUDGET, "metadata", [])))
    assert isinstance(budget, Unreadable)
    assert str(budget.problem) == "PodDisruptionBudget default/: metadata: expected an object, got a list"


def test_keys_that_only_yaml_can_have() -> None:
    result = decode_value(changed(POD, "metadata.labels", {1: "x"}))
    assert isinstance(result, Unreadable)
    assert (result.problem.path, result.problem.expected) == (
        "metadata.labels",
        "expected only strings as keys",
    )


def test_cluster_scoped_problems_have_no_namespace() -> None:
    result = decode(raw(changed(NODE, "spec.taints", 5)))
    assert isinstance(result, Unreadable)
    assert str(result.problem) == "Node n1: spec.taints: expected a list, got an integer"


def test_kinds_are_what_they_say() -> None:
    assert isinstance(decoded(NODE), Node)
    thing = decoded(PRIORITY_CLASS)
    assert isinstance(thing, PriorityClass)
    assert (thing.value, thing.global_default) == (900, False)


def test_a_pod_that_disabled_preemption_for_resizes_is_read_from_both_places() -> None:
    newer = changed(NODE, "spec.podPreemptionPolicy", {"disableResizePreemption": ["a", "b"]})
    both = changed(newer, "spec.preemptionPolicy", {"disablePodResizePreemption": ["b", "c"]})
    older = without(both, "spec.podPreemptionPolicy")
    owners = [
        node.spec.pod_preemption_policy.disable_resize_preemption for node in _nodes(newer, both, older)
    ]
    assert owners == [("a", "b"), ("a", "b", "c"), ("b", "c")]


def _nodes(*examples: dict[str, Any]) -> list[Node]:
    return [thing for example in examples if isinstance(thing := decoded(example), Node)]
