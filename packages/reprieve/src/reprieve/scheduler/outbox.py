"""What is to be done to the cluster, in the order in which it was asked for.

Commands put effects here and return none; ``core`` takes them out when a step is over. An effect that is made
and not put would be lost: ``tests/architecture/test_outbox.py`` looks for those.
"""

from reprieve.model.effects import Effect


class Outbox:
    def __init__(self) -> None:
        self._effects: list[Effect] = []

    def put(self, *effects: Effect) -> None:
        """In this order, after all that were put before."""
        self._effects.extend(effects)

    def take(self) -> list[Effect]:
        """All that were put since the last time."""
        effects, self._effects = self._effects, []
        return effects
