"""ResourceQuotas: admission charges new objects to them, and a controller recounts usage after changes.

Charging and storing happen without an await between them, so no other write can use the same quota. The next
recount corrects a charge for an object that was not stored after all.
"""

from contextlib import suppress
from functools import partial

from reprieve.cluster.api.timestamps import Clock
from reprieve.cluster.api.values import part, text_in
from reprieve.cluster.apiserver.admission import AdmissionRequest
from reprieve.cluster.apiserver.quotas import (
    UsageChange,
    added,
    applies,
    charged,
    is_charged,
    is_counted,
    usage_of,
)
from reprieve.cluster.mini.control_loop import earliest
from reprieve.cluster.mini.errors import ApiError
from reprieve.cluster.mini.informer import Informer
from reprieve.cluster.mini.kinds import BY_NAME, BY_RESOURCE
from reprieve.cluster.mini.object_guard import ObjectWork, object_guard
from reprieve.cluster.mini.store import Part, Store, parsed
from reprieve.cluster.mini.stored_objects import Key, Stored
from reprieve.model.json import Json
from reprieve.model.resources import Amounts

QUOTAS = "resourcequotas"
_COUNTED = tuple(k.resource for k in BY_RESOURCE.values() if k.namespaced and is_counted(k.resource))
_SCOPED = ("pods", "persistentvolumeclaims")  # the resources that quota scopes select by
_DELAY = 0.1  # seconds from a change to the recount, so that a burst of changes costs one recount


# --- charging ------------------------------------------------------------------------------------


def charge(store: Store, request: AdmissionRequest, body: Json) -> bool:
    """Charge an object that is about to be stored to its quotas; whether there are any.

    An ApiError 403 if it would exceed one of them.
    """
    namespace, kind = text_in(part(body, "metadata"), "namespace"), BY_NAME[request.kind]
    if not kind.namespaced or kind.asked:
        return False
    change = UsageChange(kind.resource, body, request.old or {})
    if not is_charged(change, request.subresource):
        return False
    charges: list[tuple[Stored, Json]] = []
    for stored in store.list((QUOTAS,), namespace).items:
        quota = parsed(stored)
        if applies(quota, kind.resource, body):
            answer = charged(quota, change)
            if isinstance(answer, str):
                name = text_in(part(body, "metadata"), "name")
                raise ApiError(403, "Forbidden", f'{kind.resource} "{name}" is forbidden: {answer}')
            charges.append((stored, answer))
    for stored, used in charges:
        _write(store, stored, {"used": used})
    return bool(charges)


def _write(store: Store, quota: Stored, fields: Json) -> None:
    def change(body: Json) -> Json:
        return {**body, "status": {**part(body, "status"), **fields}}

    store.patch(quota.key, change, Part.STATUS, quota.uid)


# --- counting ------------------------------------------------------------------------------------


class ResourceQuotaController:
    """``_known``: the usage of each object, with the version that it was computed from."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._due: dict[str, float] = {}
        self._known: dict[Key, tuple[int, Json, Amounts]] = {}
        self._guard = object_guard(store, "quota controller")
        self.informer = Informer(store, _COUNTED)

    def step(self) -> float | None:
        now = self._clock()
        for change in self.informer.poll():
            self._due.setdefault(change.object.key.namespace, now + _DELAY)
        for namespace in [name for name, at in self._due.items() if at <= now]:
            del self._due[namespace]
            work = ObjectWork("count the objects of", Key("namespaces", "", namespace))
            self._guard.run(work, partial(self._count, namespace))
        self._guard.retry_due()
        return earliest(*self._due.values(), self._guard.next_at())

    def _count(self, namespace: str) -> None:
        quotas = self._store.list((QUOTAS,), namespace).items
        if not quotas:
            return
        for stored in self._store.list(_COUNTED, namespace).items:
            self._guard.run(ObjectWork("count", stored.key), partial(self._count_one, stored))
        things = self._usage(namespace)
        for stored in quotas:
            self._guard.run(ObjectWork("update", stored.key), partial(self._update, stored, things))

    def _count_one(self, stored: Stored) -> None:
        known = self._known.pop(stored.key, None)
        if known is None or known[0] != stored.version:
            body = parsed(stored)
            facts = {"spec": part(body, "spec") if stored.key.resource in _SCOPED else {}}
            known = (stored.version, facts, usage_of(stored.key.resource, body))
        self._known[stored.key] = known

    def _usage(self, namespace: str) -> list[tuple[str, Json, Amounts]]:
        """Of the objects that still exist. One that cannot be counted counts as nothing."""
        there = {stored.key for stored in self._store.list(_COUNTED, namespace).items}
        self._known = {k: v for k, v in self._known.items() if k.namespace != namespace or k in there}
        return [(k.resource, facts, amounts) for k, (_, facts, amounts) in self._known.items() if k in there]

    def _update(self, stored: Stored, things: list[tuple[str, Json, Amounts]]) -> None:
        quota = parsed(stored)
        with suppress(ApiError):  # it was deleted meanwhile
            _write(self._store, stored, {"hard": part(quota, "spec", "hard"), "used": added(quota, things)})
