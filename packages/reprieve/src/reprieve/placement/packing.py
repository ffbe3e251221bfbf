"""Members that only take room from each other: which of them go to nodes of which kind.

Members that request the same and may use the same nodes are one class, whatever else differs. Nodes that have
the same left, and that the same classes can use, are one kind: what the search proves for one of them holds
for all. Amounts are counted in units of what the requests have in common; what a node has left beyond that is
of no use to any member.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from reprieve.model.columns import Ints, Mask
from reprieve.placement.effort import Share, first_complete

NONE = -1  # no kind
OUTSIDE = -1  # what a class needs of a pool that it is not in
# Of these members and these nodes, the pair that suits best: all of them are possible.
Choice = Callable[[Sequence[int], Sequence[int]], tuple[int, int]]


@dataclass(frozen=True, slots=True, eq=False)
class Room:
    """What each member requests, what each node has left, and which nodes are open to which member."""

    requests: Ints  # [resource, member]
    left: Ints  # [resource, node]
    is_open: Mask  # [member, node]
    needed: int  # how many members must be placed

    def in_common_units(self) -> "Room":
        """In units that all requests are multiples of, and no more than all members together could use."""
        requests, left = self.requests.copy(), self.left.copy()
        for row, amounts in enumerate(requests):
            unit = max(1, int(np.gcd.reduce(amounts)))
            requests[row] //= unit
            left[row] = np.clip(left[row] // unit, 0, int(requests[row].sum()))
        by_all = np.flatnonzero((requests > 0).all(axis=1))
        if len(by_all):  # no node can take more members than these resources suffice for
            most = (left[by_all] // requests[by_all].min(axis=1)[:, None]).min(axis=0)
            left = np.minimum(left, most * requests.max(axis=1)[:, None])
        return replace(self, requests=requests, left=left)


class Kind(NamedTuple):
    left: tuple[int, ...]
    classes: int  # bits: which classes can use such a node as long as it has room for them


@dataclass(frozen=True, slots=True, eq=False)
class _Class:
    """Members that the search does not tell apart."""

    members: tuple[int, ...]
    needs: tuple[int, ...]
    nodes: Mask

    def capacity(self, left: Sequence[int]) -> int:
        """How many of them a node has room for that has so much left."""
        fits = (have // need for have, need in zip(left, self.needs, strict=True) if need)
        return min((*fits, len(self.members)))

    def size(self, room: Room) -> float:
        """The size of one of them, in shares of what all members together request."""
        totals = zip(self.needs, room.requests.sum(axis=1).tolist(), strict=True)
        return sum((need / total for need, total in totals if total), 0.0)


class Packing:
    """Where members of each class could go. Kinds have numbers, which are given when a kind comes up."""

    def __init__(self, room: Room) -> None:
        room = room.in_common_units()
        self.classes = _classes(room)
        self.class_sizes = [one.size(room) for one in self.classes]
        self._needed, self._pools = room.needed, tuple(_pools(self.classes))
        self._totals: list[int] = room.requests.sum(axis=1).tolist()
        self._kinds: list[Kind] = []
        self._numbers: dict[Kind, int] = {}
        self._after: dict[tuple[int, int], int] = {}  # see ``after``
        self._usual: dict[int, list[int]] = {}
        self.worth: list[Ints] = []  # by kind, see ``_worth``
        self.fullness: list[float] = []
        self.marks: list[int] = []  # a large number for each kind, which looks random and is not
        self.nodes: dict[int, list[int]] = {}  # by kind; a node that no member can use is of none
        for node, kind in _kinds(room, self.classes):
            self.nodes.setdefault(self._number(kind), []).append(node)
        left = tuple(len(one.members) for one in self.classes)
        # Sums over all nodes, kept from step to step: a node that changes its kind changes them by a
        # difference.
        worth = sum(len(nodes) * self.worth[kind] for kind, nodes in self.nodes.items())
        self._start = PartialPacking(self, {}, left, self._needed, worth + np.zeros(self._width, np.int64))

    @property
    def is_refuted(self) -> bool:
        """Whether it is plain that too few members have room."""
        return self._start.is_hopeless

    def search(self, share: Share, choose: Choice) -> list[tuple[int, int]] | None:
        """Members and their nodes, in the order in which they were placed."""
        found = None if self.is_refuted else first_complete(self._start, share)
        return None if found is None else list(self._on_nodes(found, choose))

    def _on_nodes(self, found: "PartialPacking", choose: Choice) -> Iterator[tuple[int, int]]:
        nodes = {kind: list(rows) for kind, rows in self.nodes.items()}
        members = [list(one.members) for one in self.classes]
        for of_class, kind in found.steps():
            member, node = choose(members[of_class], nodes[kind])
            members[of_class].remove(member)
            nodes[kind].remove(node)
            nodes.setdefault(self.after(kind, of_class), []).append(node)
            yield member, node

    # --- kinds -----------------------------------------------------------------------------------

    def _number(self, kind: Kind) -> int:
        known = self._numbers.setdefault(kind, len(self._kinds))
        if known == len(self._kinds):
            self._kinds.append(kind)
            self.worth.append(self._worth(kind))
            self.marks.append(int.from_bytes(blake2b(b"%d" % known, digest_size=16).digest(), "big"))
            pairs = zip(kind.left, self._totals, strict=True)
            self.fullness.append(-sum(have / total for have, total in pairs if total))
        return known

    def after(self, kind: int, of_class: int) -> int:
        """The kind of such a node once a member of the class is on it; NONE if there is no room for it."""
        known = self._after.get((kind, of_class))
        if known is None:
            known = NONE
            if self.worth[kind][of_class]:
                pairs = zip(self._kinds[kind].left, self.classes[of_class].needs, strict=True)
                left = tuple(have - need for have, need in pairs)
                known = self._number(Kind(left, self._kinds[kind].classes))
            self._after[kind, of_class] = known
        return known

    def usual(self, of_class: int) -> list[int]:
        """The kinds at the start that a class can use, the fullest first.

        That leaves the others to members that need more, so that the search seldom has to go back.
        """
        if of_class not in self._usual:
            usable = (kind for kind in self.nodes if self.after(kind, of_class) != NONE)
            self._usual[of_class] = self.fullest_first(usable)
        return self._usual[of_class]

    def fullest_first(self, kinds: Iterable[int]) -> list[int]:
        return sorted(kinds, key=lambda kind: (-self.fullness[kind], self._kinds[kind]))

    # --- sums that bound a packing ---------------------------------------------------------------

    @property
    def _width(self) -> int:
        return 2 * len(self.classes) + len(self._pools) * len(self._totals)

    def _worth(self, kind: Kind) -> Ints:
        """What one node adds to the sums that bound a packing.

        For each class, whether a member fits there; for each class, how many do; for each pool, and in it for
        each resource, the room there if any class of the pool fits.
        """
        may_use = [kind.classes >> i & 1 for i in range(len(self.classes))]
        capacity = [
            one.capacity(kind.left) if may else 0 for one, may in zip(self.classes, may_use, strict=True)
        ]
        usable = sum(1 << i for i, n in enumerate(capacity) if n)
        room = [have if usable & pool else 0 for pool in self._pools for have in kind.left]
        return np.array([*(n > 0 for n in capacity), *capacity, *room], np.int64)

    @cached_property
    def demands(self) -> list[list[tuple[int, int]]]:
        """For each pool and resource, as in the sums: what each class needs, the least first."""
        return [
            sorted((one.needs[r] if pool >> i & 1 else OUTSIDE, i) for i, one in enumerate(self.classes))
            for pool in self._pools
            for r in range(len(self._totals))
        ]

    def member_sizes(self) -> dict[int, float]:
        pairs = zip(self.classes, self.class_sizes, strict=True)
        return {member: size for one, size in pairs for member in one.members}


def _classes(room: Room) -> tuple[_Class, ...]:
    found: dict[tuple[tuple[int, ...], bytes], list[int]] = {}
    for member, (needs, is_open) in enumerate(zip(room.requests.T.tolist(), room.is_open, strict=True)):
        found.setdefault((tuple(needs), is_open.tobytes()), []).append(member)
    return tuple(
        _Class(tuple(members), needs, room.is_open[members[0]]) for (needs, _), members in found.items()
    )


def _kinds(room: Room, classes: Sequence[_Class]) -> Iterator[tuple[int, Kind]]:
    """Nodes that a member can use, and their kinds."""
    needs = [np.array(one.needs, np.int64)[:, None] for one in classes]
    # [class, node]
    fits = np.array(
        [one.nodes & (room.left >= need).all(axis=0) for one, need in zip(classes, needs, strict=True)]
    )
    used = np.flatnonzero(fits.any(axis=0))
    if not len(used):
        return
    # Nodes of one kind are equal columns: ``firsts`` has one of each, ``which`` the kind of each node used.
    columns = np.concatenate([room.left[:, used], fits[:, used]])
    _, firsts, which = np.unique(columns, axis=1, return_index=True, return_inverse=True)
    distinct = []
    for node in used[firsts]:
        bits = sum(1 << one for one in np.flatnonzero(fits[:, node]).tolist())
        distinct.append(Kind(tuple(room.left[:, node].tolist()), bits))
    for node, kind in zip(used.tolist(), which.reshape(-1).tolist(), strict=True):
        yield node, distinct[kind]


def _pools(classes: Sequence[_Class]) -> list[int]:
    """Sets of classes (bits) that share a part of the cluster: all that may use no node outside it."""
    pools = {(1 << len(classes)) - 1}
    for one in {one.nodes.tobytes(): one for one in classes}.values():
        pools.add(sum(1 << i for i, other in enumerate(classes) if not (other.nodes & ~one.nodes).any()))
    return sorted(pools)


class _Step(NamedTuple):
    of_class: int
    kind: int
    before: "_Step | None"


@dataclass(frozen=True, slots=True, eq=False)
class PartialPacking:
    """Some members are placed, and some are left out."""

    packing: Packing
    changed: Mapping[int, int]  # of which kinds there are more or fewer nodes than at the start, and how many
    left: tuple[int, ...]  # members of each class that are neither placed nor left out
    missing: int
    worth: Ints  # of all nodes
    mark: int = 0  # the sum of the marks of all changes
    last: _Step | None = None

    @property
    def key(self) -> Hashable:
        """The changes themselves would take much memory; sums of 128 bits are not equal by chance."""
        return self.mark, self.left

    def steps(self) -> list[tuple[int, int]]:
        """Classes, and the kinds of nodes that a member of each goes to."""
        steps, step = [], self.last
        while step is not None:
            steps.append((step.of_class, step.kind))
            step = step.before
        return steps[::-1]

    def successors(self, share: Share) -> Iterator["PartialPacking"]:
        """A member of the class with the fewest nodes left goes to each kind of node; or no more of it do."""
        if not share.take():
            return
        sizes, waiting = self.packing.class_sizes, [i for i, n in enumerate(self.left) if n]
        of_class = min(waiting, key=lambda i: (self.worth[i], -sizes[i], i))
        for kind in self._candidates(of_class):
            state = self._placing(of_class, kind)
            if not state.is_hopeless:
                yield state
        if sum(self.left) - self.left[of_class] >= self.missing:
            state = replace(self, left=_less(self.left, of_class, self.left[of_class]))
            if not state.is_hopeless:
                yield state

    def _candidates(self, of_class: int) -> Iterator[int]:
        packing, changed = self.packing, self.changed
        new = [kind for kind, n in changed.items() if n > 0 and kind not in packing.nodes]
        yield from packing.fullest_first(kind for kind in new if packing.after(kind, of_class) != NONE)
        for kind in packing.usual(of_class):
            if len(packing.nodes[kind]) + changed.get(kind, 0) > 0:
                yield kind

    def _placing(self, of_class: int, kind: int) -> "PartialPacking":
        packing, changed = self.packing, dict(self.changed)
        after = packing.after(kind, of_class)
        for one, by in ((kind, -1), (after, 1)):
            if n := changed.pop(one, 0) + by:
                changed[one] = n
        return PartialPacking(
            packing,
            changed,
            left=_less(self.left, of_class, 1),
            missing=self.missing - 1,
            worth=self.worth - packing.worth[kind] + packing.worth[after],
            mark=self.mark - packing.marks[kind] + packing.marks[after],
            last=_Step(of_class, kind, self.last),
        )

    @property
    def is_hopeless(self) -> bool:
        """Whether too few members have room even if each class, or each pool, had all of it to itself."""
        classes = len(self.left)
        if sum(map(min, self.left, self.worth[classes : 2 * classes].tolist())) < self.missing:
            return True
        room = self.worth[2 * classes :].tolist()
        return any(map(self._is_short, self.packing.demands, room))

    def _is_short(self, demands: Sequence[tuple[int, int]], room: int) -> bool:
        """Whether a pool has too little room for as few of its members as possible, and the smallest."""
        missing = self.missing
        for need, of_class in demands:
            taken = min(self.left[of_class], missing)
            missing -= taken
            room -= taken * max(0, need)
        return room < 0


def _less(counts: tuple[int, ...], which: int, by: int) -> tuple[int, ...]:
    return (*counts[:which], counts[which] - by, *counts[which + 1 :])
