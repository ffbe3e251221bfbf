"""What a controller wants written. Deciding is theirs, writing is done here."""

from collections.abc import Callable
from dataclasses import dataclass, field

from reprieve.cluster.api.admission import Features
from reprieve.cluster.mini.admission import admitted
from reprieve.cluster.mini.conditions import StatusCondition, set_condition, set_condition_of
from reprieve.cluster.mini.kinds import Json, section
from reprieve.cluster.mini.store import Part, Store
from reprieve.cluster.mini.stored_objects import Key


@dataclass(frozen=True, slots=True)
class Create:
    resource: str
    body: Json


@dataclass(frozen=True, slots=True)
class Delete:
    key: Key
    uid: str


@dataclass(frozen=True, slots=True)
class Update:
    """Change anything but the status; or, ``quietly``, anything without a new generation."""

    key: Key
    uid: str
    change: Callable[[Json], None]
    quietly: bool = False


@dataclass(frozen=True, slots=True)
class UpdateStatus:
    """Fields and conditions of a status; the others stay."""

    key: Key
    uid: str
    fields: Json = field(default_factory=dict)
    conditions: tuple[StatusCondition, ...] = ()


@dataclass(frozen=True, slots=True)
class RequeueAt:
    """Nothing is to be written now, and time alone will change that."""

    at: float


Write = Create | Delete | Update | UpdateStatus | RequeueAt


def execute(
    store: Store, write: Create | Delete | Update | UpdateStatus, now: float, features: Features
) -> None:
    match write:
        case Create():
            store.create(write.resource, admitted(store, write.resource, write.body, features))
        case Delete():
            store.delete(write.key, write.uid)
        case Update():
            part = Part.WHOLE if write.quietly else Part.MAIN
            store.patch(write.key, lambda body: _amended(body, write.change), part, write.uid)
        case UpdateStatus():
            store.patch(write.key, lambda body: _reported(body, write, now), Part.STATUS, write.uid)


# Of the kinds that controllers report on, those whose conditions say of which generation they speak.
_TELL_GENERATION = ("Pod", "PodDisruptionBudget")


def _amended(body: Json, change: Callable[[Json], None]) -> Json:
    change(body)
    return body


def _reported(body: Json, report: UpdateStatus, now: float) -> Json:
    status = section(body, "status")
    status.update(report.fields)
    for condition in report.conditions:
        if body["kind"] in _TELL_GENERATION:
            set_condition_of(body, condition, now)
        else:
            set_condition(status, condition, now)
    return body
