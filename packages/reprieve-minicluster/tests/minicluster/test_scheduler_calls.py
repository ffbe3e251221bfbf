"""The scheduler's writes: binding and its refusals, conditions, events, volumes."""

import pytest
from tests.minicluster.scene import NOON, Scene, condition, pod, pod_key

from reprieve.model.effects import Announce, Bind, SetCondition, Target, Tone
from reprieve.model.json import Json
from reprieve_minicluster.errors import ApiError
from reprieve_minicluster.store import Key, parsed
from reprieve_minicluster.store.scheduler_calls import announce, bind, call, reserve_volume, select_node

CLAIM = Key("persistentvolumeclaims", "default", "data")


def scene_with(body: Json) -> tuple[Scene, Target]:
    scene = Scene()
    scene.add(body)
    name = body["metadata"]["name"]
    return scene, Target("Pod", "default", name, scene.store.get(pod_key(name)).uid)


def test_a_bound_pod_has_its_node_and_its_condition() -> None:
    scene, target = scene_with({**pod("a"), "status": {"phase": "Pending", "nominatedNodeName": "n7"}})
    bind(scene.store, target, "n1", NOON)
    body = scene.read(pod_key("a"))
    assert body["spec"]["nodeName"] == "n1"
    assert body["metadata"]["generation"] == 1
    assert "nominatedNodeName" not in body["status"]
    scheduled = condition(body, "PodScheduled")
    assert scheduled is not None
    assert (scheduled["status"], scheduled["lastTransitionTime"]) == ("True", "2026-01-01T12:00:00Z")


def test_the_same_bind_again_writes_nothing() -> None:
    scene, target = scene_with(pod("a"))
    first = bind(scene.store, target, "n1", NOON)
    assert bind(scene.store, target, "n1", NOON + 60) == first


def test_a_pod_that_is_being_deleted_gets_no_node() -> None:
    scene, target = scene_with(pod("a", finalizers=["example.com/hold"]))
    scene.store.delete(pod_key("a"))
    with pytest.raises(ApiError, match="being deleted"):
        bind(scene.store, target, "n1", NOON)


def test_a_pod_behind_a_gate_gets_no_node() -> None:
    body = pod("a")
    body["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
    scene, target = scene_with(body)
    with pytest.raises(ApiError, match="schedulingGates"):
        bind(scene.store, target, "n1", NOON)


def test_a_condition_that_says_since_when_it_holds() -> None:
    scene, target = scene_with(pod("a"))
    for since in (NOON - 60, NOON - 30):
        call(scene.store, SetCondition(target, "Ready", "True", "Why", "", since=since), NOON)
    ready = condition(scene.read(pod_key("a")), "Ready")
    assert ready is not None
    assert ready["lastTransitionTime"] == "2026-01-01T11:59:30Z"


def test_the_time_of_a_condition_moves_only_when_it_turns() -> None:
    scene, target = scene_with(pod("a"))
    times = []
    for second, status, message in ((0, "False", "a"), (5, "False", "b"), (9, "True", "b")):
        call(scene.store, SetCondition(target, "Ready", status, "Why", message), NOON + second)
        found = condition(scene.read(pod_key("a")), "Ready")
        assert found is not None
        times.append((found["lastTransitionTime"][-3:], found["message"]))
    assert times == [("00Z", "a"), ("00Z", "b"), ("09Z", "b")]


def test_a_status_that_is_no_status_is_replaced() -> None:
    scene, target = scene_with(pod("a"))
    scene.write(pod_key("a"), status={"conditions": "none"})
    call(scene.store, SetCondition(target, "Ready", "True", "", ""), NOON)
    assert condition(scene.read(pod_key("a")), "Ready") is not None


def test_an_announcement_outlives_its_object() -> None:
    scene = Scene()
    ghost = Target("Pod", "team", "ghost", "uid-7")
    told = [announce(scene.store, Announce(ghost, Tone.NORMAL, "Preempted", "Preempting", "why"), NOON)]
    told.append(announce(scene.store, Announce(ghost, Tone.NORMAL, "Preempted", "Preempting", "why"), NOON))
    assert told[0].key != told[1].key
    event = parsed(told[0])
    assert event["metadata"]["namespace"] == "team"
    assert event["involvedObject"] == {
        "kind": "Pod",
        "name": "ghost",
        "uid": "uid-7",
        "apiVersion": "v1",
        "namespace": "team",
    }
    assert event["eventTime"] == "2026-01-01T12:00:00.250000Z"


def test_what_is_to_be_told_once_is_told_once() -> None:
    scene = Scene()
    ghost = Target("Pod", "team", "ghost", "uid-7")
    told = [
        announce(scene.store, Announce(ghost, Tone.NORMAL, "Preempted", "Preempting", why, once="d-1"), NOON)
        for why in ("why", "in other words")
    ]
    assert told[0] == told[1]


def test_an_event_about_a_node_is_kept_in_the_default_namespace() -> None:
    scene = Scene()
    made = announce(scene.store, Announce(Target("Node", "", "n1", "u"), Tone.NORMAL, "R", "A", "n"), NOON)
    assert made.key.namespace == "default"


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ApiError, match="Unicorn"):
        call(Scene().store, Bind(Target("Unicorn", "a", "b", "c"), "n1"), NOON)


def test_a_claim_that_is_bound_cannot_be_sent_elsewhere() -> None:
    scene = Scene()
    scene.add({"kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": {}})
    claim = Target("PersistentVolumeClaim", "default", "data", scene.store.get(CLAIM).uid)
    select_node(scene.store, claim, "n1")
    scene.change(CLAIM, lambda body: body["spec"].update(volumeName="disk"))
    select_node(scene.store, claim, "n1")
    with pytest.raises(ApiError, match="bound to volume disk"):
        select_node(scene.store, claim, "n2")


def test_a_volume_kept_for_a_claim_by_name_is_promised_to_it() -> None:
    scene = Scene()
    spec = {"claimRef": {"namespace": "default", "name": "data"}}
    scene.add({"kind": "PersistentVolume", "metadata": {"name": "disk"}, "spec": spec})
    volume = Target("PersistentVolume", "", "disk", "")
    made = reserve_volume(scene.store, volume, Target("PersistentVolumeClaim", "default", "data", "u1"))
    assert parsed(made)["spec"]["claimRef"]["uid"] == "u1"
    with pytest.raises(ApiError, match="reserved"):
        reserve_volume(scene.store, volume, Target("PersistentVolumeClaim", "default", "data", "u2"))
