"""What may change of a pod in an update, and in a resize."""

import pytest
from tests.unit.cluster.admission.admitting import (
    NODE,
    POD,
    admitted,
    ask,
    created,
    errors,
    refusal,
    refused_at,
    update,
    with_value,
)
from tests.unit.cluster.api.rich_pod import RICH_POD

from reprieve.cluster.admission.admission import AdmissionAnswer, Operation
from reprieve.model.json import Json

STORED = created(RICH_POD)
FREE = created({**RICH_POD, "spec": {**RICH_POD["spec"], "schedulingGates": []}})
NODES = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("metadata.labels", {"app": "other"}),
        ("spec.containers.0.image", "example/app:2"),
        ("spec.initContainers.1.image", "example/f:2"),
        ("spec.activeDeadlineSeconds", 300),
        ("spec.schedulingGates", []),
        ("spec.tolerations.1.tolerationSeconds", 5),
        ("spec.tolerations", [*FREE["spec"]["tolerations"], {"key": "new", "operator": "Exists"}]),
    ],
)
def test_an_update_may_change(path: str, value: object) -> None:
    assert admitted(update(with_value(STORED, path, value), STORED))


@pytest.mark.parametrize(
    ("path", "value", "blamed"),
    [
        ("metadata.name", "other", "metadata.name"),
        ("spec.containers.0.image", "", "spec.containers[0].image"),
        ("spec.containers.0.resources.requests.cpu", "600m", "spec"),
        ("spec.containers.0.command", ["sleep"], "spec"),
        ("spec.containers", [], "spec.containers"),
        ("spec.containers.0.name", "renamed", "spec.containers"),
        ("spec.activeDeadlineSeconds", 601, "spec.activeDeadlineSeconds"),
        ("spec.activeDeadlineSeconds", None, "spec.activeDeadlineSeconds"),
        ("spec.tolerations.0.key", "other", "spec.tolerations"),
        ("spec.tolerations", [], "spec.tolerations"),
        ("spec.schedulingGates", [{"name": "b"}], "spec.schedulingGates[0].name"),
        ("spec.schedulingGroup.podGroupName", "other", "spec"),
        ("spec.nodeName", "n1", "spec"),
        ("spec.priority", 7, "spec"),
        ("spec.terminationGracePeriodSeconds", 5, "spec"),
        ("spec.nodeSelector", {"disk": "ssd", "more": "x"}, "spec"),
    ],
)
def test_an_update_may_not_change(path: str, value: object, blamed: str) -> None:
    assert blamed in refused_at(update(with_value(FREE, path, value), FREE))


def test_what_was_changed_is_said() -> None:
    (error,) = errors(update(with_value(FREE, "spec.hostPID", True), FREE))
    assert error.sentence.endswith("it changes spec.hostPID")


def test_the_same_amount_in_other_words_is_no_change() -> None:
    other = with_value(STORED, "spec.containers.0.resources.limits.cpu", "1000m")
    assert admitted(update(other, STORED))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("spec.hostNetwork", False),
        ("spec.volumes", []),
        ("spec.nodeName", ""),
        ("spec.containers.0.tty", False),
        ("spec.containers.0.command", []),
        ("spec.nodeSelector", {}),
    ],
)
def test_what_is_empty_is_as_good_as_absent(path: str, value: object) -> None:
    stored = created(POD)
    assert refused_at(update(with_value(stored, path, value), stored)) == []


def test_an_empty_label_is_one() -> None:
    stored = created(with_value(POD, "spec.nodeSelector", {"zone": ""}))
    assert refused_at(update(with_value(stored, "spec.nodeSelector", {}), stored)) == ["spec"]


def test_a_client_that_knows_no_resources_of_whole_pods_does_not_lose_them() -> None:
    stored = created(with_value(POD, "spec.resources", {"limits": {"cpu": "2"}}))
    assert admitted(update(with_value(stored, "spec.resources", None), stored)) == stored


