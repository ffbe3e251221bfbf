"""Small models of room, by hand: one resource, and units by what they use of each node."""

from collections.abc import Mapping, Sequence

import numpy as np

from reprieve.model.snapshot import NOWHERE
from reprieve.preemption.criteria import BUDGETS_BROKEN, HIGHEST_PRIORITY, PODS_STOPPED, WORKLOADS_ENDED
from reprieve.preemption.gangs import GroupNeeds
from reprieve.preemption.least_disturbance.model import Item, RoomModel, Shares
from reprieve.preemption.least_disturbance.model_of_question import terms_of

ORDER = terms_of((BUDGETS_BROKEN, HIGHEST_PRIORITY, PODS_STOPPED, WORKLOADS_ENDED))
NO_GROUPS = GroupNeeds(np.zeros(0, np.int64))


def an_item(  # noqa: PLR0913  most have a usual value
    units: Sequence[int],
    used: Mapping[int, int],
    priority: int = 0,
    *,
    budgets: Shares = (),
    pods: int = 1,
    group: int = NOWHERE,
    ended: int = 1,
) -> Item:
    """``used``: of each node, by one unit. It has so many pods."""
    return Item(
        units=tuple(units),
        starts=tuple(0.0 for _ in units),
        priority=priority,
        prices=(0, 0, pods, ended),
        footprint=tuple((node, (amount,)) for node, amount in sorted(used.items())),
        budgets=budgets,
        group=group,
        pods=pods,
    )


def a_room(
    left: Sequence[int],
    items: Sequence[Item],
    needs: Sequence[int] = (1,),
    members: Sequence[int] = (1,),
    groups: GroupNeeds = NO_GROUPS,
) -> RoomModel:
    """``left``: on each node. ``needs`` and ``members``: for each shape; all members need room."""
    every = tuple(range(len(needs)))
    return RoomModel(
        order=ORDER,
        needs=tuple((need,) for need in needs),
        members=tuple(members),
        target=sum(members),
        left=tuple((amount,) for amount in left),
        usable_by=tuple(every for _ in left),
        nodes=tuple(range(len(left))),
        items=tuple(items),
        allowances=(0,),
        groups=groups,
        shape_of=tuple(shape for shape, count in enumerate(members) for _ in range(count)),
        breaks_no_budget=False,
        is_exact=True,
    )
