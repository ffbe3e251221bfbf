"""The search in a model: a first plan, then a better one, as far as the effort reaches."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from reprieve.preemption.least_disturbance.first_plan import first_plan
from reprieve.preemption.least_disturbance.first_seats import first_seats
from reprieve.preemption.least_disturbance.improve import Solution
from reprieve.preemption.least_disturbance.model import Counts, Measure, RoomModel, Seats, Term

_LEVELS = 5  # ceilings for which a first plan is made


class Rooms(Protocol):
    """Models of one room, each without units above a priority. A model is one of them."""

    @property
    def order(self) -> tuple[Term, ...]: ...
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
    at, firsts = _place_of_priority(rooms.order) or 0, list[Solution]()
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


def worth_solving(model: RoomModel, start: Solution | None) -> RoomModel:
    """Without units above the highest of a plan that costs nothing by the criteria before the priority."""
    counts = model.counts_of(start.units) if start is not None else None
    at = _place_of_priority(model.order)
    if counts is None or at is None:
        return model
    cost = model.cost(counts)
    return model if any(cost[:at]) else model.below(cost[at])


def _ceilings(rooms: Rooms) -> Sequence[float]:
    """In the order of their promise: where a budget must break, only after the others."""
    order, at = rooms.order, _place_of_priority(rooms.order)
    if at is None:
        return [math.inf] if rooms.levels else []
    if not any(term.budgets for term in order[:at]):
        return rooms.levels[:_LEVELS]
    first = rooms.levels_within_budgets[:_LEVELS]
    return [*first, *(level for level in rooms.levels[:_LEVELS] if level not in first)]


def _place_of_priority(order: Sequence[Term]) -> int | None:
    return next((i for i, term in enumerate(order) if term.measured is Measure.PRIORITY), None)


def _first(model: RoomModel) -> tuple[Counts, Seats] | None:
    if len(model.needs) > 1:
        return first_seats(model)
    counts = first_plan(model)
    return (counts, {}) if counts is not None else None
