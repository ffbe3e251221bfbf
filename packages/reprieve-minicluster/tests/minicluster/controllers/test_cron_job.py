"""CronJob: schedules, concurrency policies and history limits."""

import pytest
from tests.minicluster.scene import Scene, node, template

from reprieve.model.json import Json
from reprieve_minicluster.controllers import ControllerManager, delays_at
from reprieve_minicluster.store import Key

NIGHTLY = Key("cronjobs.batch", "default", "report")
MINUTE = 60.0


def cron_job(schedule: str = "*/10 * * * *", seconds: str = "60", **spec: object) -> Json:
    """Made a quarter of a second after noon; its jobs run for so long."""
    pod = template("report", **{"reprieve.dev/run-seconds": seconds})
    pod["spec"]["restartPolicy"] = "Never"
    job = {"metadata": {"labels": {"team": "a"}}, "spec": {"template": pod, "backoffLimit": 0}}
    return {
        "kind": "CronJob",
        "metadata": {"name": "report", "namespace": "default"},
        "spec": {"schedule": schedule, "jobTemplate": job, **spec},
    }


def scene_of(body: Json) -> Scene:
    scene = Scene()
    scene.add(node("n1", cpu="1000", pods="2000"), body)
    return scene


def pass_minutes(scene: Scene, minutes: float) -> None:
    for _ in range(int(minutes * 6)):
        for body in scene.all("pods"):
            if "nodeName" not in body["spec"]:
                key = Key("pods", "default", body["metadata"]["name"])
                scene.change(key, lambda found: found["spec"].update(nodeName="n1"))
        scene.pass_time(10)


def times(scene: Scene) -> list[str]:
    note = "batch.kubernetes.io/cronjob-scheduled-timestamp"
    return [body["metadata"]["annotations"][note][11:16] for body in scene.all("jobs.batch")]


def active(scene: Scene) -> list[str]:
    return [reference["name"] for reference in scene.read(NIGHTLY)["status"].get("active", [])]


def test_a_job_at_every_time() -> None:
    scene = scene_of(cron_job())
    pass_minutes(scene, 9)
    assert times(scene) == []
    pass_minutes(scene, 12)
    assert times(scene) == ["12:10", "12:20"]
    (first, second) = scene.all("jobs.batch")
    assert second["metadata"]["name"] == f"report-{int(scene.clock.now) // 60 - 1}"
    assert first["metadata"]["labels"] == {"team": "a"}
    assert first["metadata"]["ownerReferences"][0]["kind"] == "CronJob"
    status = scene.read(NIGHTLY)["status"]
    assert active(scene) == [second["metadata"]["name"]]
    assert status["lastScheduleTime"] == "2026-01-01T12:20:00Z"
    assert status["lastSuccessfulTime"] == first["status"]["completionTime"]


def test_a_time_zone() -> None:
    scene = scene_of(cron_job("30 13 * * *", timeZone="Europe/Berlin"))
    pass_minutes(scene, 31)
    (job,) = scene.all("jobs.batch")
    note = job["metadata"]["annotations"]["batch.kubernetes.io/cronjob-scheduled-timestamp"]
    assert note == "2026-01-01T13:30:00+01:00"


@pytest.mark.parametrize(
    ("policy", "left", "running"),
    [
        ("Allow", ["12:10", "12:20", "12:30"], 3),
        ("Forbid", ["12:10"], 1),
        ("Replace", ["12:30"], 1),
    ],
)
def test_jobs_that_take_longer_than_the_time_between_them(policy: str, left: list[str], running: int) -> None:
    scene = scene_of(cron_job(seconds="6000", concurrencyPolicy=policy))
    pass_minutes(scene, 32)
    assert times(scene) == left
    assert len(active(scene)) == running


def test_a_forbidden_job_starts_when_the_other_has_finished() -> None:
    scene = scene_of(cron_job(seconds="780", concurrencyPolicy="Forbid"))
    pass_minutes(scene, 25)
    assert times(scene) == ["12:10", "12:20"]


def test_suspended() -> None:
    scene = scene_of(cron_job(suspend=True))
    pass_minutes(scene, 35)
    assert times(scene) == []
    scene.change(NIGHTLY, lambda body: body["spec"].update(suspend=False))
    pass_minutes(scene, 1)
    assert times(scene) == ["12:30"], "only the latest of those that were missed"


def test_too_late() -> None:
    scene = scene_of(cron_job(suspend=True, startingDeadlineSeconds=120))
    pass_minutes(scene, 35)
    scene.change(NIGHTLY, lambda body: body["spec"].update(suspend=False))
    pass_minutes(scene, 1)
    assert times(scene) == []
    pass_minutes(scene, 5)
    assert times(scene) == ["12:40"]


def test_after_a_long_pause_only_the_latest() -> None:
    scene = scene_of(cron_job("* * * * *", suspend=True))
    scene.pass_time(400 * 24 * 3600)
    scene.change(NIGHTLY, lambda body: body["spec"].update(suspend=False))
    scene.pass_time(1)
    assert times(scene) == ["12:00"]


def test_only_so_many_are_remembered() -> None:
    scene = scene_of(cron_job(successfulJobsHistoryLimit=2))
    pass_minutes(scene, 55)
    assert times(scene) == ["12:40", "12:50"]
    scene.change(NIGHTLY, lambda body: body["spec"].update(successfulJobsHistoryLimit=0))
    pass_minutes(scene, 1)
    assert times(scene) == []
    assert scene.all("pods") == []


def test_a_job_that_is_refused_is_tried_again() -> None:
    scene = scene_of(cron_job())
    meta = {"name": "team", "namespace": "default"}
    quota = {"kind": "ResourceQuota", "metadata": meta, "spec": {"hard": {"count/jobs.batch": "0"}}}
    scene.add(quota)
    pass_minutes(scene, 12)
    assert times(scene) == []
    scene.write(Key("resourcequotas", "default", "team"), spec={"hard": {"count/jobs.batch": "5"}})
    pass_minutes(scene, 1)
    assert times(scene) == ["12:10"]


def test_what_it_has_made_goes_with_it() -> None:
    scene = scene_of(cron_job())
    pass_minutes(scene, 11)
    scene.store.delete(NIGHTLY)
    pass_minutes(scene, 2)
    assert scene.all("jobs.batch") == scene.all("pods") == []


def test_time_that_passes_faster() -> None:
    scene = scene_of(cron_job())
    scene.controllers = ControllerManager(scene.store, delays_at(60))
    scene.pass_time(21)
    assert times(scene) == ["12:10", "12:20"]
