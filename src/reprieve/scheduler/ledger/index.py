"""Values under keys, any number under each: the look-ups of the ledger's parts that go the other way."""

from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V", bound=Hashable)


class Index(Generic[K, V]):
    """A key that has no value left is forgotten, so that nothing piles up."""

    def __init__(self) -> None:
        self._values: dict[K, set[V]] = {}

    def __iter__(self) -> Iterator[K]:
        yield from self._values

    def __contains__(self, key: K) -> bool:
        return key in self._values

    def under(self, key: K) -> frozenset[V]:
        return frozenset(self._values.get(key, ()))

    def add(self, key: K, value: V) -> None:
        self._values.setdefault(key, set()).add(value)

    def remove(self, key: K, value: V) -> None:
        values = self._values[key]
        values.remove(value)
        if not values:
            del self._values[key]
