"""Are the small kinds valid: ConfigMap, Secret, Service, PodDisruptionBudget, PriorityClass, Lease, Event?"""

import base64
import binascii

from reprieve.cluster.api.names import data_key, dns_label, dns_subdomain, label_key
from reprieve.cluster.api.values import part, same, text_in
from reprieve.cluster.apiserver.field_errors import At, ErrorType
from reprieve.cluster.apiserver.priority_classes import SYSTEM_CLASSES, SYSTEM_PREFIX
from reprieve.cluster.apiserver.validation.containers import LAST_PORT, PROTOCOLS, check_port_or_name
from reprieve.cluster.apiserver.validation.controllers import check_share
from reprieve.cluster.apiserver.validation.groups import HIGHEST_USER_PRIORITY
from reprieve.cluster.apiserver.validation.metadata import check_conditions, check_labels, check_selector
from reprieve.cluster.apiserver.validation.pods import PREEMPTION_POLICIES
from reprieve.model.json import Json

_LARGEST_DATA = 1024 * 1024
_LARGEST_INT32 = 2**31 - 1
_LONGEST_NOTE = 1024
_LONGEST_WORD = 128

# --- data ----------------------------------------------------------------------------------------

_NEEDED_KEYS = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
}


def check_config_map(thing: At) -> None:
    size = sum(len(value.text()) for value in _keyed(thing["data"]))
    size += sum(_decoded(value) for value in _keyed(thing["binaryData"]))
    _check_total(thing["data"], size)
    for key in sorted(part(thing.value, "data").keys() & part(thing.value, "binaryData").keys()):
        thing["data"].key(key).invalid("must not be in binaryData, too")


def check_secret(thing: At) -> None:
    _check_total(thing["data"], sum(_decoded(value) for value in _keyed(thing["data"])))
    thing["type"].is_text()
    for _, value in thing["stringData"].entries():
        value.is_text()
    for key in _NEEDED_KEYS.get(thing["type"].text(), ()):
        if key not in part(thing.value, "data"):
            thing["data"].key(key).refuse(
                ErrorType.REQUIRED, f"must be there in a secret of type {thing['type'].value}"
            )


def _keyed(data: At) -> list[At]:
    values = []
    for key, value in data.entries():
        if complaint := data_key(key):
            value.invalid(f"the key {complaint}")
        values.append(value)
    return values


def _decoded(value: At) -> int:
    """The size of the decoded value; a value that is not base64 is an error."""
    try:
        return len(base64.b64decode(value.text(), validate=True))
    except (binascii.Error, ValueError):
        value.invalid("must be encoded as base64")
        return 0


def _check_total(data: At, size: int) -> None:
    if size > _LARGEST_DATA:
        data.refuse(ErrorType.TOO_LONG, f"must have no more than {_LARGEST_DATA} bytes in all, has {size}")


def check_data_change(thing: At, old: Json) -> None:
    if "type" in old:
        thing["type"].unchanged(old["type"])
    if old.get("immutable") is not True:
        return
    for field in ("immutable", "data", "binaryData"):
        if not same(thing[field].value or None, old.get(field) or None):
            thing[field].forbid("must not be changed: the object is immutable")


# --- services ------------------------------------------------------------------------------------


def check_service(service: At) -> None:
    spec = service["spec"]
    if not spec.require():
        return
    spec["type"].one_of(("ClusterIP", "ExternalName", "LoadBalancer", "NodePort"))
    spec["sessionAffinity"].one_of(("ClientIP", "None"))
    check_labels(spec["selector"])
    headless = spec["clusterIP"].value == "None"
    if spec["type"].value == "ExternalName":
        spec["externalName"].must_name(dns_subdomain)
    elif not headless:
        spec["ports"].require()
    if headless and spec["type"].value in ("LoadBalancer", "NodePort"):
        spec["clusterIP"].invalid(f"must not be None where type is {spec['type'].value}")
    _check_service_ports(spec)


def _check_service_ports(spec: At) -> None:
    ports = list(spec["ports"].items())
    seen: set[tuple[str, str, object]] = set()
    for port in ports:
        _check_service_port(port, len(ports) > 1)
        if spec["type"].value == "ClusterIP" and port["nodePort"].value:
            port["nodePort"].forbid("must not be given where type is ClusterIP")
        protocol = port["protocol"].text()
        for field in ("name", "port", "nodePort"):
            if port[field].empty or isinstance(port[field].value, dict | list):
                continue
            which = (field, "" if field == "name" else protocol, port[field].value)
            if which in seen:
                port[field].refuse(ErrorType.DUPLICATE, "must be there only once")
            seen.add(which)


