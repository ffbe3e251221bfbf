"""What one world says against the default search: better plans of others, and claims that are wrong."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tests.reference.asking import (
    DEFAULT,
    OTHERS,
    USUAL_EFFORT,
    Answer,
    Asked,
    answer,
    asked,
    first_criteria,
    fits,
)
from tests.reference.every_plan import is_small, least_cost
from tests.reference.plain.price import price
from tests.reference.preemption_worlds import PreemptionWorld


@dataclass(frozen=True, slots=True)
class Compared:
    """Answers of all searches: with the usual effort, and with none, which leaves first plans."""

    asked: Asked
    ours: Answer | None
    others: Mapping[str, Answer | None]
    first: Answer | None
    first_of_others: Mapping[str, Answer | None]


def compared(world: PreemptionWorld) -> Compared | None:
    """None if the demand fits as things are."""
    of = asked(world)
    if fits(of):
        return None
    ours, first = (answer(of, DEFAULT, effort) for effort in (USUAL_EFFORT, 0))
    others, first_of_others = (
        {name: answer(of, policy, effort) for name, policy in OTHERS.items()} for effort in (USUAL_EFFORT, 0)
    )
    return Compared(of, ours, others, first, first_of_others)


def faults(world: PreemptionWorld) -> list[str]:
    """In words; each begins with its kind."""
    found = compared(world)
    return [*faults_in(world, found)] if found is not None else []


def faults_in(world: PreemptionWorld, found: Compared) -> Iterator[str]:
    yield from _worse(world, found)
    yield from _wrong_claims(world, found)
    yield from _unsound(found)


def _worse(world: PreemptionWorld, found: Compared) -> Iterator[str]:
    names, cluster = first_criteria(world.kind), found.asked.cluster
    pairs = (("the plan", found.ours, found.others), ("the first plan", found.first, found.first_of_others))
    for name, ours, others in pairs:
        for other, theirs in others.items():
            if theirs is None:
                continue
            if ours is None:
                yield f"missed: {other} has a plan, and {name} is none"
            elif (better := theirs.price(cluster, names)) < (cost := ours.price(cluster, names)):
                yield f"worse: {name} costs {cost}, that of {other} {better}, by {', '.join(names)}"


def _wrong_claims(world: PreemptionWorld, found: Compared) -> Iterator[str]:
    cluster, ours = found.asked.cluster, found.ours
    if ours is None or not ours.cost:
        return
    order = _readable(world, tuple(ours.cost))
    counted = price(cluster, ours.victims, order)
    wrong = [name for name in order if ours.cost[name] != counted[name]]
    if wrong:
        yield f"price: {', '.join(f'{name} is {counted[name]} and not {ours.cost[name]}' for name in wrong)}"
        return
    through = order if ours.proved else _readable(world, ours.proved_through)
    if not through:
        return
    cost = ours.price(cluster, through)
    for other, theirs in found.others.items():
        if theirs is not None and theirs.price(cluster, through) < cost:
            yield f"proof: {other} costs {theirs.price(cluster, through)} and not {cost}, by {through}"
    # Which pods of a group get room beyond those that it needs is not part of a proof.
    least = least_cost(found.asked, through) if is_small(found.asked) and not world.everybody else None
    if least is not None and least < cost:
        yield f"proof: the least is {least} and not {cost}, by {through}"


def _readable(world: PreemptionWorld, order: tuple[str, ...]) -> tuple[str, ...]:
    """Where victims could go is read by room and nodes alone, which is not all where pods mind others."""
    return order[: order.index("Cascade")] if world.is_tied and "Cascade" in order else order


def _unsound(found: Compared) -> Iterator[str]:
    answers = {"the plan": found.ours, "the first plan": found.first}
    for name, one in answers.items():
        if one is not None and not one.is_sound:
            yield f"unsound: {name} leaves no room"
