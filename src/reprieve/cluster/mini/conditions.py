"""Conditions in a status, as Kubernetes keeps them: one of each type, and the moment of the last turn."""

from dataclasses import dataclass, replace

from reprieve.cluster.api.timestamps import stamp
from reprieve.cluster.mini.kinds import peek, section
from reprieve.model.json import Json


@dataclass(frozen=True, slots=True)
class Condition:
    type: str
    status: str
    reason: str = ""
    message: str = ""
    observed_generation: int | None = None


def set_condition(status: Json, condition: Condition, now: float) -> None:
    """Writes it into a status; the time of transition moves only when the condition turns."""
    conditions = _conditions(status)
    place = next((i for i, c in enumerate(conditions) if c.get("type") == condition.type), len(conditions))
    old = conditions[place] if place < len(conditions) else {}
    turned = old.get("status") != condition.status
    new = {
        **old,
        "type": condition.type,
        "status": condition.status,
        "lastTransitionTime": stamp(now) if turned else old.get("lastTransitionTime"),
        "reason": condition.reason,
        "message": condition.message,
    }
    if condition.observed_generation is not None:
        new["observedGeneration"] = condition.observed_generation
    conditions[place : place + 1] = [new]
    status["conditions"] = conditions


def set_condition_of(body: Json, condition: Condition, now: float) -> None:
    """Writes it into the status of an object, with the generation of which it speaks."""
    generation = peek(body, "metadata").get("generation")
    set_condition(section(body, "status"), replace(condition, observed_generation=generation), now)


def get_condition(status: Json, kind: str) -> Json | None:
    return next((c for c in _conditions(status) if c.get("type") == kind), None)


def clear_condition(status: Json, kind: str) -> None:
    if get_condition(status, kind) is not None:
        status["conditions"] = [c for c in _conditions(status) if c.get("type") != kind]


def _conditions(status: Json) -> list[Json]:
    """Nothing checks what people write into a status: what is no condition is dropped."""
    found = status.get("conditions")
    return [c for c in found if isinstance(c, dict)] if isinstance(found, list) else []
