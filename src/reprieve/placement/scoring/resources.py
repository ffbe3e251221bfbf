"""Which node has the better use of its room: how full it gets, and how evenly."""

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from reprieve.model.columns import Floats, Ints, Mask
from reprieve.model.kept import Rows
from reprieve.model.resources import CPU, MEMORY, PODS, STANDARD
from reprieve.placement.demand import Ask
from reprieve.placement.profile import ResourceWeight, ShapePoint, Strategy
from reprieve.placement.scoring.scale import HIGHEST

_FLOORED = {CPU: 0, MEMORY: 1}  # row in the nonzero matrices
_POINT = HIGHEST // 10  # what one of the ten points of a configured shape is worth


@dataclass(frozen=True, slots=True, eq=False)
class _Filling:
    """One resource on every node: before the pod comes, with it, and how much there is."""

    weight: int
    before: Ints
    after: Ints
    capacity: Ints


def _fillings(
    ask: Ask, weights: tuple[ResourceWeight, ...], rows: Rows, *, floored: bool
) -> Iterator[_Filling]:
    """Extended resources count only where the pod asks for them, and the number of pods never."""
    view = ask.view
    for resource in weights:
        row = view.axis.row(resource.name)
        if row is None or resource.name == PODS:
            continue
        capacity = view.allocatable[row][rows]
        if floored and resource.name in _FLOORED:
            kind = _FLOORED[resource.name]
            asked, before = view.pods.nonzero[kind, ask.pod], view.nonzero[kind][rows]
        else:
            asked, before = view.pods.requests[row, ask.pod], view.requested[row][rows]
            if not asked and resource.name not in STANDARD:
                continue
        yield _Filling(resource.weight, before, before + asked, capacity)


def allocation(ask: Ask, _: Mask) -> Ints:
    """The profile's strategy: emptier nodes, fuller nodes, or a shape of one's own."""
    return ask.view.scores_by_row(("allocation", *_asked(ask)), partial(_allocation, ask))


def _asked(ask: Ask) -> tuple[Hashable, ...]:
    """All that scores of resources know of a pod."""
    shape = ask.shape
    return shape.requests, shape.nonzero_cpu, shape.nonzero_memory, ask.profile


def _allocation(ask: Ask, rows: Rows) -> Ints:
    profile = ask.profile
    fillings = list(_fillings(ask, profile.strategy_resources, rows, floored=True))
    if not fillings:
        return np.zeros(len(ask.view.nodes), np.int64)[rows]
    match profile.strategy:
        case Strategy.LEAST_ALLOCATED:
            return _weighted(fillings, _least_allocated)
        case Strategy.MOST_ALLOCATED:
            return _weighted(fillings, _most_allocated)
        case Strategy.REQUESTED_TO_CAPACITY_RATIO:
            return _by_shape(fillings, profile.strategy_shape)


def _least_allocated(filling: _Filling, capacity: Ints) -> Ints:
    scores: Ints = np.maximum(capacity - filling.after, 0) * HIGHEST // capacity
    return scores


def _most_allocated(filling: _Filling, capacity: Ints) -> Ints:
    scores: Ints = np.minimum(filling.after, capacity) * HIGHEST // capacity
    return scores


def _weighted(fillings: list[_Filling], score: Callable[[_Filling, Ints], Ints]) -> Ints:
    """The weighted mean; a resource a node does not have at all is left out for it."""
    total = np.zeros_like(fillings[0].before)
    weights = np.zeros_like(total)
    for filling in fillings:
        weight = (filling.capacity > 0) * filling.weight
        total += score(filling, np.maximum(filling.capacity, 1)) * weight
        weights += weight
    return total // np.maximum(weights, 1)


def _by_shape(fillings: list[_Filling], shape: tuple[ShapePoint, ...]) -> Ints:
    """A broken line over utilisation; resources that score nothing are left out of the mean."""
    by_percent = np.array([_on_line(shape, percent) for percent in range(101)], np.int64)
    total = np.zeros_like(fillings[0].before)
    weights = np.zeros_like(total)
    for filling in fillings:
        capacity = np.maximum(filling.capacity, 1)
        percent = np.minimum(filling.after, capacity) * 100 // capacity
        scores = np.where(filling.capacity > 0, by_percent[percent], 0)
        total += scores * filling.weight
        weights += np.where(scores > 0, filling.weight, 0)
    # Halves are rounded away from zero, and no score is negative.
    return np.floor(total / np.maximum(weights, 1) + 0.5).astype(np.int64)


def _on_line(shape: tuple[ShapePoint, ...], percent: int) -> int:
    for i, right in enumerate(shape):
        if percent <= right.utilization:
            if i == 0:
                return right.score * _POINT
            left = shape[i - 1]
            rise = (right.score - left.score) * _POINT * (percent - left.utilization)
            # Toward zero, also on a falling line.
            return left.score * _POINT + int(rise / (right.utilization - left.utilization))
    return shape[-1].score * _POINT if shape else 0


def balance(ask: Ask, _: Mask) -> Ints | None:
    """Whether the pod evens out the use of resources or makes it more lopsided."""
    asked = dict(ask.shape.requests)
    if not any(asked.get(resource.name) for resource in ask.profile.balanced_resources):
        return None
    return ask.view.scores_by_row(("balance", *_asked(ask)), partial(_balance, ask))


def _balance(ask: Ask, rows: Rows) -> Ints:
    fillings = list(_fillings(ask, ask.profile.balanced_resources, rows, floored=False))
    without = _evenness([(f.before, f.capacity) for f in fillings])
    with_pod = _evenness([(f.after, f.capacity) for f in fillings])
    half = HIGHEST // 2
    return half + (half + with_pod - without) // 2


def _evenness(uses: list[tuple[Ints, Ints]]) -> Ints:
    """100 when all resources are used to the same fraction, less the further apart they are."""
    fractions = [_fraction(used, capacity) for used, capacity in uses]
    if len(uses) == 2 and all(capacity.all() for _, capacity in uses):
        spread: Floats = np.abs((fractions[0] - fractions[1]) / 2)
    else:
        spread = _spread(fractions, [capacity > 0 for _, capacity in uses])
    return ((1 - spread) * HIGHEST).astype(np.int64)


def _fraction(used: Ints, capacity: Ints) -> Floats:
    return np.minimum(used / np.maximum(capacity, 1), 1.0)


def _spread(fractions: list[Floats], present: list[Mask]) -> Floats:
    """The standard deviation over the resources a node has; of two, half their distance."""
    count = np.maximum(sum(p.astype(np.float64) for p in present), 1.0)
    mean = sum(np.where(p, f, 0.0) for f, p in zip(fractions, present, strict=True)) / count
    squares = sum(np.where(p, (f - mean) * (f - mean), 0.0) for f, p in zip(fractions, present, strict=True))
    highest = np.max([np.where(p, f, 0.0) for f, p in zip(fractions, present, strict=True)], axis=0)
    lowest = np.min([np.where(p, f, 1.0) for f, p in zip(fractions, present, strict=True)], axis=0)
    deviation: Floats = np.select(
        [count <= 1, count == 2],
        [np.zeros_like(highest), np.abs((highest - lowest) / 2)],
        np.sqrt(squares / count),
    )
    return deviation
