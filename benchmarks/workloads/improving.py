"""How long does the decision take about a better plan that a solver has found, in a large crowded cluster?

The first decision, which makes a plan and asks for a better one, is another case. The solver works beside the
scheduler, once and unmeasured: the same room is asked again and again, under other names of the demand.
"""

from typing import Any

from benchmarks.driving import Played, configured
from benchmarks.product import find, moment_at
from benchmarks.timing import Run, Stopwatch, repeats, summed_up
from benchmarks.worlds.crowded import crowded, is_newcomer, renamed
from benchmarks.worlds.objects import Json


def measure(world: str, pods: int, millicpu: int, nodes: int | None = None) -> Run:
    things = list(crowded(world, pods, millicpu, nodes))
    newcomers = [thing for thing in things if is_newcomer(thing)]
    running = (thing for thing in things if not is_newcomer(thing))
    gang = _Gang(Played(running, configured(search="LeastDisturbance")), newcomers)
    gang.decided(0)  # fills the caches
    gang.watch.taken()
    spent = []
    for number in repeats():
        gang.decided(number + 1)
        spent.append(gang.watch.taken())
    return summed_up(spent)


class _Gang:
    """A gang that comes, is decided, and is withdrawn before anything is carried out."""

    def __init__(self, played: Played, newcomers: list[Json]) -> None:
        self._played, self._newcomers = played, newcomers
        self._answer: Any = None
        self.watch = Stopwatch()

    def decided(self, number: int) -> None:
        objects = list(renamed(self._newcomers, number))
        self._played.later()
        self._played.observe(self._played.seen(objects))
        self._second(self._first())
        self._played.observe(self._played.gone(objects))

    def _first(self) -> Any:
        decided = self._played.scheduler.decide(moment_at(self._played.now))
        if decided is None or decided.improve is None:
            raise SystemExit("the decision should ask for a better plan, and does not")
        return decided.improve

    def _second(self, request: Any) -> None:
        if self._answer is None:
            self._answer = find("answer_of")(request, find("solved")(find("message_of")(request)))
        self._played.observe([find("PlanImproved")(request.demand, request.id, self._answer.found)])
        self._played.later(0.1)
        with self.watch:
            effects = self._played.decide()
        if not any(isinstance(effect, find("Nominate")) for effect in effects):
            raise SystemExit("the second decision should nominate, and does not")
