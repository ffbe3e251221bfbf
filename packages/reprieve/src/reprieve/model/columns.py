"""Dictionary-encoded columns: a predicate is evaluated once per distinct value, and looked up for all rows.

A cluster has thousands of nodes and pods but few distinct taint lists, label sets, ports or affinity terms.
``Column`` gives each row one of them, ``Relation`` any number.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

Mask = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

T = TypeVar("T", bound=Hashable)
N = TypeVar("N", bound=np.generic)


def sealed(array: npt.NDArray[N]) -> npt.NDArray[N]:
    """The array itself, made read-only."""
    array.setflags(write=False)
    return array


@dataclass(frozen=True, slots=True, eq=False)
class Column(Generic[T]):
    """One thing for each row: ``things[codes[row]]``."""

    codes: Ints  # [row]
    things: Sequence[T]  # [code] distinct
    index: dict[T, int]  # from a thing to its code

    @classmethod
    def of(cls, values: Iterable[T], first: tuple[T, ...] = ()) -> "Column[T]":
        """``first``: things that get the lowest codes, whether or not a row has them."""
        index: dict[T, int] = {thing: code for code, thing in enumerate(first)}
        codes = np.fromiter((index.setdefault(v, len(index)) for v in values), np.int64)
        return cls(sealed(codes), tuple(index), index)

    def where(self, accepts: Callable[[T], bool]) -> Mask:
        """[row] whether its thing is accepted."""
        return self.lookup(np.fromiter(map(accepts, self.things), np.bool_, len(self.things)))

    def where_in(self, things: Iterable[T]) -> Mask:
        """[row] whether its thing is one of these; they need not exist."""
        accepted = np.zeros(len(self.things), np.bool_)
        accepted[[self.index[t] for t in things if t in self.index]] = True
        return self.lookup(accepted)

    def lookup(self, by_code: Mask) -> Mask:
        """[row] from [code]."""
        return by_code[self.codes] if len(by_code) else np.zeros(len(self.codes), np.bool_)

    def __getitem__(self, row: int) -> T:
        return self.things[int(self.codes[row])]

    def copy(self) -> "Column[T]":
        return Column(sealed(self.codes.copy()), tuple(self.things), dict(self.index))


@dataclass(frozen=True, slots=True, eq=False)
class Relation(Generic[T]):
    """Any number of things for each row, as pairs: row ``rows[i]`` has ``things[codes[i]]``."""

    rows: Ints  # [pair]
    codes: Ints  # [pair]
    things: Sequence[T]  # [code] distinct
    index: dict[T, int]  # from a thing to its code

    @classmethod
    def of(cls, pairs: Iterable[tuple[int, T]]) -> "Relation[T]":
        index: dict[T, int] = {}
        rows, codes = [], []
        for row, thing in pairs:
            rows.append(row)
            codes.append(index.setdefault(thing, len(index)))
        return cls(sealed(np.array(rows, np.int64)), sealed(np.array(codes, np.int64)), tuple(index), index)

    def __len__(self) -> int:
        return len(self.rows)

    def copy(self) -> "Relation[T]":
        codes = sealed(self.codes.copy())
        return Relation(sealed(self.rows.copy()), codes, tuple(self.things), dict(self.index))

    def rows_with(self, thing: T) -> Ints:
        """The rows that have one thing."""
        code = self.index.get(thing)
        return self.rows[self.codes == code] if code is not None else np.zeros(0, np.int64)


def matrix(columns: Iterable[Mapping[str, int]], rows: Sequence[str]) -> Ints:
    """[resource, object] amounts. One contiguous row for each resource: a comparison reads only that row."""
    columns = list(columns)
    result = np.zeros((len(rows), len(columns)), np.int64)
    numbers = {name: row for row, name in enumerate(rows)}
    for column, amounts in enumerate(columns):
        for name, amount in amounts.items():
            result[numbers[name], column] = amount
    return sealed(result)


def mask_of(rows: Ints, size: int) -> Mask:
    """[row] whether it is one of these."""
    mask = np.zeros(size, np.bool_)
    mask[rows] = True
    return mask
