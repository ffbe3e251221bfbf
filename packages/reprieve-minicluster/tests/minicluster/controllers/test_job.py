"""Job: parallel pods until enough succeeded; each failure is counted once, and limited."""

import pytest
from tests.minicluster.scene import Scene, condition, node, template

from reprieve.model.json import Json
from reprieve_minicluster.controllers.job import INDEX, IndexSet, read_indexes
from reprieve_minicluster.kubelet import RUN_SECONDS
from reprieve_minicluster.store import Key

JOB = Key("jobs.batch", "default", "train")


def job(**spec: object) -> Json:
    body = {"template": template("train", **{RUN_SECONDS: "10"}), **spec}
    return {"kind": "Job", "metadata": {"name": "train", "namespace": "default"}, "spec": body}


def scene_of(body: Json) -> Scene:
    scene = Scene()
    scene.add(node("n1", cpu="100"), body)
    scene.pass_time(0.2)
    return scene


def bind_all(scene: Scene) -> None:
    for body in scene.all("pods"):
        if "nodeName" not in body["spec"]:
            scene.change(key_of(body), lambda found: found["spec"].update(nodeName="n1"))


def key_of(body: Json) -> Key:
    return Key("pods", "default", body["metadata"]["name"])


def alive(scene: Scene) -> list[Json]:
    return [b for b in scene.all("pods") if b["status"]["phase"] in ("Pending", "Running")]


def play(scene: Scene, seconds: int) -> None:
    for _ in range(seconds):
        bind_all(scene)
        scene.pass_time(1)


def ended(scene: Scene, kind: str) -> Json | None:
    return condition(scene.read(JOB), kind)


def test_a_job_runs_as_many_as_it_may_until_enough_succeeded() -> None:
    scene = scene_of(job(parallelism=2, completions=5))
    assert len(alive(scene)) == 2
    play(scene, 12)
    assert (len(alive(scene)), scene.read(JOB)["status"]["succeeded"]) == (2, 2)
    play(scene, 30)
    status = scene.read(JOB)["status"]
    assert (status["succeeded"], status["failed"], status["active"]) == (5, 0, 0)
    assert ended(scene, "Complete") is not None
    assert status["startTime"] < status["completionTime"]
    assert len(scene.all("pods")) == 5
    assert not any(b["metadata"]["finalizers"] for b in scene.all("pods"))


def test_one_pod_is_the_default() -> None:
    scene = scene_of(job())
    play(scene, 15)
    assert len(scene.all("pods")) == 1
    assert ended(scene, "Complete") is not None


def test_a_work_queue_is_over_when_all_have_ended() -> None:
    scene = scene_of(job(parallelism=3))
    play(scene, 12)
    assert scene.read(JOB)["status"]["succeeded"] == 3
    assert ended(scene, "Complete") is not None
    assert len(scene.all("pods")) == 3


def test_a_succeeded_pod_that_is_cleaned_up_stays_counted() -> None:
    scene = scene_of(job(completions=2, parallelism=1))
    play(scene, 13)
    first = next(b for b in scene.all("pods") if b["status"]["phase"] == "Succeeded")
    scene.store.delete(key_of(first))
    play(scene, 15)
    assert scene.read(JOB)["status"]["succeeded"] == 2
    assert len(scene.all("pods")) == 1


def test_a_deleted_pod_is_replaced_and_counts_as_failed_once() -> None:
    scene = scene_of(job(completions=1))
    play(scene, 3)
    (victim,) = alive(scene)
    scene.store.delete(key_of(victim), grace=2)
    scene.pass_time(0.2)
    assert len(alive(scene)) == 2
    play(scene, 5)
    assert [b["metadata"]["name"] == victim["metadata"]["name"] for b in alive(scene)] == [False]
    assert scene.read(JOB)["status"]["failed"] == 1


def test_too_many_failures_end_it() -> None:
    scene = scene_of(job(completions=2, parallelism=2, backoffLimit=1))
    for _ in range(3):
        if alive(scene):
            scene.store.delete(key_of(alive(scene)[0]), grace=0)
        scene.pass_time(0.5)
    failed = ended(scene, "Failed")
    assert failed is not None
    assert failed["reason"] == "BackoffLimitExceeded"
    assert scene.read(JOB)["status"]["failed"] == 2
    assert scene.all("pods") == []


