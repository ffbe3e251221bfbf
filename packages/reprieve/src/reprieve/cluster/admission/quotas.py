"""What does an object use of the quotas of its namespace, and has a quota room for it?

The status of a quota says what is used already. This module must not know what keeps that status, and where
quotas are stored. Amounts are in thousandths.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from reprieve.cluster.admission.validation.resources import is_huge, is_native, pod_totals, quality_class
from reprieve.cluster.api.values import amount_of, items, part, storage_class_in, text_in, texts, written
from reprieve.model.json import Json
from reprieve.model.resources import Amounts

ONE = 1000
_COUNTED = ("configmaps", "persistentvolumeclaims", "replicationcontrollers", "resourcequotas", "secrets")
_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_REQUIRED = {f"{prefix}{name}" for prefix in ("", "requests.", "limits.") for name in ("cpu", "memory")}
_OF_CLASS = ".storageclass.storage.k8s.io/"
_AFFINITY_LISTS = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)
_UNCOUNTED = ("events", "events.events.k8s.io")
_BINARY = (("Pi", 50), ("Ti", 40), ("Gi", 30), ("Mi", 20), ("Ki", 10))
_DECIMAL = (("P", 15), ("T", 12), ("G", 9), ("M", 6), ("k", 3))


# --- what an object uses -------------------------------------------------------------------------


def usage_of(resource: str, body: Json) -> Amounts:
    """``resource`` is the name of its kind in quotas, such as deployments.apps."""
    used = {f"count/{resource}": ONE}
    if resource in _COUNTED:
        used[resource] = ONE
    match resource:
        case "pods":
            used |= _pod_usage(body)
        case "services":
            used |= _service_usage(body)
        case "persistentvolumeclaims":
            used |= _claim_usage(body)
    return used


def _pod_usage(pod: Json) -> Amounts:
    """A pod that has ended uses nothing."""
    if text_in(part(pod, "status"), "phase") in ("Succeeded", "Failed"):
        return {}
    spec = part(pod, "spec")
    return _compute_usage(total(spec, "requests"), total(spec, "limits"))


def total(spec: Json, field: str) -> Amounts:
    """What a pod requests, or is limited to, as a whole."""
    amounts = pod_totals(spec, field)
    for name, quantity in part(spec, "resources", field).items():
        amounts[name] = amount_of(quantity, otherwise=0)
    for name, quantity in part(spec, "overhead").items():
        if field == "requests" or name in amounts:
            amounts[name] = amounts.get(name, 0) + amount_of(quantity, otherwise=0)
    return amounts


def _compute_usage(requests: Mapping[str, int], limits: Mapping[str, int]) -> Amounts:
    used = {"pods": ONE}
    for name, amount in requests.items():
        if name in _COMPUTE or is_huge(name):
            used[name] = amount
        if name in _COMPUTE or is_huge(name) or not is_native(name):
            used[f"requests.{name}"] = amount
    return used | {f"limits.{name}": limits[name] for name in _COMPUTE if name in limits}


def _service_usage(service: Json) -> Amounts:
    spec, used = part(service, "spec"), {"services": ONE}
    kind, ports = text_in(spec, "type"), len(list(items(spec, "ports")))
    if kind == "LoadBalancer":
        used["services.loadbalancers"] = ONE
        if spec.get("allocateLoadBalancerNodePorts") is False:
            ports = sum(bool(port.get("nodePort")) for port in items(spec, "ports"))
    if kind in ("LoadBalancer", "NodePort"):
        used["services.nodeports"] = ports * ONE
    return used


def _claim_usage(claim: Json) -> Amounts:
    spec = part(claim, "spec")
    storage = amount_of(part(spec, "resources", "requests").get("storage"), otherwise=0)
    used = {"requests.storage": storage}
    if name := storage_class_in(claim):
        used[f"{name}{_OF_CLASS}requests.storage"] = storage
        used[f"{name}{_OF_CLASS}persistentvolumeclaims"] = ONE
    return used


def is_under_quota(resource: str) -> bool:
    return resource not in _UNCOUNTED


# --- which quotas are meant ----------------------------------------------------------------------


def applies(quota: Json, resource: str, body: Json) -> bool:
    """Whether a quota limits a resource of this kind, and its scopes include this object."""
    spec = part(quota, "spec")
    if not any(_is_about(name, resource) for name in part(spec, "hard")):
        return False
    return all(_is_in_scope(scope, resource, body) for scope in _scopes(spec))


def _is_about(name: str, resource: str) -> bool:
    """Whether objects of that kind use what a quota limits under this name."""
    if name in (f"count/{resource}", resource):
        return True
    match resource:
        case "pods":
            bare = name.removeprefix("requests.").removeprefix("limits.")
            extended = name.startswith("requests.") and not is_native(name)
            return bare in _COMPUTE or is_huge(bare) or (extended and _OF_CLASS not in name)
        case "services":
            return name.startswith("services.")
        case "persistentvolumeclaims":
            return name == "requests.storage" or _OF_CLASS in name
    return False


def _scopes(spec: Json) -> Iterator[Json]:
    for name in texts(spec, "scopes"):
        yield {"scopeName": name, "operator": "Exists"}
    yield from items(part(spec, "scopeSelector"), "matchExpressions")


def _is_in_scope(scope: Json, resource: str, body: Json) -> bool:
    spec = part(body, "spec")
    if resource != "pods":
        chosen = scope.get("scopeName") == "VolumeAttributesClass" and resource == "persistentvolumeclaims"
        return chosen and _selects(scope, text_in(spec, "volumeAttributesClassName"))
    match scope.get("scopeName"):
        case "Terminating":
            return "activeDeadlineSeconds" in spec
        case "NotTerminating":
            return "activeDeadlineSeconds" not in spec
        case "BestEffort":
            return quality_class(spec) == "BestEffort"
        case "NotBestEffort":
            return quality_class(spec) != "BestEffort"
        case "PriorityClass":
            return _selects(scope, text_in(spec, "priorityClassName"))
        case "CrossNamespacePodAffinity":
            return _looks_abroad(spec)
    return False


def _selects(scope: Json, name: str) -> bool:
    match scope.get("operator"):
        case "Exists":
            return bool(name)
        case "DoesNotExist":
            return not name
        case "In":
            return name in texts(scope, "values")
        case "NotIn":
            return name not in texts(scope, "values")
    return False


def _looks_abroad(spec: Json) -> bool:
    terms = (
        part(term, "podAffinityTerm") or term
        for kind in ("podAffinity", "podAntiAffinity")
        for field in _AFFINITY_LISTS
        for term in items(part(spec, "affinity", kind), field)
    )
    return any(term.get("namespaces") or "namespaceSelector" in term for term in terms)


# --- whether there is room -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class UsageChange:
    """An object that is about to be stored, and the stored one; ``resource`` as in quotas."""

    resource: str
    body: Json
    old: Json


def is_charged(change: UsageChange, subresource: str) -> bool:
    """Whether a write can change what a quota counts."""
    if not is_under_quota(change.resource) or subresource not in ("", "resize"):
        return False
    if not change.old or subresource == "resize":
        return True
    if change.resource == "pods":
        deadlines = (part(one, "spec").get("activeDeadlineSeconds") for one in (change.body, change.old))
        return len({deadline is None for deadline in deadlines}) == 2
    return change.resource in ("services", "persistentvolumeclaims")


def charged(quota: Json, change: UsageChange) -> Json | str:
    """What ``status.used`` of the quota will be, or why there is no room."""
    status, name = part(quota, "status"), text_in(part(quota, "metadata"), "name")
    hard, before = part(status, "hard"), part(status, "used")
    about = [known for known in hard if _is_about(known, change.resource)]
    if change.resource == "pods" and (missing := _missing(change.body, about)):
        return f"failed quota: {name}: must specify {missing}"
    unknown = [known for known in about if known not in before]
    if unknown or not hard:
        named = about or [k for k in part(quota, "spec", "hard") if _is_about(k, change.resource)]
        return f"status unknown for quota: {name}, resources: {','.join(sorted(named))}"
    more = {k: amount for k, amount in _increase(quota, change).items() if amount and k in hard}
    used = {k: amount_of(before[k], otherwise=0) + amount for k, amount in more.items()}
    over = sorted(k for k, amount in used.items() if amount > amount_of(hard[k], otherwise=0))
    if over:
        asked, has, limit = (
            {k: quota_text(k, m[k]) for k in over} for m in (more, _read(before), _read(hard))
        )
        return (
            f"exceeded quota: {name}, requested: {_listed(asked)}, used: {_listed(has)}, "
            f"limited: {_listed(limit)}"
        )
    return {**before, **{k: quota_text(k, amount) for k, amount in used.items()}}


def refunded(quota: Json, resource: str, body: Json) -> Json:
    """What ``status.used`` of the quota will be without the object."""
    before = part(quota, "status", "used")
    back = {name: amount for name, amount in usage_of(resource, body).items() if name in before}
    less = {k: max(0, amount_of(before[k], otherwise=0) - amount) for k, amount in back.items()}
    return {**before, **{k: quota_text(k, amount) for k, amount in less.items()}}


def _increase(quota: Json, change: UsageChange) -> Amounts:
    used = usage_of(change.resource, change.body)
    if not change.old or not applies(quota, change.resource, change.old):
        return used
    before = usage_of(change.resource, change.old)
    return {name: max(0, amount - before.get(name, 0)) for name, amount in used.items()}


def _missing(pod: Json, about: Iterable[str]) -> str:
    """A quota on cpu or memory requires the amount of every container, or of the pod as a whole."""
    spec = part(pod, "spec")
    if part(spec, "resources", "requests") or part(spec, "resources", "limits"):
        return ""
    found: dict[str, set[str]] = {}
    for container in (*items(spec, "containers"), *items(spec, "initContainers")):
        resources = part(container, "resources")
        known = _compute_usage(_read(part(resources, "requests")), _read(part(resources, "limits")))
        for name in _REQUIRED.intersection(about) - known.keys():
            found.setdefault(name, set()).add(text_in(container, "name"))
    return "; ".join(f"{name} for: {','.join(sorted(found[name]))}" for name in sorted(found))


def _read(quantities: Json) -> Amounts:
    return {name: amount_of(quantity, otherwise=0) for name, quantity in quantities.items()}


def _listed(quantities: Mapping[str, str]) -> str:
    return ",".join(f"{name}={quantity}" for name, quantity in quantities.items())


# --- counting ------------------------------------------------------------------------------------


def counted_usage(quota: Json, things: Iterable[tuple[str, Json, Amounts]]) -> Json:
    """``status.used`` of a quota, counted anew from all objects: resource, object and usage of each."""
    used = dict.fromkeys(part(quota, "spec", "hard"), 0)
    for resource, body, amounts in things:
        if applies(quota, resource, body):
            for name in used.keys() & amounts.keys():
                used[name] += amounts[name]
    return {name: quota_text(name, amount) for name, amount in used.items()}


def quota_text(name: str, amount: int) -> str:
    """An amount as Kubernetes writes it: bytes in powers of two, and the shortest form without a fraction."""
    if amount % ONE or not amount:
        return written(amount)
    whole, of_bytes = amount // ONE, any(word in name for word in ("memory", "storage", "hugepages"))
    if of_bytes:
        for suffix, bits in _BINARY:
            if whole % (1 << bits) == 0:
                return f"{whole >> bits}{suffix}"
    for suffix, digits in _DECIMAL:
        if whole % 10**digits == 0:
            return f"{whole // 10**digits}{suffix}"
    return str(whole)
