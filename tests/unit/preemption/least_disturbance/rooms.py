"""Small models of room, by hand: one resource, and units by what they use of each node."""

from collections.abc import Mapping, Sequence

from reprieve.preemption.least_disturbance.costs import Disturbance

from reprieve.preemption.least_disturbance.model import Item, RoomModel, Shares
from tests.reference.disturbance_plans import USUAL_ORDER


def an_item(
    units: Sequence[int], used: Mapping[int, int], priority: int = 0, *, budgets: Shares = (), pods: int = 1
) -> Item:
    """``used``: of each node, by one unit. It has so many pods."""
    footprint = tuple((node, (amount,)) for node, amount in sorted(used.items()))
    prices = {Disturbance.PODS_STOPPED: pods, Disturbance.PODS: pods, Disturbance.WORKLOADS_ENDED: 1}
    listed = tuple(prices.get(criterion, 0) for criterion in USUAL_ORDER)
    return Item(tuple(units), priority, listed, footprint, budgets, ())


def a_room(
    left: Sequence[int], items: Sequence[Item], needs: Sequence[int] = (1,), members: Sequence[int] = (1,)
) -> RoomModel:
    """``left``: on each node. ``needs`` and ``members``: for each shape; all members need room."""
    every = tuple(range(len(needs)))
    return RoomModel(
        order=USUAL_ORDER,
        needs=tuple((need,) for need in needs),
        members=tuple(members),
        target=sum(members),
        left=tuple((amount,) for amount in left),
        usable_by=tuple(every for _ in left),
        nodes=tuple(range(len(left))),
        items=tuple(items),
        allowances=(0,),
        running=(),
        slack=(),
        shape_of=tuple(shape for shape, count in enumerate(members) for _ in range(count)),
        breaks_no_budget=False,
        is_exact=True,
    )
