"""Kubelets start, finish, stop, reject and collect pods, by the clock alone."""

import msgspec
import pytest
from tests.minicluster.scene import Scene, condition, container, node, pod, pod_key

from reprieve.model.json import Json
from reprieve.model.objects import Pod
from reprieve.model.pod_compilation import compile_pod
from reprieve_minicluster.kubelet import RUN_SECONDS, STOP_SECONDS, Kubelets, KubeletTiming
from reprieve_minicluster.store import Key


@pytest.fixture
def scene() -> Scene:
    made = Scene()
    made.add(node("n1"))
    return made


def phase(scene: Scene, name: str) -> str:
    found = scene.store.find(pod_key(name))
    return scene.read(pod_key(name))["status"]["phase"] if found is not None else "gone"


def running(scene: Scene, body: Json) -> None:
    scene.add(body)
    scene.pass_time(1)


def test_a_new_node_is_ready(scene: Scene) -> None:
    scene.pass_time(0)
    ready = condition(scene.read(Key("nodes", "", "n1")), "Ready")
    assert ready is not None
    assert ready["status"] == "True"


def test_a_node_declares_the_features_that_a_pod_may_need(scene: Scene) -> None:
    scene.pass_time(0)
    declared = scene.read(Key("nodes", "", "n1"))["status"]["declaredFeatures"]
    assert declared == sorted(declared)
    restarts = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [1]}}
    picky = pod("picky")
    picky["spec"] |= {"hostNetwork": True, "hostUsers": False}
    picky["spec"]["containers"][0] |= {
        "restartPolicyRules": [restarts],
        "volumeMounts": [{"name": "v", "mountPath": "/v", "bindMountOptions": ["nosuid"]}],
    }
    needed = set(compile_pod(msgspec.convert(picky, Pod)).shape.features)
    assert len(needed) == 3
    assert needed <= set(declared)


def test_nodes_have_addresses_of_their_own(scene: Scene) -> None:
    scene.add(node("n2"))
    scene.pass_time(0)
    nodes = [body["status"]["addresses"] for body in scene.all("nodes")]
    assert [[a["type"] for a in listed] for listed in nodes] == [["InternalIP", "Hostname"]] * 2
    assert [listed[1]["address"] for listed in nodes] == ["n1", "n2"]
    assert nodes[0][0]["address"] != nodes[1][0]["address"]


def test_addresses_that_a_node_comes_with_stay(scene: Scene) -> None:
    given = [{"type": "InternalIP", "address": "192.0.2.1"}]
    body = node("n2")
    scene.add({**body, "status": {**body["status"], "addresses": given}})
    scene.pass_time(0)
    assert scene.read(Key("nodes", "", "n2"))["status"]["addresses"] == given


def test_an_extended_resource_in_the_capacity_is_offered_as_long_as_it_is_there(scene: Scene) -> None:
    key, beards = Key("nodes", "", "n1"), "example.com/beardsecond"
    status = scene.read(key)["status"]
    scene.write(key, status={**status, "capacity": {"cpu": "8", beards: "1000"}})
    scene.pass_time(0)
    offered = scene.read(key)["status"]["allocatable"]
    assert offered == {**status["allocatable"], beards: "1000"}
    scene.write(key, status={**scene.read(key)["status"], "capacity": {"cpu": "8"}})
    scene.pass_time(0)
    assert scene.read(key)["status"]["allocatable"] == status["allocatable"]


def test_an_extended_resource_of_which_less_is_allocatable_stays_so(scene: Scene) -> None:
    key, gpus = Key("nodes", "", "n1"), "nvidia.com/gpu"
    status = scene.read(key)["status"]
    allocatable = {**status["allocatable"], gpus: "7"}
    scene.write(key, status={**status, "capacity": {gpus: "8"}, "allocatable": allocatable})
    scene.pass_time(0)
    assert scene.read(key)["status"]["allocatable"] == allocatable


