"""A group and the groups inside it: how many of its pods run, and how many more does it need?"""

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace

from reprieve.model.formatting import counted
from reprieve.model.groups import DEEPEST, Group, GroupKey, Groups, key_of
from reprieve.model.objects import CompositePodGroup, PodGroup


@dataclass(frozen=True, slots=True)
class GroupTree:
    """A group, and the groups inside it."""

    group: Group
    running: int  # pods of a PodGroup that have their node
    topology_key: str = ""  # its pods must be where this label of nodes has one value
    children: tuple["GroupTree", ...] = ()
    waiting: int = 0  # pods of a PodGroup that have none
    is_broken: bool = False  # it runs in part, and pods are missing that it needs: see ``decidable``

    @property
    def key(self) -> GroupKey:
        return key_of(self.group)

    @property
    def signature(self) -> Hashable:
        """Equal for trees that need the same, whatever their names."""
        inside = tuple(child.signature for child in self.children)
        own = (self.group.spec.gang, self.is_broken, self.topology_key)
        return own, self.running, self.waiting, inside

    @property
    def is_composite(self) -> bool:
        return isinstance(self.group, CompositePodGroup)

    @property
    def least(self) -> int:
        """How many pods, or child groups, the group must have to count; one unless it is a gang."""
        if self.is_broken:
            return 0
        gang = self.group.spec.gang
        return gang.min_count if gang is not None else 1

    @property
    def is_met(self) -> bool:
        """Whether enough of it runs."""
        if not self.is_composite:
            return self.running >= self.least
        return sum(child.is_met for child in self.children) >= self.least

    @property
    def is_complete(self) -> bool:
        """Whether there are enough pods, running or waiting."""
        if not self.is_composite:
            return self.running + self.waiting >= self.least
        return sum(child.is_complete for child in self.children) >= self.least

    @property
    def is_starting(self) -> bool:
        """Whether pods that wait need each other."""
        if not self.is_composite:
            return self.group.spec.gang is not None and self.running < self.least
        return not self.is_met or any(child.is_starting for child in self.children if child.has_waiting)

    @property
    def has_waiting(self) -> bool:
        return self.waiting > 0 or any(child.has_waiting for child in self.children)

    @property
    def has_running(self) -> bool:
        return self.running > 0 or any(child.has_running for child in self.children)

    @property
    def needed(self) -> int:
        """How many pods must find a node for any to get one; those beyond that need only their own."""
        return max(1, self._missing())

    def _missing(self) -> int:
        if not self.is_composite:
            return max(0, self.least - self.running)
        complete = sorted(child._missing() for child in self.children if child.is_complete)
        return sum(complete[: self.least])

    def decidable(self) -> "GroupTree | None":
        """Without the groups that lack pods: none of theirs can start. None: nothing is left.

        A group that lacks pods may run in part. It was complete when it started, and that other pods are gone
        since is no reason to keep those waiting that join groups of which enough runs.
        """
        if not self.is_composite:
            return self if self.is_complete else None
        if self.is_complete:
            kept = (child.decidable() for child in self.children)
            return replace(self, children=tuple(child for child in kept if child is not None))
        return self._in_part()

    def _in_part(self) -> "GroupTree | None":
        """What goes on of a group of which not enough runs."""
        parts = (child.decidable() if child.is_met else child._in_part() for child in self.children)
        return self._broken(tuple(child for child in parts if child is not None))

    def _broken(self, parts: tuple["GroupTree", ...]) -> "GroupTree | None":
        return replace(self, children=parts, is_broken=True) if parts else None

    def lacking(self) -> "GroupTree | None":
        """The outermost group with waiting pods that lacks others."""
        if not self.is_complete:
            return self if self.has_waiting else None
        return next((found for child in self.children if (found := child.lacking()) is not None), None)

    def groups(self) -> Iterator[Group]:
        yield self.group
        for child in self.children:
            yield from child.groups()

    def leaves(self) -> Iterator[PodGroup]:
        return (group for group in self.groups() if isinstance(group, PodGroup))

    def incomplete_text(self) -> str:
        """What the group waits for until it can be placed.

        No number of missing pods is named: every pod that comes would change the report on all.
        """
        namespace, name = self.key
        wanted = f"{self.least} of its pods exist"
        if self.is_composite:
            verb = "has" if self.least == 1 else "have"
            wanted = f"{counted(self.least, 'child group')} {verb} enough pods"
        return f"{type(self.group).__name__} {namespace}/{name} waits until {wanted}"


def tree_of(
    groups: Groups,
    group: Group,
    count: Callable[[GroupKey], tuple[int, int]],
    topology_key: Callable[[Group], str],
    levels: int = DEEPEST,
) -> GroupTree:
    """``count``: how many pods of a PodGroup run, and how many wait. Deeper groups are in no tree."""
    if isinstance(group, PodGroup):
        running, waiting = count(key_of(group))
        return GroupTree(group, running, topology_key(group), waiting=waiting)
    inside = groups.children(key_of(group)) if levels > 1 else []
    children = tuple(tree_of(groups, child, count, topology_key, levels - 1) for child in inside)
    return GroupTree(group, 0, topology_key(group), children)
