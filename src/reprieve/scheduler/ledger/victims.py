"""What is still in flight to victims after their plan was called off, and which pods and groups are marked.

A plan that is called off cannot take back a call that was sent: the call stays in flight, and its answer
must not be taken for the answer to the same call of a later plan. A mark (the condition DisruptionTarget)
is known from sights alone, so that a scheduler that takes over finds the marks of its predecessor.

This module knows no plans. They read it, and hand over the calls that they leave behind.
"""

from collections import Counter
from collections.abc import Iterable, Set

from reprieve.model.effects import Effect, Target


class Victims:
    def __init__(self) -> None:
        self._strays: Counter[Effect] = Counter()
        self._marked: set[Target] = set()

    # --- calls whose plan was called off ---

    @property
    def strays(self) -> list[Effect]:
        return list(self._strays.elements())

    def stray(self, calls: Iterable[Effect]) -> None:
        """A plan that waited for these calls was called off. Each of them will be answered once."""
        self._strays.update(calls)

    def is_stray(self, call: Effect) -> bool:
        return call in self._strays

    def forget(self, call: Effect) -> None:
        """A stray call was answered, or is not sent after all."""
        self._strays -= Counter((call,))  # a call of which none is left is not kept

    # --- marks ---

    @property
    def marked(self) -> Set[Target]:
        """Pods and groups that show a mark, set by this scheduler or by its predecessor.

        Not a copy, since it is read after every event; valid until the next sight.
        """
        return self._marked

    def saw(self, target: Target, *, marked: bool) -> None:
        if marked:
            self._marked.add(target)
        else:
            self._marked.discard(target)

    def lost(self, target: Target) -> None:
        """It is gone, and its mark with it."""
        self._marked.discard(target)
