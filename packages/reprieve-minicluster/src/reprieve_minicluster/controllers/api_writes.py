"""The writes that a reconcile returns, and how they are executed. Controllers themselves write nothing."""

from collections.abc import Callable
from dataclasses import dataclass, field

from reprieve.cluster.admission.admission import Features
from reprieve.model.json import Json
from reprieve_minicluster.admission import admitted, create_admitted
from reprieve_minicluster.controllers.controller_cache import key_of
from reprieve_minicluster.controllers.objects import Thing
from reprieve_minicluster.kinds import ResourceKind, section
from reprieve_minicluster.store import Key, Part, Store
from reprieve_minicluster.store.conditions import (
    StatusCondition,
    clear_condition,
    set_condition,
    set_condition_of,
)
from reprieve_minicluster.webhooks.reviews import RequestOrigin

Change = Callable[[Json], object]  # changes a body in place; what it returns does not count


@dataclass(frozen=True, slots=True)
class Create:
    resource: str
    body: Json


@dataclass(frozen=True, slots=True)
class Delete:
    key: Key
    uid: str

    @classmethod
    def of(cls, thing: Thing) -> "Delete":
        return cls(key_of(thing), thing.metadata.uid)


@dataclass(frozen=True, slots=True)
class Update:
    """Change anything but the status; with ``keeps_generation``, do not raise the generation."""

    key: Key
    uid: str
    change: Change
    keeps_generation: bool = False

    @classmethod
    def of(
        cls, thing: Thing, change: Callable[[Json], object], *, keeps_generation: bool = False
    ) -> "Update":
        return cls(key_of(thing), thing.metadata.uid, change, keeps_generation)


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


Execution = Create | Delete | Update | UpdateStatus
Write = Execution | RequeueAt


def execute(
    store: Store,
    write: Execution,
    now: float,
    features: Features,
    origin: RequestOrigin | None = None,
) -> None:
    """``origin``: of a new object that webhooks and policies review."""
    match write:
        case Create(resource, body):
            create_admitted(store, resource, admitted(store, resource, body, features, origin))
        case Delete():
            store.delete(write.key, write.uid)
        case Update():
            part = Part.WHOLE if write.keeps_generation else Part.MAIN
            store.patch(write.key, lambda body: _updated(body, write.change), part, write.uid)
        case UpdateStatus():
            kind = store.kinds[write.key.resource]
            store.patch(write.key, lambda body: _with_status(kind, body, write, now), Part.STATUS, write.uid)


def _updated(body: Json, change: Callable[[Json], object]) -> Json:
    change(body)
    return body


def _with_status(kind: ResourceKind, body: Json, update: UpdateStatus, now: float) -> Json:
    status = section(body, "status")
    status.update(update.fields)
    for name in update.without:
        clear_condition(status, name)
    for condition in update.conditions:
        if kind.observed_generation:
            set_condition_of(body, condition, now)
        else:
            set_condition(status, condition, now)
    return body
