"""What becomes of an object: completed once and for all, or refused as a whole."""

from copy import deepcopy

import pytest
from tests.unit.cluster.admission.admitting import (
    CLAIM,
    EVERY_KIND,
    GROUP,
    OLDER_GROUP,
    POD,
    STORAGE_CLASS,
    admitted,
    create,
    created,
    errors,
    named,
    refusal,
    refused_at,
    update,
    with_value,
)

from reprieve.cluster.admission.admission import ErrorType
from reprieve.cluster.api.codec import Unreadable, decode_value
from reprieve.model.json import Json

every_kind = pytest.mark.parametrize("body", EVERY_KIND, ids=named)


@every_kind
def test_a_small_object_of_each_kind_is_admitted_and_can_be_read(body: Json) -> None:
    assert not isinstance(decode_value(created(body)), Unreadable)


@every_kind
def test_admitting_twice_changes_nothing(body: Json) -> None:
    once = created(body)
    assert created(once) == once


@every_kind
def test_an_update_that_changes_nothing_is_admitted_as_it_is(body: Json) -> None:
    stored = created(body)
    assert admitted(update(stored, stored)) == stored


@every_kind
def test_what_was_sent_is_not_touched(body: Json) -> None:
    sent = deepcopy(body)
    create(sent)
    assert sent == body


def test_null_is_absent() -> None:
    body = created({**POD, "metadata": {"name": "it", "creationTimestamp": None, "labels": None}})
    assert body["metadata"] == {"name": "it", "namespace": "default"}


def test_the_namespace_is_that_of_the_request() -> None:
    nowhere = {**POD, "metadata": {"name": "it"}}
    team = {"kind": "Namespace", "metadata": {"name": "team"}}
    assert created(nowhere, team, namespace="team")["metadata"]["namespace"] == "team"
    assert refused_at(create(POD, team, namespace="team")) == ["metadata.namespace"]


@pytest.mark.parametrize(
    ("namespace", "reason"),
    [
        (None, "NotFound"),
        ({"metadata": {"name": "team", "deletionTimestamp": "2026-01-02T03:04:05Z"}}, "Forbidden"),
        ({"metadata": {"name": "team"}, "status": {"phase": "Terminating"}}, "Forbidden"),
    ],
)
def test_nothing_is_made_in_a_namespace_that_is_not_there(namespace: Json | None, reason: str) -> None:
    beside = [] if namespace is None else [{"kind": "Namespace", **namespace}]
    pod = with_value(POD, "metadata.namespace", "team")
    assert refusal(create(pod, *beside)).reason == reason
    stored = created(pod, {"kind": "Namespace", "metadata": {"name": "team"}})
    assert admitted(update(stored, stored)) == stored


def test_a_name_may_still_have_to_be_made() -> None:
    assert "name" not in created({**POD, "metadata": {"generateName": "it-"}})["metadata"]
    assert refused_at(create({**POD, "metadata": {}})) == ["metadata.name"]
    assert refused_at(create({**POD, "metadata": {"generateName": "It-"}})) == ["metadata.generateName"]


def test_a_group_is_protected_from_the_start() -> None:
    stamp = "scheduling.k8s.io/podgroup-protection"
    mine = with_value(GROUP, "metadata.finalizers", ["example.com/mine"])
    assert created(GROUP)["metadata"]["finalizers"] == [stamp]
    assert created(OLDER_GROUP)["metadata"]["finalizers"] == [stamp]
    assert created(mine)["metadata"]["finalizers"] == ["example.com/mine", stamp]
    released = with_value(created(GROUP), "metadata.finalizers", [])
    assert admitted(update(released, created(GROUP)))["metadata"]["finalizers"] == []


def test_the_newest_default_storage_class_is_taken() -> None:
    def default(name: str, born: str) -> Json:
        annotations = {"storageclass.kubernetes.io/is-default-class": "true"}
        meta = {"name": name, "creationTimestamp": born, "annotations": annotations}
        return {**STORAGE_CLASS, "metadata": meta}

    other = {**STORAGE_CLASS, "metadata": {"name": "other"}}
    classes = (default("old", "2026-01-01T00:00:00Z"), default("new", "2026-01-02T00:00:00Z"), other)
    assert created(CLAIM, *classes)["spec"]["storageClassName"] == "new"
    assert "storageClassName" not in created(CLAIM, other)["spec"]
    none = with_value(CLAIM, "spec.storageClassName", "")
    assert created(none, *classes)["spec"]["storageClassName"] == ""


def test_of_a_status_update_only_the_status_counts() -> None:
    stored = {**created(POD), "status": {"phase": "Pending", "qosClass": "BestEffort"}}
    sent = {**with_value(stored, "spec.nodeName", "n1"), "status": {"phase": "Running"}}
    body = admitted(update(sent, stored, subresource="status"))
    assert body == {**stored, "status": {"phase": "Running", "qosClass": "BestEffort"}}


@pytest.mark.parametrize(
    ("status", "path"),
    [
        ("Running", "status"),
        ({"phase": "Asleep"}, "status.phase"),
        ({"conditions": [{"type": "Ready", "status": "Yes"}]}, "status.conditions[0].status"),
        ({"nominatedNodeName": "No"}, "status.nominatedNodeName"),
        ({"startTime": "yesterday"}, "status.startTime"),
    ],
)
def test_a_status_that_makes_no_sense_is_refused(status: object, path: str) -> None:
    stored = created(POD)
    assert refused_at(update({**stored, "status": status}, stored, subresource="status")) == [path]


def test_what_was_wrong_before_is_not_held_against_an_update() -> None:
    broken = with_value(created(POD), "metadata.labels", {"bad key": "x"})
    assert admitted(update(with_value(broken, "spec.containers.0.image", "example/app:2"), broken))
    worse = with_value(broken, "metadata.labels", {"bad key": "x", "worse key": "x"})
    (error,) = errors(update(worse, broken))
    assert (error.path, error.value) == ("metadata.labels", "worse key")


def test_an_error_reads_as_a_cause_of_a_status() -> None:
    (error,) = errors(create(with_value(POD, "spec.restartPolicy", "Sometimes")))
    assert error.reason is ErrorType.UNSUPPORTED
    assert error.reason.cause == "FieldValueNotSupported"
    assert str(error) == (
        'spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "Never", "OnFailure"'
    )


def test_an_object_can_be_too_deep() -> None:
    deep: object = "bottom"
    for _ in range(200):
        deep = {"down": deep}
    (error,) = errors(create({**POD, "spec": deep}))
    assert "levels" in error.sentence
