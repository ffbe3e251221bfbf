"""How good are plans that disturb least, and are they proved? A report on worlds that take long, not a test.

    python -m tests.reference.disturbance_runs rooms [--count N] [--first SEED] [--nodes N] [--members N]
    python -m tests.reference.disturbance_runs crowded [--world H1000] [--seeds A,B] [--gangs …] [--cpu …]
    python -m tests.reference.disturbance_runs stopped [--world H1000] [--seeds A,B] [--gangs …] [--cpu …]
    python -m tests.reference.disturbance_runs worlds [--count N] [--first SEED] [--save]

`rooms`: random small clusters, whose plans are also held against an independent model. `crowded`: the large
clusters of `make_world.py`. A world whose plan is not proved at the usual effort is searched again with ten
times that. `stopped`: the same large clusters, with a line for each: what each search costs by budgets,
priority and pods that stop. `worlds`: small worlds of all kinds, in which no plan of another search may be
better. With `--save`, those in which something is wrong become examples, as small as they can be.

Times are processor time. Ctrl-C prints the report of what was measured until then.
"""

import argparse
import itertools
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from benchmarks.worlds.crowded import crowded, is_newcomer
from reprieve.model.json import Json
from reprieve.model.snapshot import Snapshot, build
from reprieve.placement.demand import Demand
from reprieve.preemption.plan import Plan
from reprieve.preemption.policy import Policy
from reprieve.preemption.searches import REPRIEVE
from reprieve.preemption.units import UnitKind
from tests.properties.worlds import decoded
from tests.reference.crowded_rooms import crowded_room
from tests.reference.demands import gang_demand
from tests.reference.disturbance_plans import (
    SEARCHES,
    USUAL_EFFORT,
    USUAL_ORDER,
    by,
    cost_by,
    plan_by,
    victims_of,
)
from tests.reference.exact_disturbance import World, cost_of, finite, least_cost, world_of
from tests.reference.world_reports import HEADER, Seen, crowded_row, of_worlds, seen

Cost = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Search:
    policy: str
    effort: int = USUAL_EFFORT
    placements: int = REPRIEVE.placements_tried

    @property
    def with_order(self) -> Policy:
        return replace(by(USUAL_ORDER, SEARCHES[self.policy]), placements_tried=self.placements)


USUAL, LONGER = "LeastDisturbance", "LeastDisturbance x10"
SEARCHED = {
    "Upstream": Search("Upstream"),
    "PriorityCeiling, one": Search("PriorityCeiling", placements=1),
    "PriorityCeiling": Search("PriorityCeiling"),
    "first plan": Search("LeastDisturbance", 0),
    USUAL: Search("LeastDisturbance"),
    LONGER: Search("LeastDisturbance", 10 * USUAL_EFFORT),
}
_SAMPLE = 10  # of so many rooms, the independent model solves one


@dataclass(frozen=True, slots=True)
class Found:
    """What one search made of one world."""

    pods: int
    groups: int
    seconds: float
    cost: Cost = ()  # by the independent model in a room, by the search itself in a crowded world
    bound: Cost = ()
    proved: bool = False
    effort: int = 0

    @property
    def gap(self) -> float:
        """By the first criterion that is not known to be at its least, as a part of what it costs."""
        apart = ((c - b) / c for c, b in zip(self.cost, self.bound, strict=False) if c > b)
        return next(apart, 0.0)


@dataclass(frozen=True, slots=True)
class Measured:
    """One world, and what each search found in it. None: no plan."""

    world: str
    found: dict[str, Found | None]
    least: Cost | None = None  # by the independent model, if that was asked

    def contradictions(self) -> Iterator[str]:
        """What cannot be true, or must not be."""
        plans = {name: one for name, one in self.found.items() if one is not None}
        costs = [one.cost for one in plans.values() if one.cost]
        costs += [self.least] if self.least is not None else []
        for name, one in plans.items():
            if any(one.bound > cost for cost in costs):
                yield f"{self.world}: {name} says that no plan is below {one.bound}"
            if one.proved and any(one.cost > cost for cost in costs):
                yield f"{self.world}: {name} says that no plan is better than {one.cost}"
        ours = plans.get(USUAL)
        for name, one in plans.items():
            if SEARCHED[name].policy != USUAL and one.cost and (ours is None or ours.cost > one.cost):
                yield f"{self.world}: {USUAL} disturbs more than {name}"


