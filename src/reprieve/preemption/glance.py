"""A glance at all nodes at once: on which of them is a plan for one pod worth making?

Where only room and ports matter, and every unit is a pod, the plans of all nodes can be compared without
making them: slot by slot, the most important first, one vector step puts back what fits on every node.
Nodes where groups or budgets have a say are left to be planned one by one.
"""

from dataclasses import dataclass

import numpy as np

from reprieve.model.columns import Floats, Ints, Mask
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.model.whatif import without
from reprieve.placement.constraints.resources import is_ignored
from reprieve.placement.demand import Ask
from reprieve.placement.place import survey
from reprieve.preemption.question import Question, Takeable
from reprieve.preemption.sparing import spans_nodes

_WORTH_A_PLAN = 20  # as many as a decision reports


@dataclass(frozen=True, slots=True, eq=False)
class _Prices:
    """What a plan on each node would cost, by the criteria that rank plans."""

    nodes: Ints  # rows
    highest: Ints
    total: Ints
    pods: Ints
    start: Floats

    def cheapest(self, rank: Ints) -> Ints:
        order = np.lexsort((rank[self.nodes], -self.start, self.pods, self.total, self.highest))
        return self.nodes[order[:_WORTH_A_PLAN]]


def worth_planning(question: Question, takeable: Takeable) -> Ints | None:
    """The nodes (rows) among which the best plan is found; None if a glance cannot tell."""
    demand, view, units = question.demand, question.view, takeable.units
    ask = Ask(view, demand.pods[0], question.profile)
    if spans_nodes(ask):
        return None
    taken = (units.of_pod != NOWHERE) & takeable.allowed[units.of_pod]
    emptied = Ask(without(view, np.flatnonzero(taken)), ask.pod, question.profile)
    usable = survey(emptied, demand.constraints, question.found.curable()).feasible
    usable &= _counted(view, taken) > 0
    unclear = usable & _unclear(takeable, taken)
    prices = _prices(ask, np.flatnonzero(usable & ~unclear), taken)
    return np.concatenate([prices.cheapest(view.nodes.rank), np.flatnonzero(unclear)])


def _counted(view: Snapshot, pods: Mask) -> Ints:
    return np.bincount(view.where[pods], minlength=len(view.nodes))


def _unclear(takeable: Takeable, taken: Mask) -> Mask:
    """Nodes where groups take part, or a budget could be broken."""
    units, view = takeable.units, takeable.units.view
    in_groups = taken & ((view.pods.groups.codes != 0) | (units.of_pod >= len(view.pods)))
    unclear = _counted(view, in_groups) > 0
    for stock in takeable.stocks:
        unclear |= _counted(view, taken & stock.pods) > max(0, stock.budget.allowed)
    return unclear


def _prices(ask: Ask, nodes: Ints, taken: Mask) -> _Prices:
    view = ask.view
    asked = [
        r
        for r in np.flatnonzero(view.pods.requests[:, ask.pod])
        if not is_ignored(view.axis.names[r], ask.profile)
    ]
    requests = view.pods.requests[asked]
    slots = view.slots[:, nodes]
    there = (slots != NOWHERE) & (view.where[slots] == nodes) & taken[slots]
    left = (view.allocatable - view.requested)[asked][:, nodes] - requests[:, [ask.pod]]
    left += (requests[:, slots] * there).sum(axis=1)
    blocking = _blocking(ask)
    highest = np.zeros(len(nodes), np.int64)
    total, pods = np.zeros_like(highest), np.zeros_like(highest)
    start = np.zeros(len(nodes), np.float64)
    for slot, present in zip(slots, there, strict=True):
        weight = requests[:, slot]
        stays = present & ~blocking[slot] & (left >= weight).all(axis=0)
        left -= weight * stays
        goes = present & ~stays
        first = goes & (pods == 0)
        highest[first] = view.pods.priority[slot[first]]
        start[first] = view.pods.start[slot[first]]
        total += np.where(goes, view.pods.priority[slot] + (1 << 31), 0)
        pods += goes
    costly = pods > 0
    return _Prices(nodes[costly], highest[costly], total[costly], pods[costly], start[costly])


def _blocking(ask: Ask) -> Mask:
    """Pods that hold a port the newcomer needs."""
    blocking = np.zeros(len(ask.view.pods), np.bool_)
    for wanted in ask.shape.ports:
        blocking[ask.view.pods.ports.rows_where(wanted.conflicts_with)] = True
    return blocking
