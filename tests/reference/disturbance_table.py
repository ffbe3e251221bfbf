"""How far from the least disturbance are the searches, and kube-scheduler? A report on recorded demands.

    python -m tests.reference.disturbance_table [--order A,B,…]

For each kind of demand: in how many cases each plan costs more than the optimum, and the sum of each
criterion. Priorities are summed as they are.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from reprieve.preemption.plan import Plan
from tests.reference.disturbance_plans import SEARCHES, USUAL_ORDER, by, plan_by, victims_of
from tests.reference.exact_disturbance import cost_of, least_cost
from tests.reference.observed_cases import Case, read_case
from tests.reference.test_least_disturbance import RECORDED, recorded_demand, recorded_world

Costs = dict[str, list[tuple[float, ...]]]


def costs(paths: Sequence[Path], order: tuple[str, ...]) -> tuple[Costs, int]:
    """By decider, case by case; and how many of our plans are proved."""
    found: Costs = {}
    proved = 0
    for path in paths:
        world, (demand, view) = recorded_world(path), recorded_demand(read_case(path))
        observed = next(o for o in json.loads(path.read_bytes())["observed"] if o["outcome"] == "preempts")
        found.setdefault("kube-scheduler", []).append(cost_of(world, observed["victims"], order))
        for name, policy in SEARCHES.items():
            plan = plan_by(by(order, policy), view, demand)
            assert isinstance(plan, Plan)
            found.setdefault(name, []).append(cost_of(world, victims_of(view, plan), order))
            proved += plan.quality is not None and plan.quality.proved
        least = least_cost(world, order)
        assert least is not None
        found.setdefault("optimum", []).append(least)
    return found, proved


def main() -> None:
    parser = argparse.ArgumentParser(description="How far from the least disturbance are the searches?")
    parser.add_argument("--order", default=",".join(USUAL_ORDER), help="criteria, the most important first")
    order = tuple(parser.parse_args().order.split(","))
    kinds: dict[str, list[Path]] = {}
    for path in RECORDED:
        kinds.setdefault(_kind(read_case(path)), []).append(path)
    for what, paths in kinds.items():
        print(*table(what, paths, order), sep="\n")


def _kind(case: Case) -> str:
    if case.resize is not None:
        return "resizes"
    if case.is_tree:
        return "trees"
    return "gangs" if case.is_gang else "single pods"


def table(what: str, paths: Sequence[Path], order: tuple[str, ...]) -> Iterator[str]:
    found, proved = costs(paths, order)
    yield f"{len(paths)} recorded {what}; {proved} plans of LeastDisturbance are proved"
    for name, listed in found.items():
        worse = sum(ours > least for ours, least in zip(listed, found["optimum"], strict=True))
        sums: Counter[str] = Counter()
        for cost in listed:
            sums.update(dict(zip(order, cost, strict=True)))
        yield f"{name:17} worse in {worse:>3}: {', '.join(f'{c} {n}' for c, n in sums.items())}"


if __name__ == "__main__":
    main()
