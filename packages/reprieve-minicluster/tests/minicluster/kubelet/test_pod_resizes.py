"""Kubelets allocate resizes or defer them, by the resources of the node, and enforce them later."""

from typing import Any

import pytest
from tests.minicluster.scene import Scene, condition, container, node, pod, pod_key

from reprieve.cluster.admission.features import DEFAULT_FEATURES
from reprieve.model.json import Json
from reprieve_minicluster.kubelet import DEFAULT_TIMING, RUN_SECONDS, Kubelets, KubeletTiming
from reprieve_minicluster.store import Key

NODE = Key("nodes", "", "n1")


@pytest.fixture
def scene() -> Scene:
    """A node with 4 cpu."""
    made = Scene()
    made.add(node("n1"))
    return made


def settle(scene: Scene, *pods: Json) -> None:
    scene.add(*pods)
    scene.pass_time(1)


def resize(scene: Scene, name: str, cpu: str, index: int = 0, field: str = "containers") -> None:
    def change(body: Json) -> None:
        body["spec"][field][index]["resources"]["requests"]["cpu"] = cpu

    scene.change(pod_key(name), change)
    scene.pass_time(0)


def status_of(scene: Scene, name: str) -> Json:
    found: Json = scene.read(pod_key(name))["status"]
    return found


def cpus(scene: Scene, name: str) -> tuple[str, str]:
    """What the first container was granted, and what is enforced."""
    (first, *_) = status_of(scene, name)["containerStatuses"]
    return first["allocatedResources"]["cpu"], first["resources"]["requests"]["cpu"]


def pending(scene: Scene, name: str) -> Json | None:
    return condition(scene.read(pod_key(name)), "PodResizePending")


def reason(scene: Scene, name: str) -> str:
    found = pending(scene, name)
    return found["reason"] if found is not None else ""


def in_progress(scene: Scene, name: str) -> bool:
    return condition(scene.read(pod_key(name)), "PodResizeInProgress") is not None


def leave(scene: Scene, name: str) -> None:
    scene.store.delete(pod_key(name), grace=0)
    scene.pass_time(0)


def important(name: str, priority: int, cpu: str = "1", **meta: Any) -> Json:
    body = pod(name, on="n1", cpu=cpu, **meta)
    body["spec"]["priority"] = priority
    return body


# --- granting and enforcing ----------------------------------------------------------------------


def test_what_there_is_room_for_is_granted_at_once_and_enforced_after_a_moment(scene: Scene) -> None:
    settle(scene, pod("a", on="n1"))
    resize(scene, "a", "3")
    assert cpus(scene, "a") == ("3", "1")
    running = condition(scene.read(pod_key("a")), "PodResizeInProgress")
    assert running is not None
    assert (running["status"], running["observedGeneration"]) == ("True", 2)
    assert status_of(scene, "a")["observedGeneration"] == 2
    scene.pass_time(1)
    assert cpus(scene, "a") == ("3", "3")
    assert not in_progress(scene, "a")


def test_resizes_are_enforced_at_the_clusters_speed(scene: Scene) -> None:
    scene.kubelets = Kubelets(scene.store, scene.clock, KubeletTiming(speed=10))
    settle(scene, pod("a", on="n1"))
    resize(scene, "a", "3")
    scene.pass_time(0.09)
    assert in_progress(scene, "a")
    scene.pass_time(0.01)
    assert cpus(scene, "a") == ("3", "3")


def test_what_was_granted_is_taken_even_before_it_is_enforced(scene: Scene) -> None:
    settle(scene, pod("a", on="n1"))
    resize(scene, "a", "3")
    scene.add(pod("b", on="n1", cpu="1500m"))
    scene.pass_time(0)
    assert status_of(scene, "b")["reason"] == "OutOfcpu"


def test_what_is_given_back_is_free_when_that_is_enforced_and_not_before(scene: Scene) -> None:
    settle(scene, pod("a", on="n1", cpu="3"), pod("b", on="n1"))
    resize(scene, "a", "1")
    resize(scene, "b", "3")
    assert (cpus(scene, "a"), reason(scene, "b")) == (("1", "3"), "Deferred")
    scene.pass_time(1)
    assert (cpus(scene, "a"), cpus(scene, "b")) == (("1", "1"), ("3", "1"))
    assert pending(scene, "b") is None


