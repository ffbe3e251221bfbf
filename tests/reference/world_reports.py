"""What the searches make of many random worlds, or of one crowded world after the other, in lines of text."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.worlds.crowded import crowded, is_newcomer
from tests.reference.asking import DEFAULT, FIRST, OTHERS, Answer, answer, asked, first_criteria, fits
from tests.reference.comparing import Compared, compared, faults_in
from tests.reference.every_plan import is_small, least_cost
from tests.reference.preemption_worlds import PreemptionWorld, seeded_world
from tests.reference.small_worlds import save_world, smallest

_SHOWN = 40  # faults


@dataclass(frozen=True, slots=True)
class Seen:
    """What is kept of one random world."""

    seed: int
    kind: str
    faults: tuple[str, ...]
    stopped: tuple[float, ...] = ()  # pods, by the default and by each other search; empty: one has no plan
    better_than: tuple[str, ...] = ()  # searches, by what no plan may be worse
    proved: bool = False
    proved_first: bool = False  # through the pods that stop
    solver_asked: bool = False
    is_best: bool | None = None  # by what no plan may be worse; None: not every plan was tried


def seen(seed: int, *, save: bool = False) -> Seen | None:
    """None if the demand fits as things are."""
    world = seeded_world(seed)
    found = compared(world)
    if found is None:
        return None
    wrong = tuple(faults_in(world, found))
    if save and wrong:
        kind = wrong[0].split(":")[0]
        small = smallest(world, lambda smaller: _has_fault(smaller, kind))
        save_world(small, f"{world.kind}-{seed}", wrong[0])
    if found.ours is None:
        return Seen(seed, world.kind, wrong)
    return _seen(Seen(seed, world.kind, wrong), world, found, found.ours)


def _has_fault(world: PreemptionWorld, kind: str) -> bool:
    found = compared(world)
    return found is not None and any(fault.startswith(kind) for fault in faults_in(world, found))


def _seen(begun: Seen, world: PreemptionWorld, found: Compared, ours: Answer) -> Seen:
    cluster, names = found.asked.cluster, first_criteria(world.kind)
    cost, plans = ours.price(cluster, names), [ours, *found.others.values()]
    costs = [one.price(cluster, ("PodsStopped",))[0] for one in plans if one is not None]
    others = {name: one.price(cluster, names) for name, one in found.others.items() if one is not None}
    tried = is_small(found.asked) and not world.everybody
    return Seen(
        begun.seed,
        begun.kind,
        begun.faults,
        stopped=tuple(costs) if len(costs) == len(plans) else (),
        better_than=tuple(name for name, other in others.items() if cost < other),
        proved=ours.proved,
        proved_first=is_proved_first(ours),
        solver_asked=ours.solver_asked,
        is_best=least_cost(found.asked, names, cost) == cost if tried else None,
    )


def is_proved_first(one: Answer) -> bool:
    return one.proved or "PodsStopped" in one.proved_through


def of_worlds(worlds: Sequence[Seen], asked_about: int) -> Iterator[str]:
    planned = [one for one in worlds if one.stopped]
    kinds = Counter(one.kind for one in planned)
    yield f"{asked_about} worlds; no room in {len(worlds)}; in {len(planned)} all searches have a plan"
    yield f"kinds: {', '.join(f'{kind} {count}' for kind, count in sorted(kinds.items()))}"
    for place, name in enumerate(("the default", *OTHERS)):
        better = sum(name in one.better_than for one in planned)
        total = sum(one.stopped[place] for one in planned)
        yield f"{name:18}{total:>10.0f} pods stop{f'; the default is better in {better}' if place else ''}"
    yield f"proved: {_share(one.proved for one in planned)}"
    yield f"proved through PodsStopped: {_share(one.proved_first for one in planned)}"
    yield f"a solver is asked: {_share(one.solver_asked for one in planned)}"
    tried = [one.is_best for one in planned if one.is_best is not None]
    yield f"as good as the best of all plans: {_share(tried)}"
    wrong = [(one, fault) for one in worlds for fault in one.faults]
    counts = Counter(fault.split(":")[0] for _, fault in wrong)
    listed = ", ".join(f"{kind} {count}" for kind, count in counts.items())
    yield f"faults: {len(wrong)}{f' ({listed})' if wrong else ''}"
    yield from (f"  seed {one.seed}, {one.kind}: {fault}" for one, fault in wrong[:_SHOWN])


def _share(yes: Iterable[bool | None]) -> str:
    listed = [*yes]
    return f"{sum(map(bool, listed))} of {len(listed)}"


# --- crowded worlds ------------------------------------------------------------------------------

_COLUMNS = ("Upstream", "PriorityCeiling", "first plan", "final plan")
HEADER = (
    "BudgetsBroken/HighestPriority/PodsStopped of each plan; first plan: of the default without a solver\n"
    f"{'world':34}{''.join(f'{name:>16}' for name in _COLUMNS)}{'proved: pods':>14}{'all':>5}{'solver':>8}"
)


def crowded_row(world: str, seed: int, gang: int, millicpu: int) -> str:
    """What the plan of each search costs, and what is known of the plan of the default."""
    things = list(crowded(world, gang, millicpu, seed=seed))
    names = [thing["metadata"]["name"] for thing in things if thing["kind"] == "Pod" and is_newcomer(thing)]
    kind = "gang" if len(names) > 1 else "pod"
    of = asked(PreemptionWorld(kind, things, tuple(names), is_tied=False, everybody=False))
    text = f"{f'{world} seed {seed} gang {gang} cpu {millicpu}':34}"
    if fits(of):
        return f"{text}  fits as things are"
    final = answer(of, DEFAULT)
    plans = (answer(of, OTHERS["Upstream"]), answer(of, OTHERS["PriorityCeiling"]), answer(of, DEFAULT, 0))
    costs = (one.price(of.cluster, FIRST) if one is not None else () for one in (*plans, final))
    text += "".join(f"{'/'.join(f'{value:.0f}' for value in cost) or 'none':>16}" for cost in costs)
    if final is None:
        return text
    return text + f"{_yes(is_proved_first(final)):>14}{_yes(final.proved):>5}{_yes(final.solver_asked):>8}"


def _yes(is_so: bool) -> str:
    return "yes" if is_so else "no"