@pytest.mark.parametrize(("action", "failures", "fails"), [("Ignore", 0, False), ("FailJob", 1, True)])
def test_the_failure_policy_knows_disruptions(action: str, failures: int, fails: bool) -> None:
    rule = {"action": action, "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
    scene = scene_of(job(backoffLimit=0, podFailurePolicy={"rules": [rule]}))
    play(scene, 3)
    (victim,) = alive(scene)
    mark = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    conditions = [*victim["status"]["conditions"], mark]
    scene.write(key_of(victim), status={**victim["status"], "conditions": conditions})
    scene.store.delete(key_of(victim), grace=2)
    scene.pass_time(0.2)
    assert len(alive(scene)) == 1, "its end is awaited before it is replaced"
    scene.pass_time(3)
    assert scene.read(JOB)["status"]["failed"] == failures
    assert (ended(scene, "Failed") is not None) is fails
    assert len(alive(scene)) == (0 if fails else 1)


def test_a_suspended_job_has_no_pods() -> None:
    scene = scene_of(job(suspend=True))
    assert scene.all("pods") == []
    scene.change(JOB, lambda body: body["spec"].update(suspend=False))
    scene.pass_time(1)
    assert len(scene.all("pods")) == 1


def test_the_pods_of_a_deleted_job_go() -> None:
    scene = scene_of(job(parallelism=2, completions=2))
    play(scene, 3)
    scene.store.delete(JOB)
    scene.pass_time(40)
    assert scene.all("pods") == []


# --- pods with numbers -----------------------------------------------------------------------------


def numbers(scene: Scene) -> list[str]:
    return sorted(body["metadata"]["labels"][INDEX] for body in alive(scene))


def test_pods_with_numbers() -> None:
    scene = scene_of(job(parallelism=2, completions=3, completionMode="Indexed"))
    assert numbers(scene) == ["0", "1"]
    first = alive(scene)[0]
    assert first["metadata"]["name"].startswith("train-0-")
    assert first["metadata"]["annotations"][INDEX] == "0"
    assert first["spec"]["hostname"] == "train-0"
    (variable,) = first["spec"]["containers"][0]["env"]
    assert variable["name"] == "JOB_COMPLETION_INDEX"
    play(scene, 12)
    assert numbers(scene) == ["2"]
    assert scene.read(JOB)["status"]["completedIndexes"] == "0,1"
    play(scene, 12)
    status = scene.read(JOB)["status"]
    assert (status["completedIndexes"], status["succeeded"]) == ("0-2", 3)
    assert ended(scene, "Complete") is not None


def test_a_number_that_was_lost_comes_again() -> None:
    scene = scene_of(job(parallelism=3, completions=3, completionMode="Indexed"))
    lost = next(body for body in alive(scene) if body["metadata"]["labels"][INDEX] == "1")
    scene.store.delete(key_of(lost))
    scene.pass_time(1)
    assert numbers(scene) == ["0", "1", "2"]
    assert lost["metadata"]["name"] not in [body["metadata"]["name"] for body in alive(scene)]


@pytest.mark.parametrize(
    ("text", "found"), [("", set()), ("0", {0}), ("0,2-4", {0, 2, 3, 4}), ("1,2,x,7-99", {1, 2, 7, 8, 9})]
)
def test_numbers_are_written_down(text: str, found: set[int]) -> None:
    assert set(read_indexes(text, 10)) == found
    assert set(read_indexes(str(IndexSet().with_all(found)), 10)) == found


# --- times -----------------------------------------------------------------------------------------


def test_a_job_that_takes_too_long_has_failed() -> None:
    scene = scene_of(job(activeDeadlineSeconds=5))
    play(scene, 4)
    assert ended(scene, "Failed") is None
    play(scene, 2)
    failed = ended(scene, "Failed")
    assert failed is not None
    assert failed["reason"] == "DeadlineExceeded"


def test_a_job_is_cleaned_up_after_its_time() -> None:
    scene = scene_of(job(ttlSecondsAfterFinished=20))
    play(scene, 25)
    assert ended(scene, "Complete") is not None
    play(scene, 10)
    assert scene.store.find(JOB) is None
    assert scene.all("pods") == []


def test_a_job_of_another_controller_is_left_alone() -> None:
    scene = scene_of(job(managedBy="example.com/queue"))
    assert (scene.all("pods"), scene.read(JOB).get("status", {}).get("active")) == ([], None)


def test_a_job_says_that_it_is_suspended_and_starts_anew_when_it_is_resumed() -> None:
    scene = scene_of(job(activeDeadlineSeconds=60))
    started = scene.read(JOB)["status"]["startTime"]
    assert ended(scene, "Suspended") is None
    scene.change(JOB, lambda body: body["spec"].update(suspend=True))
    scene.pass_time(90)
    suspended = ended(scene, "Suspended")
    assert suspended is not None
    assert (suspended["status"], suspended["reason"]) == ("True", "JobSuspended")
    scene.change(JOB, lambda body: body["spec"].update(suspend=False))
    play(scene, 3)
    resumed = ended(scene, "Suspended")
    assert resumed is not None
    assert (resumed["status"], resumed["reason"]) == ("False", "JobResumed")
    assert scene.read(JOB)["status"]["startTime"] > started
    assert ended(scene, "Failed") is None


def test_a_job_that_fails_says_so_in_both_conditions() -> None:
    scene = scene_of(job(activeDeadlineSeconds=1))
    play(scene, 3)
    found = [ended(scene, kind) for kind in ("FailureTarget", "Failed")]
    assert [one and one["reason"] for one in found] == ["DeadlineExceeded", "DeadlineExceeded"]


def test_a_job_adopts_its_orphans_and_releases_what_it_does_not_select() -> None:
    selected = {"matchLabels": {"app": "train"}}
    scene = scene_of(job(parallelism=2, completions=4, selector=selected))
    (orphan, other) = (key_of(body) for body in alive(scene))
    scene.change(orphan, lambda body: body["metadata"].update(ownerReferences=[]))
    scene.pass_time(1)
    (owner,) = scene.read(orphan)["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("Job", "train", True)
    assert len(alive(scene)) == 2
    scene.change(other, lambda body: body["metadata"].update(labels={}))
    scene.pass_time(1)
    meta = scene.read(other)["metadata"]
    assert (meta["ownerReferences"], meta["finalizers"]) == ([], [])
    assert len(alive(scene)) == 3
