"""Which pods and groups are evicted, or about to be: chosen by plans, marked, or with a call in flight.

A plan that is called off cannot take back a call that was sent: the call stays in flight, and its answer
must not be taken for the answer to the same call of a later plan. A mark (the condition DisruptionTarget)
is known from sights alone, so that a scheduler that takes over finds the marks of its predecessor.

This module knows no plans. They read it, say which pods they need gone, and hand over the calls that they
leave behind.
"""

from collections import Counter
from collections.abc import Iterable, Set

from reprieve.model.effects import Effect, Target
from reprieve.scheduler.ledger.index import CountedTargets


class VictimLedger:
    def __init__(self) -> None:
        self._strays: Counter[Effect] = Counter()
        self._shown = CountedTargets()  # marks, each once
        self._needed: Counter[Target] = Counter()
        self._unused: set[Target] = set()  # marks that are not needed: looked at after every event
        self.chosen = CountedTargets()  # pods that plans evict, or evicted and are not over

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
        if self._strays[call] > 1:
            self._strays[call] -= 1
        else:
            del self._strays[call]  # a call of which none is left is not kept

    # --- marks ---

    @property
    def marked(self) -> Set[Target]:
        """Pods and groups that show a mark, set by this scheduler or by its predecessor.

        Not a copy, since it is read after every event; valid until the next sight.
        """
        return self._shown.all

    @property
    def marks(self) -> CountedTargets:
        """The marks that are shown, with what changed."""
        return self._shown

    @property
    def unused_marks(self) -> Set[Target]:
        """Marks that no open plan needs. Not a copy."""
        return self._unused

    def on_seen(self, target: Target, *, marked: bool) -> None:
        if marked and target not in self._shown:
            self._shown.add((target,))
            if target not in self._needed:
                self._unused.add(target)
        elif not marked:
            self.on_gone(target)

    def on_gone(self, target: Target) -> None:
        """The pod or group is gone, or shows no mark any more."""
        if target in self._shown:
            self._shown.remove((target,))
            self._unused.discard(target)

    # --- what open plans need gone ---

    @property
    def needed(self) -> Set[Target]:
        """The pods and groups that have to go for an open plan. Not a copy."""
        return self._needed.keys()

    def need(self, targets: Iterable[Target]) -> None:
        """An open plan needs these gone."""
        for target in targets:
            self._needed[target] += 1
            self._unused.discard(target)

    def need_no_more(self, targets: Iterable[Target]) -> None:
        """The plan does not need them any more, or is over."""
        for target in targets:
            if self._needed[target] > 1:
                self._needed[target] -= 1
                continue
            del self._needed[target]
            if target in self._shown:
                self._unused.add(target)