def test_a_bound_pod_starts_after_a_moment(scene: Scene) -> None:
    scene.add(pod("a", on="n1"), pod("waiting"))
    scene.pass_time(0.9)
    assert phase(scene, "a") == "Pending"
    scene.pass_time(0.1)
    status = scene.read(pod_key("a"))["status"]
    assert (status["phase"], status["startTime"]) == ("Running", "2026-01-01T12:00:01Z")
    ready = condition(scene.read(pod_key("a")), "Ready")
    assert ready is not None
    assert ready["status"] == "True"
    assert ready["observedGeneration"] == 1
    (reported,) = status["containerStatuses"]
    assert reported["allocatedResources"] == {"cpu": "1"}
    assert reported["resources"] == {"requests": {"cpu": "1"}}
    assert phase(scene, "waiting") == "Pending"


def test_every_pod_has_an_address_of_its_own(scene: Scene) -> None:
    host = pod("host", on="n1")
    host["spec"]["hostNetwork"] = True
    scene.add(pod("a", on="n1"), pod("b", on="n1"), host)
    scene.pass_time(1)
    one, other = (scene.read(pod_key(name))["status"] for name in "ab")
    assert one["podIP"] != other["podIP"]
    assert one["podIPs"] == [{"ip": one["podIP"]}]
    shared = scene.read(pod_key("host"))["status"]
    assert shared["podIP"] == shared["hostIP"] == one["hostIP"], "it has that of its node"


def test_init_containers_end_and_sidecars_stay(scene: Scene) -> None:
    body = pod("a", on="n1")
    sidecar = {**container(), "name": "sidecar", "restartPolicy": "Always"}
    body["spec"]["initContainers"] = [{**container(), "name": "init"}, sidecar]
    running(scene, body)
    states = [c["state"] for c in scene.read(pod_key("a"))["status"]["initContainerStatuses"]]
    assert [next(iter(state)) for state in states] == ["terminated", "running"]


def test_declared_work_ends(scene: Scene) -> None:
    running(scene, pod("a", on="n1", annotations={RUN_SECONDS: "2.5"}))
    scene.pass_time(2.4)
    assert phase(scene, "a") == "Running"
    scene.pass_time(0.1)
    assert phase(scene, "a") == "Succeeded"
    (reported,) = scene.read(pod_key("a"))["status"]["containerStatuses"]
    assert reported["state"]["terminated"]["exitCode"] == 0


def test_time_can_pass_faster_for_pods(scene: Scene) -> None:
    scene.kubelets = Kubelets(scene.store, scene.clock, KubeletTiming(speed=10))
    scene.add(pod("a", on="n1", annotations={RUN_SECONDS: "20"}), pod("b", on="n1"))
    scene.pass_time(0.1)
    assert phase(scene, "a") == "Running"
    scene.store.delete(pod_key("b"), grace=30)
    scene.pass_time(2)
    assert (phase(scene, "a"), phase(scene, "b")) == ("Succeeded", "Running")
    scene.pass_time(1)
    assert phase(scene, "b") == "gone"


@pytest.mark.parametrize(
    "declared", ["soon", "nan", "inf", "", "-1", "+5", "1e2", "1_0", " 5", "10m", "٣", 99 * "9"]
)
def test_a_duration_that_is_none_is_ignored(scene: Scene, declared: str) -> None:
    running(scene, pod("a", on="n1", annotations={RUN_SECONDS: declared}))
    scene.pass_time(10_000)
    assert phase(scene, "a") == "Running"


@pytest.mark.parametrize(("stop", "seconds"), [(None, 30), ("3", 3), ("99", 30)])
def test_a_deleted_pod_drains(scene: Scene, stop: str | None, seconds: int) -> None:
    running(scene, pod("a", on="n1", annotations={STOP_SECONDS: stop} if stop else {}))
    scene.store.delete(pod_key("a"))
    scene.pass_time(seconds - 0.1)
    assert phase(scene, "a") == "Running"
    scene.pass_time(0.1)
    assert phase(scene, "a") == "gone"


def test_a_second_delete_hurries_it(scene: Scene) -> None:
    running(scene, pod("a", on="n1"))
    scene.store.delete(pod_key("a"))
    scene.pass_time(5)
    scene.store.delete(pod_key("a"), grace=2)
    scene.pass_time(2)
    assert phase(scene, "a") == "gone"


def test_what_never_ran_needs_no_time(scene: Scene) -> None:
    scene.add(pod("a", on="n1"))
    scene.pass_time(0.5)
    scene.store.delete(pod_key("a"))
    scene.pass_time(0)
    assert phase(scene, "a") == "gone"


