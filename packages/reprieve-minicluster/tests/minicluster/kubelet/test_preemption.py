"""Kubelets preempt for critical pods: the choice of victims, and what happens meanwhile."""

from typing import Any

import pytest
from tests.minicluster.scene import Scene, condition, node, pod, pod_key

from reprieve.model.json import Json
from reprieve_minicluster.kubelet import Kubelets
from reprieve_minicluster.kubelet.preemption import SYSTEM_CRITICAL, RankedPod, victims_for
from reprieve_minicluster.store import Key

NODE = Key("nodes", "", "n1")
POLICY = {"podPreemptionPolicy": {"disableResizePreemption": ["example.com/a"]}}


# --- victims -------------------------------------------------------------------------------------


def standing(name: str, quality: str = "Burstable", priority: int = 0, **weight: int) -> RankedPod:
    return RankedPod(pod_key(name), priority, priority >= SYSTEM_CRITICAL, quality, weight)


CRITICAL = standing("critical", priority=SYSTEM_CRITICAL)


def ended(others: list[RankedPod], by: RankedPod = CRITICAL, **missing: int) -> list[str] | None:
    victims = victims_for(by, others, missing)
    return None if victims is None else [victim.key.name for victim in victims]


def test_one_that_is_enough_rather_than_two() -> None:
    others = [standing("a", cpu=1), standing("b", cpu=2), standing("c", cpu=3)]
    assert ended(others, cpu=2) == ["b"]
    assert ended(others, cpu=4) == ["c", "a"]


def test_of_equally_near_ones_the_smallest_then_the_first_by_name() -> None:
    others = [standing("b", cpu=2, memory=1), standing("a", cpu=2, memory=5), standing("c", cpu=2, memory=1)]
    assert ended(others, cpu=2) == ["b"]


def test_the_better_served_are_ended_last() -> None:
    others = [
        standing("guaranteed", "Guaranteed", cpu=4),
        standing("burstable", "Burstable", cpu=2),
        standing("best-effort", "BestEffort", pods=1),
    ]
    assert ended(others, cpu=2) == ["burstable"]
    assert ended(others, pods=1) == ["best-effort"]
    assert ended(others, cpu=4) == ["guaranteed"], "the burstable one would not be enough, nor help then"


def test_no_victims_if_all_candidates_are_not_enough() -> None:
    assert ended([standing("a", cpu=1)], cpu=2) is None


def test_only_lesser_ones_are_ended() -> None:
    equal, greater = standing("equal", priority=SYSTEM_CRITICAL, cpu=2), SYSTEM_CRITICAL + 1000
    assert ended([equal], cpu=1) is None
    assert ended([equal], by=standing("node-critical", priority=greater), cpu=1) == ["equal"]


# --- admission -----------------------------------------------------------------------------------


@pytest.fixture
def scene() -> Scene:
    """A node with 4 cpu, which three pods share."""
    made = Scene()
    made.add(node("n1"), body("a", 5, "1"), body("b", 5, "2"), body("c", 5, "1"))
    made.pass_time(1)
    return made


def body(name: str, priority: int, cpu: str, grace: int = 30, **meta: Any) -> Json:
    made = pod(name, on="n1", cpu=cpu, **meta)
    made["spec"] |= {"priority": priority, "terminationGracePeriodSeconds": grace}
    return made


def phases(scene: Scene) -> dict[str, str]:
    return {p["metadata"]["name"]: p["status"]["phase"] for p in scene.all("pods")}


def test_a_critical_pod_is_admitted_when_others_have_ended_for_it(scene: Scene) -> None:
    scene.add(body("critical", SYSTEM_CRITICAL, "2"))
    scene.pass_time(0)
    target = condition(scene.read(pod_key("b")), "DisruptionTarget")
    assert target is not None
    assert target["reason"] == "TerminationByKubelet"
    scene.pass_time(29.9)
    assert (phases(scene)["b"], phases(scene)["critical"]) == ("Running", "Pending")
    scene.pass_time(0.1)
    status = scene.read(pod_key("b"))["status"]
    assert (status["phase"], status["reason"]) == ("Failed", "Preempting")
    scene.pass_time(1)
    assert phases(scene) == {"a": "Running", "b": "Failed", "c": "Running", "critical": "Running"}


def test_others_are_rejected_as_before(scene: Scene) -> None:
    scene.add(body("important", SYSTEM_CRITICAL - 1, "2"))
    scene.pass_time(0)
    assert phases(scene) == {"a": "Running", "b": "Running", "c": "Running", "important": "Failed"}


def test_static_pods_are_critical(scene: Scene) -> None:
    scene.add(body("static", 0, "1", annotations={"kubernetes.io/config.mirror": "x"}))
    scene.pass_time(31)
    assert phases(scene) == {"a": "Failed", "b": "Running", "c": "Running", "static": "Running"}


def test_a_critical_pod_that_cannot_fit_preempts_nothing(scene: Scene) -> None:
    scene.add(body("critical", SYSTEM_CRITICAL, "5"))
    scene.pass_time(60)
    assert phases(scene) == {"a": "Running", "b": "Running", "c": "Running", "critical": "Failed"}


