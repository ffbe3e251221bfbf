"""Which call goes first when more wait than may be sent?

Calls that start pods or make room go before reports, and among themselves by the priority of the demand. Two
shares keep one kind from starving another: binds get half of the turns, so that a storm of evictions does not
hold up pods that fit; reports get a tenth. A share that is not used goes to the others.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from enum import IntEnum
from heapq import heappop, heappush
from typing import Generic, TypeVar

from reprieve.model.conditions import MARK
from reprieve.model.effects import Bind, BindVolume, Effect, Evict, Nominate, SelectNode, SetCondition


class Lane(IntEnum):
    BIND = 0
    MAKE_ROOM = 1  # nominations, marks, deletes
    REPORT = 2


@dataclass(frozen=True, slots=True)
class Urgency:
    """``priority``: of the demand. ``group``: the group of pods that a report belongs to.

    ``rewords``: the report gives the same reason as before in other words.
    """

    lane: Lane
    priority: int = 0
    group: str = ""
    rewords: bool = False

    @property
    def rank(self) -> tuple[Lane, int, bool]:
        """The lowest goes first."""
        return self.lane, -self.priority, self.rewords


FIRST = Urgency(Lane.BIND, 1 << 62)  # lists, watches and whatever else all calls depend on


def lane_of(effect: Effect) -> Lane:
    match effect:
        case Bind() | BindVolume() | SelectNode():
            return Lane.BIND
        case Nominate() | Evict():
            return Lane.MAKE_ROOM
        case SetCondition(type=condition) if condition == MARK:
            return Lane.MAKE_ROOM
    return Lane.REPORT


T = TypeVar("T", bound=Hashable)

_TURNS = tuple(Lane.REPORT if turn == 8 else Lane.BIND if turn % 2 else None for turn in range(10))


class CallQueue(Generic[T]):
    """What waits for its turn. Of equal calls the one that came first goes first."""

    def __init__(self) -> None:
        self._heaps: dict[Lane, list[tuple[int, int, T]]] = {lane: [] for lane in Lane}
        self._current: dict[T, int] = {}  # the number of the entry that counts; others are left-overs
        self._entered = 0
        self._turn = 0

    def __len__(self) -> int:
        return len(self._current)

    def put(self, item: T, urgency: Urgency) -> None:
        """In place of an earlier entry of the same."""
        self._entered += 1
        self._current[item] = self._entered
        heappush(self._heaps[urgency.lane], (-urgency.priority, self._entered, item))

    def discard(self, item: T) -> None:
        self._current.pop(item, None)

    def pop(self) -> T:
        """The next one; there must be one."""
        share = _TURNS[self._turn]
        self._turn = (self._turn + 1) % len(_TURNS)
        heads = {lane: head for lane in Lane if (head := self._head(lane)) is not None}
        if share not in heads:
            share = min(
                (lane for lane in heads if lane is not Lane.REPORT), key=heads.__getitem__, default=None
            )
        _, _, item = heappop(self._heaps[Lane.REPORT if share is None else share])
        del self._current[item]
        return item

    def _head(self, lane: Lane) -> tuple[int, int] | None:
        heap = self._heaps[lane]
        while heap and self._current.get(heap[0][2]) != heap[0][1]:
            heappop(heap)
        return heap[0][:2] if heap else None
