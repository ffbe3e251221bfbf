"""Are requests and limits of containers and pods valid, what is their sum, and which QoS class follows?"""

from collections.abc import Callable

from reprieve.cluster.admission.field_errors import At, ErrorType
from reprieve.cluster.admission.marks import rule
from reprieve.cluster.api.names import dns_label, label_key
from reprieve.cluster.api.values import amount_of, items, part
from reprieve.model.json import Json

_OWN = ("cpu", "memory", "ephemeral-storage")
_HUGE = "hugepages-"


def is_huge(name: str) -> bool:
    return name.startswith(_HUGE)


def is_native(name: str) -> bool:
    return "/" not in name or name.rpartition("/")[0].endswith("kubernetes.io")


def may_overcommit(name: str) -> bool:
    return is_native(name) and not is_huge(name)


@rule
def check_requirements(resources: At) -> None:
    """Requests and limits of one container."""
    if resources.is_object():
        _check_requirements(resources, check_container_resource)
        _check_claims(resources["claims"])


def _check_requirements(resources: At, check_name: Callable[[str, At], None]) -> None:
    for field in ("limits", "requests"):
        for name, quantity in resources[field].entries():
            check_name(name, quantity)
        check_amounts(resources[field])
    _check_requests_within_limits(resources)
    named = {name for field in ("limits", "requests") for name in part(resources.value, field)}
    if any(map(is_huge, named)) and not named & {"cpu", "memory"}:
        resources.forbid("huge pages must come with cpu or memory")


@rule
def check_amounts(amounts: At) -> None:
    for name, quantity in amounts.entries():
        _check_amount(name, quantity)


def _check_amount(name: str, quantity: At) -> None:
    amount = quantity.amount()
    if amount is None:
        return
    if amount < 0:
        quantity.invalid("must not be less than zero")
    elif amount % 1000 and not is_native(name):
        quantity.invalid("must be a whole number")
    elif is_huge(name) and amount % max(1, amount_of(name.removeprefix(_HUGE), otherwise=1)):
        quantity.invalid(f"must be a multiple of {name.removeprefix(_HUGE)}")


def check_container_resource(name: str, quantity: At) -> None:
    if complaint := label_key(name):
        quantity.invalid(f"the name {complaint}")
    elif "/" not in name and name not in _OWN and not is_huge(name):
        quantity.invalid("must be a resource for containers, or be prefixed with the domain that defines it")
    elif not is_native(name) and name.startswith("requests."):
        quantity.invalid("the name must not begin with requests.")


def _check_pod_resource(name: str, quantity: At) -> None:
    if name not in ("cpu", "memory") and not is_huge(name):
        quantity.refuse(ErrorType.UNSUPPORTED, 'supported values: "cpu", "hugepages-…", "memory"')


def _check_requests_within_limits(resources: At) -> None:
    limits = part(resources.value, "limits")
    for name, request in resources["requests"].entries():
        asked, limit = amount_of(request.value), amount_of(limits.get(name))
        if asked is None:
            continue
        if name not in limits:
            if not may_overcommit(name):
                why = f"must have {name}, which cannot be overcommitted"
                resources["limits"].refuse(ErrorType.REQUIRED, why)
        elif limit is not None and asked != limit and not may_overcommit(name):
            resources["requests"].showing(request.value).invalid(
                f"must be equal to the {name} limit of {limits[name]}"
            )
        elif limit is not None and asked > limit:
            resources["requests"].showing(request.value).invalid(
                f"must not be more than the {name} limit of {limits[name]}"
            )


def _check_claims(claims: At) -> None:
    for claim in claims.items():
        claim["name"].must_name(dns_label)


# --- whole pods ----------------------------------------------------------------------------------


@rule
def check_pod_resources(spec: At) -> None:
    resources = spec["resources"]
    if not resources.is_object():
        return
    if resources["claims"].given:
        resources["claims"].forbid("must not be given for a whole pod")
    _check_requirements(resources, _check_pod_resource)
    asked = container_requests(spec.value)
    for name, request in resources["requests"].entries():
        amount = amount_of(request.value)
        if amount is not None and amount < asked.get(name, 0):
            request.invalid("must be at least what the containers request together")
    _check_container_limits(spec)


def _check_container_limits(spec: At) -> None:
    limits = part(spec.value, "resources", "limits")
    for container in spec["containers"].items():
        for name, limit in container["resources"]["limits"].entries():
            most, amount = amount_of(limits.get(name)), amount_of(limit.value)
            if most is not None and amount is not None and amount > most:
                limit.invalid(f"must not be more than the limit of the pod, {limits[name]}")


def container_requests(spec: Json) -> dict[str, int]:
    """The sum over the containers, in thousandths: an init container runs beside sidecars alone."""
    return pod_totals(spec, "requests")


def pod_totals(spec: Json, field: str) -> dict[str, int]:
    running: dict[str, int] = {}
    for container in items(spec, "containers"):
        _add(running, _amounts(container, field))
    sidecars: dict[str, int] = {}
    peaks: dict[str, int] = {}
    for container in items(spec, "initContainers"):
        amounts = _amounts(container, field)
        if container.get("restartPolicy") == "Always":
            _add(running, amounts)
            _add(sidecars, amounts)
            amounts = {}
        _add(amounts, sidecars)
        peaks = {name: max(peaks.get(name, 0), amounts.get(name, 0)) for name in {**peaks, **amounts}}
    return {name: max(running.get(name, 0), peaks.get(name, 0)) for name in {**running, **peaks}}


def _amounts(container: Json, field: str) -> dict[str, int]:
    quantities = part(container, "resources", field)
    return {name: amount_of(quantity, otherwise=0) for name, quantity in quantities.items()}


def _add(total: dict[str, int], more: dict[str, int]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


# --- quality of service --------------------------------------------------------------------------


def quality_class(spec: Json) -> str:
    """The QoS class that follows from requests and limits; a resize must not change it."""
    asked = _for_quality(spec, "requests")
    limited = _for_quality(spec, "limits")
    if not asked and not limited:
        return "BestEffort"
    both = {"cpu", "memory"}
    guaranteed = all(_positive(holder, "limits").keys() == both for holder in _holders(spec))
    return "Guaranteed" if guaranteed and asked == limited else "Burstable"


def _holders(spec: Json) -> list[Json]:
    """The requests and limits that count: the pod's own, if it has any, otherwise those of its containers."""
    if part(spec, "resources", "requests") or part(spec, "resources", "limits"):
        return [spec]
    return [*items(spec, "containers"), *items(spec, "initContainers")]


def _for_quality(spec: Json, field: str) -> dict[str, int]:
    total: dict[str, int] = {}
    for holder in _holders(spec):
        _add(total, _positive(holder, field))
    return total


def _positive(holder: Json, field: str) -> dict[str, int]:
    amounts = _amounts(holder, field)
    return {name: amounts[name] for name in ("cpu", "memory") if amounts.get(name, 0) > 0}
