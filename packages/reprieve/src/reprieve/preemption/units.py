"""Which pods are evicted together? Pods one by one, and groups as a whole or not at all.

Units are numbered: a pod that is its own unit has the number of its row, a whole group one beyond the last
row. So a property of all units is a column, and reading it takes no loop over pods.

Pods of a group that is evicted pod by pod go in the order of what annotations say of their cost to the group.
Costs are compared within a group and nowhere else: a pod that names a high cost is not protected at the
expense of other groups.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from itertools import repeat
from typing import overload

import numpy as np
from numpy.typing import NDArray

from reprieve.model.columns import Floats, Ints, Mask
from reprieve.model.groups import GroupColumns, Groups
from reprieve.model.objects import Record
from reprieve.model.snapshot import NOWHERE, Snapshot, on_nodes
from reprieve.preemption.preemption_priority import NONE_PERMITTED, PermittedClasses

# --- which pods of a group go first --------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class MemberOrder:
    """What annotations say of pods of one group, as columns to sort by.

    Pods of a group in which costs differ are next to each other in the order of importance: they all start
    with the group. Only groups that are evicted pod by pod have such an order.
    """

    ordered: Mask  # [unit] whether it is a pod of such a group
    since: Floats  # [unit] since when its group runs, Unix time; for others, since when it does itself
    cost: Ints  # [unit]
    deletion_cost: Ints  # [unit] breaks ties
    cheaper: Ints  # [unit] how many running pods of its group have a lower cost
    cheaper_to_delete: Ints  # [unit] how many of those with the same cost have a lower deletion cost


def member_order(view: Snapshot, members: Mask, start: Floats) -> MemberOrder | None:
    """None: no pod has a cost.

    members  [pod]   whether it runs, and its group is evicted pod by pod
    start    [unit]  Unix time
    """
    codes, groups = view.pods.costs.codes, view.pods.groups.codes
    costly = members & (codes != 0)  # code 0 is no cost at all
    if not costly.any():
        return None
    differing = np.zeros(len(view.pods.groups.things), np.bool_)  # [group] one of its pods has a cost
    differing[groups[costly]] = True
    # From here on a column is [member], of these groups alone, unless it says something else.
    rows = np.flatnonzero(members & differing[groups])
    costs = np.array(view.pods.costs.things, np.int64)[codes[rows]]
    group, cost, deletion_cost = groups[rows], costs[:, 0], costs[:, 1]
    earliest = np.full(len(differing), np.inf)  # [group]
    np.minimum.at(earliest, group, start[rows])
    since = start.copy()
    since[rows] = earliest[group]
    ordered = np.zeros(len(start), np.bool_)
    ordered[rows] = True
    # If members are sorted by group and cost, the members before the first of equal cost are those of other
    # groups and the cheaper ones of its own: the difference of two such places counts the latter.
    in_group, with_cost, with_both = _first_equal(group, cost, deletion_cost)

    def column(values: Ints) -> Ints:
        """[unit] from [member]: a member is a unit of its own, with the number of its row."""
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
    """For each entry, the place of the first that is equal to it in an order by all keys.

    Equal by the first key, by the first two and so on: one column for each of these.
    """
    order = np.lexsort(keys[::-1])
    places, found = np.arange(len(order)), list[Ints]()
    changes = np.zeros(len(order), np.bool_)  # [place] by one of the keys so far, from the one before
    for key in keys:
        ordered = key[order]
        changes = changes | np.append(True, ordered[1:] != ordered[:-1])
        first = np.empty(len(order), np.int64)
        # Of the places at which something changes, the last one up to here.
        first[order] = np.maximum.accumulate(np.where(changes, places, 0))
        found.append(first)
    return found


# --- units ---------------------------------------------------------------------------------------


class UnitKind(IntEnum):
    """What a unit is; of two with the same priority the higher kind is reprieved first."""

    POD = 1
    POD_GROUP = 2
    COMPOSITE = 3


class Unit(Record, frozen=True, gc=False):
    """Pods (rows) that stay or go together. There may be tens of thousands, so they are cheap to make."""

    name: str
    kind: UnitKind
    priority: int
    start: float  # of the pod that has run longest
    pods: tuple[int, ...]
    number: int = NOWHERE  # among the units of its snapshot
    scheduling: int | None = None  # the priority with which it preempts, where that is another
    cheaper: int = 0  # see ``MemberOrder``
    cheaper_to_delete: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    view: Snapshot
    of_pod: Ints  # [pod] the number of its unit, or NOWHERE if it does not run or cannot be evicted
    priority: Ints  # [unit] as a victim
    kind: Ints  # [unit]
    start: Floats  # [unit] of the pod that has run longest, Unix time
    size: Ints  # [unit] how many of its pods run
    group_names: tuple[str, ...]  # of the units beyond the last row
    groups: Groups = field(default_factory=Groups)  # those that have a say
    own_priority: Ints | None = None  # [unit] with which it preempts; None: no unit has another as a victim
    members: MemberOrder | None = None  # of groups that are evicted pod by pod; None: they do not differ
    minds_gangs: bool = False  # those that are evicted pod by pod keep the pods that they need, if possible
    # Searches list the same ones again, and sort by the same names.
    _known: dict[int, Unit] = field(init=False, default_factory=dict)
    _names: dict[int, str] = field(init=False, default_factory=dict)

    def unit(self, number: int) -> Unit:
        (unit,) = self.made(np.array([number], np.int64))
        return unit

    def listed(self, numbers: Ints) -> list[Unit]:
        """The units, the most important first. There may be as many as pods."""
        rows, known = numbers.tolist(), self._known
        missing = [row for row in rows if row not in known]
        known.update(zip(missing, self.made(np.array(missing, np.int64)), strict=True))
        found = [known[row] for row in rows]
        order = self._order(numbers, lambda places: [found[place].name for place in places.tolist()])
        return [found[place] for place in order.tolist()]

    def made(self, numbers: Ints) -> list[Unit]:
        """The units, in the order of their numbers here."""
        names = self.names(numbers)
        groups = self._members(numbers[numbers >= len(self.view.pods)])
        rows = numbers.tolist()
        kinds: Iterable[UnitKind] = repeat(UnitKind.POD, len(rows))
        pods: Iterable[tuple[int, ...]] = zip(rows, strict=True)
        if groups:
            kinds = [UnitKind(int(self.kind[row])) if row in groups else UnitKind.POD for row in rows]
            pods = [tuple(groups[row]) if row in groups else (row,) for row in rows]
        columns = (names, kinds, self.priority[numbers].tolist(), self.start[numbers].tolist(), pods, rows)
        # The constructor is called without a frame of Python in between: there may be tens of thousands.
        return [*map(Unit, *columns, *self._others(numbers))]

    def _others(self, numbers: Ints) -> Sequence[list[int | None] | list[int]]:
        """What few units have, in columns: another priority of their own, and places by cost."""
        if self.own_priority is None and self.members is None:
            return ()
        pairs = zip(self.scheduling[numbers].tolist(), self.priority[numbers].tolist(), strict=True)
        owns = [one if one != other else None for one, other in pairs]
        if self.members is None:
            return (owns,)
        return owns, self.members.cheaper[numbers].tolist(), self.members.cheaper_to_delete[numbers].tolist()

    @property
    def scheduling(self) -> Ints:
        """[unit] the priority with which it is scheduled, and preempts."""
        return self.priority if self.own_priority is None else self.own_priority

    def _members(self, groups: Ints) -> dict[int, list[int]]:
        members: dict[int, list[int]] = {number: [] for number in groups.tolist()}
        rows = self.pods_of(groups) if members else groups
        for row, number in zip(rows.tolist(), self.of_pod[rows].tolist(), strict=True):
            members[number].append(row)
        return members

    def mask(self, numbers: Ints) -> Mask:
        """[unit] whether it has one of these numbers."""
        mask = np.zeros(len(self.priority), np.bool_)
        mask[numbers] = True
        return mask

    def touching(self, nodes: Mask) -> Ints:
        """The numbers of the units with a pod on one of the nodes."""
        there = self.of_pod[on_nodes(self.view, nodes)]
        found = np.zeros(len(self.priority) + 1, np.bool_)  # the last one stands for NOWHERE, which is -1
        found[there] = True
        return np.flatnonzero(found[:-1])

    def pods_of(self, numbers: Iterable[int] | Ints) -> Ints:
        """The rows of all pods of the units, wherever they are."""
        chosen = self.mask(np.asarray(numbers, np.int64))
        running = self.of_pod != NOWHERE
        mask = running.copy()
        mask[running] = chosen[self.of_pod[running]]
        return np.flatnonzero(mask)

    def with_any(self, pods: Mask) -> Mask:
        """[unit] whether it has one of the pods."""
        mask = np.zeros(len(self.priority), np.bool_)
        mask[self.of_pod[pods & (self.of_pod != NOWHERE)]] = True
        return mask

    def latest(self, moments: Floats) -> Floats:
        """[unit] the latest moment among its pods; minus infinity for those without any."""
        latest = np.full(len(self.priority), -np.inf)
        alone = self.of_pod == np.arange(len(moments))
        latest[: len(moments)][alone] = moments[alone]
        together = np.flatnonzero(~alone & (self.of_pod != NOWHERE))
        np.maximum.at(latest, self.of_pod[together], moments[together])
        return latest

    def apart(self, pods: Mask) -> "Units":
        """The units, but with each of these pods as a unit of its own."""
        of_pod = np.where(pods & (self.of_pod != NOWHERE), np.arange(len(self.of_pod)), self.of_pod)
        size = np.bincount(of_pod[of_pod != NOWHERE], minlength=len(self.size))
        return replace(self, of_pod=of_pod, size=size)

    def ranking_members_as_groups(self) -> "Units":
        """The units as kube-scheduler orders them: a pod that names a group, known or not, ranks as a
        group."""
        kind = self.kind.copy()
        kind[: len(self.view.pods)][self.view.pods.groups.codes != 0] = UnitKind.POD_GROUP
        return replace(self, kind=kind, members=None, minds_gangs=False)

    def in_order(self, numbers: Ints) -> Ints:
        """These numbers, the most important unit first.

        By priority, then groups before pods, then by size, then by the earlier start, then by name. Pods of a
        group in which costs differ start with the group, and among them the costs count first.
        """
        return numbers[self._order(numbers, lambda places: self.names(numbers[places]))]

    def order_within(self, numbers: Ints, parts: Ints) -> Ints:
        """The places of these numbers, part by part, in each the most important unit first.

        A unit may be there several times. Names are asked for only where they decide within a part.
        """
        distinct = np.flatnonzero(self.mask(numbers))
        sorted_ones, level = self._levels(distinct)
        turn = np.empty(len(self.priority), np.int64)  # [unit]
        turn[sorted_ones] = np.arange(len(distinct))
        order = np.argsort(parts * len(distinct) + turn[numbers])
        turns, parts = turn[numbers[order]], parts[order]
        run = np.cumsum(_begins((level[turns], parts), np.arange(len(order))))
        mixed = np.zeros(len(order) + 1, np.bool_)  # [run] it has more than one unit
        mixed[run[1:][(turns[1:] != turns[:-1]) & (run[1:] == run[:-1])]] = True
        tied = np.flatnonzero(mixed[run])
        order[tied] = order[tied[np.lexsort((self._by_name(numbers[order[tied]]), run[tied]))]]
        return order

    def _levels(self, numbers: Ints) -> tuple[Ints, Ints]:
        """These numbers in the order of importance; and [turn] which of them only names tell apart."""
        if self.members is not None:
            return self.in_order(numbers), np.arange(len(numbers))
        keys = self._keys(numbers)
        order = np.lexsort(keys)
        return numbers[order], np.cumsum(_begins(keys, order), dtype=np.int64)

    def _by_name(self, numbers: Ints) -> Ints:
        """[as numbers] the place of each in an order by name."""
        distinct = np.flatnonzero(self.mask(numbers))
        names = _sortable(self.names(distinct))
        place = np.empty(len(self.priority), np.int64)  # [unit]
        place[distinct[sorted(range(len(names)), key=names.__getitem__)]] = np.arange(len(names))
        return place[numbers]

    def _keys(self, numbers: Ints) -> tuple[Ints | Floats, ...]:
        """What the order of importance is by, before names; the last counts first."""
        return self.start[numbers], -self.size[numbers], -self.kind[numbers], -self.priority[numbers]

    def _order(self, numbers: Ints, names: Callable[[Ints], list[str]]) -> Ints:
        """The order of importance, as places among the numbers. ``names``: of the units at such places."""
        keys, members = self._keys(numbers), self.members
        if members is None:
            return _order_by(keys, names)
        start, *first = keys
        text = _texts(names(np.arange(len(numbers))))
        cost, deletion_cost = members.cost[numbers], members.deletion_cost[numbers]
        group = members.since[numbers], np.where(members.ordered[numbers], self._group_texts(numbers), text)
        return np.lexsort((text, start, -deletion_cost, -cost, *group[::-1], *first))

    def _group_texts(self, numbers: Ints) -> NDArray[np.str_]:
        """The names of the groups of pods, as texts to sort by."""
        keys = (self.view.pods.groups[number] if number < len(self.view.pods) else None for number in numbers)
        return np.array([f"Pod {key[0]} {key[1]}" if key is not None else "" for key in keys], np.str_)

    def names(self, numbers: Ints) -> list[str]:
        pods, compiled, known = len(self.view.pods), self.view.pods.compiled, self._names
        asked: list[int] = numbers.tolist()
        for number in asked:
            if number >= pods:
                known[number] = self.group_names[number - pods]
            elif number not in known:
                meta = compiled[number].pod.metadata
                known[number] = f"Pod/{meta.namespace}/{meta.name}"
        return [known[number] for number in asked]


def _order_by(keys: tuple[Ints | Floats, ...], names: Callable[[Ints], list[str]]) -> Ints:
    """The places in an order by the keys ([place]), of which the last counts first, and then by name.

    Names are asked for only where they decide: to make tens of thousands takes longer than to sort by
    numbers.
    """
    order = np.lexsort(keys)
    begins = _begins(keys, order)
    tied = np.flatnonzero(~begins | ~np.append(begins[1:], True))
    if len(tied):
        by_name = np.lexsort((_texts(names(order[tied])), np.cumsum(begins)[tied]))
        order[tied] = order[tied[by_name]]
    return order


def _begins(keys: tuple[Ints | Floats, ...], order: Ints) -> Mask:
    """[turn in the order] whether the keys differ from those of the one before; true of the first."""
    begins = np.zeros(len(order), np.bool_)
    begins[:1] = True
    for key in keys:
        ordered = key[order]
        begins[1:] |= ordered[1:] != ordered[:-1]
    return begins


def _texts(names: list[str]) -> NDArray[np.str_]:
    return np.array(_sortable(names), np.str_)


def _sortable(names: list[str]) -> list[str]:
    """A blank comes before all that a name can have, so that no namespace is torn apart."""
    return [name.replace("/", " ") for name in names]


class Listing(Sequence[Unit]):
    """Units, the most important first, listed when they are read: of tens of thousands, few ever are."""

    __slots__ = ("_listed", "_numbers", "_units")

    def __init__(self, units: Units, numbers: Ints) -> None:
        self._units, self._numbers = units, numbers
        self._listed: list[Unit] | None = None

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, place: int) -> Unit: ...

    @overload
    def __getitem__(self, place: slice) -> list[Unit]: ...

    def __getitem__(self, place: int | slice) -> Unit | list[Unit]:
        if self._listed is None:
            self._listed = self._units.listed(self._numbers)
        return self._listed[place]

    def __iter__(self) -> Iterator[Unit]:
        return iter(self[:])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self[:] == [*other]

    def __hash__(self) -> int:
        return hash(tuple(self))

    def with_any(self, pods: Mask) -> "Listing":
        """The units among them that have one of the pods ([pod])."""
        return Listing(self._units, self._numbers[self._units.with_any(pods)[self._numbers]])

    def without_any(self, pods: Mask, most: int) -> list[Unit]:
        """The most important of those that have none of the pods ([pod]); few are listed."""
        others = self._numbers[~self._units.with_any(pods)[self._numbers]]
        return self._units.listed(self._units.in_order(others)[:most])

    @property
    def pods(self) -> int:
        """How many they have together."""
        return int(self._units.size[self._numbers].sum())

    @property
    def single(self) -> Ints:
        """The rows of those that are pods."""
        return self._numbers[self._numbers < len(self._units.view.pods)]


def pods_in(units: Sequence[Unit]) -> int:
    return units.pods if isinstance(units, Listing) else sum(len(unit.pods) for unit in units)


def single_pods(units: Sequence[Unit]) -> Ints:
    """The rows of those that are pods, and no groups."""
    if isinstance(units, Listing):
        return units.single
    return np.array([unit.pods[0] for unit in units if unit.kind is UnitKind.POD], np.int64)


def with_any(units: Sequence[Unit], pods: Mask) -> Sequence[Unit]:
    """The units among them that have one of the pods ([pod])."""
    if isinstance(units, Listing):
        return units.with_any(pods)
    return [unit for unit in units if pods[[*unit.pods]].any()]


def without_any(units: Sequence[Unit], pods: Mask, most: int) -> Sequence[Unit]:
    """The first of the units among them that have none of the pods ([pod])."""
    if isinstance(units, Listing):
        return units.without_any(pods, most)
    return [unit for unit in units if not pods[[*unit.pods]].any()][:most]


def numbers_of(units: Iterable[Unit]) -> Ints:
    return np.array([unit.number for unit in units], np.int64)


def pods_alone(view: Snapshot) -> Units:
    """Every pod is its own unit, with its own priority, but not static pods: kubelets start them again."""
    rows = np.arange(len(view.pods))
    running = (view.where != NOWHERE) & ~view.pods.static
    return Units(
        view,
        of_pod=np.where(running, rows, NOWHERE),
        priority=view.pods.priority,
        kind=np.full(len(rows), UnitKind.POD),
        start=view.pods.start,
        size=running.astype(np.int64),
        group_names=(),
    )


@dataclass(frozen=True, slots=True)
class GroupUnits:
    """Pods of groups have the priority of the outermost group, and are one unit if a group says so."""

    as_upstream: bool = False  # in kube-scheduler's order of importance
    permitted: PermittedClasses = NONE_PERMITTED  # that groups may name for their role as victims

    def __call__(self, view: Snapshot) -> Units:
        units = _in_groups(view, self.permitted)
        return units.ranking_members_as_groups() if self.as_upstream else units


pods_and_groups = GroupUnits()


def _in_groups(view: Snapshot, permitted: PermittedClasses) -> Units:
    alone, groups = pods_alone(view), view.pods.groups
    members = groups.codes != 0
    if not members.any():
        return alone
    said = view.groups.columns(groups.things)
    known, whole = said.known[groups.codes], said.whole[groups.codes]  # [pod]
    is_whole = (alone.of_pod != NOWHERE) & (whole >= 0)
    of_pod = np.where(is_whole, whole + len(view.pods), alone.of_pod)
    running = of_pod != NOWHERE
    start = np.concatenate([alone.start, np.full(len(said.names), np.inf)])
    np.minimum.at(start, of_pod[is_whole], alone.start[is_whole])
    kind = np.where(said.is_composite, UnitKind.COMPOSITE, UnitKind.POD_GROUP)

    def column(of_group: Ints) -> Ints:
        """[unit] a priority that groups have, from [key]."""
        return np.concatenate([np.where(known, of_group[groups.codes], alone.priority), of_group[said.first]])

    as_victims = _priority_as_victims(said, view, permitted)
    return Units(
        view,
        of_pod=of_pod,
        priority=column(as_victims),
        kind=np.concatenate([alone.kind, kind]),
        start=start,
        size=np.bincount(of_pod[running], minlength=len(start)),
        group_names=said.names,
        groups=view.groups,
        own_priority=column(said.priority) if (as_victims != said.priority).any() else None,
        members=member_order(view, running & known & members & ~is_whole, start),
        minds_gangs=True,
    )


def _priority_as_victims(said: GroupColumns, view: Snapshot, permitted: PermittedClasses) -> Ints:
    """[key] the priority that its pods have as victims."""
    if not permitted.namespaces:
        return said.priority
    classes = view.priority_classes
    named = (permitted.priority_of(group, classes) if group is not None else 0 for group in said.outermost)
    return np.fromiter(named, np.int64, len(said.outermost))
