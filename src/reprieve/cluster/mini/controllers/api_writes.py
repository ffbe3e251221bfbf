"""The writes that a reconcile returns, and how they are executed. Controllers themselves write nothing."""

from collections.abc import Callable
from dataclasses import dataclass, field

from reprieve.cluster.apiserver.admission import Features
from reprieve.cluster.mini.admission import admitted
from reprieve.cluster.mini.conditions import StatusCondition, clear_condition, set_condition, set_condition_of
from reprieve.cluster.mini.kinds import section
from reprieve.cluster.mini.store import Part, Store
from reprieve.cluster.mini.stored_objects import Key
from reprieve.model.json import Json


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
    """Change anything but the status; with ``keeps_generation``, do not raise the generation."""

    key: Key
    uid: str
    change: Callable[[Json], None]
    keeps_generation: bool = False


@dataclass(frozen=True, slots=True)
class UpdateStatus:
    """Set fields and conditions of a status, and remove the conditions ``without``; the others stay."""

    key: Key
    uid: str
    fields: Json = field(default_factory=dict)
    conditions: tuple[StatusCondition, ...] = ()
    without: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RequeueAt:
    """Write nothing, and reconcile again at a time."""

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
            part = Part.WHOLE if write.keeps_generation else Part.MAIN
            store.patch(write.key, lambda body: _updated(body, write.change), part, write.uid)
        case UpdateStatus():
            store.patch(write.key, lambda body: _with_status(body, write, now), Part.STATUS, write.uid)


# The kinds with an observedGeneration in their conditions.
_OBSERVE_GENERATION = ("Pod", "PodDisruptionBudget")


def _updated(body: Json, change: Callable[[Json], None]) -> Json:
    change(body)
    return body


def _with_status(body: Json, update: UpdateStatus, now: float) -> Json:
    status = section(body, "status")
    status.update(update.fields)
    for kind in update.without:
        clear_condition(status, kind)
    for condition in update.conditions:
        if body["kind"] in _OBSERVE_GENERATION:
            set_condition_of(body, condition, now)
        else:
            set_condition(status, condition, now)
    return body
