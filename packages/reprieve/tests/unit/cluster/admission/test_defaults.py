"""What an object means where it says nothing."""

import pytest
from tests.unit.cluster.admission.admitting import (
    CLAIM,
    DEPLOYMENT,
    GROUP,
    JOB,
    NAMESPACE,
    NODE,
    OLDER_GROUP,
    POD,
    SECRET,
    SERVICE,
    STATEFUL_SET,
    STORAGE_CLASS,
    VOLUME,
    created,
    named,
    with_value,
)
from tests.unit.cluster.api.rich_pod import RICH_POD

from reprieve.model.json import Json


def part(body: Json, path: str) -> object:
    at: object = body
    for step in filter(None, path.split(".")):
        at = at[int(step)] if isinstance(at, list) else at.get(step) if isinstance(at, dict) else None
    return at


DEFAULTS: list[tuple[Json, str, object]] = [
    (POD, "spec.restartPolicy", "Always"),
    (POD, "spec.dnsPolicy", "ClusterFirst"),
    (POD, "spec.schedulerName", "default-scheduler"),
    (POD, "spec.terminationGracePeriodSeconds", 30),
    (POD, "spec.securityContext", {}),
    (POD, "spec.enableServiceLinks", True),
    (POD, "spec.serviceAccountName", "default"),
    (POD, "spec.containers.0.imagePullPolicy", "IfNotPresent"),
    (POD, "spec.containers.0.terminationMessagePath", "/dev/termination-log"),
    (RICH_POD, "spec.containers.0.ports.0.protocol", "TCP"),
    (RICH_POD, "spec.containers.0.livenessProbe.periodSeconds", 10),
    (RICH_POD, "spec.containers.0.livenessProbe.httpGet.path", "/"),
    (RICH_POD, "spec.initContainers.1.imagePullPolicy", "Always"),
    (RICH_POD, "spec.volumes.1.emptyDir", {}),
    (RICH_POD, "spec.volumes.2.configMap.defaultMode", 0o644),
    (DEPLOYMENT, "spec.replicas", 1),
    (DEPLOYMENT, "spec.strategy.type", "RollingUpdate"),
    (DEPLOYMENT, "spec.strategy.rollingUpdate", {"maxUnavailable": "25%", "maxSurge": "25%"}),
    (DEPLOYMENT, "spec.progressDeadlineSeconds", 600),
    (DEPLOYMENT, "spec.template.spec.restartPolicy", "Always"),
    (STATEFUL_SET, "spec.podManagementPolicy", "OrderedReady"),
    (JOB, "spec.completions", 1),
    (JOB, "spec.parallelism", 1),
    (JOB, "spec.backoffLimit", 6),
    (JOB, "spec.completionMode", "NonIndexed"),
    (JOB, "spec.podReplacementPolicy", "TerminatingOrFailed"),
    (JOB, "metadata.labels", {"app": "web"}),
    (CLAIM, "spec.volumeMode", "Filesystem"),
    (VOLUME, "spec.persistentVolumeReclaimPolicy", "Retain"),
    (STORAGE_CLASS, "volumeBindingMode", "Immediate"),
    (STORAGE_CLASS, "reclaimPolicy", "Delete"),
    (SERVICE, "spec.type", "ClusterIP"),
    (SERVICE, "spec.sessionAffinity", "None"),
    (SERVICE, "spec.ports.0", {"port": 80, "protocol": "TCP", "targetPort": 80}),
    (SECRET, "type", "Opaque"),
    (NAMESPACE, "metadata.labels", {"kubernetes.io/metadata.name": "it"}),
    (NODE, "status.allocatable", {"cpu": "4", "memory": "8Gi"}),
    (GROUP, "spec.disruptionMode", {"single": {}}),
    (OLDER_GROUP, "spec.disruptionMode", "Pod"),
]


@pytest.mark.parametrize(("body", "path", "value"), DEFAULTS, ids=lambda d: d if isinstance(d, str) else "")
def test_a_default_is_filled_in(body: Json, path: str, value: object) -> None:
    assert part(created(body), path) == value


@pytest.mark.parametrize(
    ("body", "path", "value"),
    [
        (POD, "spec.restartPolicy", "Never"),
        (POD, "spec.schedulerName", "reprieve"),
        (POD, "spec.terminationGracePeriodSeconds", 0),
        (POD, "spec.serviceAccountName", "robot"),
        (DEPLOYMENT, "spec.replicas", 0),
        (JOB, "spec.completions", 5),
        (SERVICE, "spec.ports.0.targetPort", "http"),
        (GROUP, "spec.disruptionMode", {"all": {}}),
    ],
    ids=lambda d: named(d) if isinstance(d, dict) and "kind" in d else str(d),
)
def test_what_is_said_stays(body: Json, path: str, value: object) -> None:
    assert part(created(with_value(body, path, value)), path) == value