# --- one world -----------------------------------------------------------------------------------


def measured(
    world: str,
    objects: Sequence[Json],
    members: Sequence[Json],
    cost: Callable[[Snapshot, Demand, Plan], Cost],
) -> Measured:
    """With ten times the effort only where the usual effort proves nothing."""
    view = build([decoded(thing) for thing in (*objects, *members)]).snapshot
    rows = [view.pods.rows["default", member["metadata"]["name"]] for member in members]
    demand = gang_demand(view, rows)
    found: dict[str, Found | None] = {}
    for name, search in SEARCHED.items():
        usual = found.get(USUAL)
        if name == LONGER and (usual is None or usual.proved):
            continue
        start = time.process_time()
        plan = plan_by(search.with_order, view, demand, search.effort)
        seconds = time.process_time() - start
        found[name] = _found(plan, cost(view, demand, plan), seconds) if isinstance(plan, Plan) else None
    return Measured(world, found)


def _found(plan: Plan, cost: Cost, seconds: float) -> Found:
    pods = sum(len(unit.pods) for unit in plan.victims)
    groups = sum(unit.kind is not UnitKind.POD for unit in plan.victims)
    quality = plan.quality
    if quality is None:
        return Found(pods, groups, seconds, cost)
    bound = tuple(finite(value) for _, value in quality.bound)
    return Found(pods, groups, seconds, cost, bound, quality.proved, quality.effort)


def _own_cost(view: Snapshot, demand: Demand, plan: Plan) -> Cost:
    quality = plan.quality
    if quality is None:
        quality = cost_by(by(USUAL_ORDER), view, demand, plan)
    return tuple(finite(value) for _, value in quality.cost)


def rooms(seeds: range, nodes: int, members: int) -> Iterator[Measured]:
    for seed in seeds:
        room = crowded_room(seed, nodes, members)
        world = world_of(room.objects, room.members, room.needed)
        one = measured(f"room {seed}", room.objects, room.members, partial(_independent_cost, world))
        if seed % _SAMPLE == 0 and any(one.found.values()):
            one = replace(one, least=least_cost(world, USUAL_ORDER))
        yield one


def _independent_cost(world: World, view: Snapshot, _: Demand, plan: Plan) -> Cost:
    return cost_of(world, victims_of(view, plan), USUAL_ORDER)


def crowds(world: str, seeds: Iterable[int], gangs: Sequence[int], cpu: Sequence[int]) -> Iterator[Measured]:
    for seed, gang, millicpu in itertools.product(seeds, gangs, cpu):
        things = list(crowded(world, gang, millicpu, seed=seed))
        members = [thing for thing in things if thing["kind"] == "Pod" and is_newcomer(thing)]
        objects = [thing for thing in things if thing["kind"] != "Pod" or not is_newcomer(thing)]
        yield measured(f"{world} seed {seed} gang {gang} cpu {millicpu}", objects, members, _own_cost)


# --- the report ----------------------------------------------------------------------------------


def report(measurements: Sequence[Measured]) -> Iterator[str]:
    preempting = [one for one in measurements if one.found.get(USUAL) is not None]
    yield f"{len(measurements)} worlds; in {len(preempting)} of them {USUAL} preempts"
    header = f"{'search':21}{'plans':>6}{'pods':>8}{'groups':>8}{'median s':>10}{'longest s':>10}"
    yield f"{header}{'proved':>8}{'gap: median':>13}{'largest':>9}"
    for name in SEARCHED:
        yield _row(name, preempting)
    proved = [bool(_last(one, USUAL).proved) for one in preempting]
    longer = [bool(_last(one, LONGER).proved) for one in preempting]
    yield f"proved at the usual effort: {_share(proved)}; at ten times that: {_share(longer)}"
    exact = [one for one in measurements if one.least is not None]
    if exact:
        best = [_last(one, USUAL).cost == one.least for one in exact if one.found.get(USUAL) is not None]
        yield f"solved by the independent model: {len(exact)}; as good as its solution: {_share(best)}"
    against = [text for one in measurements for text in one.contradictions()]
    yield f"contradictions: {len(against)}"
    yield from against


