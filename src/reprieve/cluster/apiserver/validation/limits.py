"""Are the limits of a namespace valid: ResourceQuota and LimitRange?"""

from reprieve.cluster.api.names import label_key
from reprieve.cluster.api.values import amount_of, part, texts
from reprieve.cluster.apiserver.field_errors import At, ErrorType
from reprieve.cluster.apiserver.validation.resources import check_container_resource, is_huge
from reprieve.model.json import Json

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


# --- quotas --------------------------------------------------------------------------------------


def check_quota(quota: At) -> None:
    spec = quota["spec"]
    for name, amount in spec["hard"].entries():
        _check_hard(name, amount)
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


def check_quota_change(quota: At, old: Json) -> None:
    scopes = quota["spec"]["scopes"]
    if set(texts(quota["spec"].value, "scopes")) != set(texts(part(old, "spec"), "scopes")):
        scopes.invalid("the field is immutable")


def check_quota_status(quota: At, old: Json) -> None:
    for field in ("hard", "used"):
        for name, amount in quota["status"][field].entries():
            _check_hard(name, amount)


# --- ranges --------------------------------------------------------------------------------------

# Of two amounts for the same resource, the first must not be more than the second.
_ORDER = (
    *(("min", "max"), ("min", "defaultRequest"), ("defaultRequest", "max")),
    *(("defaultRequest", "default"), ("min", "default"), ("default", "max")),
)


def check_limit_range(limits: At) -> None:
    seen: set[str] = set()
    for limit in limits["spec"]["limits"].items():
        kind = limit["type"].text()
        limit["type"].must_name(label_key)
        if kind in seen:
            limit["type"].refuse(ErrorType.DUPLICATE, "must be there only once")
        seen.add(kind)
        _check_limit(limit, kind)


def _check_limit(limit: At, kind: str) -> None:
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
