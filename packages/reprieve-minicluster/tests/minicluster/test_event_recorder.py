"""Changes are recorded as events, which expire after an hour."""

import pytest
from tests.minicluster.scene import Scene, node, pod, pod_key, template

from reprieve.model.json import Json
from reprieve_minicluster.controllers.event_recorder import EventRecorder
from reprieve_minicluster.kubelet import RUN_SECONDS, STOP_SECONDS
from reprieve_minicluster.store import Key

HOUR = 3600


class Told(Scene):
    """A cluster with an event recorder."""

    def __init__(self) -> None:
        super().__init__()
        self.teller = EventRecorder(self.store)
        self.add({"kind": "Namespace", "metadata": {"name": "default"}}, node("n1"))
        self.teller.step()

    def _settled(self) -> list[float]:
        moments, at = super()._settled(), self.teller.step()
        return moments if at is None else [*moments, at]

    def told(self) -> list[tuple[str, str, str]]:
        found = sorted(self.all("events"), key=lambda e: int(e["metadata"]["resourceVersion"]))
        return [(e["involvedObject"]["kind"], e["reason"], e["reportingComponent"]) for e in found]


@pytest.fixture
def scene() -> Told:
    return Told()


def _owning(kind: str, name: str, **spec: object) -> Json:
    selector = {} if kind == "Job" else {"selector": {"matchLabels": {"app": "web"}}}
    meta = {"name": name, "namespace": "default"}
    return {"kind": kind, "metadata": meta, "spec": {"template": template(), **selector, **spec}}


def test_a_pod_starts_and_is_stopped(scene: Told) -> None:
    scene.add(pod("a", on="n1"))
    scene.pass_time(1)
    scene.store.delete(pod_key("a"))
    scene.pass_time(40)
    assert scene.told() == [("Pod", "Started", "kubelet"), ("Pod", "Killing", "kubelet")]
    assert {e["message"] for e in scene.all("events")} == {
        "Started container main",
        "Stopping container main",
    }


def test_a_deployment_makes_pods(scene: Told) -> None:
    scene.add(_owning("Deployment", "web", replicas=2))
    scene.pass_time(1)
    assert scene.told() == [
        ("Deployment", "ScalingReplicaSet", "deployment-controller"),
        ("ReplicaSet", "SuccessfulCreate", "replicaset-controller"),
        ("ReplicaSet", "SuccessfulCreate", "replicaset-controller"),
    ]


def test_controllers_that_run_elsewhere_write_their_own_events(scene: Told) -> None:
    scene.teller = EventRecorder(scene.store, selected=())
    scene.teller.step()
    scene.add(_owning("Deployment", "web", replicas=2), pod("a", on="n1"))
    scene.pass_time(1)
    assert scene.told() == [("Pod", "Started", "kubelet")]


def test_a_job_ends(scene: Told) -> None:
    job = _owning("Job", "j", template=template(**{RUN_SECONDS: "1"}), completions=1, parallelism=1)
    scene.add(job)
    scene.pass_time(1)
    (made,) = scene.all("pods")
    scene.change(pod_key(made["metadata"]["name"]), lambda body: body["spec"].update(nodeName="n1"))
    scene.pass_time(5)
    assert ("Job", "Completed", "job-controller") in scene.told()


def test_an_invalid_duration_is_reported_once_on_its_pod(scene: Told) -> None:
    scene.add(pod("a", on="n1", annotations={RUN_SECONDS: "10m", STOP_SECONDS: "-1"}))
    scene.pass_time(3)
    warnings = [e for e in scene.all("events") if e["type"] == "Warning"]
    assert {(e["involvedObject"]["kind"], e["reason"], e["message"]) for e in warnings} == {
        (
            "Pod",
            "InvalidRunSeconds",
            "annotation reprieve.dev/run-seconds is ignored: "
            'expected a number of seconds such as 30 or 2.5, got "10m"',
        ),
        (
            "Pod",
            "InvalidStopSeconds",
            "annotation reprieve.dev/stop-seconds is ignored: "
            'expected a number of seconds such as 30 or 2.5, got "-1"',
        ),
    }
    assert {e.get("count", 1) for e in warnings} == {1}


def test_a_duration_that_becomes_invalid_is_reported(scene: Told) -> None:
    scene.add(pod("a", on="n1", annotations={RUN_SECONDS: "60"}))
    scene.pass_time(1)
    scene.change(
        pod_key("a"), lambda body: body["metadata"].update(annotations={RUN_SECONDS: "never" + 99 * "!"})
    )
    scene.pass_time(1)
    (warning,) = (e for e in scene.all("events") if e["type"] == "Warning")
    assert warning["message"].endswith(f'got "never{35 * "!"}…"')


def test_an_invalid_duration_in_a_template_is_reported_on_the_job(scene: Told) -> None:
    job = _owning("Job", "j", template=template(**{RUN_SECONDS: "1e3"}), completions=1, parallelism=1)
    scene.add(job)
    scene.pass_time(1)
    assert ("Job", "InvalidRunSeconds", "kubelet") in scene.told()
    assert ("Pod", "InvalidRunSeconds", "kubelet") in scene.told()


def test_what_was_there_before_is_not_told_again(scene: Told) -> None:
    scene.add(pod("a", on="n1"))
    scene.pass_time(1)
    scene.teller = EventRecorder(scene.store)
    scene.pass_time(1)
    assert scene.told() == [("Pod", "Started", "kubelet")]


def test_a_namespace_that_goes_gets_nothing_new(scene: Told) -> None:
    scene.add(pod("a", on="n1"))
    scene.change(_namespace(), lambda body: body["metadata"].update(finalizers=["example.com/x"]))
    scene.store.delete(_namespace())
    scene.pass_time(1)
    assert scene.told() == []


def test_events_are_forgotten(scene: Told) -> None:
    scene.add(pod("a", on="n1"))
    scene.pass_time(HOUR - 1)
    assert scene.told()
    scene.pass_time(3)
    assert scene.told() == []


def _namespace() -> Key:
    return Key("namespaces", "", "default")
