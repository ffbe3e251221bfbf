"""A cache whose keys are texts of users: bounded in entries, and in the size of all keys together.

A text may be as large as an object may be: a bound on their number alone would be one of gigabytes. A cache
that is full starts over: what is in use is computed once more. What is cached is not known here.
"""

from collections.abc import Callable
from functools import wraps
from typing import Generic, TypeVar

MOST_ENTRIES = 4096
MOST_SIZE = 1 << 26  # bytes or characters

K = TypeVar("K", str, bytes)
T = TypeVar("T")


class SizedCache(Generic[K, T]):
    def __init__(self, entries: int = MOST_ENTRIES, size: int = MOST_SIZE) -> None:
        self._most_entries = entries
        self._most_size = size
        self._known: dict[K, T] = {}
        self._size = 0

    def get(self, key: K) -> T | None:
        return self._known.get(key)

    def __contains__(self, key: K) -> bool:
        return key in self._known

    def __getitem__(self, key: K) -> T:
        return self._known[key]

    def put(self, key: K, thing: T) -> None:
        if len(self._known) >= self._most_entries or self._size + len(key) > self._most_size:
            self._known.clear()
            self._size = 0
        self._known[key] = thing
        self._size += len(key)


def cached_by_text(entries: int, size: int) -> Callable[[Callable[[K], T]], Callable[[K], T]]:
    """For a pure function of one text."""

    def decorate(function: Callable[[K], T]) -> Callable[[K], T]:
        cache: SizedCache[K, T] = SizedCache(entries, size)

        @wraps(function)
        def call(text: K) -> T:
            try:
                return cache[text]  # one look-up: another thread may empty the cache between two
            except KeyError:
                found = function(text)
            cache.put(text, found)
            return found

        return call

    return decorate
