"""Is a container valid? Names, images, ports, environment, mounts, probes, restarts, resize policies."""

from reprieve.cluster.api.names import data_key, dns_label, dns_subdomain, port_name, variable_name
from reprieve.cluster.api.values import items, text_in
from reprieve.cluster.apiserver.field_errors import At, ErrorType
from reprieve.cluster.apiserver.validation.resources import check_requirements

LAST_PORT = 65535
PROTOCOLS = ("TCP", "UDP", "SCTP")

_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_FIELD_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")


def check_containers(spec: At) -> None:
    containers, volumes = spec["containers"], _volumes(spec)
    containers.require("must have at least one container")
    names: set[str] = set()
    for container in containers.items():
        _check_container(container, spec, volumes, names)
        _check_running(container)
    for container in spec["initContainers"].items():
        _check_container(container, spec, volumes, names)
        _check_init_container(container)
        _check_host_ports([container])
    _check_host_ports(list(containers.items()))


def _volumes(spec: At) -> set[str]:
    return {text_in(volume, "name") for volume in items(spec.value, "volumes")}


def _check_container(container: At, spec: At, volumes: set[str], names: set[str]) -> None:
    """``names`` are those already used: init containers and containers share one set."""
    container["name"].must_name(dns_label)
    name = container["name"].text()
    if name and name in names:
        container["name"].refuse(ErrorType.DUPLICATE, "must be there only once")
    names.add(name)
    container["image"].require()
    container["image"].is_text()
    container["imagePullPolicy"].one_of(("Always", "IfNotPresent", "Never"))
    container["terminationMessagePolicy"].one_of(("File", "FallbackToLogsOnError"))
    check_requirements(container["resources"])
    _check_ports(container["ports"])
    _check_environment(container)
    _check_mounts(container, volumes)
    _check_resize_policy(container["resizePolicy"], spec["restartPolicy"].text())
    _check_restart(container)


def _check_running(container: At) -> None:
    for probe in _PROBES:
        _check_probe(container[probe])
    for moment in ("postStart", "preStop"):
        _check_handler(container["lifecycle"][moment])


def _check_init_container(container: At) -> None:
    if container["restartPolicy"].value == "Always":
        _check_running(container)
        return
    for field in (*_PROBES, "lifecycle"):
        if container[field].given:
            container[field].forbid("must not be given for an init container without restartPolicy: Always")
    for policy in container["resizePolicy"].items():
        if policy["restartPolicy"].value == "RestartContainer":
            policy["restartPolicy"].invalid("must be NotRequired for an init container that does not stay")


def _check_restart(container: At) -> None:
    policy, rules = container["restartPolicy"], container["restartPolicyRules"]
    policy.one_of(("Always", "Never", "OnFailure"))
    if not rules.empty:
        policy.require("must be given where restartPolicyRules are")
    rules.at_most_items(20)
    for rule in rules.items():
        rule["action"].require()
        rule["action"].one_of(("Restart", "RestartAllContainers"))
        rule["exitCodes"].require()
        rule["exitCodes"]["operator"].one_of(("In", "NotIn"))
        rule["exitCodes"]["values"].at_most_items(255)


def _check_resize_policy(policies: At, restart: str) -> None:
    seen: set[str] = set()
    for policy in policies.items():
        resource, needs = policy["resourceName"], policy["restartPolicy"]
        resource.require()
        resource.one_of(("cpu", "memory"))
        needs.require()
        needs.one_of(("NotRequired", "RestartContainer"))
        if resource.text() in seen:
            resource.refuse(ErrorType.DUPLICATE, "must be there only once")
        seen.add(resource.text())
        if restart == "Never" and needs.value == "RestartContainer":
            needs.invalid("must be NotRequired where the pod is never restarted")


# --- ports ---------------------------------------------------------------------------------------


def _check_ports(ports: At) -> None:
    names: set[str] = set()
    for port in ports.items():
        port["containerPort"].require()
        port["containerPort"].within(1, LAST_PORT)
        port["hostPort"].within(0, LAST_PORT)
        port["protocol"].one_of(PROTOCOLS)
        if port["name"].empty:
            continue
        port["name"].must_be(port_name)
        if port["name"].text() in names:
            port["name"].refuse(ErrorType.DUPLICATE, "must be there only once")
        names.add(port["name"].text())


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


def check_port_or_name(port: At) -> None:
    if isinstance(port.value, str):
        port.must_be(port_name)
    else:
        port.within(1, LAST_PORT)


# --- environment ---------------------------------------------------------------------------------


def _check_environment(container: At) -> None:
    for variable in container["env"].items():
        variable["name"].must_name(variable_name)
        variable["value"].is_text()
        if variable["valueFrom"].is_object():
            _check_source(variable)
    for source in container["envFrom"].items():
        given = [name for name in ("configMapRef", "secretRef") if source[name].given]
        if len(given) != 1:
            source.invalid("must have exactly one of configMapRef and secretRef")


def _check_source(variable: At) -> None:
    source = variable["valueFrom"]
    given = [name for name in _FIELD_SOURCES if source[name].given]
    if len(given) != 1:
        source.invalid(f"must have exactly one of {', '.join(_FIELD_SOURCES)}")
    if not variable["value"].empty:
        source.invalid("must not be given beside value")
    for name in ("configMapKeyRef", "secretKeyRef"):
        if source[name].is_object():
            source[name]["name"].must_be(dns_subdomain)
            source[name]["key"].must_name(data_key)


# --- mounts --------------------------------------------------------------------------------------


def _check_mounts(container: At, volumes: set[str]) -> None:
    paths: set[str] = set()
    for mount in container["volumeMounts"].items():
        _check_volume_name(mount["name"], volumes)
        path = mount["mountPath"]
        path.require()
        if path.text() in paths:
            path.invalid("must be there only once")
        paths.add(path.text())
        for field in ("subPath", "subPathExpr"):
            _check_descending(mount[field])
        for option in mount["bindMountOptions"].items():
            option.one_of(("noexec", "nodev", "nosuid"))
    for device in container["volumeDevices"].items():
        _check_volume_name(device["name"], volumes)
        device["devicePath"].require()


def _check_volume_name(name: At, volumes: set[str]) -> None:
    if name.require() and name.is_text() and name.value not in volumes:
        name.invalid("must be the name of one of the volumes of the pod")


def _check_descending(path: At) -> None:
    text = path.text()
    if text.startswith("/") or ".." in text.split("/"):
        path.invalid("must be a relative path without '..'")


# --- probes --------------------------------------------------------------------------------------


def _check_probe(probe: At) -> None:
    if not probe.is_object():
        return
    _check_handler(probe)
    for field in ("initialDelaySeconds", "timeoutSeconds", "periodSeconds"):
        probe[field].at_least(0)
    for field in ("successThreshold", "failureThreshold"):
        probe[field].at_least(0)
    probe["terminationGracePeriodSeconds"].at_least(1)


def _check_handler(handler: At) -> None:
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
