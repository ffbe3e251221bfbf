"""Pods and groups with a number each, and which of them changed: a column can follow without reading all.

A target is in while its number is above zero: two plans may evict one pod, and one of them may be called off.
"""

from collections.abc import Iterable, Iterator, Set

from reprieve.model.effects import Target


class CountedTargets:
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
