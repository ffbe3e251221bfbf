"""Events: the first is created, the second begins a series, more are only counted."""

import json
from dataclasses import replace
from typing import Any

import pytest

from reprieve.cluster.kube.event_recorder import EventSeriesRecorder
from reprieve.cluster.kube.requests import ApiCall, KubeRequest, KubeResponse
from reprieve.cluster.port import Answer, Lost, Refused, Succeeded
from reprieve.model.effects import Announce, Target, Tone
from reprieve.model.moment import Moment

POD = Target("Pod", "team", "web", "u1")
NOW = 1_767_225_600.0


def at(wall: float) -> Moment:
    return Moment(wall, wall - NOW)


def warning(note: str = "no room", target: Target = POD) -> Announce:
    return Announce(target, Tone.WARNING, "FailedScheduling", "Scheduling", note)


def talk(conversation: ApiCall, *statuses: int) -> tuple[list[KubeRequest], Answer]:
    said = []
    try:
        said.append(next(conversation))
        for status in statuses:
            said.append(conversation.send(KubeResponse(status)))
    except StopIteration as end:
        result: Answer = end.value
        return said, result
    raise AssertionError(f"one answer more was expected after {said}")


def talk_on(conversation: ApiCall, status: int) -> Answer:
    try:
        conversation.send(KubeResponse(status))
    except StopIteration as end:
        result: Answer = end.value
        return result
    raise AssertionError("one answer was expected to do")


def body_of(request: KubeRequest) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(request.body)
    return body


def test_an_event_tells_all() -> None:
    (request,), result = talk(EventSeriesRecorder("reprieve", "one").announce(warning(), "v1", at(NOW)), 201)
    assert (request.method, request.path) == ("POST", "/apis/events.k8s.io/v1/namespaces/team/events")
    body = body_of(request)
    assert body["regarding"] == {
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": "team",
        "name": "web",
        "uid": "u1",
    }
    assert (body["type"], body["reason"], body["action"]) == ("Warning", "FailedScheduling", "Scheduling")
    assert (body["note"], body["reportingController"], body["reportingInstance"]) == (
        "no room",
        "reprieve",
        "one",
    )
    assert body["eventTime"] == "2026-01-01T00:00:00.000000Z"
    assert result == Succeeded()


def test_what_comes_again_is_a_series() -> None:
    recorder = EventSeriesRecorder("reprieve", "one")
    (created,), _ = talk(recorder.announce(warning(), "v1", at(NOW)), 201)
    (patched,), _ = talk(recorder.announce(warning(), "v1", at(NOW + 1)), 200)
    assert patched.path.endswith(body_of(created)["metadata"]["name"])
    assert body_of(patched)["series"]["count"] == 2
    said, result = talk(recorder.announce(warning(), "v1", at(NOW + 2)))
    assert (said, result) == ([], Succeeded())
    assert recorder.overdue(300) == []
    (overdue,) = recorder.overdue(400)
    (told,), _ = talk(overdue, 200)
    assert body_of(told)["series"]["count"] == 3
    (again,), _ = talk(recorder.announce(warning(), "v1", at(NOW + 500)), 201)
    assert again.method == "POST"


def test_a_clock_that_is_put_back_ends_no_series_late() -> None:
    recorder = EventSeriesRecorder("reprieve", "one")
    talk(recorder.announce(warning(), "v1", at(NOW)), 201)
    talk(recorder.announce(warning(), "v1", at(NOW + 1)), 200)
    talk(recorder.announce(warning(), "v1", Moment(wall=NOW - 3600, elapsed=2)))
    (overdue,) = recorder.overdue(400)
    (told,), _ = talk(overdue, 200)
    assert body_of(told)["series"]["lastObservedTime"].startswith("2025-12-31T23:00")


def test_another_text_is_another_event_for_a_server_never_changes_one() -> None:
    recorder = EventSeriesRecorder("reprieve", "one")
    (first,), _ = talk(recorder.announce(warning("waits for its group"), "v1", at(NOW)), 201)
    (second,), _ = talk(recorder.announce(warning("no room"), "v1", at(NOW + 1)), 201)
    assert (second.method, body_of(second)["note"]) == ("POST", "no room")
    assert body_of(first)["metadata"]["name"] != body_of(second)["metadata"]["name"]
    (again,), _ = talk(recorder.announce(warning("no room"), "v1", at(NOW + 2)), 200)
    assert (again.method, body_of(again)["series"]["count"]) == ("PATCH", 2)


