"""Scores of resources: how full a node gets, and how evenly.

Columns score all nodes at once. For few nodes the same is worked out in plain numbers: columns of that length
cost more than they save.
"""

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np

from reprieve.model.columns import Floats, Ints, Mask
from reprieve.model.resources import CPU, MEMORY, PODS, STANDARD
from reprieve.model.score_cache import Rows
from reprieve.model.shape import Shape
from reprieve.model.snapshot import Snapshot
from reprieve.placement.demand import Ask
from reprieve.placement.profile import Profile, ResourceWeight, ShapePoint, Strategy

N = TypeVar("N", int, Ints)
OwnScorer = Callable[[Ask, Rows], Ints | None]  # of some nodes, by how full each is

FLOORED = {CPU: 0, MEMORY: 1}  # row in the nonzero matrices
HIGHEST = 100
_POINT = HIGHEST // 10  # a configured shape scores from 0 to 10


@dataclass(frozen=True, slots=True, eq=False)
class _Filling:
    """One resource on some nodes: each column has an entry for each of them."""

    weight: int
    before: Ints  # requested without the pod; with a floor for cpu and memory if that is asked for
    after: Ints  # with the pod
    capacity: Ints  # zero if the node does not have the resource


def row_of(view: Snapshot, name: str) -> int | None:
    """The row of a resource that may count: the number of pods never does."""
    return view.axis.row(name) if name != PODS else None


def counts(name: str, request: int) -> bool:
    """Extended resources count only if the pod requests them."""
    return bool(request) or name in STANDARD


def _fillings(
    ask: Ask, weights: tuple[ResourceWeight, ...], rows: Rows, *, floored: bool
) -> Iterator[_Filling]:
    view = ask.view
    for resource in weights:
        row = row_of(view, resource.name)
        if row is None:
            continue
        capacity = view.allocatable[row][rows]
        if floored and resource.name in FLOORED:
            kind = FLOORED[resource.name]
            request, before = view.pods.nonzero[kind, ask.pod], view.nonzero[kind][rows]
        else:
            request, before = view.pods.requests[row, ask.pod], view.requested[row][rows]
            if not counts(resource.name, request):
                continue
        yield _Filling(resource.weight, before, before + request, capacity)


def allocation(ask: Ask, _: Mask) -> Ints:
    """The profile's strategy: LeastAllocated, MostAllocated or RequestedToCapacityRatio."""
    profile = ask.profile
    strategy = profile.strategy, profile.strategy_resources, profile.strategy_shape
    return ask.view.scores_by_row(("allocation", *_pod_key(ask), strategy), partial(allocation_by_row, ask))


def _pod_key(ask: Ask) -> tuple[Hashable, ...]:
    """Everything about a pod that these scores depend on."""
    shape = ask.shape
    return shape.requests, shape.nonzero_cpu, shape.nonzero_memory


def allocation_by_row(ask: Ask, rows: Rows) -> Ints:
    """[as rows] the score of these nodes by the profile's strategy."""
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
    """[node] the weighted mean over the resources that it has, rounded down as in kube-scheduler."""
    total = np.zeros_like(fillings[0].before)
    weights = np.zeros_like(total)
    for filling in fillings:
        weight = (filling.capacity > 0) * filling.weight  # [node]
        total += score(filling, np.maximum(filling.capacity, 1)) * weight
        weights += weight
    return total // np.maximum(weights, 1)


def _by_shape(fillings: list[_Filling], shape: tuple[ShapePoint, ...]) -> Ints:
    """[node] the mean of a piecewise linear function of utilization; resources that score 0 are left out."""
    by_percent = np.array([_on_line(shape, percent) for percent in range(101)], np.int64)  # [percent]
    total = np.zeros_like(fillings[0].before)
    weights = np.zeros_like(total)
    for filling in fillings:
        capacity = np.maximum(filling.capacity, 1)
        percent = np.minimum(filling.after, capacity) * 100 // capacity  # [node] 0 to 100
        scores = np.where(filling.capacity > 0, by_percent[percent], 0)
        total += scores * filling.weight
        weights += np.where(scores > 0, filling.weight, 0)
    # Rounded half up, as Go's math.Round does for scores, which are never negative.
    return np.floor(total / np.maximum(weights, 1) + 0.5).astype(np.int64)


def _on_line(shape: tuple[ShapePoint, ...], percent: int) -> int:
    for i, right in enumerate(shape):
        if percent <= right.utilization:
            if i == 0:
                return right.score * _POINT
            left = shape[i - 1]
            rise = (right.score - left.score) * _POINT * (percent - left.utilization)
            # Truncated toward zero, also on a falling line, as integer division in Go.
            return left.score * _POINT + int(rise / (right.utilization - left.utilization))
    return shape[-1].score * _POINT if shape else 0


