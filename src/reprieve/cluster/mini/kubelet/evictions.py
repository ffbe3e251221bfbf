"""How a kubelet makes room for a critical pod: it ends others, each within its own grace period."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from reprieve.cluster.api.timestamps import Clock
from reprieve.cluster.mini.agenda import Agenda
from reprieve.cluster.mini.conditions import Condition, set_condition_of
from reprieve.cluster.mini.errors import ApiError
from reprieve.cluster.mini.history import Key
from reprieve.cluster.mini.kubelet import pod_status
from reprieve.cluster.mini.kubelet.critical import Standing, standing_of, victims_for
from reprieve.cluster.mini.kubelet.guests import Guest
from reprieve.cluster.mini.kubelet.pace import Pace
from reprieve.cluster.mini.kubelet.rooms import Room, Shortage
from reprieve.cluster.mini.store import Part, Store, parsed
from reprieve.model.json import Json
from reprieve.model.resources import Amounts

_TARGET = Condition(
    "DisruptionTarget", "True", "TerminationByKubelet", "the kubelet ends it to make room for a critical pod"
)


class Evictions:
    def __init__(self, store: Store, clock: Clock, pace: Pace, guests: Mapping[Key, Guest]) -> None:
        self._store = store
        self._clock = clock
        self._pace = pace
        self._guests = guests
        self._ending: dict[Key, str] = {}  # with their UIDs
        self._agenda: Agenda[Key, str] = Agenda()
        self._promised: dict[Key, Amounts] = {}

    def is_ending(self, key: Key) -> bool:
        return key in self._ending

    def forget(self, key: Key) -> None:
        """A pod that is gone, or has what it wanted, or wants it no more."""
        self._ending.pop(key, None)
        self._agenda.clear(key)
        self._promised.pop(key, None)

    # --- whom ------------------------------------------------------------------------------------

    def make_room(self, preemptor: Standing, room: Room, lacks: Sequence[Shortage]) -> bool:
        """Whether there will be room; nobody is ended as long as those who leave already are enough."""
        if not preemptor.is_critical:
            return False
        missing = self._still_missing(preemptor.key, room, lacks)
        victims = victims_for(preemptor, self._others(preemptor.key, room), missing)
        if victims is None:
            return False
        self._promised[preemptor.key] = {lack.resource: lack.asked - lack.held for lack in lacks}
        for victim in victims:
            self._end(victim.key)
        return True

    def _still_missing(self, key: Key, room: Room, lacks: Sequence[Shortage]) -> Amounts:
        """Those who leave make room, but not for two at once."""
        leaving = [weight for guest, weight in room.guests.items() if self._is_leaving(guest)]
        promised = [self._promised.get(guest, {}) for guest in room.guests if guest != key]
        missing = {
            lack.resource: lack.missing + _sum(lack.resource, promised) - _sum(lack.resource, leaving)
            for lack in lacks
        }
        return {resource: amount for resource, amount in missing.items() if amount > 0}

    def _is_leaving(self, key: Key) -> bool:
        guest = self._guests.get(key)
        return key in self._ending or (guest is not None and guest.is_leaving)

    def _others(self, preemptor: Key, room: Room) -> Iterator[Standing]:
        for key, weight in room.guests.items():
            stored = self._store.find(key)
            if stored is not None and weight and key != preemptor and not self._is_leaving(key):
                yield standing_of(key, parsed(stored), weight)

    # --- how -------------------------------------------------------------------------------------

    def _end(self, key: Key) -> None:
        """Whoever watches can see at once what will become of it."""

        def mark(body: Json) -> Json:
            set_condition_of(body, _TARGET, self._clock())
            return body

        guest = self._guests[key]
        uid = guest.metadata.uid
        self._ending[key] = uid
        self._agenda.plan(key, uid, self._clock() + guest.drain_seconds() / self._pace.speed)
        with suppress(ApiError):  # it is gone already
            self._store.patch(key, mark, Part.STATUS, uid)

    def next_at(self) -> float | None:
        return self._agenda.next_at()

    def end_due(self) -> None:
        now = self._clock()
        for key, uid in self._agenda.due(now):
            with suppress(ApiError):
                self._store.patch(key, lambda body: pod_status.preempted(body, now), Part.STATUS, uid)


def _sum(resource: str, weights: Sequence[Amounts]) -> int:
    return sum(weight.get(resource, 0) for weight in weights)
