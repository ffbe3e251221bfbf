"""The search in a model: a first plan, then a better one, then a proof, as far as the effort reaches."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Protocol

from reprieve.placement.effort import Effort
from reprieve.preemption.least_disturbance.bound import bound_of, covers_all
from reprieve.preemption.least_disturbance.costs import Cost, Disturbance
from reprieve.preemption.least_disturbance.first_plan import first_plan
from reprieve.preemption.least_disturbance.first_seats import first_seats
from reprieve.preemption.least_disturbance.improve import Improve, Improved, Solution
from reprieve.preemption.least_disturbance.model import Counts, RoomModel, Seats
from reprieve.preemption.plan import Quality

_LEVELS = 5  # ceilings for which a first plan is made


class Rooms(Protocol):
    """Models of one room, each without units above a priority. A model is one of them."""

    @property
    def order(self) -> tuple[Disturbance, ...]: ...
    @property
    def levels(self) -> Sequence[float]: ...
    @property
    def levels_within_budgets(self) -> Sequence[float]: ...
    def below(self, ceiling: float, /) -> RoomModel: ...


def begun(rooms: Rooms, known: Callable[[RoomModel], Solution | None]) -> tuple[RoomModel, Solution | None]:
    """The model to search in, and the best of the first plans there and of one that is known.

    Without units above the lowest ceiling for which a first plan costs nothing by the criteria that come
    before the priority: those can only make a plan worse.
    """
    order, firsts = rooms.order, list[Solution]()
    at = order.index(Disturbance.HIGHEST_PRIORITY) if Disturbance.HIGHEST_PRIORITY in order else 0
    for ceiling in _ceilings(rooms):
        model = rooms.below(ceiling)
        first = _first(model)
        if first is not None:
            counts, seats = first
            firsts.append(Solution(model.units_of(counts), seats))
            if model.permits(counts) and not any(model.cost(counts)[:at]):
                break
    else:
        model = rooms.below(math.inf)
    return model, best_of(model, [one for one in (known(model), *firsts) if one is not None])


def best_of(model: RoomModel, found: Iterable[Solution]) -> Solution | None:
    """The first of the best that the model permits."""
    counted = [(one, model.counts_of(one.units) or {}) for one in found]
    permitted = [(model.cost(counts), one) for one, counts in counted if model.permits(counts)]
    return min(permitted, key=lambda pair: pair[0], default=(None, None))[1]


def least_disturbing(model: RoomModel, start: Solution | None, effort: Effort, improve: Improve) -> Improved:
    """``start``: a plan that is known. ``improve``: what is done beyond it."""
    least = cache(partial(bound_of, model))
    has_effort = effort.units > effort.spent
    if not has_effort or covers_all(model.order):
        first = _judged(model, Improved(start, least()))
        if first.proved or not has_effort:
            return first
    found = improve(_worth_solving(model, start), start, effort)
    if found.proved or found.awaited:
        return found
    return _judged(model, replace(found, bound=max(found.bound, least())))


def _judged(model: RoomModel, found: Improved) -> Improved:
    """If no plan is below the one that was found, that is a proof."""
    cost = model.cost(model.counts_of(found.best.units) or {}) if found.best is not None else ()
    return replace(found, proved=bool(found.bound) and found.bound == cost)


def _worth_solving(model: RoomModel, start: Solution | None) -> RoomModel:
    """Without units above the highest of a plan that costs nothing by the criteria before the priority."""
    counts = model.counts_of(start.units) if start is not None else None
    if counts is None or Disturbance.HIGHEST_PRIORITY not in model.order:
        return model
    cost, at = model.cost(counts), model.order.index(Disturbance.HIGHEST_PRIORITY)
    return model if any(cost[:at]) else model.below(cost[at])


def _ceilings(rooms: Rooms) -> Sequence[float]:
    """In the order of their promise: where a budget must break, only after the others."""
    order = rooms.order
    if Disturbance.HIGHEST_PRIORITY not in order:
        return [math.inf] if rooms.levels else []
    if Disturbance.BUDGETS_BROKEN not in order[: order.index(Disturbance.HIGHEST_PRIORITY)]:
        return rooms.levels[:_LEVELS]
    first = rooms.levels_within_budgets[:_LEVELS]
    return [*first, *(level for level in rooms.levels[:_LEVELS] if level not in first)]


def _first(model: RoomModel) -> tuple[Counts, Seats] | None:
    if len(model.needs) > 1:
        return first_seats(model)
    counts = first_plan(model)
    return (counts, {}) if counts is not None else None


def quality_of(cost: Cost, ceiling_cost: Cost, found: Improved, model: RoomModel, spent: int) -> Quality:
    """Bound and proof are about room alone: with other constraints between pods nothing is claimed."""
    bound = found.bound if model.is_exact else ()
    return Quality(
        cost=tuple(zip(model.order, cost, strict=True)),
        bound=tuple(zip(model.order, bound, strict=False)),
        proved=model.is_exact and found.proved and bound == cost,
        effort=spent,
        ceiling_cost=tuple(zip(model.order, ceiling_cost, strict=True)),
    )