def balance(ask: Ask, _: Mask) -> Ints | None:
    """[node] whether the pod makes the use of resources more balanced or less; None: it requests none."""
    if not is_balanced(ask.shape, ask.profile):
        return None
    resources = ask.profile.balanced_resources
    return ask.view.scores_by_row(("balance", *_pod_key(ask), resources), partial(_balance, ask))


def balance_by_row(ask: Ask, rows: Rows) -> Ints | None:
    return _balance(ask, rows) if is_balanced(ask.shape, ask.profile) else None


def is_balanced(shape: Shape, profile: Profile) -> bool:
    """Whether the pod requests any of the resources; being one more pod is no request, as upstream."""
    requested = {name for name, amount in shape.requests if amount and name != PODS}
    return any(resource.name in requested for resource in profile.balanced_resources)


def _balance(ask: Ask, rows: Rows) -> Ints:
    fillings = list(_fillings(ask, ask.profile.balanced_resources, rows, floored=False))
    without = _evenness([(f.before, f.capacity) for f in fillings])
    with_pod = _evenness([(f.after, f.capacity) for f in fillings])
    return improvement(without, with_pod)


def improvement(without: N, with_pod: N) -> N:
    """A score for how much more even the use of resources is with the pod than without it."""
    half = HIGHEST // 2
    return half + (half + with_pod - without) // 2


def _evenness(uses: list[tuple[Ints, Ints]]) -> Ints:
    """[node] 100 if all resources are used to the same fraction, less the further these are apart.

    uses  for each resource, [node] what is used and the capacity
    """
    fractions = [_fraction(used, capacity) for used, capacity in uses]
    if len(uses) == 2 and all(capacity.all() for _, capacity in uses):
        spread: Floats = np.abs((fractions[0] - fractions[1]) / 2)
    else:
        spread = _spread(fractions, [capacity > 0 for _, capacity in uses])
    return ((1 - spread) * HIGHEST).astype(np.int64)


def _fraction(used: Ints, capacity: Ints) -> Floats:
    return np.minimum(used / np.maximum(capacity, 1), 1.0)


def _spread(fractions: list[Floats], present: list[Mask]) -> Floats:
    """[node] the standard deviation over the resources that it has; for two, half their distance.

    For each resource, [node] the fraction used, and whether the node has it.
    """
    # The standard deviation of two is half their distance, too, but for a rounding error, and scores are
    # rounded down: they are worked out as in kube-scheduler.
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


# --- on one node, in plain numbers: for few nodes, columns cost more than they save -----------------
#
# Everything counts and is rounded as in the columns above.


def allocation_on(ask: Ask, shape: Shape, node: int) -> int | None:
    """The score of one node; None for a shape of one's own, for which there are columns."""
    strategy = ask.profile.strategy
    if strategy is Strategy.REQUESTED_TO_CAPACITY_RATIO:
        return None
    total = weights = 0
    for resource in ask.profile.strategy_resources:
        filling = _filling(ask.view, shape, resource, node, floored=True)
        if filling is None or filling[2] == 0:
            continue
        _, after, capacity = filling
        used = min(after, capacity)
        counted = capacity - used if strategy is Strategy.LEAST_ALLOCATED else used
        total += counted * HIGHEST // capacity * resource.weight
        weights += resource.weight
    return total // max(weights, 1)


def balance_on(ask: Ask, shape: Shape, node: int) -> int | None:
    """The score of one node; None for more than two resources: for a standard deviation there are columns."""
    if not is_balanced(shape, ask.profile):
        return 0
    uses = [*_uses(ask, shape, node)]
    if len(uses) > 2:
        return None
    without = _evenness_on([before / capacity for before, _, capacity in uses])
    with_pod = _evenness_on([after / capacity for _, after, capacity in uses])
    return improvement(without, with_pod)


def _uses(ask: Ask, shape: Shape, node: int) -> Iterator[tuple[int, int, int]]:
    """The resources that the node has."""
    for resource in ask.profile.balanced_resources:
        filling = _filling(ask.view, shape, resource, node, floored=False)
        if filling is not None and filling[2] > 0:
            yield filling


def _evenness_on(fractions: list[float]) -> int:
    used = [min(fraction, 1.0) for fraction in fractions]
    spread = abs((used[0] - used[1]) / 2) if len(used) == 2 else 0.0
    return int((1 - spread) * HIGHEST)


def _filling(
    view: Snapshot, shape: Shape, resource: ResourceWeight, node: int, *, floored: bool
) -> tuple[int, int, int] | None:
    """Requested without the pod, with the pod, and the capacity; None if the resource does not count."""
    name, row = resource.name, row_of(view, resource.name)
    if row is None:
        return None
    capacity: int = view.allocatable.item(row, node)
    if floored and name in FLOORED:
        before: int = view.nonzero.item(FLOORED[name], node)
        return before, before + (shape.nonzero_cpu if name == CPU else shape.nonzero_memory), capacity
    request = next((amount for known, amount in shape.requests if known == name), 0)
    if not counts(name, request):
        return None
    before = view.requested.item(row, node)
    return before, before + request, capacity