def test_requests_come_from_limits() -> None:
    resources = created(RICH_POD)["spec"]["containers"][0]["resources"]
    assert resources["limits"] == {
        "cpu": "1",
        "memory": "1Gi",
        "example.com/gpu": "2",
        "hugepages-2Mi": "4Mi",
    }
    assert resources["requests"] == {
        "cpu": "500m",
        "memory": "1Gi",
        "example.com/gpu": "2",
        "hugepages-2Mi": "4Mi",
    }


def test_requests_of_a_template_do_not() -> None:
    path = "spec.template.spec.containers.0.resources"
    assert part(created(with_value(DEPLOYMENT, path, {"limits": {"cpu": 1}})), path) == {
        "limits": {"cpu": "1"}
    }


def test_requests_of_a_whole_pod_are_those_of_its_containers_or_else_its_limits() -> None:
    pod = with_value(POD, "spec.containers.0.resources", {"requests": {"cpu": "1500m"}})
    pod = with_value(pod, "spec.resources", {"limits": {"cpu": 4, "memory": "1Gi"}})
    assert created(pod)["spec"]["resources"]["requests"] == {"cpu": "1500m", "memory": "1Gi"}


def test_limits_of_a_whole_pod_are_those_of_its_containers_if_all_have_one() -> None:
    limited = {"limits": {"cpu": "2", "memory": "1Gi"}}
    other = {**POD["spec"]["containers"][0], "name": "other", "resources": {"limits": {"cpu": "1"}}}
    pod = with_value(POD, "spec.containers.0.resources", limited)
    pod = with_value(pod, "spec.containers", [*pod["spec"]["containers"], other])
    resources = created(with_value(pod, "spec.resources", {"requests": {"memory": "2Gi"}}))["spec"][
        "resources"
    ]
    assert resources == {"requests": {"cpu": "3", "memory": "2Gi"}, "limits": {"cpu": "3"}}


def test_the_limit_of_a_whole_pod_is_not_below_its_request() -> None:
    pod = with_value(POD, "spec.containers.0.resources", {"limits": {"cpu": "2"}})
    resources = created(with_value(pod, "spec.resources", {"requests": {"cpu": "3"}}))["spec"]["resources"]
    assert resources["limits"] == {"cpu": "3"}


def test_a_pod_stays_a_while_on_a_node_that_has_failed() -> None:
    tolerations = created(POD)["spec"]["tolerations"]
    assert [(t["key"], t["tolerationSeconds"]) for t in tolerations] == [
        ("node.kubernetes.io/not-ready", 300),
        ("node.kubernetes.io/unreachable", 300),
    ]


@pytest.mark.parametrize(
    "toleration", [{"operator": "Exists"}, {"operator": "Exists", "effect": "NoExecute"}]
)
def test_a_pod_that_tolerates_everything_needs_no_more(toleration: Json) -> None:
    assert created(with_value(POD, "spec.tolerations", [toleration]))["spec"]["tolerations"] == [toleration]


def test_ports_on_the_network_of_the_host_are_ports_of_the_host() -> None:
    pod = with_value(POD, "spec.containers.0.ports", [{"containerPort": 80}])
    assert (
        part(created(with_value(pod, "spec.hostNetwork", True)), "spec.containers.0.ports.0.hostPort") == 80
    )
    assert part(created(pod), "spec.containers.0.ports.0.hostPort") is None


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("app", "Always"),
        ("app:latest", "Always"),
        ("host:5000/app", "Always"),
        ("host:5000/app:1", "IfNotPresent"),
        ("app@sha256:0", "IfNotPresent"),
    ],
)
def test_images_without_a_version_are_pulled_always(image: str, policy: str) -> None:
    pod = with_value(POD, "spec.containers.0.image", image)
    assert part(created(pod), "spec.containers.0.imagePullPolicy") == policy


def test_secrets_are_stored_encoded() -> None:
    secret = created({**SECRET, "data": {"key": "b2xk", "other": "b2xk"}})
    assert secret["data"] == {"key": "dmFsdWU=", "other": "b2xk"}
    assert "stringData" not in secret


def test_keys_of_labels_become_part_of_selectors() -> None:
    spec = created(RICH_POD)["spec"]
    (spread,) = spec["topologySpreadConstraints"]
    added = {"key": "pod-template-hash", "operator": "In", "values": ["x5f"]}
    assert spread["labelSelector"]["matchExpressions"] == [added]
    (term,) = spec["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert term["labelSelector"]["matchExpressions"][1:] == [
        added,
        {"key": "tenant", "operator": "NotIn", "values": ["t1"]},
    ]
