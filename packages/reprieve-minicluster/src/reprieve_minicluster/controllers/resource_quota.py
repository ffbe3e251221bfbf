"""The controller of ResourceQuotas: recounts the usage of a namespace after changes of its objects."""

from contextlib import suppress
from functools import partial

from reprieve.cluster.admission.quotas import (
    counted_usage,
    is_under_quota,
    usage_of,
)
from reprieve.cluster.api.values import part
from reprieve.model.json import Json
from reprieve.model.resources import Amounts
from reprieve_minicluster.admission import QUOTAS, write_quota_status
from reprieve_minicluster.control.control_loop import GuardedLoop, earliest
from reprieve_minicluster.control.object_guard import ObjectWork
from reprieve_minicluster.errors import ApiError
from reprieve_minicluster.kinds import BY_RESOURCE
from reprieve_minicluster.store import Key, Store, Stored, WatchEvent, parsed

_COUNTED = tuple(k.resource for k in BY_RESOURCE.values() if k.namespaced and is_under_quota(k.resource))
_SCOPED = ("pods", "persistentvolumeclaims")  # the resources that quota scopes select by
_DELAY = 0.1  # seconds from a change to the recount, so that a burst of changes costs one recount


class ResourceQuotaController(GuardedLoop):
    """``_known``: the usage of each object, with the version that it was computed from."""

    def __init__(self, store: Store) -> None:
        super().__init__(store, "quota controller", _COUNTED)
        self._due: dict[str, float] = {}
        self._known: dict[Key, tuple[int, Json, Amounts]] = {}

    def _on_change(self, change: WatchEvent) -> None:
        self._due.setdefault(change.object.key.namespace, self._clock() + _DELAY)

    def _work(self) -> None:
        now = self._clock()
        for namespace in [name for name, at in self._due.items() if at <= now]:
            del self._due[namespace]
            work = ObjectWork("count the objects of", Key("namespaces", "", namespace))
            self._guard.run(work, partial(self._count, namespace))

    def _next_at(self) -> float | None:
        return earliest(*self._due.values())

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
        """The usage of each object that still exists. One that cannot be counted counts as nothing."""
        there = {stored.key for stored in self._store.list(_COUNTED, namespace).items}
        self._known = {k: v for k, v in self._known.items() if k.namespace != namespace or k in there}
        return [(k.resource, facts, amounts) for k, (_, facts, amounts) in self._known.items() if k in there]

    def _update(self, stored: Stored, things: list[tuple[str, Json, Amounts]]) -> None:
        quota = parsed(stored)
        with suppress(ApiError):  # it was deleted meanwhile
            write_quota_status(
                self._store,
                stored,
                {"hard": part(quota, "spec", "hard"), "used": counted_usage(quota, things)},
            )