def test_terminating_pods_count_as_gone(scene: Scene) -> None:
    scene.store.delete(pod_key("b"), grace=10)
    scene.add(body("critical", SYSTEM_CRITICAL, "2"))
    scene.pass_time(11)
    assert phases(scene) == {"a": "Running", "c": "Running", "critical": "Running"}


def test_two_critical_pods_end_no_more_than_both_need(scene: Scene) -> None:
    scene.add(body("x", SYSTEM_CRITICAL, "2"), body("y", SYSTEM_CRITICAL, "1"))
    scene.pass_time(40)
    found = phases(scene)
    assert (found["x"], found["y"], found["b"]) == ("Running", "Running", "Failed")
    assert sorted((found["a"], found["c"])) == ["Failed", "Running"]


def test_a_critical_pod_that_is_withdrawn_is_forgotten(scene: Scene) -> None:
    scene.add(body("critical", SYSTEM_CRITICAL, "2"))
    scene.pass_time(1)
    scene.store.delete(pod_key("critical"), grace=0)
    scene.add(body("critical", 0, "1"))
    scene.pass_time(0)
    assert phases(scene)["critical"] == "Failed"


def test_kubelets_that_restart_end_the_same_ones(scene: Scene) -> None:
    scene.add(body("critical", SYSTEM_CRITICAL, "2"))
    scene.pass_time(1)
    scene.kubelets = Kubelets(scene.store, scene.clock)
    scene.pass_time(40)
    assert phases(scene) == {"a": "Running", "b": "Failed", "c": "Running", "critical": "Running"}


# --- resizes -------------------------------------------------------------------------------------


def grow(scene: Scene, name: str, cpu: str) -> None:
    def change(found: Json) -> None:
        found["spec"]["containers"][0]["resources"]["requests"]["cpu"] = cpu

    scene.change(pod_key(name), change)
    scene.pass_time(0)


def allocated(scene: Scene, name: str) -> str:
    (first,) = scene.read(pod_key(name))["status"]["containerStatuses"]
    cpu: str = first["allocatedResources"]["cpu"]
    return cpu


def crowded(policy: Json) -> Scene:
    """A critical pod among others; the node has no room left."""
    scene = Scene()
    scene.add(node("n1") | {"spec": policy})
    scene.add(body("critical", SYSTEM_CRITICAL, "1"), body("b", 5, "2", grace=10), body("c", 9, "1"))
    scene.pass_time(1)
    return scene


def test_a_critical_pod_grows_when_others_have_ended_for_it() -> None:
    scene = crowded({})
    grow(scene, "critical", "2")
    grow(scene, "b", "1500m")
    grow(scene, "c", "1500m")
    scene.pass_time(29)
    assert condition(scene.read(pod_key("critical")), "PodResizePending") is None, (
        "the scheduler must not preempt for it as well"
    )
    assert condition(scene.read(pod_key("critical")), "DisruptionTarget") is None
    scene.pass_time(12)
    assert allocated(scene, "critical") == "2"


def test_freed_resources_are_reserved_for_the_critical_pod() -> None:
    scene = Scene()
    scene.add(node("n1"), body("critical", SYSTEM_CRITICAL, "1"), body("z", 9, "1"))
    scene.add(body("a", 5, "1", grace=10), body("b", 5, "1", grace=30))
    scene.pass_time(1)
    grow(scene, "critical", "3")
    grow(scene, "z", "1500m")
    scene.pass_time(10)
    assert (phases(scene)["a"], phases(scene)["b"], allocated(scene, "z")) == ("Failed", "Running", "1")
    pending = condition(scene.read(pod_key("z")), "PodResizePending")
    assert pending is not None
    assert pending["message"] == "the node is preempting pods for a critical pod first"
    scene.pass_time(20)
    assert (allocated(scene, "critical"), allocated(scene, "z")) == ("3", "1")


def test_a_node_policy_forbids_preemption_for_resizes() -> None:
    scene = crowded(POLICY)
    grow(scene, "critical", "2")
    scene.pass_time(60)
    assert phases(scene) == {"b": "Running", "c": "Running", "critical": "Running"}
    found = condition(scene.read(pod_key("critical")), "PodResizePreemptionDisabled")
    assert found is not None
    assert found["reason"] == "PreemptionDisabledByNodePolicy"
    pending = condition(scene.read(pod_key("critical")), "PodResizePending")
    assert pending is not None
    assert pending["reason"] == "Deferred"


def test_but_for_the_admission_of_a_critical_pod_they_are() -> None:
    scene = crowded(POLICY)
    scene.add(body("another", SYSTEM_CRITICAL, "1"))
    scene.pass_time(40)
    assert phases(scene)["another"] == "Running"


def test_when_the_policy_is_lifted_room_is_made() -> None:
    scene = crowded(POLICY)
    grow(scene, "critical", "2")
    scene.write(NODE, spec={})
    scene.pass_time(0)
    assert condition(scene.read(pod_key("critical")), "PodResizePending") is None
    scene.pass_time(40)
    assert allocated(scene, "critical") == "2"