@pytest.mark.parametrize(
    ("path", "value", "blamed"),
    [
        ("spec.nodeSelector", {"disk": "ssd", "more": "x"}, None),
        ("spec.nodeSelector", {"disk": "hdd"}, "spec.nodeSelector"),
        ("spec.nodeSelector", {}, "spec.nodeSelector"),
        (
            f"{NODES}.0.matchExpressions",
            [
                {"key": "cores", "operator": "Gt", "values": ["4"]},
                {"key": "zone", "operator": "In", "values": ["a"]},
            ],
            None,
        ),
        (f"{NODES}.0.matchExpressions", [{"key": "zone", "operator": "In", "values": ["a"]}], NODES),
        (NODES, [{}, {}], NODES),
    ],
)
def test_while_a_pod_is_held_back_its_place_can_only_be_narrowed(
    path: str, value: object, blamed: str | None
) -> None:
    answer = update(with_value(STORED, path, value), STORED)
    assert refused_at(answer) == ([] if blamed is None else [blamed])


# --- resizes -------------------------------------------------------------------------------------

BURSTABLE = created(
    with_value(
        POD,
        "spec.containers.0.resources",
        {"requests": {"cpu": "1", "example.com/gpu": 1}, "limits": {"cpu": "2", "example.com/gpu": 1}},
    )
)
RESOURCES = "spec.containers.0.resources"


def resize(path: str, value: object, old: Json = BURSTABLE) -> list[str]:
    return refused_at(update(with_value(old, path, value), old, subresource="resize"))


def test_a_resize_changes_cpu_and_memory_and_ignores_the_rest() -> None:
    sent = with_value(BURSTABLE, f"{RESOURCES}.requests.cpu", "2")
    noisy = with_value(with_value(sent, "spec.nodeName", "n1"), "metadata.labels", {"new": "label"})
    assert admitted(update(noisy, BURSTABLE, subresource="resize")) == sent


@pytest.mark.parametrize(
    ("path", "value", "blamed"),
    [
        (f"{RESOURCES}.requests.cpu", "3", "spec.containers[0].resources.requests"),
        (f"{RESOURCES}.limits.example.com/gpu", 2, "spec.containers[0].resources.limits"),
        (f"{RESOURCES}.limits", {}, "spec.containers[0].resources.limits"),
        (RESOURCES, {}, "spec"),
        ("spec.containers", [], "spec.containers"),
        ("spec.containers.0.name", "other", "spec.containers"),
        ("spec.containers.0.resizePolicy", [{"resourceName": "cpu", "restartPolicy": "NotRequired"}],
         "spec.containers[0].resizePolicy"),
    ],
)  # fmt: skip
def test_a_resize_is_refused(path: str, value: object, blamed: str) -> None:
    if "example.com" in path:
        old = BURSTABLE["spec"]["containers"][0]["resources"]["limits"]
        path, value = f"{RESOURCES}.limits", {**old, "example.com/gpu": value}
    assert blamed in resize(path, value)


def test_a_resize_removes_no_request() -> None:
    old = created(with_value(POD, RESOURCES, {"requests": {"cpu": "1", "memory": "1Gi"}}))
    assert resize(RESOURCES, {"requests": {"cpu": "1"}}, old) == ["spec.containers[0].resources.requests"]


def test_a_resize_keeps_the_quality_of_service() -> None:
    both = {"cpu": "1", "memory": "1Gi"}
    guaranteed = created(with_value(POD, RESOURCES, {"requests": both, "limits": both}))
    assert resize(f"{RESOURCES}.limits.cpu", "2", guaranteed) == ["spec"]
    more = {"cpu": "2", "memory": "1Gi"}
    assert resize(RESOURCES, {"requests": more, "limits": more}, guaranteed) == []
    assert resize(RESOURCES, {"requests": {"cpu": "1"}}, created(POD)) == ["spec"]


