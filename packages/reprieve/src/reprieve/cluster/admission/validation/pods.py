"""Is a pod, a pod template or a container valid? What an update may change is decided in ``pod_changes``."""

from reprieve.cluster.admission.field_errors import At, ErrorType
from reprieve.cluster.admission.marks import check_marks, rule
from reprieve.cluster.api.names import dns_subdomain, port_name
from reprieve.cluster.api.values import items, text_in
from reprieve.model.json import Json

_LAST_PORT = 65535
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_FIELD_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")


@rule
def check_gated_pod(spec: At) -> None:
    if not spec["nodeName"].empty and not spec["schedulingGates"].empty:
        spec["nodeName"].forbid("must not be given while there are schedulingGates")


@rule
def check_whole_pod(spec: At) -> None:
    """Beyond what templates need."""
    spec["terminationGracePeriodSeconds"].at_least(0)
    for field in ("containers", "initContainers"):
        for container in spec[field].items():
            image = container["image"]
            if image.text() != image.text().strip():
                image.invalid("must not begin or end with white space")
    _check_host_network(spec, same_ports=True)


@rule
def check_host_ports_of_template(spec: At) -> None:
    _check_host_network(spec, same_ports=False)


def _check_host_network(spec: At, same_ports: bool) -> None:
    if not spec.is_object() or spec["hostNetwork"].value is not True:
        return
    for container in spec["containers"].items():
        for port in container["ports"].items():
            host, inside = port["hostPort"].value or 0, port["containerPort"].value
            if (host or same_ports) and host != inside:
                port["hostPort"].invalid("must be equal to containerPort where hostNetwork is true")


@rule
def check_pod_status(pod: At, old: Json) -> None:
    status, before = pod["status"], old.get("status")
    nominated, was = status["nominatedNodeName"], text_in(before, "nominatedNodeName")
    if not nominated.empty and nominated.value != was:
        nominated.must_be(dns_subdomain)
        if text_in(old.get("spec"), "nodeName"):
            nominated.forbid("must not be given: the pod has its node already")
    if quality := text_in(before, "qosClass"):
        status["qosClass"].unchanged(quality)


# --- containers ----------------------------------------------------------------------------------


@rule
def note_pod(spec: At) -> None:
    """What the rules of containers need to know of their pod."""
    spec.known["volumes"] = {text_in(volume, "name") for volume in items(spec.value, "volumes")}
    spec.known["restartPolicy"] = {text_in(spec.value, "restartPolicy")}


@rule
def check_container_name(name: At) -> None:
    """Containers and init containers share one set of names."""
    if name.text():
        name.once("containers", name.text())


@rule
def check_running(container: At) -> None:
    for probe in _PROBES:
        if container[probe].is_object():
            check_marks(container[probe], "Probe")
    for moment in ("postStart", "preStop"):
        check_handler(container["lifecycle"][moment])


@rule
def check_init_container(container: At) -> None:
    if container["restartPolicy"].value == "Always":
        check_running(container)
    else:
        _check_stopping(container)
    _check_host_ports([container])


def _check_stopping(container: At) -> None:
    for field in (*_PROBES, "lifecycle"):
        if container[field].given:
            container[field].forbid("must not be given for an init container without restartPolicy: Always")
    for policy in container["resizePolicy"].items():
        if policy["restartPolicy"].value == "RestartContainer":
            policy["restartPolicy"].invalid("must be NotRequired for an init container that does not stay")


@rule
def check_restart_rules(container: At) -> None:
    if not container["restartPolicyRules"].empty:
        container["restartPolicy"].require("must be given where restartPolicyRules are")


@rule
def check_restart_by_resize(needs: At) -> None:
    if needs.value == "RestartContainer" and "Never" in needs.known["restartPolicy"]:
        needs.invalid("must be NotRequired where the pod is never restarted")


# --- ports ---------------------------------------------------------------------------------------


@rule
def check_host_ports(containers: At) -> None:
    _check_host_ports(list(containers.items()))


def _check_host_ports(containers: list[At]) -> None:
    taken: set[tuple[str, str, int]] = set()
    for container in containers:
        for port in container["ports"].items():
            number = port["hostPort"].integer()
            if not number:
                continue
            place = (port["protocol"].text(), port["hostIP"].text(), number)
            if place in taken:
                port["hostPort"].refuse(
                    ErrorType.DUPLICATE, "must be there only once with this protocol and IP"
                )
            taken.add(place)


@rule
def check_port_or_name(port: At) -> None:
    if isinstance(port.value, str):
        port.must_be(port_name)
    else:
        port.within(1, _LAST_PORT)


# --- environment ---------------------------------------------------------------------------------


@rule
def check_one_map(source: At) -> None:
    given = [name for name in ("configMapRef", "secretRef") if source[name].given]
    if len(given) != 1:
        source.invalid("must have exactly one of configMapRef and secretRef")


@rule
def check_variable_source(variable: At) -> None:
    source = variable["valueFrom"]
    if not source.is_object():
        return
    given = [name for name in _FIELD_SOURCES if source[name].given]
    if len(given) != 1:
        source.invalid(f"must have exactly one of {', '.join(_FIELD_SOURCES)}")
    if not variable["value"].empty:
        source.invalid("must not be given beside value")


# --- mounts --------------------------------------------------------------------------------------


@rule
def check_mounted_once(path: At) -> None:
    mounts, _, _ = path.path.rpartition("[")
    paths = path.known.setdefault(mounts, set())
    if path.text() in paths:
        path.invalid("must be there only once")
    paths.add(path.text())


@rule
def check_volume_name(name: At) -> None:
    if name.is_text() and name.value not in name.known["volumes"]:
        name.invalid("must be the name of one of the volumes of the pod")


@rule
def check_descending(path: At) -> None:
    text = path.text()
    if text.startswith("/") or ".." in text.split("/"):
        path.invalid("must be a relative path without '..'")


@rule
def check_handler(handler: At) -> None:
    """Check what a probe does, or what is done at a moment in the life of a container."""
    if not handler.is_object():
        return
    given = [name for name in _HANDLERS if handler[name].given]
    if len(given) != 1:
        handler.invalid(f"must have exactly one of {', '.join(_HANDLERS)}")
    for name in ("httpGet", "tcpSocket", "grpc"):
        if handler[name].is_object() and handler[name]["port"].require():
            check_port_or_name(handler[name]["port"])
    if handler["exec"].is_object():
        handler["exec"]["command"].require()
