"""Which demand is next, which ones wait, and which change wakes which.

Times are arguments, and nothing is decided here. Backoffs are durations. What protects victims may end at a
time of day: a demand that waits for that is woken when the clock shows it, however it was set meanwhile.
"""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from heapq import heappop, heappush
from math import inf
from typing import TypeVar

from reprieve.model.events import Change
from reprieve.model.moment import Due, Moment
from reprieve.scheduler.demand_key import DemandKey
from reprieve.scheduler.demands.queueing_hints import AT_ONCE, LOCAL, TAKES_ROOM
from reprieve.supervision.backoff import Backoff
from reprieve.supervision.quarantine import PAUSES

CountsThen = Mapping[Change, int]  # the counts at one time


@dataclass(frozen=True, slots=True)
class Happened:
    """How often changes happened that only take room, how often clocks began to count, and all others."""

    taking: int = 0
    clocks: int = 0
    others: int = 0

    def may_help(self, before: "Happened", helps: Collection[Change]) -> bool:
        """Whether a change since may help a demand that waits for these changes.

        More strictly than for waking: it must be certain that a demand would be refused again.
        """
        if self.others != before.others:
            return True
        if self.clocks != before.clocks and Change.CLOCKS in helps:
            return True
        return self.taking != before.taking and not TAKES_ROOM.isdisjoint(helps)


class ChangeCounts:
    """How often did each change happen? Whatever notes the counts can tell later what happened since.

    So a change is counted once, and not noted on each of many demands that may ask.
    """

    __slots__ = ("_counts", "happened")

    def __init__(self) -> None:
        self._counts: Counter[Change] = Counter()
        self.happened = Happened()

    def count(self, change: Change) -> None:
        self._counts[change] += 1
        taking, clocks, others = self.happened.taking, self.happened.clocks, self.happened.others
        if change in TAKES_ROOM:
            self.happened = Happened(taking + 1, clocks, others)
        elif change is Change.CLOCKS:
            self.happened = Happened(taking, clocks + 1, others)
        else:
            self.happened = Happened(taking, clocks, others + 1)

    def moment(self) -> CountsThen:
        return self._counts.copy()

    def since(self, moment: CountsThen, changes: Iterable[Change]) -> Iterable[tuple[Change, int]]:
        """How often each of these changes happened since that moment."""
        return ((change, self._counts[change] - moment.get(change, 0)) for change in changes)


NO_CHANGES: frozenset[Change] = frozenset()


class Standing(Enum):
    ACTIVE = "active"  # to be decided as soon as it is its turn
    BACKOFF = "backoff"  # to be decided, but not before a time
    WAITING = "unschedulable"  # until something changes that could help
    GATED = "gated"  # until it can be decided at all
    HELD = "held"  # the calls of its plan are under way; nothing wakes it before they are over
    DECIDING = "deciding"  # popped; it is being decided, or its pods are being bound


DEFAULT_BACKOFF = Backoff(first=1.0, longest=10.0)
FLUSH_SECONDS = 300.0  # no demand waits longer than this without another decision


@dataclass(slots=True)
class _Entry:
    key: DemandKey
    priority: int
    since: float  # when it was enqueued; among equals the first comes first
    standing: Standing
    active_since: float = inf  # when it became active; later than any time: it was taken before its turn
    ready_at: float = 0.0  # the end of its backoff
    at_latest: float = inf  # a time of day: no backoff lasts longer
    failures: int = 0
    crashes: int = 0  # decisions in a row that an exception ended
    waits_for: frozenset[Change] = NO_CHANGES
    held_since: CountsThen = field(default_factory=dict)
    spared: Counter[Change] = field(default_factory=Counter)  # those of the times since that do not count
    missed_all: bool = False  # it changed itself, or a call failed
    only_node: str = ""  # the only node that can help it; empty: any
    ticket: int = 0  # only the newest ticket of an entry is valid in the heaps


_Ticket = tuple[float, DemandKey, int]

T = TypeVar("T", bound=Hashable)


def _take_out(table: dict[T, dict[DemandKey, None]], under: T, key: DemandKey) -> None:
    """Empty tables are not kept."""
    del table[under][key]
    if not table[under]:
        del table[under]


