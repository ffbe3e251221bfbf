"""Are the kinds valid that have few rules: data, Services, budgets, Events, nodes, rights, devices?"""

import base64
import binascii

from reprieve.cluster.admission.field_errors import At, ErrorType
from reprieve.cluster.admission.marks import check_marks, rule
from reprieve.cluster.admission.priority_classes import SYSTEM_CLASSES, SYSTEM_PREFIX
from reprieve.cluster.admission.validation.groups import HIGHEST_USER_PRIORITY
from reprieve.cluster.admission.validation.resources import check_container_resource, is_huge
from reprieve.cluster.api.decode_errors import described
from reprieve.cluster.api.names import data_key, dns_subdomain, label_key, path_segment
from reprieve.cluster.api.values import amount_of, means_the_same, part, text_in, texts
from reprieve.model.json import Json

_LARGEST_DATA = 1024 * 1024
_LONGEST_NOTE = 1024
_LONGEST_WORD = 128
_RIGHTS = "rbac.authorization.k8s.io"
_OF_PEOPLE = ("User", "Group")


# --- data ----------------------------------------------------------------------------------------

_NEEDED_KEYS = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
}


@rule
def check_config_map(thing: At) -> None:
    size = sum(len(value.text()) for value in _keyed(thing["data"]))
    size += sum(_decoded(value) for value in _keyed(thing["binaryData"]))
    _check_total(thing["data"], size)
    for key in sorted(part(thing.value, "data").keys() & part(thing.value, "binaryData").keys()):
        thing["data"].key(key).invalid("must not be in binaryData, too")


@rule
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
            value.refuse(ErrorType.TYPE, f"the key {complaint}")  # which shows no value: it may be a secret
        values.append(value)
    return values


def _decoded(value: At) -> int:
    """The size of the decoded value; a value that is not base64 is an error, which does not show it."""
    try:
        return len(base64.b64decode(value.text(), validate=True))
    except (binascii.Error, ValueError):
        value.refuse(ErrorType.TYPE, "must be encoded as base64")
        return 0


def _check_total(data: At, size: int) -> None:
    if size > _LARGEST_DATA:
        data.refuse(ErrorType.TOO_LONG, f"must have no more than {_LARGEST_DATA} bytes in all, has {size}")


@rule
def check_data_change(thing: At, old: Json) -> None:
    if "type" in old:
        thing["type"].unchanged(old["type"])
    if old.get("immutable") is not True:
        return
    for field in ("immutable", "data", "binaryData"):
        if not means_the_same(thing[field].value or None, old.get(field) or None):
            thing[field].forbid("must not be changed: the object is immutable")


# --- services ------------------------------------------------------------------------------------


@rule
def check_service(spec: At) -> None:
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
    for port in ports:
        if len(ports) > 1:
            port["name"].require("must be given where there are several ports")
        check_marks(port, "ServicePort")
        if spec["type"].value == "ClusterIP" and port["nodePort"].value:
            port["nodePort"].forbid("must not be given where type is ClusterIP")
        protocol = port["protocol"].text()
        for field in ("name", "port", "nodePort"):
            if not port[field].value or isinstance(port[field].value, dict | list):
                continue
            port[field].once((field, "" if field == "name" else protocol), port[field].value)


@rule
def check_service_change(spec: At, old: object) -> None:
    before = part(old)
    if before.get("clusterIP") and "ExternalName" not in (spec["type"].value, before.get("type")):
        spec["clusterIP"].unchanged(before["clusterIP"])


# --- budgets and priorities ----------------------------------------------------------------------


@rule
def check_min_or_max(spec: At) -> None:
    if spec["minAvailable"].given and spec["maxUnavailable"].given:
        spec.invalid("must not have both minAvailable and maxUnavailable")


@rule
def check_priority_class(thing: At) -> None:
    name, value = thing["metadata"]["name"].text(), thing["value"]
    number = value.integer()
    if name.startswith(SYSTEM_PREFIX):
        known = SYSTEM_CLASSES.get(name)
        if known is None or (number, thing["globalDefault"].flag()) != (known.value, False):
            thing["metadata"]["name"].forbid(f"names that begin with {SYSTEM_PREFIX} are the system's own")
    elif number is not None and number > HIGHEST_USER_PRIORITY:
        value.forbid(f"must not be more than {HIGHEST_USER_PRIORITY}")


@rule
def check_value_change(value: At, old: object) -> None:
    if value.value != old:
        value.forbid("must not be changed")


# --- events --------------------------------------------------------------------------------------


@rule
def check_core_event(event: At) -> None:
    _check_event(event, "involvedObject", "reportingComponent", "message")


@rule
def check_event(event: At) -> None:
    _check_event(event, "regarding", "reportingController", "note")