def test_less_is_always_granted_even_where_the_node_offers_too_little(scene: Scene) -> None:
    settle(scene, pod("a", on="n1", cpu="2"), pod("b", on="n1", cpu="2"))
    scene.write(NODE, status={"allocatable": {"cpu": "1", "pods": "110"}})
    resize(scene, "a", "1")
    assert cpus(scene, "a") == ("1", "2")


def test_limits_are_granted_and_enforced_too(scene: Scene) -> None:
    settle(scene, pod("a", on="n1"))

    def limit(body: Json) -> None:
        body["spec"]["containers"][0]["resources"]["limits"] = {"cpu": "2"}

    scene.change(pod_key("a"), limit)
    scene.pass_time(1)
    (first,) = status_of(scene, "a")["containerStatuses"]
    assert first["resources"] == {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}
    assert first["restartCount"] == 0


def test_a_container_that_must_restart_for_it_does_and_takes_longer(scene: Scene) -> None:
    body = pod("a", on="n1")
    policy = [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]
    body["spec"]["containers"] = [container() | {"resizePolicy": policy}, container() | {"name": "other"}]
    settle(scene, body)
    assert status_of(scene, "a")["containerStatuses"][0]["restartCount"] == 0
    resize(scene, "a", "2")
    scene.pass_time(1.9)
    assert cpus(scene, "a") == ("2", "1")
    scene.pass_time(0.1)
    assert [c["restartCount"] for c in status_of(scene, "a")["containerStatuses"]] == [1, 0]


def test_sidecars_are_resized(scene: Scene) -> None:
    body = pod("a", on="n1")
    body["spec"]["initContainers"] = [container() | {"name": "side", "restartPolicy": "Always"}]
    settle(scene, body)
    resize(scene, "a", "3", field="initContainers")
    scene.pass_time(1)
    (side,) = status_of(scene, "a")["initContainerStatuses"]
    assert side["resources"] == {"requests": {"cpu": "3"}}
    scene.add(pod("b", on="n1"))
    scene.pass_time(0)
    assert status_of(scene, "b")["reason"] == "OutOfcpu"


def test_a_pod_is_resized_as_a_whole(scene: Scene) -> None:
    body = pod("a", on="n1")
    body["spec"]["resources"] = {"requests": {"cpu": "2"}, "limits": {"cpu": "2"}}
    settle(scene, body)
    assert status_of(scene, "a")["allocatedResources"] == {"cpu": "2"}

    def grow(body: Json) -> None:
        body["spec"]["resources"] = {"requests": {"cpu": "3"}, "limits": {"cpu": "3"}}

    scene.change(pod_key("a"), grow)
    scene.pass_time(0)
    status = status_of(scene, "a")
    assert (status["allocatedResources"], status["resources"]["requests"]) == ({"cpu": "3"}, {"cpu": "2"})
    scene.pass_time(1)
    assert status_of(scene, "a")["resources"] == {"requests": {"cpu": "3"}, "limits": {"cpu": "3"}}


# --- waiting -------------------------------------------------------------------------------------


def test_what_there_is_no_room_for_waits_and_says_why(scene: Scene) -> None:
    settle(scene, pod("a", on="n1"), pod("b", on="n1", cpu="2"))
    resize(scene, "a", "3")
    found = pending(scene, "a")
    assert found is not None
    assert (found["status"], found["reason"], found["observedGeneration"]) == ("True", "Deferred", 2)
    assert found["message"] == "the node is short of cpu: 3000 requested, 2000 of 4000 milli-cores in use"
    assert cpus(scene, "a") == ("1", "1")
    scene.add(pod("c", on="n1"))
    scene.pass_time(1)
    assert status_of(scene, "c")["phase"] == "Running", "what waits takes no room"


