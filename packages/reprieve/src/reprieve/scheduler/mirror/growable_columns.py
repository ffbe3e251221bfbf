"""Columns that grow and shrink with the cluster, and can be looked at as read-only columns at any time.

What is published is a view: it is valid until the next change.
"""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from reprieve.model.columns import Column, Ints, Relation
from reprieve.model.pods import ColumnKind

T = TypeVar("T", bound=Hashable)
N = TypeVar("N", bound=np.generic)

_ROOM_AT_FIRST = 16
_GARBAGE_WORTH_COLLECTING = 1024


def grown(array: npt.NDArray[N], size: int, fill: int = 0) -> npt.NDArray[N]:
    """The array with room for at least ``size`` entries along its last axis."""
    room = array.shape[-1]
    if size <= room:
        return array
    wider = np.full((*array.shape[:-1], max(size, 2 * room, _ROOM_AT_FIRST)), fill, array.dtype)
    wider[..., :room] = array
    return wider


def published(array: npt.NDArray[N], size: int) -> npt.NDArray[N]:
    view = array[..., :size]
    view.setflags(write=False)
    return view


class Growing(Protocol):
    """A column of ``Pods`` that grows."""

    def set(self, rows: Sequence[int], things: Sequence[Any]) -> None:
        """What each of different rows has."""

    def clear(self, row: int) -> None:
        """The row is not in use any more."""

    def view(self, size: int) -> Any:
        """So many rows, read-only, as they are until the next change."""


def growing(kind: ColumnKind) -> Growing:
    if kind.dtype is not None:
        return GrowingArray(kind.dtype)
    return GrowingRelation() if kind.is_relation else GrowingColumn(kind.nothing)


class GrowingArray:
    """A number for each row; rows that are not in use have any."""

    def __init__(self, dtype: type[np.generic]) -> None:
        self._values: npt.NDArray[Any] = np.zeros(0, dtype)

    def set(self, rows: Sequence[int], things: Sequence[Any]) -> None:
        self._values = grown(self._values, max(rows) + 1)
        self._values[rows] = things

    def clear(self, row: int) -> None:
        pass

    def view(self, size: int) -> npt.NDArray[Any]:
        self._values = grown(self._values, size)
        return published(self._values, size)


class Interner(Generic[T]):
    """Codes for things that come and go. ``epoch`` changes when codes are given anew."""

    def __init__(self) -> None:
        self.things: list[T] = []
        self.index: dict[T, int] = {}
        self.epoch = 0
        self._uses: list[int] = []
        self._unused = 0

    def take(self, things: Sequence[T]) -> list[int]:
        for thing, uses in Counter(things).items():
            code = self.index.setdefault(thing, len(self.things))
            if code == len(self.things):
                self.things.append(thing)
                self._uses.append(0)
                self._unused += 1
            self._unused -= not self._uses[code]
            self._uses[code] += uses
        return [self.index[thing] for thing in things]

    def give_back(self, code: int) -> None:
        self._uses[code] -= 1
        self._unused += not self._uses[code]

    def is_wasteful(self) -> bool:
        return self._unused > _GARBAGE_WORTH_COLLECTING and 2 * self._unused > len(self.things)

    def compact(self) -> Ints:
        """Forgets what no row has; gives the new code for each old one."""
        used = [code for code, uses in enumerate(self._uses) if uses]
        renumbered = np.zeros(len(self.things), np.int64)
        renumbered[used] = np.arange(len(used))
        self.things = [self.things[code] for code in used]
        self._uses = [self._uses[code] for code in used]
        self.index = {thing: code for code, thing in enumerate(self.things)}
        self._unused = 0
        self.epoch += 1
        return renumbered


class GrowingColumn(Generic[T]):
    """One thing for each row; rows that are not in use have ``nothing``, whose code is always 0."""

    def __init__(self, nothing: T) -> None:
        self.interner: Interner[T] = Interner()
        self.interner.take([nothing])
        self._codes = np.zeros(0, np.int64)

    def set(self, rows: Sequence[int], things: Sequence[T]) -> None:
        """Each of different rows gets one thing."""
        self._codes = grown(self._codes, max(rows) + 1)
        before = self._codes[rows].tolist()
        self._codes[rows] = self.interner.take(things)
        self._give_back(before)

    def clear(self, row: int) -> None:
        if row < len(self._codes):
            code = int(self._codes[row])
            self._codes[row] = 0
            self._give_back([code])

    def _give_back(self, codes: Iterable[int]) -> None:
        """The code 0 is never given back, so that it lasts whether or not rows have it."""
        for code in filter(None, codes):
            self.interner.give_back(code)
        if self.interner.is_wasteful():
            self._codes = self.interner.compact()[self._codes]

    def view(self, size: int) -> Column[T]:
        self._codes = grown(self._codes, size)
        return Column(published(self._codes, size), self.interner.things, self.interner.index)


class GrowingRelation(Generic[T]):
    """Any number of things for each row, as pairs kept without gaps."""

    def __init__(self) -> None:
        self.interner: Interner[T] = Interner()
        self._rows = np.zeros(0, np.int64)
        self._codes = np.zeros(0, np.int64)
        self._size = 0
        self._positions: dict[int, set[int]] = {}

    def set(self, rows: Sequence[int], things: Sequence[Collection[T]]) -> None:
        """Each row gets any number of things."""
        for row, these in zip(rows, things, strict=True):
            if row in self._positions:
                self.clear(row)
            if these:
                self._append(row, these)

    def _append(self, row: int, things: Collection[T]) -> None:
        start, self._size = self._size, self._size + len(things)
        self._rows = grown(self._rows, self._size)
        self._codes = grown(self._codes, self._size)
        self._rows[start : self._size] = row
        self._codes[start : self._size] = self.interner.take([*things])
        self._positions[row] = {*range(start, self._size)}

    def clear(self, row: int) -> None:
        for position in sorted(self._positions.pop(row, ()), reverse=True):
            self.interner.give_back(int(self._codes[position]))
            self._size -= 1
            self._move(self._size, position)
        if self.interner.is_wasteful():
            self._codes[: self._size] = self.interner.compact()[self._codes[: self._size]]

    def _move(self, last: int, position: int) -> None:
        if last == position:
            return
        row = int(self._rows[last])
        self._rows[position], self._codes[position] = row, self._codes[last]
        positions = self._positions[row]
        positions.remove(last)
        positions.add(position)

    @property
    def edition(self) -> tuple[int, int]:
        """Equal for as long as every code means the same thing and no thing is new."""
        return self.interner.epoch, len(self.interner.things)

    def view(self, _: int = 0) -> Relation[T]:
        return Relation(
            published(self._rows, self._size),
            published(self._codes, self._size),
            self.interner.things,
            self.interner.index,
        )
