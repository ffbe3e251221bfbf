"""DeleteOptions of a request, from its body and its query parameters."""

from dataclasses import dataclass
from typing import TypeVar

from reprieve.cluster.mini.crd_controller import CLEANUP_FINALIZER
from reprieve.cluster.mini.custom_kinds import DEFINITIONS
from reprieve.cluster.mini.errors import ApiError, Cause, bad_request
from reprieve.cluster.mini.garbage_collector import FOREGROUND, ORPHAN
from reprieve.cluster.mini.kinds import ResourceKind
from reprieve.cluster.mini.namespace_controller import NAMESPACE_FINALIZER
from reprieve.cluster.mini.rest.http_messages import ApiRequest
from reprieve.cluster.mini.rest.query_parameters import Query, unsupported
from reprieve.cluster.mini.rest.request_bodies import read_object
from reprieve.model.json import Json

T = TypeVar("T")

_POLICIES = ("Background", "Foreground", "Orphan")


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """``policy``: the propagation policy; empty for the default of the kind."""

    grace: int | None = None
    policy: str = ""
    uid: str = ""
    version: str = ""
    dry_run: bool = False

    def held_by(self, kind: ResourceKind) -> tuple[str, ...]:
        """The finalizers that the deletion adds, for controllers that must act before the object goes."""
        if kind.resource == "namespaces":
            return (NAMESPACE_FINALIZER,)
        if kind.resource == DEFINITIONS:
            return (CLEANUP_FINALIZER,)
        match self.policy or ("Orphan" if kind.orphans else "Background"):
            case "Foreground":
                return (FOREGROUND,)
            case "Orphan":
                return (ORPHAN,)
        return ()


def delete_options_of(request: ApiRequest, query: Query) -> DeleteOptions:
    options = read_object(request) if request.body else {}
    return delete_options_from(options, query)


def delete_options_from(options: Json, query: Query) -> DeleteOptions:
    """The body wins over query parameters."""
    if options.get("kind") not in (None, "", "DeleteOptions"):
        raise bad_request(f"the body of a delete request must be DeleteOptions, not {options['kind']!r}")
    conditions = _typed(options, "preconditions", dict) or {}
    grace = _typed(options, "gracePeriodSeconds", int)
    if grace is not None and not -(2**63) <= grace < 2**63:
        raise bad_request(f"gracePeriodSeconds in DeleteOptions must be an integer of 64 bits, not {grace}")
    return DeleteOptions(
        grace=query.number("gracePeriodSeconds") if grace is None else grace,
        policy=_policy(options, query),
        uid=_typed(conditions, "uid", str) or "",
        version=_typed(conditions, "resourceVersion", str) or "",
        dry_run=_is_dry_run(options) or query.is_dry_run,
    )


def _policy(options: Json, query: Query) -> str:
    policy = _typed(options, "propagationPolicy", str) or query.text("propagationPolicy")
    orphans = _typed(options, "orphanDependents", bool)
    if orphans is None and query.text("orphanDependents"):
        orphans = query.flag("orphanDependents")
    if policy and policy not in _POLICIES:
        raise unsupported("propagationPolicy", policy, _POLICIES)
    if policy and orphans is not None:
        cause = Cause(
            "FieldValueInvalid", "cannot be set together with orphanDependents", "propagationPolicy"
        )
        raise ApiError(422, "Invalid", f"DeleteOptions is invalid: {cause.field}: {cause.message}", (cause,))
    if orphans is None:
        return policy
    return "Orphan" if orphans else "Background"


def _is_dry_run(options: Json) -> bool:
    asked = _typed(options, "dryRun", list) or []
    if any(one != "All" for one in asked):
        raise unsupported("dryRun", asked, ("All",))
    return bool(asked)


def _typed(options: Json, name: str, kind: type[T]) -> T | None:
    value = options.get(name)
    if value is None:
        return None
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise bad_request(f"{name} in DeleteOptions cannot be {value!r}")
    return value
