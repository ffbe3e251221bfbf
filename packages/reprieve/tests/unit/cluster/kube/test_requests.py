"""Effects as conversations: what is sent, and what each answer of a server means."""

import json
from typing import Any

import pytest

from reprieve.cluster.kube.requests import (
    MERGE,
    STRATEGIC,
    ConditionTimes,
    KubeRequest,
    KubeResponse,
    StoredEffect,
    answer_to,
    api_call,
)
from reprieve.cluster.kube.rest_mapping import CANDIDATES, RestMapping
from reprieve.cluster.port import Answer, Lost, Refused, Succeeded
from reprieve.model.effects import (
    Bind,
    BindVolume,
    Evict,
    Nominate,
    SelectNode,
    SetCondition,
    Target,
    WriteStatus,
)
from reprieve.model.json import Json

POD = Target("Pod", "team", "web", "u1")
VOLUME, CLAIM = Target("PersistentVolume", "", "v", "u2"), Target("PersistentVolumeClaim", "team", "c", "u3")
GROUP = Target("PodGroup", "team", "train", "u4")
PODS, VOLUMES, CLAIMS = (CANDIDATES[t.kind][0] for t in (POD, VOLUME, CLAIM))
NOW, THEN = "2026-01-01T00:10:00Z", "2026-01-01T00:00:00Z"
TIMES = ConditionTimes(NOW, {"PodScheduled": THEN}, generation=3)
CONFLICT = KubeResponse(409, b'{"message": "no"}')


def answer(code: int = 200, **body: Any) -> KubeResponse:
    return KubeResponse(code, json.dumps(body).encode())


def talk(
    effect: StoredEffect, place: RestMapping, *answers: KubeResponse
) -> tuple[list[KubeRequest], Answer]:
    """All that was said, and how it ended, when the server answers like that."""
    said, talking = [], api_call(effect, place, TIMES)
    try:
        said.append(next(talking))
        for response in answers:
            said.append(talking.send(response))
    except StopIteration as end:
        result: Answer = end.value
        return said, result
    raise AssertionError(f"one answer more was expected after {said}")


def body_of(request: KubeRequest) -> Json:
    body: Json = json.loads(request.body)
    return body


def test_a_pod_is_bound_with_one_request_that_names_its_uid() -> None:
    (request,), result = talk(Bind(POD, "n1"), PODS, answer(201))
    assert (request.method, request.path) == ("POST", "/api/v1/namespaces/team/pods/web/binding")
    assert body_of(request)["metadata"]["uid"] == "u1"
    assert body_of(request)["target"]["name"] == "n1"
    assert result == Succeeded()


@pytest.mark.parametrize(
    ("current", "expected"),
    [
        (answer(metadata={"uid": "u1"}, spec={"nodeName": "n1"}), Succeeded()),
        (answer(metadata={"uid": "u1"}, spec={"nodeName": "n2"}), Refused("no", again=False)),
        (answer(metadata={"uid": "u1"}, spec={}), Refused("no", again=False)),
        (
            answer(metadata={"uid": "other"}, spec={"nodeName": "n1"}),
            Refused("no", again=False, missing=True),
        ),
        (answer(404), Refused("no", again=False, missing=True)),
        (answer(503), Refused("no", again=True)),
    ],
)
def test_a_pod_that_is_already_bound_is_read(current: KubeResponse, expected: Answer) -> None:
    said, result = talk(Bind(POD, "n1"), PODS, CONFLICT, current)
    assert [r.method for r in said] == ["POST", "GET"]
    assert result == expected