@rule
def check_older_event_fields(event: At) -> None:
    """An Event of events.k8s.io must have no field of the older kind of Event."""
    for field in (
        "deprecatedFirstTimestamp",
        "deprecatedLastTimestamp",
        "deprecatedCount",
        "deprecatedSource",
    ):
        if event[field].value:
            event[field].invalid("must not be given")


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


# --- nodes ---------------------------------------------------------------------------------------


@rule
def check_sorted(features: At) -> None:
    names = [feature.text() for feature in features.items()]
    if names != sorted(names):
        features.invalid("must be in alphabetical order")


@rule
def check_node_change(spec: At, old: object) -> None:
    before = part(old)
    for field in ("providerID", "podCIDR", "podCIDRs"):
        if before.get(field) and not means_the_same(spec[field].value, before[field]):
            spec[field].forbid("must not be changed once it is given")


# --- rights --------------------------------------------------------------------------------------


@rule
def check_no_paths(policy: At) -> None:
    if not policy["nonResourceURLs"].empty:
        policy["nonResourceURLs"].invalid("a Role is for one namespace, and cannot give rights to paths")


@rule
def check_aggregation(aggregation: At) -> None:
    selectors = aggregation["clusterRoleSelectors"]
    if aggregation.given and selectors.empty:
        selectors.require("must have at least one selector where aggregationRule is given")
    for selector in selectors.items():
        _check_type(selector, dict)
        if selector.is_object():
            check_marks(selector, "LabelSelector")


@rule
def check_policy_rule(policy: At) -> None:
    for name in ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs"):
        for item in policy[name].items():
            _check_type(item, str)
    policy["verbs"].require("must have at least one verb")
    if policy["nonResourceURLs"].empty:
        policy["apiGroups"].require("must have at least one group")
        policy["resources"].require("must have at least one resource")
    elif not (policy["apiGroups"].empty and policy["resources"].empty and policy["resourceNames"].empty):
        policy["nonResourceURLs"].invalid("must not stand beside apiGroups, resources or resourceNames")


def _check_type(item: At, kind: type) -> None:
    """An item of a list may not be null: readers of roles take only what is of its type."""
    if not isinstance(item.value, kind):
        example: object = kind()
        item.refuse(ErrorType.TYPE, f"expected {described(example)}, got {described(item.value)}")


@rule
def check_role_ref(ref: At) -> None:
    _check_role_ref(ref, "Role", "ClusterRole")


@rule
def check_cluster_role_ref(ref: At) -> None:
    _check_role_ref(ref, "ClusterRole")


def _check_role_ref(ref: At, *kinds: str) -> None:
    if ref["kind"].require():
        ref["kind"].one_of(kinds)
    ref["name"].must_name(path_segment)


@rule
def check_subject(subject: At) -> None:
    if not subject["kind"].require():
        return
    subject["kind"].one_of((*_OF_PEOPLE, "ServiceAccount"))
    if subject["kind"].value in _OF_PEOPLE:
        subject["apiGroup"].one_of((_RIGHTS,))
    elif subject["kind"].value == "ServiceAccount":
        if not subject["apiGroup"].empty:
            subject["apiGroup"].invalid("a ServiceAccount is of the core group")
        subject["name"].must_be(dns_subdomain)


@rule
def check_namespace_of_subject(subject: At) -> None:
    if subject["kind"].value == "ServiceAccount":
        subject["namespace"].require()


# --- devices, networks, autoscalers --------------------------------------------------------------


@rule
def check_one_request(request: At) -> None:
    if request["exactly"].given == (not request["firstAvailable"].empty):
        request.invalid("must have exactly one of exactly and firstAvailable")


@rule
def check_claim_status(status: At, old: object) -> None:
    if not status["reservedFor"].empty and not status["allocation"].given:
        status["reservedFor"].forbid("must not be given without an allocation")


@rule
def check_one_place(spec: At) -> None:
    places = [n for n in ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection") if spec[n].value]
    if len(places) != 1:
        spec.invalid("must have exactly one of nodeName, nodeSelector, allNodes and perDeviceNodeSelection")


@rule
def check_any_backend(spec: At) -> None:
    if spec["rules"].empty and not spec["defaultBackend"].given:
        spec.invalid("must have at least one of defaultBackend and rules")


@rule
def check_bounds(spec: At) -> None:
    least, most = spec["minReplicas"].integer(), spec["maxReplicas"].integer()
    if most is None:
        spec["maxReplicas"].require()
    elif least is not None and most < least:
        spec["maxReplicas"].invalid("must be at least minReplicas")


# --- quotas --------------------------------------------------------------------------------------

_PODS = {"pods", "cpu", "memory", "ephemeral-storage"} | {
    f"{prefix}.{name}" for prefix in ("requests", "limits") for name in ("cpu", "memory", "ephemeral-storage")
}
_CLAIMS = {"persistentvolumeclaims", "requests.storage"}
_STANDARD = {
    *_PODS,
    *_CLAIMS,
    *("resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps"),
    *("services.nodeports", "services.loadbalancers"),
}
_EXISTENCE = ("BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "CrossNamespacePodAffinity")
_SCOPES = (*_EXISTENCE, "PriorityClass", "VolumeAttributesClass")
_OPPOSITES = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))


