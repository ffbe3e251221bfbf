"""Deployment and ReplicaSet: replicas, replacements, rollouts, adoption and progress."""

from collections import Counter
from itertools import pairwise

import pytest
from tests.minicluster.scene import Scene, condition, node, template

from reprieve.model.json import Json
from reprieve_minicluster.controllers.deployment import CAUSE, REVISION
from reprieve_minicluster.controllers.garbage_collector import ORPHAN
from reprieve_minicluster.kubelet import Kubelets, KubeletTiming
from reprieve_minicluster.store import Key

WEB = Key("deployments.apps", "default", "web")


def deployment(replicas: int, **spec: object) -> Json:
    return {
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": template(),
            **spec,
        },
    }


def scene_of(body: Json) -> Scene:
    """Whatever is created runs at once on a big node: scheduling is not the subject here."""
    scene = Scene()
    scene.add(node("n1", cpu="1000", pods="2000"), body)
    return scene


def settle(scene: Scene, seconds: float = 10) -> None:
    for _ in range(int(seconds * 5)):
        for body in scene.all("pods"):
            if "nodeName" not in body["spec"]:
                key = Key("pods", "default", body["metadata"]["name"])
                scene.change(key, lambda found: found["spec"].update(nodeName="n1"))
        scene.pass_time(0.2)


def use(scene: Scene, image: str) -> None:
    scene.change(WEB, lambda body: body["spec"].update(template=template(image=image)))


def images(scene: Scene) -> Counter[str]:
    alive = [b for b in scene.all("pods") if "deletionTimestamp" not in b["metadata"]]
    return Counter(b["spec"]["containers"][0]["image"] for b in alive)


def test_a_deployment_makes_a_replica_set_and_that_makes_pods() -> None:
    scene = scene_of(deployment(3))
    settle(scene, 3)
    (replica_set,) = scene.all("replicasets.apps")
    pods = scene.all("pods")
    label = replica_set["metadata"]["labels"]["pod-template-hash"]
    assert replica_set["metadata"]["name"] == f"web-{label}"
    assert [b["metadata"]["labels"] for b in pods] == [{"app": "web", "pod-template-hash": label}] * 3
    assert {b["metadata"]["ownerReferences"][0]["uid"] for b in pods} == {replica_set["metadata"]["uid"]}
    assert replica_set["status"]["readyReplicas"] == 3
    status = scene.read(WEB)["status"]
    assert {status[f"{name}Replicas"] for name in ("updated", "ready", "available")} == {3}
    assert (status["replicas"], status["unavailableReplicas"], status["observedGeneration"]) == (3, 0, 1)
    available = condition(scene.read(WEB), "Available")
    assert available is not None
    assert available["status"] == "True"


@pytest.mark.parametrize("replicas", [0, 1, 5])
def test_it_scales(replicas: int) -> None:
    scene = scene_of(deployment(3))
    settle(scene, 3)
    scene.change(WEB, lambda body: body["spec"].update(replicas=replicas))
    settle(scene, 3)
    assert images(scene).total() == replicas
    assert len(scene.all("replicasets.apps")) == 1


def test_lost_pods_are_replaced_and_ended_ones_too() -> None:
    scene = scene_of(deployment(3))
    settle(scene, 3)
    lost, ended, kept = [Key("pods", "default", b["metadata"]["name"]) for b in scene.all("pods")]
    scene.store.delete(lost, grace=0)
    scene.write(ended, status={"phase": "Failed"})
    settle(scene, 3)
    running = [b["metadata"]["name"] for b in scene.all("pods") if b["status"]["phase"] == "Running"]
    assert len(running) == 3
    assert kept.name in running


def test_those_that_do_the_least_go_first() -> None:
    scene = scene_of(deployment(2))
    settle(scene, 3)
    busy = {b["metadata"]["name"] for b in scene.all("pods")}
    scene.change(WEB, lambda body: body["spec"].update(replicas=4))
    scene.pass_time(1)
    scene.change(WEB, lambda body: body["spec"].update(replicas=2))
    scene.pass_time(1)
    assert {b["metadata"]["name"] for b in scene.all("pods")} == busy


