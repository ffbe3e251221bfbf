"""How far from the best are the plans we make? A report on random small worlds, not a test.

    python -m tests.reference.optimum [--worlds N] [--from SEED]

For each policy: how often its plan is not the best by the default criteria, and where it is not, how much
more it costs, in pods beyond budgets, in the highest priority that is hit, and in pods disturbed.
"""

import argparse
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from reprieve.preemption import searches
from reprieve.preemption.criteria import pods_disturbed
from reprieve.preemption.plan import Plan
from reprieve.preemption.policy import Question
from reprieve.preemption.search import priced
from reprieve.preemption.searches import REPRIEVE
from tests.properties.crowded import EVERYTHING, ROOM_ONLY, Crowd, Size, seeded_crowd
from tests.properties.preempting import evictable_of, plans_of, question_of
from tests.reference.brute_force import optimum
from tests.reference.policies import UPSTREAM, usual_rank

SMALL = Size(nodes=4, pods_per_node=3, newcomers=3)
MOST_UNITS = 8


@dataclass(slots=True)
class Tally:
    worlds: int = 0  # that have a plan at all
    missed: int = 0  # of them, those for which none was found
    worse: int = 0
    by: dict[str, list[float]] = field(default_factory=dict)

    def add(self, ours: Plan | None, ideal: Plan) -> None:
        self.worlds += 1
        if ours is None:
            self.missed += 1
        elif usual_rank(ours)[:-1] > usual_rank(ideal)[:-1]:
            self.worse += 1
            for name, measure in MEASURES.items():
                if measure(ours) > measure(ideal):
                    self.by.setdefault(name, []).append(measure(ours) - measure(ideal))


MEASURES: dict[str, Callable[[Plan], float]] = {
    "budgets": lambda plan: plan.broken,
    "ceiling": lambda plan: max((unit.priority for unit in plan.victims), default=-math.inf),
    "pods": lambda plan: pods_disturbed(plan.victims),
}
POLICIES = {
    "Upstream": UPSTREAM,
    "PriorityCeiling": replace(REPRIEVE, search=searches.PRIORITY_CEILING),
    "default": REPRIEVE,
}
KINDS = {
    "pod, room only": (ROOM_ONLY, False),
    "pod, all constraints": (EVERYTHING, False),
    "gang, room only": (ROOM_ONLY, True),
    "gang, all constraints": (EVERYTHING, True),
}


def questions(crowd: Crowd) -> Iterator[tuple[str, Question]]:
    """The same for each policy: room for all members, so that the plans can be compared."""
    for name, policy in POLICIES.items():
        question = question_of(crowd, policy)
        if question is not None:
            yield name, replace(question, demand=replace(question.demand, most=None))


def best_plan(question: Question) -> Plan | None:
    """Plans cost what the default says, whatever the policy thought of them."""
    return min((as_usual(question, plan) for plan in plans_of(question)), key=usual_rank, default=None)


def as_usual(question: Question, plan: Plan) -> Plan:
    units = REPRIEVE.units(question.view)
    victims = tuple(units.unit(unit.number) for unit in plan.victims)
    broken = REPRIEVE.accounts(question.view).exceeded_by(victims)
    return priced(replace(question, policy=REPRIEVE), replace(plan, victims=victims, broken=broken), now=0)


def tally(kind: str, seeds: range) -> dict[str, Tally]:
    features, gang = KINDS[kind]
    tallies = {name: Tally() for name in POLICIES}
    for seed in seeds:
        asked = dict(questions(seeded_crowd(seed, features, SMALL, gang)))
        if len(asked) < len(POLICIES):
            continue  # it fits as things are, for one of them at least
        question = _for_all(asked["default"])
        evictable = evictable_of(question)
        if evictable.allowed.sum() > MOST_UNITS or not evictable.allowed.any():
            continue
        ideal = optimum(question, evictable)
        if ideal is not None:
            for name in POLICIES:
                tallies[name].add(best_plan(_for_all(asked[name])), ideal)
    return tallies


def _for_all(question: Question) -> Question:
    return replace(question, demand=replace(question.demand, needed=len(question.demand.pods)))


def lines(kind: str, tallies: dict[str, Tally]) -> Iterator[str]:
    for name, counted in tallies.items():
        losses = []
        for measure in MEASURES:
            found = counted.by.get(measure, [])
            # A plan with victims although none is needed exceeds the ceiling beyond measure.
            finite = [loss for loss in found if math.isfinite(loss)]
            mean = sum(finite) / len(finite) if finite else 0
            losses.append(f"{measure} {len(found):>4} by {mean:6.1f}")
        shares = f"{counted.worlds:>6} worlds, {counted.missed:>4} missed, {counted.worse:>4} worse"
        yield f"{kind:22} {name:15} {shares}: {', '.join(losses)}"


def main() -> None:
    parser = argparse.ArgumentParser(description="How far from the best are the plans we make?")
    parser.add_argument("--worlds", type=int, default=300, help="for each kind of demand")
    parser.add_argument("--from", dest="first", type=int, default=0, help="the first seed")
    arguments = parser.parse_args()
    for kind in KINDS:
        seeds = range(arguments.first, arguments.first + arguments.worlds)
        print("\n".join(lines(kind, tally(kind, seeds))), flush=True)


if __name__ == "__main__":
    main()
