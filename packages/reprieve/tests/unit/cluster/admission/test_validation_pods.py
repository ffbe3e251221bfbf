"""Pods that are refused, and the field that is to blame."""

import pytest
from tests.unit.cluster.admission.admitting import POD, create, created, refused_at, with_value
from tests.unit.cluster.api.rich_pod import RICH_POD

CONTAINER = "spec.containers.0"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
NODES = f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms"
NODE_TERM = f"{NODES}.0.matchExpressions.0"
POD_TERM = f"spec.affinity.podAffinity.{REQUIRED}.0"
SPREAD = "spec.topologySpreadConstraints.0"
LONG = "x" * 64


@pytest.mark.parametrize(
    ("path", "value", "blamed"),
    [
        ("metadata.name", "Rich", "metadata.name"),
        ("metadata.name", "a" * 254, "metadata.name"),
        ("metadata.labels", {"app": LONG}, "metadata.labels"),
        ("metadata.labels", {"/app": "x"}, "metadata.labels"),
        ("metadata.labels", {"a/b/c": "x"}, "metadata.labels"),
        ("metadata.annotations", {"bad key": "x"}, "metadata.annotations"),
        ("metadata.annotations", {"a": "x" * 300_000}, "metadata.annotations"),
        ("metadata.finalizers", ["bad name"], "metadata.finalizers[0]"),
        ("metadata.ownerReferences.0.uid", "", "metadata.ownerReferences[0].uid"),
        ("spec", "text", "spec"),
        ("spec.containers", [], "spec.containers"),
        ("spec.restartPolicy", "Maybe", "spec.restartPolicy"),
        ("spec.dnsPolicy", "Mine", "spec.dnsPolicy"),
        ("spec.terminationGracePeriodSeconds", "30", "spec.terminationGracePeriodSeconds"),
        ("spec.activeDeadlineSeconds", 0, "spec.activeDeadlineSeconds"),
        ("spec.nodeSelector", {"disk": "s s d"}, "spec.nodeSelector"),
        ("spec.hostNetwork", "yes", "spec.hostNetwork"),
        ("spec.schedulingGroup", {}, "spec.schedulingGroup.podGroupName"),
        ("spec.schedulingGroup.podGroupName", "Train", "spec.schedulingGroup.podGroupName"),
        ("spec.schedulingGates", [{"name": "a"}, {"name": "a"}], "spec.schedulingGates[1].name"),
        ("spec.schedulingGates", [{"name": ""}], "spec.schedulingGates[0].name"),
        ("spec.nodeName", "n1", "spec.nodeName"),
        ("spec.overhead.cpu", "much", "spec.overhead[cpu]"),
        ("spec.volumes.0.name", "scratch", "spec.volumes[1].name"),
        ("spec.volumes.0.emptyDir", {}, "spec.volumes[0]"),
        ("spec.volumes.0.persistentVolumeClaim", {}, "spec.volumes[0].persistentVolumeClaim.claimName"),
        ("spec.ephemeralContainers", [{"name": "debug"}], "spec.ephemeralContainers"),
    ],
)
def test_a_pod_is_refused(path: str, value: object, blamed: str) -> None:
    assert blamed in refused_at(create(with_value(RICH_POD, path, value)))


@pytest.mark.parametrize(
    ("path", "value", "blamed"),
    [
        ("name", "Main", "name"),
        ("name", "sidecar", "name"),
        ("image", "", "image"),
        ("image", " app ", "image"),
        ("imagePullPolicy", "Often", "imagePullPolicy"),
        ("ports.0.containerPort", 0, "ports[0].containerPort"),
        ("ports.0.hostPort", 65536, "ports[0].hostPort"),
        ("ports.0.protocol", "tcp", "ports[0].protocol"),
        ("ports.0.name", "not_a_port", "ports[0].name"),
        ("ports", [{"containerPort": 1, "hostPort": 9}] * 2, "ports[1].hostPort"),
        ("env.0.name", "", "env[0].name"),
        ("env.0.value", 5, "env[0].value"),
        ("env.1.value", "both", "env[1].valueFrom"),
        ("envFrom.0", {}, "envFrom[0]"),
        ("volumeMounts.0.name", "other", "volumeMounts[0].name"),
        ("volumeMounts.0.subPath", "../up", "volumeMounts[0].subPath"),
        ("livenessProbe.tcpSocket", {"port": 1}, "livenessProbe"),
        ("livenessProbe.httpGet.port", 0, "livenessProbe.httpGet.port"),
        ("resizePolicy.0.resourceName", "pods", "resizePolicy[0].resourceName"),
        ("resizePolicy.0.restartPolicy", "Maybe", "resizePolicy[0].restartPolicy"),
        ("resources.requests.cpu", "2", "resources.requests"),
        ("resources.requests.cpu", "-1", "resources.requests[cpu]"),
        ("resources.requests.cpu", "lots", "resources.requests[cpu]"),
        ("resources.requests.pods", "1", "resources.requests[pods]"),
        ("resources.requests", {"example.com/gpu": 1}, "resources.requests"),
        ("resources.limits", {"example.com/gpu": "1500m"}, "resources.limits[example.com/gpu]"),
        ("resources", {"requests": {"example.com/gpu": 1}}, "resources.limits"),
        ("resources", {"limits": {"hugepages-2Mi": "2Mi"}}, "resources"),
        ("resources.limits.hugepages-2Mi", "3Mi", "resources.limits[hugepages-2Mi]"),
    ],
)
def test_a_container_is_to_blame(path: str, value: object, blamed: str) -> None:
    answer = create(with_value(RICH_POD, f"{CONTAINER}.{path}", value))
    places = [f"spec.containers[0].{blamed}", "spec.initContainers[0].name"]
    assert set(places) & set(refused_at(answer))