@pytest.mark.parametrize("how", ["deleted", "finished"])
def test_it_is_allocated_when_another_pod_has_gone(scene: Scene, how: str) -> None:
    settle(scene, pod("a", on="n1"), pod("b", on="n1", cpu="2", annotations={RUN_SECONDS: "60"}))
    resize(scene, "a", "3")
    if how == "deleted":
        scene.store.delete(pod_key("b"), grace=5)
        scene.pass_time(4.9)
        assert reason(scene, "a") == "Deferred"
        scene.pass_time(0.1)
    else:
        scene.pass_time(60)
    assert cpus(scene, "a")[0] == "3"
    assert pending(scene, "a") is None


def test_it_is_granted_when_the_node_has_grown(scene: Scene) -> None:
    settle(scene, pod("a", on="n1"), pod("b", on="n1", cpu="2"))
    resize(scene, "a", "3")
    scene.write(NODE, status={"allocatable": {"cpu": "5", "memory": "8Gi", "pods": "110"}})
    scene.pass_time(0)
    assert cpus(scene, "a")[0] == "3"


def test_a_reverted_resize_is_no_longer_pending(scene: Scene) -> None:
    settle(scene, pod("a", on="n1"), pod("b", on="n1", cpu="2"))
    resize(scene, "a", "3")
    resize(scene, "a", "1000m")
    assert pending(scene, "a") is None
    assert cpus(scene, "a") == ("1", "1")
    leave(scene, "b")
    assert not in_progress(scene, "a")


def test_a_new_wish_replaces_one_that_waits_and_keeps_its_time(scene: Scene) -> None:
    settle(scene, pod("a", on="n1"), pod("b", on="n1", cpu="2"))
    resize(scene, "a", "4")
    before = pending(scene, "a")
    scene.pass_time(10)
    resize(scene, "a", "3")
    after = pending(scene, "a")
    assert before is not None
    assert after is not None
    assert (before["observedGeneration"], after["observedGeneration"]) == (2, 3)
    assert after["lastTransitionTime"] == before["lastTransitionTime"]
    resize(scene, "a", "2")
    assert cpus(scene, "a")[0] == "2"


