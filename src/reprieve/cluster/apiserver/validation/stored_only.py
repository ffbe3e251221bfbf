"""Are the kinds valid that are stored for clients alone: devices, networks, autoscalers?

Only the plainest rules are checked.
"""

from reprieve.cluster.api.names import dns_label, dns_subdomain
from reprieve.cluster.api.values import part, same
from reprieve.cluster.apiserver.field_errors import At
from reprieve.cluster.apiserver.validation.metadata import check_labels
from reprieve.cluster.apiserver.validation.placement import check_tolerations
from reprieve.cluster.apiserver.validation.resources import check_amounts
from reprieve.model.json import Json

_MODES = ("All", "ExactCount")


# --- devices ---------------------------------------------------------------------------------------


def check_resource_claim(claim: At) -> None:
    _check_claim_spec(claim["spec"])


def check_claim_template(template: At) -> None:
    _check_claim_spec(template["spec"]["spec"])


def _check_claim_spec(spec: At) -> None:
    for request in spec["devices"]["requests"].items():
        request["name"].require()
        exactly, first = request["exactly"], request["firstAvailable"]
        if exactly.given == (not first.empty):
            request.invalid("must have exactly one of exactly and firstAvailable")
        for asked in (exactly, *first.items()):
            if asked.given:
                asked["deviceClassName"].must_name(dns_subdomain)
                asked["allocationMode"].one_of(_MODES)
                asked["count"].at_least(0)


def check_claim_status(claim: At, old: Json) -> None:
    status = claim["status"]
    if not status["reservedFor"].empty and not status["allocation"].given:
        status["reservedFor"].forbid("must not be given without an allocation")


def keeps_its_spec(thing: At, old: Json) -> None:
    if not same(thing["spec"].value, old.get("spec")):
        thing["spec"].invalid("the field is immutable")


def check_device_class(found: At) -> None:
    for selector in found["spec"]["selectors"].items():
        selector["cel"]["expression"].require()


def check_slice(found: At) -> None:
    spec = found["spec"]
    spec["driver"].must_name(dns_subdomain)
    spec["pool"]["name"].require()
    places = [n for n in ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection") if spec[n].value]
    if len(places) != 1:
        spec.invalid("must have exactly one of nodeName, nodeSelector, allNodes and perDeviceNodeSelection")
    for device in spec["devices"].items():
        device["name"].require()


def check_slice_change(found: At, old: Json) -> None:
    for field in ("driver", "nodeName"):
        found["spec"][field].unchanged(part(old, "spec").get(field))
    found["spec"]["pool"]["name"].unchanged(part(old, "spec", "pool").get("name"))


def check_taint_rule(rule: At) -> None:
    taint = rule["spec"]["taint"]
    taint["key"].require()
    taint["effect"].one_of(("None", "NoExecute", "NoSchedule"))


# --- networks --------------------------------------------------------------------------------------


def check_endpoint_slice(found: At) -> None:
    if found["addressType"].require():
        found["addressType"].one_of(("FQDN", "IPv4", "IPv6"))
    for endpoint in found["endpoints"].items():
        endpoint["addresses"].require()


def check_endpoint_slice_change(found: At, old: Json) -> None:
    found["addressType"].unchanged(old.get("addressType"))


def check_ingress(ingress: At) -> None:
    spec = ingress["spec"]
    if spec["rules"].empty and not spec["defaultBackend"].given:
        spec.invalid("must have at least one of defaultBackend and rules")
    for rule in spec["rules"].items():
        for path in rule["http"]["paths"].items():
            if path["pathType"].require():
                path["pathType"].one_of(("Exact", "ImplementationSpecific", "Prefix"))


def check_network_policy(policy: At) -> None:
    for kind in policy["spec"]["policyTypes"].items():
        kind.one_of(("Egress", "Ingress"))


# --- others ----------------------------------------------------------------------------------------


def check_autoscaler(autoscaler: At) -> None:
    spec = autoscaler["spec"]
    for field in ("kind", "name"):
        spec["scaleTargetRef"][field].require()
    spec["minReplicas"].at_least(0)
    spec["maxReplicas"].at_least(1)
    least, most = spec["minReplicas"].integer(), spec["maxReplicas"].integer()
    if most is None:
        spec["maxReplicas"].require()
    elif least is not None and most < least:
        spec["maxReplicas"].invalid("must be at least minReplicas")


def check_attributes_class(found: At) -> None:
    found["driverName"].require()


def check_attributes_class_change(found: At, old: Json) -> None:
    for field in ("driverName", "parameters"):
        if not same(found[field].value, old.get(field)):
            found[field].invalid("the field is immutable")


def check_runtime_class(found: At) -> None:
    if found["handler"].require():
        found["handler"].must_be(dns_label)
    check_amounts(found["overhead"]["podFixed"])
    check_labels(found["scheduling"]["nodeSelector"])
    check_tolerations(found["scheduling"]["tolerations"])


def check_runtime_class_change(found: At, old: Json) -> None:
    found["handler"].unchanged(old.get("handler"))