@pytest.mark.parametrize(
    ("path", "value", "blamed"),
    [
        ("livenessProbe", {"exec": {"command": ["x"]}}, "livenessProbe"),
        ("lifecycle", {}, "lifecycle"),
        (
            "resizePolicy",
            [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}],
            "resizePolicy[0].restartPolicy",
        ),
    ],
)
def test_what_an_init_container_may_not_have_a_sidecar_may(path: str, value: object, blamed: str) -> None:
    answer = create(with_value(RICH_POD, f"spec.initContainers.1.{path}", value))
    assert refused_at(answer) == [f"spec.initContainers[1].{blamed}"]
    assert created(with_value(RICH_POD, f"spec.initContainers.0.{path}", value))


@pytest.mark.parametrize(
    ("path", "value", "blamed"),
    [
        (NODES, [], "nodeSelectorTerms"),
        (f"{NODE_TERM}.operator", "Near", "matchExpressions[0].operator"),
        (f"{NODE_TERM}.values", ["1", "2"], "matchExpressions[0].values"),
        (f"{NODE_TERM}.key", "", "matchExpressions[0].key"),
        (f"{NODES}.0.matchFields.0.key", "spec.x", "matchFields[0].key"),
        (f"spec.affinity.nodeAffinity.{PREFERRED}.0.weight", 0, "weight"),
        (f"spec.affinity.podAntiAffinity.{PREFERRED}.0.weight", 101, "weight"),
        (f"{POD_TERM}.topologyKey", "", "topologyKey"),
        (f"{POD_TERM}.labelSelector.matchExpressions.0.operator", "Gt", "matchExpressions[0].operator"),
        (f"{POD_TERM}.labelSelector.matchExpressions.0.values", [], "matchExpressions[0].values"),
        (f"{POD_TERM}.labelSelector", None, "matchLabelKeys"),
        (f"{POD_TERM}.mismatchLabelKeys", ["pod-template-hash"], "matchLabelKeys[0]"),
        (f"{POD_TERM}.namespaces", ["Team"], "namespaces[0]"),
        (f"{SPREAD}.maxSkew", 0, "maxSkew"),
        (f"{SPREAD}.topologyKey", "", "topologyKey"),
        (f"{SPREAD}.whenUnsatisfiable", "Never", "whenUnsatisfiable"),
        (f"{SPREAD}.whenUnsatisfiable", "ScheduleAnyway", "minDomains"),
        (f"{SPREAD}.minDomains", 0, "minDomains"),
        (f"{SPREAD}.nodeTaintsPolicy", "Maybe", "nodeTaintsPolicy"),
        (f"{SPREAD}.labelSelector.matchLabels", {"pod-template-hash": "y"}, "matchLabelKeys[0]"),
        ("spec.tolerations.0.operator", "Maybe", "tolerations[0].operator"),
        ("spec.tolerations.0.operator", "Lt", "tolerations[0].operator"),
        ("spec.tolerations.0.value", "x", "tolerations[0].value"),
        ("spec.tolerations.1.key", "", "tolerations[1].operator"),
        ("spec.tolerations.1.effect", "NoSchedule", "tolerations[1].effect"),
        ("spec.tolerations.1.effect", "Sometimes", "tolerations[1].effect"),
    ],
)
def test_where_a_pod_may_run_must_make_sense(path: str, value: object, blamed: str) -> None:
    answer = refused_at(create(with_value(RICH_POD, path, value)))
    assert [place for place in answer if place.endswith(blamed)], answer


def test_a_constraint_on_spread_is_there_only_once() -> None:
    (constraint,) = RICH_POD["spec"]["topologySpreadConstraints"]
    twice = with_value(RICH_POD, "spec.topologySpreadConstraints", [constraint, constraint])
    assert refused_at(create(twice)) == ["spec.topologySpreadConstraints[1].topologyKey"]


def test_a_preference_for_an_impossible_label_does_no_harm() -> None:
    path = f"spec.affinity.nodeAffinity.{PREFERRED}.0.preference.matchExpressions"
    impossible = [{"key": "disk", "operator": "In", "values": ["s s d"]}]
    assert created(with_value(RICH_POD, path, impossible))
    assert refused_at(create(with_value(RICH_POD, f"{NODES}.0.matchExpressions", impossible)))


@pytest.mark.parametrize(
    ("resources", "blamed"),
    [
        ({"requests": {"cpu": "1"}}, "spec.resources.requests[cpu]"),
        ({"limits": {"cpu": "1"}}, "spec.containers[0].resources.limits[cpu]"),
        ({"requests": {"cpu": "4"}, "limits": {"cpu": "3"}}, "spec.resources.requests"),
        ({"requests": {"example.com/gpu": 1}}, "spec.resources.requests[example.com/gpu]"),
    ],
)
def test_a_pod_is_no_smaller_than_its_containers(resources: dict[str, object], blamed: str) -> None:
    pod = with_value(POD, f"{CONTAINER}.resources", {"requests": {"cpu": "2"}, "limits": {"cpu": "2"}})
    assert blamed in refused_at(create(with_value(pod, "spec.resources", resources)))
    assert created(with_value(pod, "spec.resources", {"requests": {"cpu": "2"}, "limits": {"cpu": "2"}}))