def test_of_pods_that_do_as_much_the_cheapest_goes_first() -> None:
    scene = scene_of(deployment(3))
    settle(scene, 3)
    names = [body["metadata"]["name"] for body in scene.all("pods")]

    def annotate(body: Json) -> None:  # the last is no number to a controller
        cost = dict(zip(names, ("5", "-1", "007"), strict=True))[body["metadata"]["name"]]
        body["metadata"]["annotations"] = {"controller.kubernetes.io/pod-deletion-cost": cost}

    for name in names:
        scene.change(Key("pods", "default", name), annotate)
    scene.change(WEB, lambda body: body["spec"].update(replicas=1))
    settle(scene, 40)
    assert [body["metadata"]["name"] for body in scene.all("pods")] == [names[0]]


def test_a_pod_counts_when_it_has_been_ready_for_long_enough() -> None:
    scene = scene_of(deployment(2, minReadySeconds=20))
    settle(scene, 5)
    status = scene.read(WEB)["status"]
    assert (status["readyReplicas"], status["availableReplicas"], progress(scene)[1]) == (
        2,
        0,
        "ReplicaSetUpdated",
    )
    (replica_set,) = scene.all("replicasets.apps")
    assert (replica_set["spec"]["minReadySeconds"], replica_set["status"]["availableReplicas"]) == (20, 0)
    settle(scene, 20)
    assert (scene.read(WEB)["status"]["availableReplicas"], progress(scene)[1]) == (
        2,
        "NewReplicaSetAvailable",
    )
    use(scene, "example/app:2")
    settle(scene, 10)
    assert images(scene)["example/app:1"] == 2, "none that runs is replaced by one that is just ready"
    settle(scene, 60)
    assert images(scene) == {"example/app:2": 2}


def test_a_new_template_replaces_the_pods_step_by_step() -> None:
    scene = scene_of(deployment(4))
    settle(scene, 3)
    use(scene, "example/app:2")
    seen = []
    for _ in range(60):
        settle(scene, 0.2)
        ready = [b for b in scene.all("pods") if _is_ready(b)]
        seen.append((images(scene).total(), len(ready)))
    assert images(scene) == {"example/app:2": 4}
    assert max(total for total, _ in seen) <= 5
    assert min(ready for _, ready in seen) >= 3


def _is_ready(body: Json) -> bool:
    ready = condition(body, "Ready")
    return "deletionTimestamp" not in body["metadata"] and ready is not None and ready["status"] == "True"


def test_recreate_waits_until_the_old_ones_are_gone() -> None:
    scene = scene_of(deployment(2, strategy={"type": "Recreate"}))
    settle(scene, 3)
    use(scene, "example/app:2")
    settle(scene, 20)
    assert images(scene) == {}
    settle(scene, 20)
    assert images(scene) == {"example/app:2": 2}


def test_going_back_uses_the_old_replica_set_again() -> None:
    scene = scene_of(deployment(1))
    scene.kubelets = Kubelets(scene.store, scene.clock, KubeletTiming(start_seconds=0.1))
    for image in ("example/app:2", "example/app:1"):
        settle(scene, 3)
        use(scene, image)
    settle(scene, 3)
    assert len(scene.all("replicasets.apps")) == 2
    assert images(scene) == {"example/app:1": 1}


def test_old_replica_sets_are_forgotten_beyond_the_limit() -> None:
    scene = scene_of(deployment(0, revisionHistoryLimit=1))
    for number in range(4):
        use(scene, f"example/app:{number}")
        settle(scene, 1)
    assert len(scene.all("replicasets.apps")) == 2


def test_what_belonged_to_a_deleted_deployment_goes_too() -> None:
    scene = scene_of(deployment(3))
    settle(scene, 3)
    scene.store.delete(WEB)
    settle(scene, 40)
    assert scene.all("replicasets.apps") == scene.all("pods") == []


def test_many_pods_are_made_in_bursts() -> None:
    scene = scene_of(deployment(1200))
    counts = []
    for _ in range(6):
        scene.pass_time(0.11)
        counts.append(len(scene.all("pods")))
    assert max(later - earlier for earlier, later in pairwise(counts)) <= 500
    assert counts[-1] == 1200


