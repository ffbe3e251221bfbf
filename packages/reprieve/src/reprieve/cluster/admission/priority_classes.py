"""Which priority does a pod or a group have? That of the class it names, or of the default class.

A class is resolved once, when the object is created; the two system classes always exist. This module must
not know what a priority is used for.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from reprieve.cluster.api.values import made, name_of, text_in
from reprieve.model.json import Json

SYSTEM_PREFIX = "system-"
PREEMPT_LOWER = "PreemptLowerPriority"


@dataclass(frozen=True, slots=True)
class Class:
    """What a PriorityClass gives to the objects that name it."""

    name: str
    value: int
    preemption_policy: str = PREEMPT_LOWER
    is_default: bool = False


SYSTEM_CLASSES = {
    "system-cluster-critical": Class("system-cluster-critical", 2_000_000_000),
    "system-node-critical": Class("system-node-critical", 2_000_001_000),
}
_NONE = Class("", 0)


def read_class(body: Json) -> Class:
    value = body.get("value")
    return Class(
        name_of(body),
        value if isinstance(value, int) else 0,
        text_in(body, "preemptionPolicy") or PREEMPT_LOWER,
        body.get("globalDefault") is True,
    )


def default_class(classes: Iterable[Class]) -> Class | None:
    """At most one is meant to exist; of several that were created in a race, the lowest counts."""
    return min((c for c in classes if c.is_default), key=lambda c: (c.value, c.name), default=None)


def resolve(body: Json, classes: list[Class], with_policy: bool) -> str:
    """Writes class, priority and preemption policy into a new object; returns why the object is rejected."""
    return resolve_spec(made(body, "spec"), classes, with_policy)


def resolve_spec(spec: Json, classes: list[Class], with_policy: bool) -> str:
    """Write them into the spec of an object, or of a template."""
    name = text_in(spec, "priorityClassName")
    found = _found(name, classes)
    if found is None:
        return f"there is no PriorityClass with the name {name}"
    if found.name:
        spec["priorityClassName"] = found.name
    policy = _settle(spec, "preemptionPolicy", found.preemption_policy, found) if with_policy else ""
    return _settle(spec, "priority", found.value, found) or policy


def _found(name: str, classes: list[Class]) -> Class | None:
    if not name:
        return default_class(classes) or _NONE
    return next((c for c in classes if c.name == name), None) or SYSTEM_CLASSES.get(name)


def _settle(spec: Json, field: str, value: int | str, source: Class) -> str:
    """A value that the client sent must be equal to the one that admission would fill in."""
    given = spec.setdefault(field, value)
    if given == value:
        return ""
    if source.name:
        return f"spec.{field} is {given}, and the PriorityClass {source.name} gives {value}"
    return f"spec.{field} is {given}, and without a PriorityClass it can only be {value}"
