"""The scores of resources on one node, in plain numbers: for few nodes, columns cost more than they save.

Everything counts and is rounded as in ``resources``, which answers the same for columns. None: the configured
scores are not among the simple ones.
"""

from collections.abc import Iterator

from reprieve.model.resources import CPU
from reprieve.model.shape import Shape
from reprieve.model.snapshot import Snapshot
from reprieve.placement.demand import Ask
from reprieve.placement.profile import ResourceWeight, Strategy
from reprieve.placement.scoring.resources import FLOORED, counts, improvement, is_balanced, row_of
from reprieve.placement.scoring.scale import HIGHEST


def allocation(ask: Ask, shape: Shape, node: int) -> int | None:
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


def balance(ask: Ask, shape: Shape, node: int) -> int | None:
    """Of more than two resources it is a standard deviation, for which there are columns."""
    if not is_balanced(shape, ask.profile):
        return 0
    uses = [*_uses(ask, shape, node)]
    if len(uses) > 2:
        return None
    without = _evenness([before / capacity for before, _, capacity in uses])
    with_pod = _evenness([after / capacity for _, after, capacity in uses])
    return improvement(without, with_pod)


def _uses(ask: Ask, shape: Shape, node: int) -> Iterator[tuple[int, int, int]]:
    """The resources that the node has."""
    for resource in ask.profile.balanced_resources:
        filling = _filling(ask.view, shape, resource, node, floored=False)
        if filling is not None and filling[2] > 0:
            yield filling


def _evenness(fractions: list[float]) -> int:
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
