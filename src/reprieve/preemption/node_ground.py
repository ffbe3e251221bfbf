"""On which nodes may there be a plan for one pod, and what is there?

Which units would be the victims is not known here.
"""

from dataclasses import dataclass, replace

import numpy as np

from reprieve.model.columns import Column, Ints, Mask, sealed
from reprieve.model.score_cache import WhatIfScores
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.model.whatif import without
from reprieve.placement.constraints.pods import kept_apart, pod_affinity
from reprieve.placement.constraints.ports import host_ports
from reprieve.placement.demand import Ask, Constraint
from reprieve.placement.place import survey
from reprieve.placement.spread_rules import rules_of
from reprieve.preemption.budgets import UnitShares, shares_of
from reprieve.preemption.question import Question
from reprieve.preemption.takeable import Takeable
from reprieve.preemption.tenants import Tenants, asked, tenants_on
from reprieve.preemption.units import Units


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """All nodes where there may be a plan."""

    question: Question
    takeable: Takeable
    tenants: Tenants
    left: Ints  # [requested resource, node of the tenants] if the demand came and no tenant went
    by_room: Mask  # [node of the cluster] nothing but room and ports is missing there
    is_clear: Mask  # [node of the cluster] nor anything else but that certain pods there are gone
    shares: UnitShares
    their_shares: UnitShares  # as kube-scheduler reads budgets
    gangs: UnitShares | None  # what units are to gangs that should keep the pods they need; None: to none

    def on(self, chosen: Mask | None) -> "Ground":
        """None: on all of them."""
        if chosen is None:
            return self
        return replace(self, tenants=self.tenants.on(chosen), left=self.left[:, chosen])


def ground_of(question: Question, takeable: Takeable) -> Ground:
    demand, view, units = question.demand, question.view, takeable.units
    taken = _pods_of(units, takeable.allowed)
    ask, curable = Ask(view, demand.pods[0], question.profile), question.found.curable()
    special, unclear = np.zeros(len(taken), np.bool_), np.zeros(len(curable), np.bool_)
    by_room = ~unclear
    if takeable.matter.any():
        matter = taken & _pods_of(units, units.with_any(takeable.matter))
        by_room = ~(curable & (_counted(view, matter) > 0))
        special = matter & (not _matter_on_their_node(ask, demand.constraints))
        unclear = curable & (_counted(view, special) > 0)
    counted, blocking = _counted(view, taken), _blocking(ask, demand.constraints)
    tenants = tenants_on(np.flatnonzero(curable & (counted > 0)), ask, units, taken, blocking)
    if special.any() or not _has_all(tenants, counted):
        emptied = without(view, np.flatnonzero(taken & ~special), rated=False)
    else:
        emptied = _emptied(ask, tenants, taken)
    usable = survey(replace(ask, view=emptied), demand.constraints, curable).feasible | unclear
    if not usable[tenants.nodes].all():
        tenants = tenants.on(usable[tenants.nodes])
    shares, rival, gangs = shares_of(units, takeable.accounts), takeable.rival, takeable.gangs
    is_same = rival is None or rival.accounts is takeable.accounts
    return Ground(
        question,
        takeable,
        tenants,
        left=_left(ask, tenants.nodes),
        by_room=by_room,
        is_clear=~unclear,
        shares=shares,
        their_shares=shares if rival is None or is_same else shares_of(units, rival.accounts),
        gangs=shares_of(units, gangs) if gangs is not None else None,
    )


def _emptied(ask: Ask, tenants: Tenants, taken: Mask) -> Snapshot:
    """The cluster without all tenants, as far as it is asked whether the demand has room there.

    Their room is known. ``requested`` is right for no other nodes, and for no other resources.
    """
    view, requested = ask.view, ask.view.requested.copy()
    for resource, freed in zip(asked(ask), np.add.reduce(tenants.room, axis=1), strict=True):
        requested[resource, tenants.nodes] -= freed
    where = np.where(taken, NOWHERE, view.where)
    return replace(view, where=sealed(where), requested=sealed(requested), cached_scores=WhatIfScores())


def _has_all(tenants: Tenants, counted: Ints) -> bool:
    """Whether the tenants are all pods that may be evicted: so many, on each node."""
    return bool(np.count_nonzero(tenants.there) == counted[tenants.nodes].sum())


def _pods_of(units: Units, chosen: Mask) -> Mask:
    mask: Mask = (units.of_pod != NOWHERE) & chosen[units.of_pod]
    return mask


def _counted(view: Snapshot, pods: Mask) -> Ints:
    return np.bincount(view.where[pods], minlength=len(view.nodes))


def _blocking(ask: Ask, constraints: tuple[Constraint, ...]) -> Mask:
    """Pods that keep the demand from their node: by a port that it needs, or by anti-affinity."""
    blocking = np.zeros(len(ask.view.pods), np.bool_)
    for wanted in ask.shape.ports if host_ports in constraints else ():
        blocking[ask.view.pods.holders().of_port(wanted)] = True
    for topology_key, pods in kept_apart(ask) if pod_affinity in constraints else ():
        labelled = ask.view.nodes.label(topology_key).codes != 0
        blocking[pods[labelled[ask.view.where[pods]]]] = True
    return blocking


def _matter_on_their_node(ask: Ask, constraints: tuple[Constraint, ...]) -> bool:
    """Whether pods matter beyond room and ports only by keeping the demand from the node that they run on.

    As by anti-affinity within a host: then they block it, and no more is to be known of them.
    """
    shape, nodes = ask.shape, ask.view.nodes
    if shape.affinity or shape.claims or shape.disks or shape.inline_volumes:
        return False
    if pod_affinity not in constraints or any(rules_of(ask, required=True)):
        return False
    return all(_is_one_node_each(nodes.label(key)) for key in {key for key, _ in kept_apart(ask)})


def _is_one_node_each(label: Column[str | None]) -> bool:
    """Whether no two nodes have the same value; the code 0 is that of its absence."""
    return bool(np.bincount(label.codes)[1:].max(initial=0) <= 1)


def _left(ask: Ask, nodes: Ints) -> Ints:
    """[requested resource, node] what would be left if the demand came and no tenant went."""
    view, wanted = ask.view, asked(ask)
    left: Ints = view.allocatable[wanted] - view.requested[wanted]
    left -= view.pods.requests[wanted, ask.pod][:, None]
    return left[:, nodes]