def test_a_pod_that_others_hold_has_at_least_ended(scene: Scene) -> None:
    running(scene, pod("a", on="n1", finalizers=["example.com/hold"]))
    scene.store.delete(pod_key("a"), grace=1)
    scene.pass_time(1)
    assert phase(scene, "a") == "Failed"
    scene.change(pod_key("a"), lambda body: body["metadata"].update(finalizers=[]))
    assert phase(scene, "a") == "gone"


# --- room ----------------------------------------------------------------------------------------


def test_a_pod_that_does_not_fit_is_rejected(scene: Scene) -> None:
    running(scene, pod("a", on="n1", cpu="3"))
    scene.add(pod("b", on="n1", cpu="1500m"))
    scene.pass_time(0)
    status = scene.read(pod_key("b"))["status"]
    assert (status["phase"], status["reason"]) == ("Failed", "OutOfcpu")
    assert "1500 requested, 3000 of 4000 milli-cores in use" in status["message"]


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"memory": "9Gi"}, "OutOfmemory"),
        ({"example.com/gpu": "1"}, "OutOfexample.com/gpu"),
        ({"cpu": "9", "memory": "9Gi"}, "OutOfcpu"),
    ],
)
def test_the_reason_names_what_is_short(scene: Scene, asked: dict[str, str], reason: str) -> None:
    body = pod("a", on="n1")
    body["spec"]["containers"][0]["resources"] = {"requests": asked}
    scene.add(body)
    scene.pass_time(0)
    assert scene.read(pod_key("a"))["status"]["reason"] == reason


def test_the_number_of_pods_is_limited(scene: Scene) -> None:
    scene.add(node("small", pods="1"), pod("a", on="small", cpu="0"), pod("b", on="small", cpu="0"))
    scene.pass_time(1)
    assert [phase(scene, name) for name in "ab"] == ["Running", "Failed"]
    assert scene.read(pod_key("b"))["status"]["reason"] == "OutOfpods"


def test_room_is_free_again_when_a_pod_has_ended(scene: Scene) -> None:
    running(scene, pod("a", on="n1", cpu="4", annotations={RUN_SECONDS: "1"}))
    scene.pass_time(1)
    running(scene, pod("b", on="n1", cpu="4"))
    assert [phase(scene, name) for name in "ab"] == ["Succeeded", "Running"]


def test_a_draining_pod_still_takes_its_room(scene: Scene) -> None:
    running(scene, pod("a", on="n1", cpu="4"))
    scene.store.delete(pod_key("a"))
    scene.add(pod("b", on="n1", cpu="1"))
    scene.pass_time(0)
    assert phase(scene, "b") == "Failed"


def test_a_pod_that_cannot_be_decoded_is_rejected(scene: Scene) -> None:
    body = pod("a", on="n1")
    body["spec"]["containers"] = "none"
    scene.add(body)
    scene.pass_time(0)
    assert scene.read(pod_key("a"))["status"]["reason"] == "UnexpectedAdmissionError"


# --- loss and return -----------------------------------------------------------------------------


def test_the_pods_of_a_lost_node_go(scene: Scene) -> None:
    running(scene, pod("a", on="n1"))
    scene.store.delete(Key("nodes", "", "n1"))
    scene.pass_time(4.9)
    assert phase(scene, "a") == "Running"
    scene.pass_time(0.1)
    assert phase(scene, "a") == "gone"


def test_a_node_that_comes_back_in_time_keeps_its_pods(scene: Scene) -> None:
    running(scene, pod("a", on="n1"))
    scene.store.delete(Key("nodes", "", "n1"))
    scene.pass_time(3)
    scene.add(node("n1"))
    scene.pass_time(60)
    assert phase(scene, "a") == "Running"


def test_kubelets_that_restart_know_what_runs(scene: Scene) -> None:
    running(scene, pod("z-running", on="n1", cpu="3", annotations={RUN_SECONDS: "10"}))
    scene.add(pod("a-new", on="n1", cpu="2"))
    scene.kubelets = Kubelets(scene.store, scene.clock)
    scene.pass_time(10)
    assert [phase(scene, name) for name in ("z-running", "a-new")] == ["Succeeded", "Failed"]
