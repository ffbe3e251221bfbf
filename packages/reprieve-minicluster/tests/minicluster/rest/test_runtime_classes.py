"""RuntimeClasses: what a pod that names one gets, and when it is refused."""

import pytest
from tests.minicluster.rest.api_client import PODS, ApiClient, pod, said

from reprieve.model.json import Json

CLASSES = "/apis/node.k8s.io/v1/runtimeclasses"
TOLERATION: Json = {"key": "sandbox", "operator": "Exists", "effect": "NoSchedule"}
CLASS: Json = {
    "metadata": {"name": "gvisor"},
    "handler": "runsc",
    "overhead": {"podFixed": {"cpu": "250m"}},
    "scheduling": {"nodeSelector": {"sandbox": "yes"}, "tolerations": [TOLERATION]},
}


def sandboxed(name: str = "p", **spec: object) -> Json:
    body = pod(name)
    return {**body, "spec": {**body["spec"], "runtimeClassName": "gvisor", **spec}}


def test_a_pod_gets_the_overhead_and_the_nodes_of_its_class(client: ApiClient) -> None:
    client.post(CLASSES, CLASS)
    spec = client.post(PODS, sandboxed(tolerations=[TOLERATION]))["spec"]
    assert spec["overhead"] == {"cpu": "250m"}
    assert spec["nodeSelector"] == {"sandbox": "yes"}
    assert spec["tolerations"].count(TOLERATION) == 1
    spec = client.post(PODS, sandboxed("q", nodeSelector={"disk": "ssd"}, overhead={"cpu": "0.25"}))["spec"]
    assert spec["nodeSelector"] == {"disk": "ssd", "sandbox": "yes"}
    assert TOLERATION in spec["tolerations"]


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"runtimeClassName": "kata"}, 'RuntimeClass "kata" not found'),
        ({"overhead": {"cpu": "1"}}, "overhead is not that of RuntimeClass"),
        ({"nodeSelector": {"sandbox": "no"}}, "nodeSelector sandbox is no in the pod and yes"),
    ],
)
def test_pods_that_do_not_go_with_their_class(client: ApiClient, spec: Json, why: str) -> None:
    client.post(CLASSES, CLASS)
    assert why in said(client.ask("POST", PODS, sandboxed(**spec)), 403)["message"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"handler": ""}, "handler"),
        ({"handler": "Run SC"}, "handler"),
        ({"overhead": {"podFixed": {"cpu": "-1"}}}, "overhead.podFixed[cpu]"),
        ({"scheduling": {"nodeSelector": {"a b": "c"}}}, "scheduling.nodeSelector"),
    ],
)
def test_classes_that_cannot_be(client: ApiClient, change: Json, field: str) -> None:
    status = said(client.ask("POST", CLASSES, {**CLASS, **change}), 422)
    assert field in [cause["field"] for cause in status["details"]["causes"]]


def test_the_handler_of_a_class_stays(client: ApiClient) -> None:
    made = client.post(CLASSES, CLASS)
    assert said(client.ask("PUT", f"{CLASSES}/gvisor", {**made, "handler": "kata"}), 422)
