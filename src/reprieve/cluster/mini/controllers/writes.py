"""What a controller wants written. Deciding is theirs, writing is done here."""

from collections.abc import Callable
from dataclasses import dataclass, field

from reprieve.cluster.apiserver.admission import Features
from reprieve.cluster.mini.admitted import admitted
from reprieve.cluster.mini.conditions import Condition, set_condition, set_condition_of
from reprieve.cluster.mini.history import Key
from reprieve.cluster.mini.kinds import section
from reprieve.cluster.mini.store import Part, Store
from reprieve.model.json import Json


@dataclass(frozen=True, slots=True)
class Create:
    resource: str
    body: Json


@dataclass(frozen=True, slots=True)
class Remove:
    key: Key
    uid: str


@dataclass(frozen=True, slots=True)
class Amend:
    """Change anything but the status; or, ``quietly``, anything without a new generation."""

    key: Key
    uid: str
    change: Callable[[Json], None]
    quietly: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """Fields and conditions of a status; the others stay."""

    key: Key
    uid: str
    fields: Json = field(default_factory=dict)
    conditions: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class LookAgain:
    """Nothing is to be written now, and time alone will change that."""

    at: float


Write = Create | Remove | Amend | Report | LookAgain


def carry_out(store: Store, write: Create | Remove | Amend | Report, now: float, features: Features) -> None:
    match write:
        case Create():
            store.create(write.resource, admitted(store, write.resource, write.body, features))
        case Remove():
            store.delete(write.key, write.uid)
        case Amend():
            part = Part.WHOLE if write.quietly else Part.MAIN
            store.patch(write.key, lambda body: _amended(body, write.change), part, write.uid)
        case Report():
            store.patch(write.key, lambda body: _reported(body, write, now), Part.STATUS, write.uid)


# Of the kinds that controllers report on, those whose conditions say of which generation they speak.
_TELL_GENERATION = ("Pod", "PodDisruptionBudget")


def _amended(body: Json, change: Callable[[Json], None]) -> Json:
    change(body)
    return body


def _reported(body: Json, report: Report, now: float) -> Json:
    status = section(body, "status")
    status.update(report.fields)
    for condition in report.conditions:
        if body["kind"] in _TELL_GENERATION:
            set_condition_of(body, condition, now)
        else:
            set_condition(status, condition, now)
    return body
