"""How an object is to be deleted: what a client says in the body, in the URL, or not at all."""

from dataclasses import dataclass
from typing import TypeVar

from reprieve.cluster.mini.cascade import FOREGROUND, ORPHAN
from reprieve.cluster.mini.custom import DEFINITIONS
from reprieve.cluster.mini.definitions import HELD_BY_OBJECTS
from reprieve.cluster.mini.errors import ApiError, Cause, bad_request
from reprieve.cluster.mini.kinds import Kind
from reprieve.cluster.mini.namespaces import HELD_BY_CONTENT
from reprieve.cluster.mini.rest.bodies import read_object
from reprieve.cluster.mini.rest.exchange import Request
from reprieve.cluster.mini.rest.query import Query, unsupported
from reprieve.model.json import Json

T = TypeVar("T")

_POLICIES = ("Background", "Foreground", "Orphan")


@dataclass(frozen=True, slots=True)
class Removal:
    """``policy``: what becomes of those that the object owns; empty for what is usual for its kind."""

    grace: int | None = None
    policy: str = ""
    uid: str = ""
    version: str = ""
    dry_run: bool = False

    def held_by(self, kind: Kind) -> tuple[str, ...]:
        """The finalizers of those who have something to do before the object goes."""
        if kind.resource == "namespaces":
            return (HELD_BY_CONTENT,)
        if kind.resource == DEFINITIONS:
            return (HELD_BY_OBJECTS,)
        match self.policy or ("Orphan" if kind.orphans else "Background"):
            case "Foreground":
                return (FOREGROUND,)
            case "Orphan":
                return (ORPHAN,)
        return ()


def removal_of(request: Request, query: Query) -> Removal:
    options = read_object(request) if request.body else {}
    return removal_from(options, query)


def removal_from(options: Json, query: Query) -> Removal:
    """What the body says counts, and what it does not say is looked for in the URL."""
    if options.get("kind") not in (None, "", "DeleteOptions"):
        raise bad_request(f"the body of a deletion must be DeleteOptions, not {options['kind']!r}")
    conditions = _typed(options, "preconditions", dict) or {}
    grace = _typed(options, "gracePeriodSeconds", int)
    return Removal(
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
        raise bad_request(f"{name} in the body of the deletion cannot be {value!r}")
    return value