def test_only_a_kubelet_that_reports_resources_can_resize() -> None:
    running = {"name": "main", "state": {"running": {}}}
    asked = with_value(BURSTABLE, f"{RESOURCES}.requests.cpu", "2")
    for status, answer in ((running, ["spec"]), ({**running, "resources": {}}, [])):
        old = {**BURSTABLE, "status": {"containerStatuses": [status]}}
        assert refused_at(update({**asked, "status": old["status"]}, old, subresource="resize")) == answer


def test_resources_of_a_whole_pod_can_be_resized() -> None:
    old = created(with_value(POD, "spec.resources", {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}))
    assert resize("spec.resources.requests.cpu", "2", old) == []
    assert "spec.resources.limits" in resize("spec.resources.limits", {"memory": "1Gi"}, old)


def test_resources_of_a_whole_pod_that_say_nothing_change_nothing() -> None:
    sent = with_value(BURSTABLE, "spec.resources", {})
    assert admitted(update(sent, BURSTABLE, subresource="resize")) == BURSTABLE


def test_static_pods_and_those_of_windows_cannot_be_resized() -> None:
    static = with_value(BURSTABLE, "metadata.annotations", {"kubernetes.io/config.mirror": "x"})
    assert resize(f"{RESOURCES}.requests.cpu", "2", static) == ["spec"]
    windows = with_value(BURSTABLE, "spec.os", {"name": "windows"})
    assert resize(f"{RESOURCES}.requests.cpu", "2", windows) == ["spec"]


def test_memory_may_be_taken_back_and_asked_for_where_there_was_none() -> None:
    old = created(with_value(POD, RESOURCES, {"requests": {"memory": "2Gi"}, "limits": {"memory": "4Gi"}}))
    less = {"requests": {"memory": "1Gi", "cpu": "1"}, "limits": {"memory": "1Gi"}}
    assert resize(RESOURCES, less, old) == []


def test_a_sidecar_can_be_resized_and_an_init_container_that_would_restart_cannot() -> None:
    restarts = [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]

    def starting(name: str, **more: object) -> Json:
        resources = {"requests": {"cpu": "1"}}
        return {**POD["spec"]["containers"][0], "name": name, "resources": resources, **more}

    both = [starting(n, resizePolicy=restarts) for n in ("side", "init")]
    both[0]["restartPolicy"] = "Always"
    old = with_value(BURSTABLE, "spec.initContainers", both)
    assert resize("spec.initContainers.0.resources.requests.cpu", "2", old) == []
    blamed = resize("spec.initContainers.1.resources.requests.cpu", "2", old)
    assert "spec.initContainers[1].resources" in blamed


# --- what the node can give ----------------------------------------------------------------------

BOUND = with_value(BURSTABLE, "spec.nodeName", "n1")
SMALL = with_value(
    with_value(NODE, "metadata.name", "n1"), "status.allocatable", {"cpu": "2", "memory": "1Gi"}
)


def resize_on(node: Json, cpu: str) -> AdmissionAnswer:
    new = with_value(BOUND, RESOURCES, {**BOUND["spec"]["containers"][0]["resources"]})
    for field in ("requests", "limits"):
        new = with_value(new, f"{RESOURCES}.{field}.cpu", cpu)
    return ask(Operation.UPDATE, new, node, old=BOUND, subresource="resize")


def test_what_the_node_could_give_is_granted_or_waits() -> None:
    assert admitted(resize_on(SMALL, "2"))


def test_more_than_the_node_ever_has_is_refused() -> None:
    found = refusal(resize_on(SMALL, "2500m"))
    assert found.reason == "Forbidden"
    assert found.sentence == "n1 can never grant the cpu asked for: 2500 of 2000 milli-cores allocatable"


def test_a_node_that_is_gone_or_no_linux_resizes_nothing() -> None:
    assert "not there" in refusal(resize_on(with_value(SMALL, "metadata.name", "n2"), "2")).sentence
    other = with_value(SMALL, "metadata.labels", {"kubernetes.io/os": "windows"})
    assert "linux nodes only" in refusal(resize_on(other, "2")).sentence


def test_a_resize_that_changes_nothing_needs_no_node() -> None:
    assert admitted(update(BOUND, BOUND, subresource="resize"))