def test_ever_new_notes_are_written_at_intervals() -> None:
    recorder = EventSeriesRecorder("reprieve", "one")
    heard = [len(_said(recorder, f"{second} short", NOW + second)) for second in range(600)]
    assert heard[:10] == [1] * 10
    assert 10 < sum(heard) < 15
    assert _said(recorder, "nothing short", NOW + 910)[0].method == "POST"


def _said(recorder: EventSeriesRecorder, note: str, now: float) -> list[KubeRequest]:
    conversation = recorder.announce(warning(note), "v1", at(now))
    request = next(conversation, None)
    if request is None:
        return []
    assert talk_on(conversation, 200) == Succeeded()
    return [request]


def test_a_series_that_goes_on_is_refreshed_and_one_that_was_forgotten_is_created_anew() -> None:
    recorder = EventSeriesRecorder("reprieve", "one")
    talk(recorder.announce(warning(), "v1", at(NOW)), 201)
    talk(recorder.announce(warning(), "v1", at(NOW + 1)), 200)
    for minute in range(1, 31):
        talk(recorder.announce(warning(), "v1", at(NOW + 60 * minute)))
    (overdue,) = recorder.overdue(1801)
    said, _ = talk(overdue, 404, 201)
    assert [request.method for request in said] == ["PATCH", "POST"]
    assert body_of(said[1])["series"]["count"] == 32


def test_an_attempt_whose_answer_was_lost_is_repeated_under_the_same_name() -> None:
    recorder = EventSeriesRecorder("reprieve", "one")
    (first,), lost = talk(recorder.announce(warning(), "v1", at(NOW)), 504)
    assert isinstance(lost, Lost)
    (second,), result = talk(recorder.announce(warning(), "v1", at(NOW + 1)), 409)
    assert body_of(first)["metadata"] == body_of(second)["metadata"]
    assert result == Succeeded()
    talk(recorder.announce(warning(), "v1", at(NOW + 2)), 504)
    (patched,), _ = talk(recorder.announce(warning(), "v1", at(NOW + 3)), 200)
    assert body_of(patched)["series"]["count"] == 2


def test_an_event_in_a_namespace_that_is_being_deleted_is_of_no_use() -> None:
    message = "events is forbidden: unable to create new content in namespace team"
    details = {"causes": [{"reason": "NamespaceTerminating", "field": "metadata.namespace"}]}
    for told, missing in ((details, True), ({}, False)):
        call = EventSeriesRecorder("reprieve", "one").announce(warning(), "v1", at(NOW))
        next(call)
        body = json.dumps({"kind": "Status", "message": message, "details": told}).encode()
        with pytest.raises(StopIteration) as end:
            call.send(KubeResponse(403, body))
        assert end.value.value == Refused(message, again=False, missing=missing)


def test_an_event_to_be_written_once_has_the_same_name_in_every_replica() -> None:
    effects = [replace(warning(note), once="d-1") for note in ("no room", "in other words")]
    told = [
        EventSeriesRecorder("reprieve", f"{i}").announce(effect, "v1", at(NOW + i))
        for i, effect in enumerate(effects)
    ]
    names = set()
    for conversation, status in zip(told, (201, 409), strict=True):
        (request,), result = talk(conversation, status)
        names.add(body_of(request)["metadata"]["name"])
        assert isinstance(result, Succeeded)
    assert len(names) == 1


def test_events_of_the_same_moment_have_names_of_their_own_and_long_ones_are_cut() -> None:
    recorder, long = EventSeriesRecorder("reprieve", "one"), Target("Pod", "team", "w" * 253, "u2")
    (one,), _ = talk(recorder.announce(warning(target=long), "v1", at(NOW)), 201)
    other = Announce(long, Tone.NORMAL, "Scheduled", "Binding", "ä" * 1000)
    (two,), _ = talk(recorder.announce(other, "v1", at(NOW)), 201)
    names = {body_of(one)["metadata"]["name"], body_of(two)["metadata"]["name"]}
    assert len(names) == 2
    assert max(map(len, names)) <= 253
    assert len(body_of(two)["note"].encode()) <= 1024


def test_an_event_about_what_has_no_namespace() -> None:
    node = Target("Node", "", "n1", "u3")
    (request,), _ = talk(
        EventSeriesRecorder("reprieve", "one").announce(warning(target=node), "v1", at(NOW)), 201
    )
    assert body_of(request)["metadata"]["namespace"] == "default"
    assert "namespace" not in body_of(request)["regarding"]