class Queue:
    """``now`` is on the clock for durations, unless both clocks are asked for."""

    def __init__(self, backoff: Backoff = DEFAULT_BACKOFF) -> None:
        self._backoff = backoff
        self._entries: dict[DemandKey, _Entry] = {}
        self._active: list[tuple[int, float, DemandKey, int]] = []
        self._timed: list[_Ticket] = []
        self._dated: list[_Ticket] = []  # by the time of day
        # Waiting demands, by node and by what they wait for: few combinations, many demands.
        self._waiting: dict[str, dict[frozenset[Change], dict[DemandKey, None]]] = {}
        self._by_node: dict[str, dict[DemandKey, None]] = {}
        self._held: set[DemandKey] = set()
        # What happened anywhere, and where demands are that only one node can help: a held demand compares.
        self._happened = ChangeCounts()
        self._happened_at: dict[str, ChangeCounts] = {}
        self._expecting: set[DemandKey] = set()  # demands that may be decided before their backoff is over
        self._tickets = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[DemandKey]:
        yield from self._entries

    def __contains__(self, key: DemandKey) -> bool:
        return key in self._entries

    def standing(self, key: DemandKey) -> Standing | None:
        entry = self._entries.get(key)
        return entry.standing if entry is not None else None

    # --- what is in the queue ---

    def add(
        self, key: DemandKey, priority: int, now: float, *, gated: bool = False, only_node: str = ""
    ) -> None:
        """A new demand, or one that changed so that it deserves another decision at once."""
        if key in self._entries and self._entries[key].only_node != only_node:
            self.remove(key)  # another pod of the same name, elsewhere
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = _Entry(key, priority, now, Standing.GATED, only_node=only_node)
            if only_node:
                self._by_node.setdefault(only_node, {})[key] = None
                self._happened_at.setdefault(only_node, ChangeCounts())
        elif entry.standing is Standing.DECIDING or (entry.standing is Standing.HELD and not gated):
            entry.priority = priority
            entry.missed_all = True  # a held demand is decided again as soon as it is let go
            return
        entry.priority = priority
        if gated:
            self._move(entry, Standing.GATED)
        else:
            entry.since = now
            self._activate(entry, now)

    def remove(self, key: DemandKey) -> None:
        entry = self._entries.pop(key, None)
        self._expecting.discard(key)
        if entry is not None:
            self._leave(entry)
            if entry.only_node:
                _take_out(self._by_node, entry.only_node, key)
                if entry.only_node not in self._by_node:
                    del self._happened_at[entry.only_node]

    # --- what is next ---

    def pop(self, now: Moment) -> DemandKey | None:
        """The most important demand whose time has come; of equals the one that came first."""
        self.advance(now)
        while self._active:
            _, _, key, ticket = heappop(self._active)
            entry = self._entries.get(key)
            if entry is not None and entry.ticket == ticket and self.take(key):
                return key
        return None

    def is_outranked(self, key: DemandKey, now: Moment) -> bool:
        """Whether a demand of a higher priority is to be decided now."""
        self.advance(now)
        while self._active and not self._is_valid(self._active[0][1:]):
            heappop(self._active)
        entry = self._entries.get(key)
        return entry is not None and bool(self._active) and -self._active[0][0] > entry.priority

    def take(self, key: DemandKey) -> bool:
        """Takes a demand before its turn, unless it is in backoff, held or gated; says whether it did."""
        entry = self._entries.get(key)
        if entry is None or entry.standing not in (Standing.ACTIVE, Standing.WAITING):
            return False
        if entry.standing is Standing.WAITING:
            entry.active_since = inf
        entry.missed_all = False
        self._expecting.discard(key)
        self._move(entry, Standing.DECIDING)
        return True

    def waited(self, key: DemandKey, now: float) -> float:
        """For how many seconds a demand that is being decided has waited for its turn."""
        entry = self._entries.get(key)
        return max(now - entry.active_since, 0.0) if entry is not None else 0.0

    def wait(self, key: DemandKey, waits_for: frozenset[Change], now: float) -> None:
        """The demand does not fit. It comes back when one of these changes happens, after its backoff.

        A decision is made in one step, so no change can have happened since it was popped.
        """
        entry = self._failed(key, now)
        if entry is not None:
            entry.crashes = 0
            self._wait(entry, waits_for, now)

    def park(self, key: DemandKey, waits_for: frozenset[Change], now: float) -> None:
        """The demand fits, and another component acts. It comes back if one of these changes happens."""
        entry = self._entries.get(key)
        if entry is not None:
            entry.failures, entry.ready_at, entry.at_latest = 0, now, inf
            self._wait(entry, waits_for, now)

    def retry(self, key: DemandKey, now: float) -> None:
        """A call failed, which says nothing about room: again after a backoff.

        For a demand of many pods many calls may fail: together they are one failure.
        """
        standing = self.standing(key)
        if standing is Standing.HELD:
            self._entries[key].missed_all = True
        elif standing is not Standing.BACKOFF and (entry := self._failed(key, now)) is not None:
            self._back_off(entry)

    def set_aside(self, key: DemandKey, now: float) -> float:
        """An exception ended its decision: again after a pause that doubles; returns when."""
        entry = self._failed(key, now)
        if entry is None:
            return now
        entry.crashes += 1
        entry.ready_at = now + PAUSES.after(entry.crashes)
        self._back_off(entry)
        return entry.ready_at

    def wake(
        self, change: Change, now: float, but: Collection[DemandKey] = (), nodes: Collection[str] = ()
    ) -> None:
        """``nodes`` is where it happened, if that matters."""
        if not self._entries:
            return  # as for most objects of the first list
        places = ("", *nodes) if change in LOCAL else ("", *self._waiting)
        self._count(change, nodes)
        for entry in [self._entries[key] for key in but if key in self._held]:
            if change not in LOCAL or not entry.only_node or entry.only_node in nodes:
                entry.spared[change] += 1
        if change in AT_ONCE:
            self._wake_at_once(change, now)
        for waiting in [self._waiting.get(place, {}) for place in dict.fromkeys(places)]:
            for keys in [keys for waits_for, keys in waiting.items() if change in waits_for]:
                for key in [k for k in keys if k not in but]:
                    self._wake(self._entries[key], now)

    def wake_all(
        self,
        changes: Iterable[Change],
        now: float,
        but: Collection[DemandKey] = (),
        nodes: Collection[str] = (),
    ) -> None:
        for change in changes:
            self.wake(change, now, but, nodes)

    def _count(self, change: Change, nodes: Collection[str]) -> None:
        self._happened.count(change)
        if self._happened_at:
            places = set(nodes) if change in LOCAL else self._happened_at
            for counts in [self._happened_at[place] for place in places if place in self._happened_at]:
                counts.count(change)

    def _wake_at_once(self, change: Change, now: float) -> None:
        for entry in list(self._entries.values()):
            if change in entry.waits_for and entry.standing in (Standing.WAITING, Standing.BACKOFF):
                self._activate(entry, now)

    def expect(self, key: DemandKey, changes: frozenset[Change], due: Due, now: float) -> None:
        """The demand waits for further changes, and for a moment that no backoff makes it miss."""
        entry = self._entries.get(key)
        if entry is None or entry.standing is not Standing.WAITING:
            return
        self._expecting.add(key)
        self._wait(entry, entry.waits_for | changes, now)
        if due.elapsed < inf:
            entry.ready_at = min(entry.ready_at, due.elapsed)
            heappush(self._timed, (due.elapsed, key, entry.ticket))
        if due.wall < inf:
            entry.at_latest = min(entry.at_latest, due.wall)
            heappush(self._dated, (due.wall, key, entry.ticket))

    def hasten(self, change: Change, moment: float) -> None:
        """No backoff delays a demand that waits for such a change beyond this time of day."""
        for entry in [self._entries[key] for key in sorted(self._expecting)]:
            if change in entry.waits_for and entry.at_latest > moment:
                entry.at_latest = moment
                if entry.standing is Standing.BACKOFF:
                    self._back_off(entry)

    def gate(self, key: DemandKey) -> None:
        """The demand cannot be decided for the time being."""
        entry = self._entries.get(key)
        if entry is not None:
            self._move(entry, Standing.GATED)

    def hold(self, key: DemandKey) -> None:
        """Nothing wakes it before ``let_wait``."""
        entry = self._entries.get(key)
        if entry is not None:
            self._move(entry, Standing.HELD)

    def has_missed(self, key: DemandKey) -> bool:
        """Whether anything that it waits for has happened since it was held."""
        entry = self._entries.get(key)
        return entry is not None and self._has_missed(entry)

    def _has_missed(self, entry: _Entry) -> bool:
        if entry.missed_all:
            return bool(entry.waits_for)
        since = self._counts_for(entry).since(entry.held_since, entry.waits_for)
        return any(number > entry.spared[change] for change, number in since)

    def _counts_for(self, entry: _Entry) -> ChangeCounts:
        return self._happened_at[entry.only_node] if entry.only_node else self._happened

    def let_wait(self, key: DemandKey, now: float) -> None:
        """From now on what it waits for wakes it; at once if that has happened in the meantime."""
        entry = self._entries.get(key)
        if entry is None or entry.standing is not Standing.HELD:
            return
        if self._has_missed(entry):
            self._wake(entry, now)
        else:
            self._wait(entry, entry.waits_for, now)

    def again(self, key: DemandKey, now: float) -> None:
        """The demand is decided at once, in the order of its old place in the queue."""
        entry = self._entries.get(key)
        if entry is not None:
            self._activate(entry, now)

    def advance(self, now: Moment) -> None:
        """Wakes all demands whose time has come."""
        while self._timed and self._timed[0][0] <= now.elapsed:
            timed = heappop(self._timed)
            if self._is_valid(timed):
                self._wake(self._entries[timed[1]], now.elapsed)
        while self._dated and self._dated[0][0] <= now.wall:
            dated = heappop(self._dated)
            if self._is_valid(dated):
                self._activate(self._entries[dated[1]], now.elapsed)

    def happened(self) -> Happened:
        """What happened so far, as far as any demand was in the queue."""
        return self._happened.happened

    def next_time(self) -> float | None:
        """When ``pop`` may find more than it finds now."""
        return self._first(self._timed)

    def next_date(self) -> float | None:
        """When ``pop`` may find more than it finds now, as a time of day."""
        return self._first(self._dated)

    def _first(self, heap: list[_Ticket]) -> float | None:
        while heap and not self._is_valid(heap[0]):
            heappop(heap)
        return heap[0][0] if heap else None

    def at(self, node: str) -> list[DemandKey]:
        """Demands that only this node can help."""
        return list(self._by_node.get(node, ()))

    # --- moving entries ---

    def _failed(self, key: DemandKey, now: float) -> _Entry | None:
        entry = self._entries.get(key)
        if entry is not None:
            entry.failures += 1
            entry.since = now
            entry.ready_at, entry.at_latest = now + self._backoff.after(entry.failures), inf
        return entry

    def _wait(self, entry: _Entry, waits_for: frozenset[Change], now: float) -> None:
        self._move(entry, Standing.WAITING)
        entry.waits_for = waits_for
        self._waiting.setdefault(entry.only_node, {}).setdefault(waits_for, {})[entry.key] = None
        heappush(self._timed, (now + FLUSH_SECONDS, entry.key, entry.ticket))

    def _wake(self, entry: _Entry, now: float) -> None:
        if entry.ready_at > now:
            self._back_off(entry)
        else:
            self._activate(entry, now)

    def _back_off(self, entry: _Entry) -> None:
        self._move(entry, Standing.BACKOFF)
        heappush(self._timed, (entry.ready_at, entry.key, entry.ticket))
        if entry.at_latest < inf:
            heappush(self._dated, (entry.at_latest, entry.key, entry.ticket))

    def _activate(self, entry: _Entry, now: float) -> None:
        if entry.standing is not Standing.ACTIVE:
            entry.active_since = now
        self._move(entry, Standing.ACTIVE)
        heappush(self._active, (-entry.priority, entry.since, entry.key, entry.ticket))

    def _move(self, entry: _Entry, standing: Standing) -> None:
        self._leave(entry)
        self._tickets += 1
        entry.ticket = self._tickets
        entry.standing = standing
        if standing is Standing.HELD:
            self._held.add(entry.key)
            entry.held_since, entry.spared = self._counts_for(entry).moment(), Counter()

    def _leave(self, entry: _Entry) -> None:
        self._held.discard(entry.key)
        if entry.standing is Standing.WAITING:
            waiting = self._waiting[entry.only_node]
            _take_out(waiting, entry.waits_for, entry.key)
            if not waiting:
                del self._waiting[entry.only_node]

    def _is_valid(self, ticket: _Ticket) -> bool:
        entry = self._entries.get(ticket[1])
        return entry is not None and entry.ticket == ticket[2]
