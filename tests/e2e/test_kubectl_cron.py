"""CronJobs with kubectl. Time passes thirty times as fast here."""

from reprieve.model.json import Json
from tests.e2e.up import PATIENCE, Kubectl

WAIT = f"--timeout={PATIENCE}s"


def _cron_job(**spec: object) -> Json:
    container = {"name": "main", "image": "example/app:1"}
    pod = {
        "metadata": {"annotations": {"reprieve.dev/run-seconds": "1"}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "report"},
        "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": pod}}, **spec},
    }


def test_jobs_come_by_themselves(kubectl: Kubectl) -> None:
    kubectl.apply(_cron_job())
    kubectl("wait", "cronjob/report", "--for=jsonpath={.status.lastSuccessfulTime}", WAIT)
    kubectl("patch", "cronjob", "report", "-p", '{"spec": {"suspend": true}}')
    head, row = kubectl("get", "cronjob").splitlines()
    assert head.split()[:5] == ["NAME", "SCHEDULE", "TIMEZONE", "SUSPEND", "ACTIVE"]
    assert "true" in row.lower()
    assert "Schedule:" in kubectl("describe", "cronjob", "report")
    kubectl("create", "job", "by-hand", "--from=cronjob/report")
    kubectl("wait", "job/by-hand", "--for=condition=Complete", WAIT)
    kubectl("delete", "cronjob", "report", WAIT)
    kubectl("wait", "job", "--all", "--for=delete", WAIT)


def test_kubectl_makes_one(kubectl: Kubectl) -> None:
    kubectl("create", "cronjob", "report", "--image=example/app:1", "--schedule=0 8 * * 1-5")
    assert kubectl.get("cronjob/report")["spec"]["successfulJobsHistoryLimit"] == 3


def test_what_cannot_be(kubectl: Kubectl) -> None:
    for field, value in (("schedule", "* * *"), ("timeZone", "Nowhere"), ("concurrencyPolicy", "Maybe")):
        refused = kubectl.run("apply", "-f", "-", stdin=str(_cron_job(**{field: value})))
        assert f"spec.{field}" in refused.stderr, refused.stderr
