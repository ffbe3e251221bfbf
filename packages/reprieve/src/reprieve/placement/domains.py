"""Placing a group within one domain of a topology: a zone, a rack, a block of nodes.

How a tree of groups is placed is in ``tree_search``.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from reprieve.model.columns import Mask
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.placement.demand import NOTHING_PROMISED, Demand, Promised
from reprieve.placement.gang_search import either, place_in_any_order, rearranged
from reprieve.placement.place import Placement, Unplaceable, place
from reprieve.placement.profile import DEFAULT_PROFILE, Profile
from reprieve.placement.rating import Choose
from reprieve.placement.rejection_codes import NO_CODES
from reprieve.placement.tree_search import domain_score, named, place_tree


@dataclass(frozen=True, slots=True, eq=False)
class Domain:
    """Part of the cluster that is looked at as a whole."""

    name: str
    nodes: Mask


def topology_domains(view: Snapshot, demand: Demand) -> Iterator[Domain]:
    """The nodes that agree in the demand's topology label, by value; those without it are in none."""
    column = view.nodes.label(demand.topology_key)
    for value in sorted(value for value in column.index if value is not None):
        nodes = column.codes == column.index[value]
        if demand.allowed is not None:
            nodes = nodes & demand.allowed
        if nodes.any():
            yield Domain(value, nodes)


def place_together(
    demand: Demand,
    view: Snapshot,
    profile: Profile = DEFAULT_PROFILE,
    choose: Choose | None = None,
    promised: Promised = NOTHING_PROMISED,
) -> Placement | Unplaceable:
    """Like ``place``, and all in one domain if the demand must not leave one: the best of them."""
    if demand.tree is not None or not demand.topology_key:
        return place_within(demand, view, profile, choose, promised)
    domains = [(one, replace(demand, allowed=one.nodes)) for one in topology_domains(view, demand)]
    tries = [(domain, place(there, view, profile, choose, promised)) for domain, there in domains]
    if not any(isinstance(found, Placement) for _, found in tries):
        others = [rearranged(there, view, profile, choose, promised) for _, there in domains]
        tries = [(domain, either(found, other)) for (domain, found), other in zip(tries, others, strict=True)]
    fits = [(domain, found) for domain, found in tries if isinstance(found, Placement)]
    if fits:
        most = max(len(_placed(demand, found)) for _, found in fits)

        def score(fit: tuple[Domain, Placement]) -> int:
            return domain_score(view, fit[0].nodes, _placed(demand, fit[1]), most)

        return max(fits, key=score)[1]  # of equals the first by name
    misses = [(domain, found) for domain, found in tries if isinstance(found, Unplaceable)]
    if misses:
        codes = NO_CODES.union(*(miss.codes for _, miss in misses))
        domain, nearest = max(misses, key=lambda pair: pair[1].placed)
        return replace(
            named(nearest, demand.topology_key, f"{demand.topology_key}={domain.name}"), codes=codes
        )
    nowhere = replace(demand, allowed=np.zeros(len(view.nodes), np.bool_))
    found = place(nowhere, view, profile, choose, promised)
    where_others_are = f"any {demand.topology_key} that all running pods of the group are in"
    return named(found, demand.topology_key, where_others_are) if isinstance(found, Unplaceable) else found


def place_within(
    demand: Demand,
    view: Snapshot,
    profile: Profile = DEFAULT_PROFILE,
    choose: Choose | None = None,
    promised: Promised = NOTHING_PROMISED,
) -> Placement | Unplaceable:
    """On the nodes that are allowed to it; the domain that a group must not leave has been chosen."""
    place_it = place_in_any_order if demand.tree is None else place_tree
    return place_it(demand, view, profile, choose, promised)


def _placed(demand: Demand, placement: Placement) -> list[int]:
    return [pod for pod, node in zip(demand.pods, placement.nodes, strict=True) if node != NOWHERE]