def _last(one: Measured, name: str) -> Found:
    """With ten times the effort, plans that were proved before are the same."""
    found = one.found.get(name) or one.found[USUAL]
    assert found is not None
    return found


def _row(name: str, preempting: Sequence[Measured]) -> str:
    found = [plan for one in preempting if (plan := one.found.get(name)) is not None]
    seconds = [one.seconds for one in found] or [0.0]
    row = f"{name:21}{len(found):>6}{sum(one.pods for one in found):>8}{sum(one.groups for one in found):>8}"
    row += f"{statistics.median(seconds):>10.3f}{max(seconds):>10.3f}"
    gaps = [one.gap for one in found if not one.proved]
    if SEARCHED[name].policy != USUAL:
        return row
    row += f"{sum(one.proved for one in found):>8}"
    return row + (f"{statistics.median(gaps):>12.0%} {max(gaps):>8.0%}" if gaps else "")


def _share(yes: Sequence[bool]) -> str:
    return f"{sum(yes)} of {len(yes)}" + (f" ({sum(yes) / len(yes):.1%})" if yes else "")


def main() -> None:
    parser = argparse.ArgumentParser(
        description="How good are plans that disturb least, and how often proved?"
    )
    parser.add_argument("worlds", choices=("rooms", "crowded", "stopped", "worlds"))
    parser.add_argument("--count", type=int, default=100, help="rooms and worlds: how many")
    parser.add_argument("--first", type=int, default=0, help="rooms and worlds: the first seed")
    parser.add_argument("--save", action="store_true", help="worlds: keep those that show a fault")
    parser.add_argument("--nodes", type=int, default=30, help="rooms: nodes at most")
    parser.add_argument("--members", type=int, default=32, help="rooms: members at most")
    parser.add_argument("--world", default="H1000", help="crowded: what make_world.py is asked for")
    parser.add_argument("--seeds", type=_numbers, default=range(5), help="crowded: separated by commas")
    parser.add_argument(
        "--gangs", type=_numbers, default=(8, 16, 32, 64), help="crowded: members of the gang"
    )
    parser.add_argument("--cpu", type=_numbers, default=(4000, 6000, 8000), help="crowded: of a member")
    parser.add_argument("--json", metavar="FILE", help="append a line for each world to this file")
    asked = parser.parse_args()
    seeds = range(asked.first, asked.first + asked.count)
    if asked.worlds == "worlds":
        _run_worlds(seeds, save=asked.save)
        return
    if asked.worlds == "stopped":
        print(HEADER)
        for seed, gang, millicpu in itertools.product(asked.seeds, asked.gangs, asked.cpu):
            print(crowded_row(asked.world, seed, gang, millicpu), flush=True)
        return
    if asked.worlds == "rooms":
        worlds = rooms(seeds, asked.nodes, asked.members)
    else:
        worlds = crowds(asked.world, asked.seeds, asked.gangs, asked.cpu)
    done: list[Measured] = []
    with suppress(KeyboardInterrupt):
        for one in worlds:
            done.append(one)
            print(f"{len(done)}: {one.world}", file=sys.stderr, end="\r", flush=True)
            if asked.json:
                with Path(asked.json).open("a") as file:
                    print(json.dumps(asdict(one)), file=file)
    print(*report(done), sep="\n")


def _run_worlds(seeds: range, *, save: bool) -> None:
    found: list[Seen] = []
    done = 0
    with suppress(KeyboardInterrupt):
        for done, seed in enumerate(seeds, start=1):
            one = seen(seed, save=save)
            found += [one] if one is not None else []
            print(f"{done}: seed {seed}", file=sys.stderr, end="\r", flush=True)
    print(*of_worlds(found, done), sep="\n")


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


if __name__ == "__main__":
    main()
