"""Which groups would be left with less than they need, and which pods run on for nothing then?

A gang needs ``minCount`` of its pods, and a group around others needs some of those. Only groups that have
what they need now are looked at: the pods of others run for nothing as it is.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heapify, heappop, heappush

import numpy as np

from reprieve.model.columns import Ints, Mask
from reprieve.model.groups import DEEPEST, Group, GroupKey, key_of
from reprieve.model.objects import CompositePodGroup
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.preemption.units import Unit, Units

_UNLIMITED = np.iinfo(np.int64).max


# --- what groups need ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class GroupNeeds:
    """Groups that have what they need, by numbers; a group has a higher one than the groups inside it.

    A group that is evicted whole counts as one that needs all of its pods, and holds no groups. Groups
    without groups inside are *leaves*: they have pods.
    """

    of_pod: Ints  # [pod] its leaf, or NOWHERE
    running: tuple[int, ...] = ()  # [group] pods of a leaf
    slack: tuple[int, ...] = ()  # [group] how many of its pods, or of the groups inside it, can go
    parent: tuple[int, ...] = ()  # [group] the group around it, or NOWHERE
    ends: tuple[bool, ...] = ()  # [group] whether its end counts: not if it goes whole, and so as a unit

    def __len__(self) -> int:
        return len(self.slack)

    @cached_property
    def has_trees(self) -> bool:
        return any(parent != NOWHERE for parent in self.parent)

    @cached_property
    def leaves_in(self) -> Mapping[int, Sequence[int]]:
        """The leaves inside each group that is no leaf."""
        inside: dict[int, list[int]] = {}
        for leaf, running in enumerate(self.running):
            around = self.parent[leaf] if running else NOWHERE
            while around != NOWHERE:
                inside.setdefault(around, []).append(leaf)
                around = self.parent[around]
        return inside

    def lost(self, units: Iterable[Unit]) -> dict[int, int]:
        """How many pods leave each leaf with these units; leaves that lose none are left out."""
        lost: dict[int, int] = {}
        if not len(self):
            return lost
        of_pod = self.of_pod
        for unit in units:
            leaf = int(of_pod[unit.pods[0]])  # the pods of a unit are in one leaf
            if leaf != NOWHERE:
                lost[leaf] = lost.get(leaf, 0) + len(unit.pods)
        return lost

    def broken(self, lost: Mapping[int, int]) -> list[int]:
        """The groups that have too little left, if so many pods leave these leaves."""
        counts, broken = dict(lost), list[int]()  # what leaves a group: pods of a leaf, or groups inside it
        # The lowest number first: then all that leaves a group is counted when its turn comes, since the
        # groups inside it have lower ones.
        open_ones = [*counts]
        heapify(open_ones)
        while open_ones:
            group = heappop(open_ones)
            if counts[group] <= self.slack[group]:
                continue
            broken.append(group)
            around = self.parent[group]
            if around != NOWHERE:
                if around not in counts:
                    heappush(open_ones, around)
                counts[around] = counts.get(around, 0) + 1
        return broken

    def idle(self, broken: Sequence[int], lost: Mapping[int, int]) -> int:
        """How many pods are left that run on for nothing."""
        stopped = {leaf for group in broken for leaf in self.leaves_in.get(group, (group,))}
        return sum(self.running[leaf] - lost.get(leaf, 0) for leaf in stopped)

    def ended(self, broken: Iterable[int]) -> int:
        """How many workloads end with them, beside the units that are evicted whole."""
        return sum(self.ends[group] for group in broken)

    def around(self, leaves: Iterable[int]) -> "tuple[GroupNeeds, dict[int, int]]":
        """The trees that these leaves are in, without the pods; and the numbers that groups have there."""
        roots = {self._root(leaf) for leaf in leaves}
        kept = [group for group in range(len(self)) if self._root(group) in roots] if roots else []
        number = {group: place for place, group in enumerate(kept)}
        return GroupNeeds(
            np.zeros(0, np.int64),
            tuple(self.running[group] for group in kept),
            tuple(self.slack[group] for group in kept),
            tuple(number.get(self.parent[group], NOWHERE) for group in kept),
            tuple(self.ends[group] for group in kept),
        ), number

    def _root(self, group: int) -> int:
        while self.parent[group] != NOWHERE:
            group = self.parent[group]
        return group

    def of_units(self, units: Units) -> Ints:
        """[unit] its leaf, or NOWHERE."""
        leaf = np.full(len(units.priority), NOWHERE)
        pods = np.flatnonzero((self.of_pod != NOWHERE) & (units.of_pod != NOWHERE))
        leaf[units.of_pod[pods]] = self.of_pod[pods]
        return leaf


def group_needs(view: Snapshot, units: Units, pods: Mask) -> GroupNeeds:
    """What the groups of these pods ([pod]) need, and those around them.

    Where a whole unit stands by itself, nothing is left that could need more.
    """
    groups = view.pods.groups
    if not pods.any():
        return GroupNeeds(np.full(len(view.pods), NOWHERE))
    counts = np.bincount(groups.codes[view.where != NOWHERE], minlength=len(groups.things))
    codes = np.unique(groups.codes[pods & (units.of_pod != NOWHERE)])
    if not view.groups.composites:
        said = view.groups.columns(groups.things)
        return _needs_of_gangs(codes[said.whole[codes] < 0], counts, view)
    found = _Needs(view, np.full(len(groups.things), NOWHERE), counts)
    done = set[GroupKey]()
    for code in codes.tolist():
        key = groups.things[code]
        if key is None or key not in view.groups.pod_groups:
            continue
        root = view.groups.root(key)
        if isinstance(root, CompositePodGroup):
            if key_of(root) not in done and not root.spec.disrupted_whole:
                done.add(key_of(root))
                found.enter(root, DEEPEST)
        elif root is not None and root.spec.gang is not None and not root.spec.disrupted_whole:
            found.enter_leaf(root, [code])
    return GroupNeeds(
        found.number_of[groups.codes],
        tuple(found.running),
        tuple(found.slack),
        tuple(found.parent),
        tuple(found.ends),
    )


def _complete(codes: Ints, counts: Ints, view: Snapshot) -> tuple[Ints, Ints]:
    """Those of the groups that are gangs with enough pods, and how many these can lose."""
    least = view.groups.columns(view.pods.groups.things).least[codes]
    surplus = counts[codes] - least
    met = (least >= 0) & (surplus >= 0)
    return codes[met], surplus[met]


def _needs_of_gangs(codes: Ints, counts: Ints, view: Snapshot) -> GroupNeeds:
    """As they are without groups around them."""
    gangs, surplus = _complete(codes[counts[codes] > 0], counts, view)
    number_of = np.full(len(counts), NOWHERE)
    number_of[gangs] = np.arange(len(gangs))
    return GroupNeeds(
        number_of[view.pods.groups.codes],
        tuple(counts[gangs].tolist()),
        tuple(surplus.tolist()),
        (NOWHERE,) * len(gangs),
        (True,) * len(gangs),
    )


@dataclass(slots=True, eq=False)
class _Needs:
    view: Snapshot
    number_of: Ints  # [code of a PodGroup]
    counts: Ints  # [code] pods that have a node
    running: list[int] = field(default_factory=list)
    slack: list[int] = field(default_factory=list)
    parent: list[int] = field(default_factory=list)
    ends: list[bool] = field(default_factory=list)

    def enter(self, group: Group, depth: int) -> int | None:
        """The number of a group that has what it needs; those inside it are entered before."""
        if not isinstance(group, CompositePodGroup) or group.spec.disrupted_whole:
            return self.enter_leaf(group, [*self._codes_in(group, depth)])
        inside = [self.enter(child, depth - 1) for child in self._children(group, depth)]
        complete = [child for child in inside if child is not None]
        least = group.spec.gang.min_count if group.spec.gang is not None else 1
        if len(complete) < least:
            return None
        number = self._number(0, len(complete) - least, ends=True)
        for child in complete:
            self.parent[child] = number
        return number

    def enter_leaf(self, group: Group, codes: Sequence[int]) -> int | None:
        running, whole = int(self.counts[codes].sum()), group.spec.disrupted_whole
        if not running or not self.is_met(group, DEEPEST):
            return None
        least = group.spec.gang.min_count if group.spec.gang is not None else 1
        number = self._number(running, 0 if whole else running - least, ends=not whole)
        self.number_of[codes] = number
        return number

    def _number(self, running: int, slack: int, *, ends: bool) -> int:
        self.running.append(running)
        self.slack.append(slack)
        self.parent.append(NOWHERE)
        self.ends.append(ends)
        return len(self.slack) - 1

    def _children(self, group: CompositePodGroup, depth: int) -> Sequence[Group]:
        return self.view.groups.children(key_of(group)) if depth > 1 else ()

    def _codes_in(self, group: Group, depth: int) -> Iterator[int]:
        if isinstance(group, CompositePodGroup):
            for child in self._children(group, depth):
                yield from self._codes_in(child, depth - 1)
        elif (code := self.view.pods.groups.index.get(key_of(group))) is not None:
            yield code

    def is_met(self, group: Group, depth: int) -> bool:
        """Whether enough of it runs."""
        least = group.spec.gang.min_count if group.spec.gang is not None else 1
        if isinstance(group, CompositePodGroup):
            children = self._children(group, depth)
            return sum(self.is_met(child, depth - 1) for child in children) >= least
        return int(self.counts[[*self._codes_in(group, depth)]].sum()) >= least


def degraded(view: Snapshot, row: int) -> Group | None:
    """The group of a pod, or one around it, of which not enough runs; pods that leave do not count."""
    groups = view.pods.groups
    staying = groups.codes[(view.where != NOWHERE) & ~view.pods.terminating]
    counts = np.bincount(staying, minlength=len(groups.things))
    needs = _Needs(view, np.zeros(0, np.int64), counts)
    around = (group for _, group in view.groups.chain(groups[row]))
    return next((group for group in around if not needs.is_met(group, DEEPEST)), None)


# --- how many pods each gang can lose ------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class GangSlack:
    """Gangs that have as many pods as they need, by numbers.

    The last number stands for no gang, of which any number of pods can go: so no mask is needed to read
    columns.
    """

    of_pod: Ints  # [pod] its gang
    surplus: Ints  # [gang] how many of its pods can go before too few are left
    running: Ints  # [gang] pods
    in_tree: Mask  # [gang] whether its end may stop pods of other groups

    def __len__(self) -> int:
        return len(self.surplus) - 1

    def broken(self, victims: Iterable[Unit]) -> int:
        """How many gangs have too few pods left without these units."""
        return int((self.leaving(victims) > self.surplus).sum())

    def leaving(self, units: Iterable[Unit]) -> Ints:
        """[gang] how many of its pods go with these units."""
        rows = np.array([pod for unit in units for pod in unit.pods], np.int64)
        return np.bincount(self.of_pod[rows], minlength=len(self.surplus))

    # --- as accounts that evictions are charged to ---

    @property
    def width(self) -> int:
        return len(self)

    @property
    def pods(self) -> Ints:
        """[charge] the pods of gangs: each is charged to one, its own."""
        return np.flatnonzero(self.of_pod != len(self))

    @property
    def account(self) -> Ints:
        """[charge] the gang."""
        return self.of_pod[self.pods]

    # The last entry of each column is that of pods in no gang: no account.

    def allowances(self) -> Ints:
        """[gang] how many of its pods can go."""
        return self.surplus[:-1]

    def sizes(self) -> Ints:
        """[gang] how many of its pods run."""
        return self.running[:-1]


class GangTally:
    """How many pods leave each gang, while units are put back. All of these units are gone at first."""

    def __init__(self, gangs: GangSlack, units: Iterable[Unit]) -> None:
        self._gangs, self._leaving = gangs, gangs.leaving(units)

    def needs(self, unit: Unit) -> bool:
        """Whether one of its gangs has too few pods, unless this unit or others come back."""
        of_unit = self._gangs.of_pod[list(unit.pods)]
        return bool((self._leaving[of_unit] > self._gangs.surplus[of_unit]).any())

    def put_back(self, unit: Unit) -> None:
        np.subtract.at(self._leaving, self._gangs.of_pod[list(unit.pods)], 1)


def slack_of(needs: GroupNeeds) -> GangSlack:
    """How many pods the leaves can lose, whatever that means for groups around them."""
    none = len(needs)
    in_tree = [parent != NOWHERE for parent in needs.parent]
    return GangSlack(
        np.where(needs.of_pod == NOWHERE, none, needs.of_pod),
        np.array([*needs.slack, _UNLIMITED], np.int64),
        np.array([*needs.running, 0], np.int64),
        np.array([*in_tree, False], np.bool_),
    )


def gang_slack(view: Snapshot, pods: Mask) -> GangSlack:
    """How many pods the gangs of these pods ([pod]) can lose, each by itself."""
    groups = view.pods.groups
    counts = np.bincount(groups.codes[view.where != NOWHERE], minlength=len(groups.things))
    gangs, surplus = _complete(np.unique(groups.codes[pods]), counts, view)
    number_of = np.full(len(groups.things), NOWHERE)
    number_of[gangs] = np.arange(len(gangs))
    of_pod = number_of[groups.codes]
    none = len(gangs)
    return GangSlack(
        np.where(pods & (of_pod != NOWHERE), of_pod, none),
        np.append(surplus, _UNLIMITED),
        np.append(counts[gangs], 0),
        np.zeros(none + 1, np.bool_),
    )
