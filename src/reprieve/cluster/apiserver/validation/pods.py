"""Is a pod or a pod template valid? What an update may change is decided in ``pod_changes``."""

from reprieve.cluster.api.names import dns_label, dns_subdomain
from reprieve.cluster.api.values import text_in
from reprieve.cluster.apiserver.field_errors import At
from reprieve.cluster.apiserver.validation.containers import check_containers
from reprieve.cluster.apiserver.validation.metadata import check_labels, check_notes
from reprieve.cluster.apiserver.validation.placement import (
    check_affinity,
    check_scheduling_gates,
    check_spread,
    check_tolerations,
)
from reprieve.cluster.apiserver.validation.resources import check_amounts, check_pod_resources
from reprieve.cluster.apiserver.validation.volumes import check_pod_volumes
from reprieve.model.json import Json

PREEMPTION_POLICIES = ("Never", "PreemptLowerPriority")
_LARGEST_INT32 = 2**31 - 1
_PHASES = ("Pending", "Running", "Succeeded", "Failed", "Unknown")
_NAMES = ("nodeName", "serviceAccountName", "priorityClassName", "runtimeClassName")


def check_new_pod(pod: At) -> None:
    spec = pod["spec"]
    if not spec["ephemeralContainers"].empty:
        spec["ephemeralContainers"].forbid("must not be given when a pod is created")
    if not spec["nodeName"].empty and not spec["schedulingGates"].empty:
        spec["nodeName"].forbid("must not be given while there are schedulingGates")


def check_pod(pod: At) -> None:
    spec = pod["spec"]
    if not spec.require() or not spec.is_object():
        return
    check_pod_spec(spec)
    spec["terminationGracePeriodSeconds"].at_least(0)
    for field in ("containers", "initContainers"):
        for container in spec[field].items():
            image = container["image"]
            if image.text() != image.text().strip():
                image.invalid("must not begin or end with white space")
    if spec["hostNetwork"].value is True:
        _check_host_network(spec, same_ports=True)


def check_template(template: At) -> None:
    if not template.require() or not template.is_object():
        return
    check_notes(template["metadata"])
    spec = template["spec"]
    if not spec.require() or not spec.is_object():
        return
    check_pod_spec(spec)
    if not spec["ephemeralContainers"].empty:
        spec["ephemeralContainers"].forbid("must not be given in a template")
    if spec["hostNetwork"].value is True:
        _check_host_network(spec, same_ports=False)


def check_pod_spec(spec: At) -> None:
    check_pod_volumes(spec["volumes"])
    check_containers(spec)
    check_pod_resources(spec)
    check_labels(spec["nodeSelector"])
    check_affinity(spec["affinity"])
    check_tolerations(spec["tolerations"])
    check_spread(spec["topologySpreadConstraints"])
    check_scheduling_gates(spec["schedulingGates"])
    _check_priority(spec)
    _check_scheduling_group(spec["schedulingGroup"])
    _check_rest(spec)


def _check_priority(spec: At) -> None:
    spec["priority"].within(-_LARGEST_INT32 - 1, _LARGEST_INT32)
    spec["preemptionPolicy"].one_of(PREEMPTION_POLICIES)


def _check_scheduling_group(group: At) -> None:
    if group.is_object():
        group["podGroupName"].must_name(dns_subdomain)


def _check_rest(spec: At) -> None:
    spec["restartPolicy"].one_of(("Always", "Never", "OnFailure"))
    spec["dnsPolicy"].one_of(("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"))
    spec["activeDeadlineSeconds"].within(1, _LARGEST_INT32)
    spec["terminationGracePeriodSeconds"].is_integer()
    spec["schedulerName"].is_text()
    for field in ("hostNetwork", "hostPID", "hostIPC", "hostUsers"):
        spec[field].flag()
    for field in _NAMES:
        if not spec[field].empty:
            spec[field].must_be(dns_subdomain)
    for field in ("hostname", "subdomain"):
        if not spec[field].empty:
            spec[field].must_be(dns_label)
    check_amounts(spec["overhead"])
    spec["os"]["name"].one_of(("linux", "windows"))


def _check_host_network(spec: At, same_ports: bool) -> None:
    for container in spec["containers"].items():
        for port in container["ports"].items():
            host, inside = port["hostPort"].value or 0, port["containerPort"].value
            if (host or same_ports) and host != inside:
                port["hostPort"].invalid("must be equal to containerPort where hostNetwork is true")


# --- status --------------------------------------------------------------------------------------


def check_pod_status(pod: At, old: Json) -> None:
    status = pod["status"]
    status["phase"].one_of(_PHASES)
    for condition in status["conditions"].items():
        condition["type"].require()
        condition["status"].require()
        condition["status"].one_of(("True", "False", "Unknown"))
    before = old.get("status")
    nominated, was = status["nominatedNodeName"], text_in(before, "nominatedNodeName")
    if not nominated.empty and nominated.value != was:
        nominated.must_be(dns_subdomain)
        if text_in(old.get("spec"), "nodeName"):
            nominated.forbid("must not be given: the pod has its node already")
    if quality := text_in(before, "qosClass"):
        status["qosClass"].unchanged(quality)
