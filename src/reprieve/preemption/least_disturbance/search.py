"""The search in a model: a first plan, then a better one, then a proof, as far as the effort reaches."""

import math
from collections.abc import Sequence
from dataclasses import replace

from reprieve.placement.effort import Effort
from reprieve.preemption.least_disturbance.bound import bound_of
from reprieve.preemption.least_disturbance.costs import Cost, Disturbance
from reprieve.preemption.least_disturbance.first_plan import first_plan
from reprieve.preemption.least_disturbance.first_seats import first_seats
from reprieve.preemption.least_disturbance.improve import Improve, Improved, Solution
from reprieve.preemption.least_disturbance.model import Counts, RoomModel, Seats
from reprieve.preemption.least_disturbance.patterns import PatternsBelow
from reprieve.preemption.plan import Quality

_LEVELS = 5  # ceilings for which a first plan is made


def least_disturbing(model: RoomModel, known: Solution | None, effort: Effort, improve: Improve) -> Improved:
    """``known``: a plan that was found otherwise. ``improve``: what is done beyond the first plan."""
    below = PatternsBelow(model)
    start = best_start(model, known, below)
    first = _judged(model, Improved(start, bound_of(model, below)))
    if first.proved or effort.units <= effort.spent:
        return first
    found = improve(_worth_solving(model, start), start, effort)
    if found.proved:
        return found
    return _judged(model, replace(found, bound=max(found.bound, first.bound)))


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


def best_start(model: RoomModel, known: Solution | None, below: PatternsBelow) -> Solution | None:
    """The best of the first plans for the lowest ceilings, and of one that is known."""
    found = [known] if known is not None else []
    at = model.order.index(Disturbance.HIGHEST_PRIORITY) if Disturbance.HIGHEST_PRIORITY in model.order else 0
    for ceiling in _ceilings(model):
        lower = below.model(ceiling)
        first = _first(lower)
        if first is not None:
            counts, seats = first
            found.append(Solution(lower.units_of(counts), seats))
            if not any(lower.cost(counts)[:at]):
                break  # a higher ceiling gains nothing by the criteria that come before it
    counted = [(one, model.counts_of(one.units) or {}) for one in found]
    permitted = [(model.cost(counts), one) for one, counts in counted if model.permits(counts)]
    return min(permitted, key=lambda pair: pair[0], default=(None, None))[1]


def _ceilings(model: RoomModel) -> Sequence[float]:
    if Disturbance.HIGHEST_PRIORITY in model.order:
        return model.levels[:_LEVELS]
    return [math.inf] if model.levels else []


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
