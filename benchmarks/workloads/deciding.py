"""How long does one decision take, again and again in the same cluster?

The demand is withdrawn after each decision, before any effect is carried out, so that the next one finds the
cluster as it was.
"""

from collections.abc import Callable, Iterable

from benchmarks.driving import Played
from benchmarks.timing import Run, Stopwatch, repeats, summed_up
from benchmarks.worlds.objects import Json

Demands = Callable[[int], Iterable[Json]]


def decisions(played: Played, demands: Demands, expected: str) -> Run:
    """``demands`` makes the objects of a demand by number; ``expected``: an effect of each decision.

    A first plan that is to be improved counts as well: nothing is nominated before.
    """
    _decision(played, demands, 0, Stopwatch(), expected)  # fills the caches
    watch = Stopwatch()
    spent, asking = [], 0
    for number in repeats():
        asking += _decision(played, demands, number + 1, watch, expected)
        spent.append(watch.taken())
    return summed_up(spent, asking=asking)


def _decision(played: Played, demands: Demands, number: int, watch: Stopwatch, expected: str) -> bool:
    """Whether it asks a solver for a better plan."""
    objects = list(demands(number))
    played.later()
    played.observe(played.seen(objects))
    with watch:
        effects = played.decide()
    kinds = {type(effect).__name__ for effect in effects}
    if kinds.isdisjoint({expected, "ImprovePlan"}):
        raise SystemExit(f"the decision should {expected.lower()}, and its effects are {sorted(kinds)}")
    played.observe(played.gone(objects))
    return "ImprovePlan" in kinds