def test_a_condition_is_one_patch_and_keeps_its_time() -> None:
    effect = SetCondition(POD, "PodScheduled", "False", "Unschedulable", "full")
    (request,), result = talk(effect, PODS, answer())
    assert (request.method, request.content_type) == ("PATCH", STRATEGIC)
    assert request.path == "/api/v1/namespaces/team/pods/web/status"
    body = body_of(request)
    assert body["metadata"] == {"uid": "u1"}
    (condition,) = body["status"]["conditions"]
    assert condition == {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "full",
        "lastTransitionTime": THEN,
        "observedGeneration": 3,
    }
    assert result == Succeeded()


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("scheduling.k8s.io/v1beta1", "PodGroupInitiallyScheduled"),
        ("scheduling.k8s.io/v1alpha2", "PodGroupScheduled"),
    ],
)
def test_conditions_of_groups_in_the_words_of_the_version(version: str, expected: str) -> None:
    place = next(p for p in CANDIDATES["PodGroup"] if p.api_version == version)
    effect = SetCondition(GROUP, "PodGroupInitiallyScheduled", "True", "Scheduled", "")
    (request,), _ = talk(effect, place, answer())
    assert request.path == f"/apis/{version}/namespaces/team/podgroups/train/status"
    assert body_of(request)["status"]["conditions"][0]["type"] == expected


@pytest.mark.parametrize("is_custom", [False, True])
def test_a_condition_that_says_since_when_it_holds(is_custom: bool) -> None:
    place = next(p for p in CANDIDATES["PodGroup"] if p.is_custom is is_custom)
    there = [{"type": "Mine", "status": "True", "lastTransitionTime": "then"}]
    current = answer(metadata={"uid": "u4", "resourceVersion": "7"}, status={"conditions": there})
    effect = SetCondition(GROUP, "Mine", "True", "R", "m", since=60.0)
    requests, _ = talk(effect, place, *([current] if is_custom else []), answer())
    assert body_of(requests[-1])["status"]["conditions"][0]["lastTransitionTime"] == "1970-01-01T00:01:00Z"


def test_conditions_of_kinds_by_definition_are_read_first_and_replaced_together() -> None:
    place = next(p for p in CANDIDATES["PodGroup"] if p.is_custom)
    there = [{"type": "Other"}, {"type": "Mine", "status": "True", "lastTransitionTime": "then"}]
    current = answer(metadata={"uid": "u4", "resourceVersion": "7"}, status={"conditions": there})
    (_, patch), result = talk(SetCondition(GROUP, "Mine", "True", "R", "m"), place, current, answer())
    assert patch.content_type == MERGE
    body = body_of(patch)
    assert body["metadata"] == {"uid": "u4", "resourceVersion": "7"}
    assert [c["type"] for c in body["status"]["conditions"]] == ["Other", "Mine"]
    assert body["status"]["conditions"][1]["lastTransitionTime"] == "then"
    assert result == Succeeded()


@pytest.mark.parametrize(
    ("current", "again"), [(answer(metadata={"uid": "u1"}), True), (answer(metadata={"uid": "x"}), False)]
)
def test_a_conflict_about_a_status(current: KubeResponse, again: bool) -> None:
    _, result = talk(Nominate(POD, "n1"), PODS, CONFLICT, current)
    assert result == Refused("no", again=again, missing=not again)


@pytest.mark.parametrize(("uid", "missing"), [("u1", False), ("x", True)])
def test_a_uid_of_another_may_be_called_invalid(uid: str, missing: bool) -> None:
    invalid = KubeResponse(422, b'{"message": "metadata.uid: field is immutable"}')
    _, result = talk(Nominate(POD, "n1"), PODS, invalid, answer(metadata={"uid": uid}))
    assert result == Refused("metadata.uid: field is immutable", again=False, missing=missing)


@pytest.mark.parametrize(("node", "written"), [("n1", "n1"), ("", None)])
def test_nominations_are_written_and_cleared(node: str, written: str | None) -> None:
    (request,), _ = talk(Nominate(POD, node), PODS, answer())
    assert request.content_type == STRATEGIC
    assert body_of(request) == {"metadata": {"uid": "u1"}, "status": {"nominatedNodeName": written}}


