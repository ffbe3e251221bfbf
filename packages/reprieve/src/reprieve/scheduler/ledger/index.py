"""How the ledger's parts are looked up the other way, and how a column follows them without reading all."""

from collections.abc import Hashable, Iterable, Iterator, Set
from typing import Generic, TypeVar

from reprieve.model.effects import Target

K = TypeVar("K", bound=Hashable)
V = TypeVar("V", bound=Hashable)


class Index(Generic[K, V]):
    """Values under keys, any number under each.

    A key that has no value left is forgotten, so that nothing piles up.

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


class CountedTargets:
    """Pods and groups with a number each, and which of them changed.

    A target is in while its number is above zero: two plans may evict one pod, and one of them may be called
    off.
    """

    def __init__(self) -> None:
        self._counts: dict[Target, int] = {}
        self._news: dict[Target, None] = {}  # targets that came or went since ``news`` was read
        self.edition = 0  # how often any came or went

    def __len__(self) -> int:
        return len(self._counts)

    def __iter__(self) -> Iterator[Target]:
        yield from self._counts

    def __contains__(self, target: object) -> bool:
        return target in self._counts

    @property
    def all(self) -> Set[Target]:
        """Not a copy; valid until the next change."""
        return self._counts.keys()

    def add(self, targets: Iterable[Target]) -> None:
        counts = self._counts
        for target in targets:
            counts[target] = counts.get(target, 0) + 1
            if counts[target] == 1:
                self._note(target)

    def remove(self, targets: Iterable[Target]) -> None:
        """Each must be in."""
        counts = self._counts
        for target in targets:
            if counts[target] == 1:
                del counts[target]
                self._note(target)
            else:
                counts[target] -= 1

    def _note(self, target: Target) -> None:
        self._news[target] = None
        self.edition += 1

    @property
    def has_news(self) -> bool:
        return bool(self._news)

    def news(self) -> list[Target]:
        """Those that came or went since this was last asked, each once."""
        found, self._news = [*self._news], {}
        return found