@rule
def check_hard(amounts: At) -> None:
    for name, amount in amounts.entries():
        _check_hard(name, amount)


@rule
def check_scopes(spec: At) -> None:
    for scope in spec["scopes"].items():
        scope.one_of(_SCOPES)
        _check_scope_fits(scope, spec)
    for requirement in spec["scopeSelector"]["matchExpressions"].items():
        _check_requirement(requirement, spec)
    named = set(texts(spec.value, "scopes"))
    if any(named.issuperset(pair) for pair in _OPPOSITES):
        spec["scopes"].invalid("must not have a scope and its opposite")


def _check_hard(name: str, amount: At) -> None:
    if complaint := label_key(name):
        amount.invalid(f"the name {complaint}")
    elif "/" not in name and name not in _STANDARD and not is_huge(name.removeprefix("requests.")):
        amount.invalid("must be a resource that quotas know, or have a prefix such as count/")
    found = amount.amount()
    if found is not None and found < 0:
        amount.invalid("must not be less than zero")
    elif found is not None and found % 1000 and _is_whole(name):
        amount.invalid("must be a whole number")


def _is_whole(name: str) -> bool:
    return name.startswith("count/") or name in _STANDARD - _PODS - _CLAIMS or name in ("pods", *_CLAIMS)


def _check_scope_fits(scope: At, spec: At) -> None:
    match scope.value:
        case "BestEffort":
            fitting = {"pods"}
        case "VolumeAttributesClass":
            fitting = _CLAIMS
        case _:
            fitting = _PODS
    if any(name in _STANDARD - fitting for name in part(spec.value, "hard")):
        scope.invalid("must be a scope of what is limited")


def _check_requirement(requirement: At, spec: At) -> None:
    scope, operator, values = requirement["scopeName"], requirement["operator"], requirement["values"]
    if scope.require():
        scope.one_of(_SCOPES)
        _check_scope_fits(scope, spec)
    if not operator.require():
        return
    operator.one_of(("DoesNotExist", "Exists", "In", "NotIn"))
    if scope.value in _EXISTENCE and operator.value != "Exists":
        operator.invalid(f"must be Exists where the scope is {scope.value}")
    if operator.value in ("In", "NotIn"):
        values.require(f"must be given where the operator is {operator.value}")
    elif not values.empty:
        values.invalid(f"must not be given where the operator is {operator.value}")


@rule
def check_scopes_change(spec: At, old: object) -> None:
    if set(texts(spec.value, "scopes")) != set(texts(old, "scopes")):
        spec["scopes"].invalid("the field is immutable")


# --- ranges --------------------------------------------------------------------------------------

# Of two amounts for the same resource, the first must not be more than the second.
_ORDER = (
    *(("min", "max"), ("min", "defaultRequest"), ("defaultRequest", "max")),
    *(("defaultRequest", "default"), ("min", "default"), ("default", "max")),
)


@rule
def check_limit(limit: At) -> None:
    check_marks(limit, "LimitRangeItem")
    kind = limit["type"].text()
    for field in ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio"):
        for name, amount in limit[field].entries():
            if kind in ("Pod", "Container"):
                check_container_resource(name, amount)
            amount.amount()
    if kind == "Pod":
        for field in ("default", "defaultRequest"):
            if not limit[field].empty:
                limit[field].forbid("must not be given where type is Pod")
    if kind == "PersistentVolumeClaim" and not any("storage" in part(limit.value, f) for f in ("min", "max")):
        limit["limits"].refuse(ErrorType.REQUIRED, "must have a least or a largest amount of storage")
    for lower, upper in _ORDER:
        _check_order(limit, lower, upper)
    for _, ratio in limit["maxLimitRequestRatio"].entries():
        if amount_of(ratio.value, otherwise=1000) < 1000:
            ratio.invalid("must be at least 1")


def _check_order(limit: At, lower: str, upper: str) -> None:
    for name, amount in limit[lower].entries():
        less, more = amount_of(amount.value), amount_of(part(limit.value, upper).get(name))
        if less is not None and more is not None and less > more:
            amount.invalid(f"must not be more than {upper}, {part(limit.value, upper)[name]}")