def test_a_nomination_and_conditions_are_one_patch() -> None:
    parts = (
        Nominate(POD, "n1"),
        SetCondition(POD, "PodScheduled", "False", "Unschedulable", "full"),
        SetCondition(POD, "Other", "True", "R", "m"),
    )
    (request,), result = talk(WriteStatus(POD, parts), PODS, answer())
    status = body_of(request)["status"]
    assert status["nominatedNodeName"] == "n1"
    assert {c["type"]: c["lastTransitionTime"] for c in status["conditions"]} == {
        "PodScheduled": THEN,
        "Other": NOW,
    }
    assert result == Succeeded()


def test_an_eviction_deletes_by_uid_with_the_pods_own_grace_period() -> None:
    (request,), result = talk(Evict(POD), PODS, answer())
    assert (request.method, request.path) == ("DELETE", "/api/v1/namespaces/team/pods/web")
    assert body_of(request)["preconditions"] == {"uid": "u1"}
    assert "gracePeriodSeconds" not in body_of(request)
    assert result == Succeeded()


def test_an_eviction_with_a_shorter_grace_period_than_the_pods_own() -> None:
    (request,), result = talk(Evict(POD, 600), PODS, answer())
    assert b'"gracePeriodSeconds":600' in request.body
    assert result == Succeeded()


def test_evicting_a_pod_that_is_gone_succeeds() -> None:
    assert talk(Evict(POD), PODS, answer(404))[1] == Succeeded()
    namesake = answer(metadata={"uid": "other"})
    assert talk(Evict(POD), PODS, CONFLICT, namesake)[1] == Succeeded()
    still_there = answer(metadata={"uid": "u1"})
    assert talk(Evict(POD), PODS, CONFLICT, still_there)[1] == Refused("no", again=True)


def volume(**spec: Any) -> KubeResponse:
    return answer(metadata={"uid": "u2", "resourceVersion": "5"}, spec=spec)


def test_a_volume_is_promised_as_it_was_read() -> None:
    (_, patch), result = talk(BindVolume(VOLUME, CLAIM), VOLUMES, volume(), answer())
    body = body_of(patch)
    assert body["metadata"]["resourceVersion"] == "5"
    assert body["spec"]["claimRef"]["uid"] == "u3"
    assert result == Succeeded()
    assert talk(BindVolume(VOLUME, CLAIM), VOLUMES, volume(), CONFLICT)[1] == Refused("no", again=True)


def test_a_volume_of_another_claim_is_left_alone() -> None:
    theirs = volume(claimRef={"namespace": "team", "name": "other", "uid": "u9"})
    said, result = talk(BindVolume(VOLUME, CLAIM), VOLUMES, theirs)
    assert len(said) == 1
    assert isinstance(result, Refused)
    assert not result.again
    ours = volume(claimRef={"namespace": "team", "name": "c", "uid": "u3"})
    assert talk(BindVolume(VOLUME, CLAIM), VOLUMES, ours)[1] == Succeeded()


def test_a_claim_gets_its_selected_node_unless_it_has_a_volume() -> None:
    waiting = answer(metadata={"uid": "u3", "resourceVersion": "5"}, spec={})
    (_, patch), _ = talk(SelectNode(CLAIM, "n1"), CLAIMS, waiting, answer())
    assert body_of(patch)["metadata"]["annotations"] == {"volume.kubernetes.io/selected-node": "n1"}
    bound = answer(metadata={"uid": "u3"}, spec={"volumeName": "v"})
    result = talk(SelectNode(CLAIM, "n1"), CLAIMS, bound)[1]
    assert isinstance(result, Refused)
    assert not result.again


@pytest.mark.parametrize("status", [500, 502, 503, 504, 408])
def test_an_error_of_the_server_may_come_after_the_deed(status: int) -> None:
    assert isinstance(answer_to(KubeResponse(status)), Lost)


@pytest.mark.parametrize(
    ("status", "again"), [(429, True), (401, True), (403, False), (404, False), (422, False)]
)
def test_a_refusal_comes_before_it(status: int, again: bool) -> None:
    result = answer_to(KubeResponse(status, b"<html>"))
    assert isinstance(result, Refused)
    assert result.again == again
    assert str(status) in result.error
