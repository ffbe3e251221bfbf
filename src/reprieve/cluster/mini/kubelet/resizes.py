"""Resizes in place: which of them a kubelet grants, in which order, and when they are enforced.

What a pod was granted stands in its status, so that nothing is lost when kubelets begin anew. How pods come
and go is not known here.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from reprieve.cluster.api.codec import Decoded, decode_pod
from reprieve.cluster.api.timestamps import Clock
from reprieve.cluster.api.values import text_in
from reprieve.cluster.mini.agenda import Agenda
from reprieve.cluster.mini.calls import announce
from reprieve.cluster.mini.conditions import Condition, clear_condition, get_condition, set_condition
from reprieve.cluster.mini.errors import ApiError
from reprieve.cluster.mini.history import Key, Stored
from reprieve.cluster.mini.kinds import peek, section
from reprieve.cluster.mini.kubelet.allocation import (
    Allocation,
    desired,
    enforce,
    grant,
    granted,
    is_reported,
    needs_restart,
)
from reprieve.cluster.mini.kubelet.critical import Standing, standing_of
from reprieve.cluster.mini.kubelet.evictions import Evictions
from reprieve.cluster.mini.kubelet.pace import Pace
from reprieve.cluster.mini.kubelet.policy import ResizePolicy
from reprieve.cluster.mini.kubelet.rooms import Room, Shortage, footprint_in, footprint_of, weight_of
from reprieve.cluster.mini.store import Part, Store, parsed
from reprieve.model.effects import Announce, Target, Tone
from reprieve.model.footprint import Footprint
from reprieve.model.json import Json
from reprieve.model.resizing import DEFERRED, IN_PROGRESS, INFEASIBLE, PENDING, PREEMPTION_DISABLED
from reprieve.model.resources import CPU, MEMORY, Amounts

_MEASURED = (CPU, MEMORY)
Rank = tuple[bool, int, bool, str, Key]


@dataclass(frozen=True, slots=True)
class Ask:
    """A pod whose spec and grant differ."""

    key: Key
    body: Json
    weight: Footprint
    wanted: Allocation
    has: Allocation

    @property
    def uid(self) -> str:
        return str(self.body["metadata"]["uid"])

    @property
    def generation(self) -> int:
        return int(self.body["metadata"].get("generation", 0))

    @property
    def grows(self) -> bool:
        weight = self.weight
        return any(weight.desired.get(n, 0) > weight.allocated.get(n, 0) for n in _MEASURED)

    def target(self) -> Amounts:
        """What the node must bear while the resize is enforced: the largest of all readings."""
        desired, held = self.weight.desired, self.weight.held
        return {name: max(desired.get(name, 0), held.get(name, 0)) for name in {*desired, *held}}

    def standing(self) -> Standing:
        return standing_of(self.key, self.body, self.weight.held)

    def rank(self) -> Rank:
        """What does not grow first, then by priority, quality of service, and since when it waits."""
        standing = self.standing()
        pending = get_condition(peek(self.body, "status"), PENDING) or {}
        since = text_in(pending, "lastTransitionTime") or "never"  # sorts behind every time
        return self.grows, -standing.priority, standing.quality != "Guaranteed", since, self.key


class Resizes:
    """``serve`` after anything changed that could matter to a node: it looks at all who wait there."""

    def __init__(
        self, store: Store, clock: Clock, pace: Pace, rooms: Mapping[str, Room], evictions: Evictions
    ) -> None:
        self._store = store
        self._clock = clock
        self._pace = pace
        self._rooms = rooms
        self._evictions = evictions
        self._policies: dict[str, ResizePolicy] = {}
        self._waiting: dict[str, dict[Key, None]] = {}
        self._touched: dict[str, None] = {}
        # What was granted and is not enforced yet, limits included: the status has no place for those.
        self._granted: dict[Key, Allocation] = {}
        self._agenda: Agenda[Key, str] = Agenda()

    # --- what may matter -------------------------------------------------------------------------

    def touch(self, node: str) -> None:
        """Somebody left or shrank, or the node changed: who waits there may have better luck."""
        if self._waiting.get(node):
            self._touched[node] = None

    def follow(self, node: str, policy: ResizePolicy) -> None:
        if self._policy(node) != policy:
            self._policies[node] = policy
            self.touch(node)

    def consider(self, key: Key, node: str, before: Stored | None) -> None:
        """A pod whose spec may have changed, or that is seen for the first time."""
        stored = self._store.find(key)
        if stored is None:
            return
        body = parsed(stored)
        if not is_reported(body) and before is not None:
            stored = self._report_first(stored, desired(parsed(before)))
            body = parsed(stored)
        status = peek(body, "status")
        if not self._has(key, body).agrees_with(desired(body)) or get_condition(status, PENDING):
            self._waiting.setdefault(node, {})[key] = None
            self._touched[node] = None
        if get_condition(status, IN_PROGRESS) and key not in self._granted:
            self._granted[key] = granted(body)
            self._agenda.plan(key, node, self._clock() + self._pace.resize_seconds / self._pace.speed)

    def forget(self, key: Key, node: str) -> None:
        self._waiting.get(node, {}).pop(key, None)
        self._granted.pop(key, None)
        self._agenda.clear(key)

    def taken_by_start(self, key: Key) -> Allocation | None:
        """What was granted to a pod before it runs: it starts with that, and nothing is left to enforce."""
        self._agenda.clear(key)
        return self._granted.pop(key, None)

    def recount(self, key: Key, node: str) -> None:
        """What a pod holds may be less than before."""
        self._charge(self._rooms[node], self._store.get(key))
        self.touch(node)

    def _has(self, key: Key, body: Json) -> Allocation:
        return self._granted.get(key) or granted(body)

    def _report_first(self, stored: Stored, had: Allocation) -> Stored:
        """A pod that no kubelet of ours has started has what its spec said before it was changed."""

        def report(body: Json) -> Json:
            grant(body, had)
            enforce(body, had, self._clock())
            return body

        return self._store.patch(stored.key, report, Part.STATUS, stored.uid)

    # --- granting --------------------------------------------------------------------------------

    def serve(self) -> None:
        touched, self._touched = self._touched, {}
        for node in touched:
            room = self._rooms.get(node)
            if room is not None and room.offered is not None:
                self._serve(node, room)

    def _serve(self, node: str, room: Room) -> None:
        reserved = False
        for ask in sorted(self._asks(node), key=Ask.rank):
            with suppress(ApiError):  # it is gone, and the next change shows it
                reserved = self._settle(ask, node, room, reserved) or reserved

    def _asks(self, node: str) -> Iterator[Ask]:
        for key in self._waiting.get(node, {}):
            stored = self._store.find(key)
            read = decode_pod(stored.raw) if stored is not None else None
            if stored is None or not isinstance(read, Decoded) or self._evictions.is_ending(key):
                continue
            body = parsed(stored)
            yield Ask(key, body, footprint_of(read.object), desired(body), self._has(key, body))

    def _settle(self, ask: Ask, node: str, room: Room, reserved: bool) -> bool:
        """Whether room is being made for it: nobody who comes after it may take that, then."""
        impossible = _impossible(ask, room)
        lacks = list(room.shortages(ask.key, ask.target()))
        if ask.wanted.agrees_with(ask.has):
            self._waiting[node].pop(ask.key)
            self._evictions.forget(ask.key)
            self._write(ask, _resolved)
        elif impossible:
            self._wait(ask, INFEASIBLE, impossible, ResizePolicy(), node)
        elif not lacks and not (reserved and ask.grows):
            self._grant(ask, node, room)
        elif lacks and self._makes_room(ask, node, room, lacks):
            self._write(ask, _resolved)  # nobody else is to make room for it
            return True
        else:
            why = str(lacks[0]) if lacks else "the node makes room for a critical pod first"
            self._wait(ask, DEFERRED, why, self._policy(node), node)
        return False

    def _policy(self, node: str) -> ResizePolicy:
        return self._policies.get(node, ResizePolicy())

    def _makes_room(self, ask: Ask, node: str, room: Room, lacks: Sequence[Shortage]) -> bool:
        allowed = not self._policy(node).owners
        return allowed and self._evictions.make_room(ask.standing(), room, lacks)

    def _wait(self, ask: Ask, reason: str, why: str, policy: ResizePolicy, node: str) -> None:
        pending = Condition(PENDING, "True", reason, why, ask.generation)
        disabled = policy.condition(node, ask.generation) if policy.owners else None
        old = get_condition(peek(ask.body, "status"), PENDING) or {}
        self._evictions.forget(ask.key)
        self._write(ask, lambda status, now: _pend(status, pending, disabled, now))
        if (old.get("reason"), old.get("observedGeneration")) != (reason, ask.generation):
            self._tell(ask.key, ask.uid, Tone.WARNING, f"Resize{reason}", why)

    def _grant(self, ask: Ask, node: str, room: Room) -> None:
        def report(status: Json, now: float) -> None:
            _resolved(status, now)
            # A condition of an earlier generation must not be taken for this one's.
            clear_condition(status, IN_PROGRESS)
            in_progress = Condition(IN_PROGRESS, "True", observed_generation=ask.generation)
            set_condition(status, in_progress, now)

        seconds = self._pace.resize_seconds
        if needs_restart(ask.body, ask.wanted):
            seconds += self._pace.start_seconds
        self._waiting[node].pop(ask.key)
        self._evictions.forget(ask.key)
        self._granted[ask.key] = ask.wanted
        stored = self._write(ask, report, ask.wanted)
        self._charge(room, stored)
        self._agenda.plan(ask.key, node, self._clock() + seconds / self._pace.speed)
        self._tell(ask.key, ask.uid, Tone.NORMAL, "ResizeStarted", "the node grants what the pod asks for")

    def _write(
        self, ask: Ask, report: Callable[[Json, float], None], grants: Allocation | None = None
    ) -> Stored:
        def change(body: Json) -> Json:
            status = section(body, "status")
            if grants is not None:
                grant(body, grants)
            report(status, self._clock())
            status["observedGeneration"] = ask.generation
            return body

        return self._store.patch(ask.key, change, Part.STATUS, ask.uid)

    def _charge(self, room: Room, stored: Stored) -> None:
        weight = footprint_in(stored.raw)
        if weight is not None and room.guests.get(stored.key):
            room.charge(stored.key, weight_of(weight))

    def _tell(self, key: Key, uid: str, tone: Tone, reason: str, note: str) -> None:
        target = Target("Pod", key.namespace, key.name, uid)
        announce(self._store, Announce(target, tone, reason, "Resize", note), self._clock(), "kubelet")

    # --- enforcing -------------------------------------------------------------------------------

    def next_at(self) -> float | None:
        return self._agenda.next_at()

    def enforce_due(self) -> None:
        for key, node in self._agenda.due(self._clock()):
            allocation = self._granted.pop(key, None)
            if allocation is not None:
                with suppress(ApiError):
                    self._enforce(key, node, allocation)

    def _enforce(self, key: Key, node: str, allocation: Allocation) -> None:
        def change(body: Json) -> Json:
            enforce(body, allocation, self._clock())
            clear_condition(section(body, "status"), IN_PROGRESS)
            return body

        stored = self._store.patch(key, change, Part.STATUS)
        self.recount(key, node)
        self._tell(key, stored.uid, Tone.NORMAL, "ResizeCompleted", "the pod has what it was granted")


def _impossible(ask: Ask, room: Room) -> str:
    """Why no departure of others could ever help."""
    offered = room.offered or {}
    for name in _MEASURED:
        wanted = ask.weight.desired.get(name, 0)
        if wanted > offered.get(name, 0) and wanted > ask.weight.allocated.get(name, 0):
            return str(Shortage(name, wanted, 0, offered.get(name, 0)))
    return ""


def _resolved(status: Json, now: float) -> None:
    for kind in (PENDING, PREEMPTION_DISABLED):
        clear_condition(status, kind)


def _pend(status: Json, pending: Condition, disabled: Condition | None, now: float) -> None:
    """Another reason is another wait, and its time begins anew."""
    old = get_condition(status, PENDING)
    if old is not None and old.get("reason") != pending.reason:
        clear_condition(status, PENDING)
    set_condition(status, pending, now)
    if disabled is None:
        clear_condition(status, PREEMPTION_DISABLED)
    else:
        set_condition(status, disabled, now)
