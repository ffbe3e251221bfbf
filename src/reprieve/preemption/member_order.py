"""Which pods of one group go before others of it? Those that cost the group least, as annotations say.

Costs are compared within a group and nowhere else: a pod that names a high cost is not protected at the
expense of other groups. Only groups that are evicted pod by pod have an order; what a unit is, is not known.
"""

from dataclasses import dataclass

import numpy as np

from reprieve.model.columns import Floats, Ints, Mask
from reprieve.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True, eq=False)
class MemberOrder:
    """Pods of a group in which costs differ are next to each other in the order of importance."""

    ordered: Mask  # [unit] whether it is a pod of such a group
    since: Floats  # [unit] since when its group runs; for others, since when it does itself
    cost: Ints  # [unit]
    deletion_cost: Ints  # [unit] breaks ties
    cheaper: Ints  # [unit] how many running pods of its group have a lower cost
    cheaper_to_delete: Ints  # [unit] how many of those with the same cost have a lower deletion cost


def member_order(view: Snapshot, members: Mask, start: Floats) -> MemberOrder | None:
    """``members``: running pods of groups that are evicted pod by pod; ``start``: [unit]. None: no pod has a
    cost."""
    codes, groups = view.pods.costs.codes, view.pods.groups.codes
    costly = members & (codes != 0)
    if not costly.any():
        return None
    differing = np.zeros(len(view.pods.groups.things), np.bool_)
    differing[groups[costly]] = True
    rows = np.flatnonzero(members & differing[groups])
    costs = np.array(view.pods.costs.things, np.int64)[codes[rows]]
    group, cost, deletion_cost = groups[rows], costs[:, 0], costs[:, 1]
    earliest = np.full(len(differing), np.inf)
    np.minimum.at(earliest, group, start[rows])
    since = start.copy()
    since[rows] = earliest[group]
    ordered = np.zeros(len(start), np.bool_)
    ordered[rows] = True
    in_group, with_cost, with_both = _first_equal(group, cost, deletion_cost)

    def column(values: Ints) -> Ints:
        column = np.zeros(len(start), np.int64)
        column[rows] = values
        return column

    return MemberOrder(
        ordered,
        since,
        column(cost),
        column(deletion_cost),
        column(with_cost - in_group),
        column(with_both - with_cost),
    )


def _first_equal(*keys: Ints) -> list[Ints]:
    """By the first key, by the first two and so on: the place of the first entry that is equal to each entry,
    in an order by all keys."""
    order = np.lexsort(keys[::-1])
    places, found = np.arange(len(order)), list[Ints]()
    changes = np.zeros(len(order), np.bool_)
    for key in keys:
        ordered = key[order]
        changes = changes | np.append(True, ordered[1:] != ordered[:-1])
        first = np.empty(len(order), np.int64)
        first[order] = np.maximum.accumulate(np.where(changes, places, 0))
        found.append(first)
    return found