def test_what_the_node_never_has_is_infeasible_until_the_node_has_it(scene: Scene) -> None:
    settle(scene, pod("a", on="n1"))
    resize(scene, "a", "5")
    found = pending(scene, "a")
    assert found is not None
    assert (found["reason"], found["observedGeneration"]) == ("Infeasible", 2)
    assert found["message"] == "the node is short of cpu: 5000 requested, 0 of 4000 milli-cores in use"
    scene.write(NODE, status={"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "110"}})
    scene.pass_time(0)
    assert cpus(scene, "a")[0] == "5"


def test_a_pod_that_leaves_or_ends_waits_for_nothing(scene: Scene) -> None:
    settle(scene, pod("a", on="n1", annotations={RUN_SECONDS: "5"}), pod("b", on="n1"), pod("c", on="n1"))
    for name in "ab":
        resize(scene, name, "4")
    scene.store.delete(pod_key("b"), grace=60)
    leave(scene, "c")
    assert cpus(scene, "b") == ("1", "1")
    scene.pass_time(5)
    assert status_of(scene, "a")["phase"] == "Succeeded"
    assert pending(scene, "a") is None


def test_a_pod_that_is_resized_before_it_runs_starts_with_what_it_was_admitted_with(scene: Scene) -> None:
    scene.add(pod("a", on="n1"), pod("b", on="n1", cpu="2"))
    scene.pass_time(0.5)
    resize(scene, "a", "3")
    assert reason(scene, "a") == "Deferred"
    scene.pass_time(0.5)
    assert (status_of(scene, "a")["phase"], cpus(scene, "a")) == ("Running", ("1", "1"))
    leave(scene, "b")
    scene.pass_time(1)
    assert cpus(scene, "a") == ("3", "3")


def test_a_pod_of_another_kubelet_has_the_resources_of_its_earlier_spec(scene: Scene) -> None:
    scene.add(pod("a", on="n1") | {"status": {"phase": "Running"}}, pod("b", on="n1", cpu="2"))
    scene.pass_time(1)
    resize(scene, "a", "3")
    assert (reason(scene, "a"), cpus(scene, "a")) == ("Deferred", ("1", "1"))


def test_restarted_kubelets_continue_pending_and_running_resizes(scene: Scene) -> None:
    settle(scene, pod("a", on="n1"), pod("b", on="n1"))
    resize(scene, "a", "2")
    resize(scene, "b", "3")
    scene.kubelets = Kubelets(scene.store, scene.clock)
    scene.pass_time(0)
    assert reason(scene, "b") == "Deferred"
    scene.pass_time(1)
    assert cpus(scene, "a") == ("2", "2")
    leave(scene, "a")
    assert cpus(scene, "b")[0] == "3"


def test_a_node_that_vanishes_takes_its_resizes_along(scene: Scene) -> None:
    settle(scene, pod("a", on="n1"), pod("b", on="n1"))
    resize(scene, "a", "2")
    resize(scene, "b", "3")
    scene.store.delete(NODE)
    scene.pass_time(10)
    assert scene.all("pods") == []


def test_claims_take_of_the_nodes_room(scene: Scene) -> None:
    settle(scene, pod("a", on="n1"), pod("b", on="n1"))
    claim = {"resourceClaimName": "gpu", "mapping": [{"name": "cpu", "quantity": "1"}]}
    status = {**status_of(scene, "b"), "nodeAllocatableResourceClaimStatuses": [claim]}
    scene.write(pod_key("b"), status=status)
    scene.kubelets = Kubelets(scene.store, scene.clock)
    resize(scene, "a", "3")
    assert reason(scene, "a") == "Deferred"
    resize(scene, "a", "2")
    assert cpus(scene, "a")[0] == "2"


# --- order ---------------------------------------------------------------------------------------


def deferred(scene: Scene, *pods: Json) -> None:
    """All of them request 2 more than they have; a terminating pod holds what one of them needs."""
    settle(scene, pod("holds", on="n1", cpu="2"), *pods)
    for body in pods:
        resize(scene, body["metadata"]["name"], "2500m")
        scene.pass_time(1)


def granted_to(scene: Scene, *names: str) -> list[str]:
    return [name for name in names if cpus(scene, name)[0] == "2500m"]


def test_the_higher_priority_is_served_first(scene: Scene) -> None:
    deferred(scene, important("a", 1, "500m"), important("b", 2, "500m"))
    leave(scene, "holds")
    assert granted_to(scene, "a", "b") == ["b"]


def test_of_equal_priority_the_guaranteed_are_served_first(scene: Scene) -> None:
    sure = important("b", 1, "500m")
    both = {"cpu": "500m", "memory": "1Gi"}
    sure["spec"]["containers"][0]["resources"] = {"requests": dict(both), "limits": dict(both)}
    deferred(scene, important("a", 1, "500m"), sure)

    def limit(body: Json) -> None:
        body["spec"]["containers"][0]["resources"]["limits"]["cpu"] = "2500m"

    scene.change(pod_key("b"), limit)
    leave(scene, "holds")
    assert granted_to(scene, "a", "b") == ["b"]


def test_of_equals_the_longest_wait_is_served_first(scene: Scene) -> None:
    deferred(scene, important("z", 1, "500m"), important("a", 1, "500m"))
    leave(scene, "holds")
    assert granted_to(scene, "a", "z") == ["z"]


def test_a_smaller_wish_is_not_held_back_by_a_larger_one_that_cannot_be_granted(scene: Scene) -> None:
    settle(scene, important("large", 9, "1"), important("small", 1, "1"), pod("c", on="n1"))
    resize(scene, "large", "4")
    resize(scene, "small", "2")
    assert (reason(scene, "large"), cpus(scene, "small")[0]) == ("Deferred", "2")


# --- the node's policy ---------------------------------------------------------------------------

NEWER = {"podPreemptionPolicy": {"disableResizePreemption": ["example.com/a", "example.com/b"]}}
OLDER = {"preemptionPolicy": {"disablePodResizePreemption": ["example.com/c"]}}


def disabled(scene: Scene, name: str) -> Json | None:
    return condition(scene.read(pod_key(name)), "PodResizePreemptionDisabled")


def set_policy(scene: Scene, **spec: Any) -> None:
    scene.write(NODE, spec=spec)
    scene.pass_time(0)


def test_without_the_gate_the_policy_is_not_read(scene: Scene) -> None:
    set_policy(scene, **NEWER)
    scene.kubelets = Kubelets(scene.store, scene.clock, DEFAULT_TIMING, DEFAULT_FEATURES)
    settle(scene, pod("a", on="n1"), pod("b", on="n1", cpu="2"))
    resize(scene, "a", "3")
    assert (disabled(scene, "a"), reason(scene, "a")) == (None, "Deferred")


@pytest.mark.parametrize(
    ("spec", "why", "owners"),
    [
        (NEWER, "PreemptionDisabledByNodePolicy", "example.com/a, example.com/b"),
        (OLDER, "PreemptionDisabled", "example.com/c"),
        (NEWER | OLDER, "PreemptionDisabledByNodePolicy", "example.com/a, example.com/b, example.com/c"),
    ],
)
def test_where_the_node_forbids_it_the_pod_says_so(scene: Scene, spec: Json, why: str, owners: str) -> None:
    set_policy(scene, **spec)
    settle(scene, pod("a", on="n1"), pod("b", on="n1", cpu="2"))
    assert disabled(scene, "a") is None
    resize(scene, "a", "3")
    found = disabled(scene, "a")
    assert found is not None
    assert (found["status"], found["reason"], found["observedGeneration"]) == ("True", why, 2)
    assert found["message"] == f"node n1 disables preemption for resizes: {owners}"
    assert reason(scene, "a") == "Deferred"


def test_a_pending_resize_follows_changes_of_the_node_policy(scene: Scene) -> None:
    settle(scene, pod("a", on="n1"), pod("b", on="n1", cpu="2"))
    resize(scene, "a", "3")
    assert disabled(scene, "a") is None
    set_policy(scene, **NEWER)
    assert disabled(scene, "a") is not None
    one_left = {"podPreemptionPolicy": {"disableResizePreemption": ["example.com/b"]}}
    set_policy(scene, **one_left)
    assert disabled(scene, "a") is not None, "one owner is enough"
    set_policy(scene)
    assert (disabled(scene, "a"), reason(scene, "a")) == (None, "Deferred")


def test_with_the_wait_ends_what_was_said_of_it(scene: Scene) -> None:
    set_policy(scene, **NEWER)
    settle(scene, pod("a", on="n1"), pod("b", on="n1"), pod("c", on="n1"))
    for name in "ab":
        resize(scene, name, "3")
    assert disabled(scene, "a") is not None
    resize(scene, "b", "1")
    leave(scene, "c")
    assert cpus(scene, "a")[0] == "3"
    assert (disabled(scene, "a"), disabled(scene, "b")) == (None, None)


def test_what_is_infeasible_is_not_for_want_of_preemption(scene: Scene) -> None:
    set_policy(scene, **NEWER)
    settle(scene, pod("a", on="n1"), pod("b", on="n1", cpu="2"))
    resize(scene, "a", "3")
    resize(scene, "a", "9")
    assert (reason(scene, "a"), disabled(scene, "a")) == ("Infeasible", None)


# --- events --------------------------------------------------------------------------------------


def test_people_are_told_what_becomes_of_a_resize(scene: Scene) -> None:
    settle(scene, pod("a", on="n1"), pod("b", on="n1", cpu="2"))
    resize(scene, "a", "9")
    resize(scene, "a", "3")
    scene.add(pod("c", on="n1"))
    scene.pass_time(1)
    leave(scene, "c")
    leave(scene, "b")
    scene.pass_time(1)
    told = [(e["reason"], e["reportingComponent"]) for e in scene.all("events")]
    steps = ["ResizeInfeasible", "ResizeDeferred", "ResizeStarted", "ResizeCompleted"]
    assert sorted(told) == sorted((step, "kubelet") for step in steps)
