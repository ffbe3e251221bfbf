"""How is all that a scheduler remembers copied, so that the copy goes on by itself?

What remembers is plain: containers, arrays, and objects of our own classes. They are copied, each once, so
that parts that share an object share its copy. Everything else is immutable and stays shared. This module
must not know what is remembered.
"""

from collections.abc import Iterable
from enum import Enum
from typing import Any, TypeVar

import msgspec
import numpy as np

T = TypeVar("T")


def forked(thing: T) -> T:
    return _Fork().of(thing)


class _Fork:
    def __init__(self) -> None:
        self._copies: dict[int, Any] = {}

    def of(self, thing: T) -> T:
        if not _remembers(type(thing)):
            return thing
        if id(thing) not in self._copies:
            self._copy(thing)
        copy: T = self._copies[id(thing)]
        return copy

    def _copy(self, thing: object) -> None:
        """A copy is known before its parts are copied: they may refer to it."""
        match thing:
            case np.ndarray() | set():  # what is hashed does not change
                self._copies[id(thing)] = thing.copy()
            case dict():
                mapping = self._copies[id(thing)] = thing.copy()
                if _any_remembers(thing.values()):
                    mapping.update((key, self.of(value)) for key, value in thing.items())
            case list():
                items = self._copies[id(thing)] = thing.copy()
                if _any_remembers(thing):
                    items[:] = map(self.of, thing)
            case _:
                copy = self._copies[id(thing)] = object.__new__(type(thing))
                for name in _fields(thing):
                    object.__setattr__(copy, name, self.of(getattr(thing, name)))


def _any_remembers(things: Iterable[object]) -> bool:
    return any(map(_remembers, set(map(type, things))))


_VALUES = (str, int, float, tuple, frozenset, type, Enum, msgspec.Struct)
_kinds: dict[type, bool] = {}


def _remembers(kind: type) -> bool:
    """Whether objects of this class change, as far as we use them."""
    if kind not in _kinds:
        _kinds[kind] = _is_changeable(kind)
    return _kinds[kind]


def _is_changeable(kind: type) -> bool:
    if issubclass(kind, dict | list | set | np.ndarray):
        return True
    if issubclass(kind, _VALUES) or not kind.__module__.startswith("reprieve."):
        return False
    parameters = getattr(kind, "__dataclass_params__", None)
    return parameters is None or not parameters.frozen


def _fields(thing: object) -> list[str]:
    slots = [name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ())]
    return [*getattr(thing, "__dict__", ()), *(name for name in slots if hasattr(thing, name))]
