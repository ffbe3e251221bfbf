"""A placement of a tree as a gang: the pods that it places, each in the domains that it gives their groups.

Wherever such a gang is placed, the tree is met. Another choice of pods or domains may fit where this one does
not, unless the tree leaves none.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from reprieve.model.columns import Mask
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.placement.demand import Branch, Demand
from reprieve.placement.place import Placement


@dataclass(frozen=True, slots=True, eq=False)
class TreeChoice:
    gang: Demand
    members: tuple[int, ...]  # the positions of its pods in the tree
    of: int  # how many pods the tree has

    def narrowed(self, placement: Placement) -> Placement:
        """A placement of the tree's pods that has no others, as one of the gang's."""
        positions = {member: i for i, member in enumerate(self.members)}
        nodes = tuple(placement.nodes[member] for member in self.members)
        return Placement(nodes, tuple(positions[member] for member in placement.turns))

    def widened(self, placement: Placement) -> Placement:
        nodes = [NOWHERE] * self.of
        for member, node in zip(self.members, placement.nodes, strict=True):
            nodes[member] = node
        return Placement(tuple(nodes), tuple(self.members[i] for i in placement.turns))


def choice_of(demand: Demand, view: Snapshot, nodes: Sequence[int]) -> TreeChoice:
    """``nodes``: of a placement that meets the tree."""
    assert demand.tree is not None
    everywhere = np.ones(len(view.nodes), np.bool_)
    masks = dict(_within(demand.tree, view, nodes, everywhere))
    members = tuple(sorted(masks))
    gang = replace(
        demand.with_members(members, needed=len(members)),
        within=tuple(masks[member] for member in members),
        is_one_of_several=not demand.tree.leaves_no_choice,
    )
    return TreeChoice(gang, members, len(demand.pods))


def _within(group: Branch, view: Snapshot, nodes: Sequence[int], mask: Mask) -> Iterator[tuple[int, Mask]]:
    there = [nodes[position] for position in group.positions() if nodes[position] != NOWHERE]
    if not there:
        return
    if group.allowed is not None:
        mask = mask & group.allowed
    if group.topology_key:
        codes = view.nodes.label(group.topology_key).codes
        mask = mask & (codes == codes[there[0]])
    yield from ((member, mask) for member in group.members if nodes[member] != NOWHERE)
    for child in group.children:
        yield from _within(child, view, nodes, mask)
