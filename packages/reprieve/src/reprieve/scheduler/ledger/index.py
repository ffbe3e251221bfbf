"""Values under keys, any number under each: the look-ups of the ledger's parts that go the other way."""

from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V", bound=Hashable)


class Index(Generic[K, V]):
    """A key that has no value left is forgotten, so that nothing piles up.

    Most keys have one value: most demands are single pods. A tuple then takes a quarter of what a set takes.
    """

    def __init__(self) -> None:
        self._values: dict[K, tuple[V] | set[V]] = {}

    def __iter__(self) -> Iterator[K]:
        yield from self._values

    def __contains__(self, key: K) -> bool:
        return key in self._values

    def under(self, key: K) -> frozenset[V]:
        return frozenset(self._values.get(key, ()))

    def any_under(self, key: K) -> V | None:
        """One of the values; None if there is none."""
        return next(iter(self._values.get(key, ())), None)

    def add(self, key: K, value: V) -> None:
        values = self._values.get(key)
        if values is None:
            self._values[key] = (value,)
        elif isinstance(values, set):
            values.add(value)
        elif value not in values:
            self._values[key] = {*values, value}

    def remove(self, key: K, value: V) -> None:
        values = self._values[key]
        if isinstance(values, set) and len(values) > 1:
            values.remove(value)
        elif value in values:
            del self._values[key]
        else:
            raise KeyError(value)