def test_a_deployment_that_cannot_be_read_is_left_alone() -> None:
    scene = scene_of({**deployment(1), "spec": {"replicas": "many"}})
    settle(scene, 1)
    assert scene.all("pods") == []


def test_generations_are_numbered_and_going_back_gets_a_new_number() -> None:
    scene = scene_of(deployment(1))
    for image in ("example/app:1", "example/app:2", "example/app:1"):
        use(scene, image)
        settle(scene, 5)
    revisions = {
        b["spec"]["template"]["spec"]["containers"][0]["image"]: b["metadata"]["annotations"][REVISION]
        for b in scene.all("replicasets.apps")
    }
    assert revisions == {"example/app:1": "3", "example/app:2": "2"}
    assert scene.read(WEB)["metadata"]["annotations"][REVISION] == "3"


def test_a_cause_is_passed_on() -> None:
    scene = scene_of(deployment(1))
    scene.change(WEB, lambda body: body["metadata"].update(annotations={CAUSE: "first try"}))
    settle(scene, 3)
    (replica_set,) = scene.all("replicasets.apps")
    assert replica_set["metadata"]["annotations"] == {REVISION: "1", CAUSE: "first try"}
    assert scene.read(WEB)["metadata"]["generation"] == 2, "annotations count, the number does not"


# --- adoption --------------------------------------------------------------------------------------


def test_the_revision_of_an_adopted_set_counts_however_large_it_is() -> None:
    scene = scene_of(deployment(1))
    settle(scene, 3)
    (made,) = scene.all("replicasets.apps")
    key = Key("replicasets.apps", "default", made["metadata"]["name"])
    large = {REVISION: "3546343826724305832"}
    scene.change(key, lambda body: body["metadata"].update(annotations=large))
    use(scene, "example/app:2")
    settle(scene, 5)
    assert scene.read(WEB)["metadata"]["annotations"][REVISION] == "3546343826724305833"


@pytest.mark.parametrize("kind", ["ReplicaSet", "ReplicationController"])
def test_pods_that_a_quota_forbids_are_reported(kind: str) -> None:
    selector: Json = {"app": "web"} if kind == "ReplicationController" else {"matchLabels": {"app": "web"}}
    spec = {"replicas": 3, "selector": selector, "template": template()}
    meta = {"name": "web", "namespace": "default"}
    namespace = {"kind": "Namespace", "metadata": {"name": "default"}}
    quota = {"kind": "ResourceQuota", "metadata": meta, "spec": {"hard": {"pods": "2"}}}
    resource = "replicasets.apps" if kind == "ReplicaSet" else "replicationcontrollers"
    key = Key(resource, "default", "web")
    scene = scene_of(namespace)
    scene.add(quota)
    scene.pass_time(1)
    scene.add({"kind": kind, "metadata": meta, "spec": spec})
    settle(scene, 20)
    failed = condition(scene.read(key), "ReplicaFailure")
    assert failed is not None
    assert (failed["status"], failed["reason"]) == ("True", "FailedCreate")
    assert "exceeded quota: web" in failed["message"]
    (event,) = (e for e in scene.all("events") if e["reason"] == "FailedCreate")
    assert (event["type"], event["involvedObject"]["kind"]) == ("Warning", kind)
    assert event["message"].startswith('Error creating: pods "web-')
    scene.change(key, lambda body: body["spec"].update(replicas=2))
    settle(scene, 10)
    assert condition(scene.read(key), "ReplicaFailure") is None


def test_what_an_owner_let_go_is_adopted_by_the_next() -> None:
    scene = scene_of(deployment(2))
    settle(scene, 3)
    before = {b["metadata"]["uid"] for b in (*scene.all("pods"), *scene.all("replicasets.apps"))}
    scene.store.delete(WEB, held_by=(ORPHAN,))
    settle(scene, 1)
    scene.add(deployment(2))
    settle(scene, 5)
    assert {b["metadata"]["uid"] for b in (*scene.all("pods"), *scene.all("replicasets.apps"))} == before
    assert scene.read(WEB)["status"]["availableReplicas"] == 2