def _check_service_port(port: At, several: bool) -> None:
    if several:
        port["name"].require("must be given where there are several ports")
    if not port["name"].empty:
        port["name"].must_be(dns_label)
    port["port"].require()
    port["port"].within(1, LAST_PORT)
    port["nodePort"].within(0, LAST_PORT)
    port["protocol"].one_of(PROTOCOLS)
    check_port_or_name(port["targetPort"])


def check_service_change(service: At, old: Json) -> None:
    spec, before = service["spec"], part(old, "spec")
    if before.get("clusterIP") and "ExternalName" not in (spec["type"].value, before.get("type")):
        spec["clusterIP"].unchanged(before["clusterIP"])


# --- budgets and priorities ----------------------------------------------------------------------


def check_budget(budget: At) -> None:
    spec = budget["spec"]
    least, most = spec["minAvailable"], spec["maxUnavailable"]
    if least.given and most.given:
        spec.invalid("must not have both minAvailable and maxUnavailable")
    check_share(least)
    check_share(most)
    check_selector(spec["selector"])
    spec["unhealthyPodEvictionPolicy"].one_of(("AlwaysAllow", "IfHealthyBudget"))


def check_budget_status(budget: At, old: Json) -> None:
    status = budget["status"]
    check_conditions(status["conditions"])
    for field in ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"):
        status[field].at_least(0)


def check_priority_class(thing: At) -> None:
    name, value = thing["metadata"]["name"].text(), thing["value"]
    value.within(-_LARGEST_INT32 - 1, _LARGEST_INT32)
    number = value.integer()
    if name.startswith(SYSTEM_PREFIX):
        known = SYSTEM_CLASSES.get(name)
        if known is None or (number, thing["globalDefault"].flag()) != (known.value, False):
            thing["metadata"]["name"].forbid(f"names that begin with {SYSTEM_PREFIX} are the system's own")
    elif number is not None and number > HIGHEST_USER_PRIORITY:
        value.forbid(f"must not be more than {HIGHEST_USER_PRIORITY}")
    thing["preemptionPolicy"].one_of(PREEMPTION_POLICIES)
    thing["globalDefault"].flag()
    thing["description"].is_text()


def check_priority_class_change(thing: At, old: Json) -> None:
    if thing["value"].value != old.get("value"):
        thing["value"].forbid("must not be changed")
    thing["preemptionPolicy"].unchanged(old.get("preemptionPolicy"))


# --- leases and events ---------------------------------------------------------------------------


def check_lease(lease: At) -> None:
    spec = lease["spec"]
    spec["leaseDurationSeconds"].at_least(1)
    spec["leaseTransitions"].at_least(0)
    spec["holderIdentity"].is_text()
    for field in ("acquireTime", "renewTime"):
        spec[field].is_text()


def check_core_event(event: At) -> None:
    _check_event(event, "involvedObject", "reportingComponent", "message")


def check_event(event: At) -> None:
    """An Event of events.k8s.io must have no field of the older kind of Event."""
    _check_event(event, "regarding", "reportingController", "note")
    event["eventTime"].require()
    event["type"].one_of(("Normal", "Warning"))
    event["type"].require()
    for field in (
        "deprecatedFirstTimestamp",
        "deprecatedLastTimestamp",
        "deprecatedCount",
        "deprecatedSource",
    ):
        if event[field].value:
            event[field].invalid("must not be given")


def check_event_change(event: At, old: Json) -> None:
    """Only the series may change."""
    for field in (
        *("regarding", "reason", "note", "type", "eventTime", "action", "related", "reportingController"),
        *("reportingInstance", "deprecatedCount", "deprecatedSource"),
        *("deprecatedFirstTimestamp", "deprecatedLastTimestamp"),
    ):
        if not same(event[field].value or None, old.get(field) or None):
            event[field].invalid("the field is immutable")


def _check_event(event: At, regarding: str, reporter: str, note: str) -> None:
    home, about = text_in(part(event.value, "metadata"), "namespace"), event[regarding]["namespace"]
    elsewhere = home not in ("default", "kube-system") if about.empty else about.value != home
    if elsewhere and (not event["eventTime"].given or about.empty):
        about.invalid("must be the namespace of the event")
    if not event["eventTime"].given:
        return
    event[reporter].must_name(label_key)
    for field in ("reportingInstance", "action", "reason"):
        event[field].require()
        if len(event[field].text()) > _LONGEST_WORD:
            event[field].invalid(f"must be no longer than {_LONGEST_WORD} characters")
    if len(event[note].text()) > _LONGEST_NOTE:
        event[note].invalid(f"must be no longer than {_LONGEST_NOTE} characters")
