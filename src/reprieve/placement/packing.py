"""Members that only take room from each other: which of them go to nodes of which kind.

Members that request the same and may use the same nodes are one class, whatever else differs. Nodes that have
the same left, and that the same classes can use, are one kind: what the search proves for one of them holds
for all. Amounts are counted in units of what the requests have in common; what a node has left beyond that is
of no use to any member.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from reprieve.model.columns import Ints, Mask
from reprieve.placement.backtracking import first_complete
from reprieve.placement.effort import Share

Positions = tuple[int, ...]
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

    members: Positions
    needs: tuple[int, ...]
    nodes: Mask

    def capacity(self, left: Sequence[int]) -> int:
        """How many of them a node has room for that has so much left."""
        fits = (have // need for have, need in zip(left, self.needs, strict=True) if need)
        return min((*fits, len(self.members)))


class Packing:
    """Where members of each class could go. What there is in numbers does not change during a search."""

    def __init__(self, room: Room) -> None:
        room = room.in_common_units()
        self.classes = _classes(room)
        self.kinds = _kinds(room, self.classes)  # [node], None for those that no member can use
        self.counts = Counter(kind for kind in self.kinds if kind is not None)
        self.pools = _pools(self.classes)
        self._worth: dict[Kind, Ints] = {}
        self._roots: dict[int, list[Kind]] = {}
        self._needed = room.needed
        self._totals: list[int] = room.requests.sum(axis=1).tolist()

    @cached_property
    def start(self) -> "PartialPacking":
        worth = sum(
            (n * self.worth(kind) for kind, n in self.counts.items()), np.zeros(self._width, np.int64)
        )
        left = tuple(len(one.members) for one in self.classes)
        return PartialPacking(self, {}, left, self._needed, worth, None)

    @property
    def is_refuted(self) -> bool:
        """Whether it is plain that too few members have room."""
        return self.start.is_hopeless

    def search(self, share: Share, choose: Choice) -> list[tuple[int, int]] | None:
        """Members and their nodes, in the order in which they were placed."""
        found = None if self.is_refuted else first_complete(self.start, share)
        return None if found is None else list(self._on_nodes(found, choose))

    # --- numbers ---------------------------------------------------------------------------------

    @property
    def _width(self) -> int:
        resources = len(self.classes[0].needs)
        return 2 * len(self.classes) + len(self.pools) * resources

    def worth(self, kind: Kind) -> Ints:
        """What one node of the kind adds to the sums that bound a packing.

        For each class whether it can be used, and for how many; for each pool the room that is left.
        """
        known = self._worth.get(kind)
        if known is None:
            capacity = [
                one.capacity(kind.left) if kind.classes >> i & 1 else 0 for i, one in enumerate(self.classes)
            ]
            usable = sum(1 << i for i, n in enumerate(capacity) if n)
            room = [have if usable & pool else 0 for pool in self.pools for have in kind.left]
            known = np.array([*(n > 0 for n in capacity), *capacity, *room], np.int64)
            self._worth[kind] = known
        return known

    def with_one_more(self, kind: Kind, of_class: int) -> Kind | None:
        """The kind of such a node once a member of the class is on it; None if there is no room for it."""
        if not kind.classes >> of_class & 1:
            return None
        left = tuple(have - need for have, need in zip(kind.left, self.classes[of_class].needs, strict=True))
        return Kind(left, kind.classes) if min(left, default=0) >= 0 else None

    def usual(self, of_class: int) -> list[Kind]:
        """The kinds of nodes at the start that a class can use, those with the least left first.

        Full nodes leave the others to members that need more, so that the search seldom has to go back.
        """
        if of_class not in self._roots:
            usable = [kind for kind in self.counts if self.with_one_more(kind, of_class) is not None]
            self._roots[of_class] = sorted(usable, key=self.fullness)
        return self._roots[of_class]

    def fullness(self, kind: Kind) -> tuple[float, Kind]:
        return self._size(kind.left), kind

    def _size(self, amounts: Sequence[int]) -> float:
        """In shares of what all members together request."""
        pairs = zip(amounts, self._totals, strict=True)
        return sum((amount / total for amount, total in pairs if total), 0.0)

    @cached_property
    def class_sizes(self) -> list[float]:
        return [self._size(one.needs) for one in self.classes]

    def member_sizes(self) -> dict[int, float]:
        pairs = zip(self.classes, self.class_sizes, strict=True)
        return {member: size for one, size in pairs for member in one.members}

    def _on_nodes(self, found: "PartialPacking", choose: Choice) -> Iterator[tuple[int, int]]:
        nodes: dict[Kind, list[int]] = {}
        for node, kind in enumerate(self.kinds):
            if kind is not None:
                nodes.setdefault(kind, []).append(node)
        members = [list(one.members) for one in self.classes]
        for of_class, kind in found.steps():
            member, node = choose(members[of_class], nodes[kind])
            members[of_class].remove(member)
            nodes[kind].remove(node)
            after = self.with_one_more(kind, of_class)
            assert after is not None
            nodes.setdefault(after, []).append(node)
            yield member, node


def _classes(room: Room) -> tuple[_Class, ...]:
    found: dict[tuple[tuple[int, ...], bytes], list[int]] = {}
    for member, (needs, is_open) in enumerate(zip(room.requests.T.tolist(), room.is_open, strict=True)):
        found.setdefault((tuple(needs), is_open.tobytes()), []).append(member)
    return tuple(
        _Class(tuple(members), needs, room.is_open[members[0]]) for (needs, _), members in found.items()
    )


def _kinds(room: Room, classes: Sequence[_Class]) -> list[Kind | None]:
    fits = np.array(
        [one.nodes & (room.left >= np.array(one.needs, np.int64)[:, None]).all(axis=0) for one in classes]
    )
    kinds: list[Kind | None] = [None] * room.left.shape[1]
    used = np.flatnonzero(fits.any(axis=0))
    if not len(used):
        return kinds
    columns = np.concatenate([room.left[:, used], fits[:, used]])
    _, firsts, which = np.unique(columns, axis=1, return_index=True, return_inverse=True)
    distinct = [
        Kind(tuple(room.left[:, node].tolist()), sum(1 << int(one) for one in np.flatnonzero(fits[:, node])))
        for node in used[firsts]
    ]
    for node, kind in zip(used.tolist(), which.reshape(-1).tolist(), strict=True):
        kinds[node] = distinct[kind]
    return kinds


def _pools(classes: Sequence[_Class]) -> tuple[int, ...]:
    """Sets of classes (bits) that share a part of the cluster: all that may use no node outside it."""
    pools = {(1 << len(classes)) - 1}
    for one in classes:
        pools.add(sum(1 << i for i, other in enumerate(classes) if not (other.nodes & ~one.nodes).any()))
    return tuple(sorted(pools))


class _Step(NamedTuple):
    of_class: int
    kind: Kind
    before: "_Step | None"


@dataclass(frozen=True, slots=True, eq=False)
class PartialPacking:
    """Some members are placed, and some are left out."""

    packing: Packing
    changed: Mapping[
        Kind, int
    ]  # of which kinds there are more or fewer nodes than at the start, and how many
    left: tuple[int, ...]  # members of each class that are neither placed nor left out
    missing: int
    worth: Ints  # of all nodes
    last: _Step | None

    @property
    def key(self) -> Hashable:
        return frozenset(self.changed.items()), self.left

    def steps(self) -> list[tuple[int, Kind]]:
        steps, step = [], self.last
        while step is not None:
            steps.append((step.of_class, step.kind))
            step = step.before
        return steps[::-1]

    def successors(self, share: Share) -> Iterator["PartialPacking"]:
        """A member of the class with the fewest nodes left goes to each kind of node; or no more of it do."""
        if not share.take():
            return
        waiting = [i for i, n in enumerate(self.left) if n]
        sizes = self.packing.class_sizes
        of_class = min(waiting, key=lambda i: (self.worth[i], -sizes[i], i))
        for kind in self._candidates(of_class):
            state = self._placing(of_class, kind)
            if not state.is_hopeless:
                yield state
        if sum(self.left) - self.left[of_class] >= self.missing:
            state = replace(self, left=_less(self.left, of_class, self.left[of_class]))
            if not state.is_hopeless:
                yield state

    def _candidates(self, of_class: int) -> Iterator[Kind]:
        packing = self.packing
        new = [
            kind
            for kind, n in self.changed.items()
            if n > 0 and kind not in packing.counts and packing.with_one_more(kind, of_class) is not None
        ]
        yield from sorted(new, key=packing.fullness)
        for kind in packing.usual(of_class):
            if packing.counts[kind] + self.changed.get(kind, 0) > 0:
                yield kind

    def _placing(self, of_class: int, kind: Kind) -> "PartialPacking":
        packing, changed = self.packing, Counter(self.changed)
        after = packing.with_one_more(kind, of_class)
        assert after is not None
        changed[kind] -= 1
        changed[after] += 1
        return PartialPacking(
            packing,
            {one: n for one, n in changed.items() if n},
            _less(self.left, of_class, 1),
            self.missing - 1,
            self.worth - packing.worth(kind) + packing.worth(after),
            _Step(of_class, kind, self.last),
        )

    @property
    def is_hopeless(self) -> bool:
        """Whether too few members have room even if each class, or each pool, had all of it to itself."""
        classes = self.packing.classes
        capacity = self.worth[len(classes) : 2 * len(classes)].tolist()
        if sum(map(min, self.left, capacity)) < self.missing:
            return True
        room = iter(self.worth[2 * len(classes) :].tolist())
        return any(
            self._at_least(pool, resource) > next(room)
            for pool in self.packing.pools
            for resource in range(len(classes[0].needs))
        )

    def _at_least(self, pool: int, resource: int) -> int:
        """How much of a resource the members of a pool need in any complete packing."""
        classes = self.packing.classes
        must = self.missing - sum(n for i, n in enumerate(self.left) if not pool >> i & 1)
        needs = sorted((one.needs[resource], self.left[i]) for i, one in enumerate(classes) if pool >> i & 1)
        total = 0
        for need, n in needs:
            taken = max(0, min(n, must))
            total, must = total + need * taken, must - taken
        return total


def _less(counts: tuple[int, ...], which: int, by: int) -> tuple[int, ...]:
    return (*counts[:which], counts[which] - by, *counts[which + 1 :])