def test_an_orphan_pod_is_adopted_by_the_set_that_selects_it() -> None:
    scene = scene_of(deployment(2))
    settle(scene, 3)
    key = Key("pods", "default", scene.all("pods")[0]["metadata"]["name"])
    scene.change(key, lambda body: body["metadata"].update(ownerReferences=[]))
    settle(scene, 3)
    assert images(scene).total() == 2
    (owner,) = scene.read(key)["metadata"]["ownerReferences"]
    assert owner["kind"] == "ReplicaSet"


def test_a_pod_that_is_no_longer_selected_is_let_go_and_replaced() -> None:
    scene = scene_of(deployment(2))
    settle(scene, 3)
    key = Key("pods", "default", scene.all("pods")[0]["metadata"]["name"])
    scene.change(key, lambda body: body["metadata"]["labels"].update(app="debug"))
    settle(scene, 3)
    assert scene.read(key)["metadata"]["ownerReferences"] == []
    assert images(scene).total() == 3


def test_strangers_stay_strangers() -> None:
    scene = scene_of(deployment(1))
    scene.add({"kind": "Pod", "metadata": {"name": "other", "labels": {"app": "other"}}, "spec": {}})
    settle(scene, 3)
    assert "ownerReferences" not in scene.read(Key("pods", "default", "other"))["metadata"]


# --- the older kind --------------------------------------------------------------------------------


def test_a_replication_controller() -> None:
    spec = {"replicas": 2, "selector": {"app": "web"}, "template": template()}
    meta = {"name": "web", "namespace": "default"}
    scene = scene_of({"kind": "ReplicationController", "metadata": meta, "spec": spec})
    settle(scene, 3)
    key = Key("replicationcontrollers", "default", "web")
    status = scene.read(key)["status"]
    assert {status[name] for name in ("replicas", "readyReplicas", "availableReplicas")} == {2}
    lost = scene.all("pods")[0]["metadata"]
    assert lost["ownerReferences"][0]["kind"] == "ReplicationController"
    scene.store.delete(Key("pods", "default", lost["name"]), grace=0)
    settle(scene, 3)
    assert len(scene.all("pods")) == 2
    scene.store.delete(key)
    settle(scene, 60)
    assert scene.all("pods") == []


# --- how far it is -----------------------------------------------------------------------------------


def progress(scene: Scene) -> tuple[str, str]:
    found = condition(scene.read(WEB), "Progressing")
    assert found is not None
    return found["status"], found["reason"]


def test_a_rollout_goes_on_until_it_is_done() -> None:
    scene = scene_of(deployment(2))
    scene.pass_time(0.5)
    assert progress(scene) == ("True", "ReplicaSetUpdated")
    settle(scene, 3)
    assert progress(scene) == ("True", "NewReplicaSetAvailable")
    use(scene, "example/app:2")
    scene.pass_time(0.5)
    assert progress(scene) == ("True", "ReplicaSetUpdated")


def test_a_rollout_that_is_stuck_says_so() -> None:
    scene = scene_of(deployment(2, progressDeadlineSeconds=60))
    scene.pass_time(59)
    assert progress(scene) == ("True", "ReplicaSetUpdated")
    scene.pass_time(3)
    assert progress(scene) == ("False", "ProgressDeadlineExceeded")
    settle(scene, 3)
    assert progress(scene) == ("True", "NewReplicaSetAvailable")


def test_a_complete_rollout_stays_complete_when_pods_are_evicted() -> None:
    scene = scene_of(deployment(2, progressDeadlineSeconds=60))
    settle(scene, 3)
    scene.store.delete(Key("pods", "default", scene.all("pods")[0]["metadata"]["name"]), grace=0)
    scene.pass_time(100)
    assert progress(scene) == ("True", "NewReplicaSetAvailable")


def test_a_paused_rollout() -> None:
    scene = scene_of(deployment(1, paused=True))
    scene.pass_time(1)
    assert progress(scene) == ("Unknown", "DeploymentPaused")
