"""Conditions in a status, as in Kubernetes: one of each type, with the time of its last transition."""

from dataclasses import dataclass, replace

from reprieve.cluster.api.timestamps import stamp
from reprieve.model.json import Json
from reprieve_minicluster.kinds import peek, section


@dataclass(frozen=True, slots=True)
class StatusCondition:
    type: str
    status: str
    reason: str = ""
    message: str = ""
    observed_generation: int | None = None
    since: float | None = None  # lastTransitionTime; None: when its status changed


def set_condition(status: Json, condition: StatusCondition, now: float) -> None:
    """Write it into a status; lastTransitionTime moves with the status, or is as the condition says."""
    conditions = _conditions(status)
    place = next((i for i, c in enumerate(conditions) if c.get("type") == condition.type), len(conditions))
    old = conditions[place] if place < len(conditions) else {}
    turned = stamp(now) if old.get("status") != condition.status else old.get("lastTransitionTime")
    new = {
        **old,
        "type": condition.type,
        "status": condition.status,
        "lastTransitionTime": turned if condition.since is None else stamp(condition.since),
        "reason": condition.reason,
        "message": condition.message,
    }
    if condition.observed_generation is not None:
        new["observedGeneration"] = condition.observed_generation
    conditions[place : place + 1] = [new]
    status["conditions"] = conditions


def set_condition_of(body: Json, condition: StatusCondition, now: float) -> None:
    """Write it into the status of an object, with the generation that it observed."""
    generation = peek(body, "metadata").get("generation")
    set_condition(section(body, "status"), replace(condition, observed_generation=generation), now)


def get_condition(status: Json, kind: str) -> Json | None:
    return next((c for c in _conditions(status) if c.get("type") == kind), None)


def clear_condition(status: Json, kind: str) -> None:
    if get_condition(status, kind) is not None:
        status["conditions"] = [c for c in _conditions(status) if c.get("type") != kind]


def _conditions(status: Json) -> list[Json]:
    """Clients may write anything into a status: entries that are not conditions are dropped."""
    found = status.get("conditions")
    return [c for c in found if isinstance(c, dict)] if isinstance(found, list) else []
