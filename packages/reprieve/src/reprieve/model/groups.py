"""PodGroups, and the CompositePodGroups around them.

If the group of a pod is not known, only the pod's own fields count.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from reprieve.model.annotations import CHECKPOINT
from reprieve.model.columns import Ints, Mask
from reprieve.model.objects import CompositePodGroup, KubernetesObject, ObjectKey, Pod, PodGroup, group_of

GroupKey = ObjectKey
Group = PodGroup | CompositePodGroup

GROUP_KINDS = (PodGroup, CompositePodGroup)

DEEPEST = 4  # levels of a tree of groups; Kubernetes allows no more


@dataclass(frozen=True, slots=True, eq=False)
class GroupColumns:
    """What groups say of their pods. A *whole* is a group that is evicted whole or not at all."""

    keys: Sequence[GroupKey | None]  # [key] what was asked about; it may have grown since
    known: Mask  # [key]
    priority: Ints  # [key] of the outermost group
    outermost: tuple[Group | None, ...]  # [key] itself, where it is known
    whole: Ints  # [key] which whole its pods belong to, or -1
    names: tuple[str, ...]  # [whole] with its kind
    first: Ints  # [whole] the first key whose pods belong to it
    is_composite: Mask  # [whole]
    least: Ints  # [key] how many of its pods a gang needs; -1: it is no gang by itself
    in_gang: Mask  # [key] it is one, or in a group around it
    publishing: Mask  # [key] annotations say when its work, or that of a group around it, was last saved


@dataclass(frozen=True, slots=True)
class Ancestry:
    """The outermost group that a PodGroup is in, known or not; or why there is none."""

    root: GroupKey | None = None  # None: the PodGroup is in no other group, or is not known
    problem: str = ""


class GroupsByParent:
    """Which groups are inside which, also inside of those that are not known."""

    def __init__(self, groups: Iterable[Group] = ()) -> None:
        self._inside: dict[GroupKey, dict[tuple[type, GroupKey], Group]] = {}
        for group in groups:
            self.add(group)

    def add(self, group: Group) -> None:
        """In place of the same group, if it had the same parent."""
        if group.spec.parent:
            self._inside.setdefault(_parent(group), {})[type(group), key_of(group)] = group

    def remove(self, group: Group) -> None:
        siblings = self._inside.get(_parent(group), {})
        siblings.pop((type(group), key_of(group)), None)
        if not siblings:
            self._inside.pop(_parent(group), None)

    def children(self, composite: GroupKey) -> Iterable[Group]:
        """The groups that name it as their parent."""
        return self._inside.get(composite, {}).values()

    def beneath(self, composite: GroupKey) -> tuple[list[GroupKey], set[GroupKey]]:
        """The PodGroups inside a composite group, as deep as a tree may be; and the composite groups at the
        depth where a tree ends. PodGroups inside those are in no tree, and a chain may be of any length."""
        level, found = {composite}, set[GroupKey]()
        for _ in range(DEEPEST - 1):
            inside, level = self._inside_of(level)
            found |= inside
        return sorted(found), level

    def at_any_depth(self, composites: Iterable[GroupKey]) -> list[GroupKey]:
        """The PodGroups inside any of these, however deep. Each group is looked at once."""
        level, found = set(composites), set[GroupKey]()
        seen = set[GroupKey]()
        while level:
            seen |= level
            inside, further = self._inside_of(level)
            found |= inside
            level = further - seen
        return sorted(found)

    def _inside_of(self, composites: Iterable[GroupKey]) -> tuple[set[GroupKey], set[GroupKey]]:
        """The PodGroups, and the composite groups, that are directly inside these."""
        inside = [group for key in composites for group in self.children(key)]
        return (
            {key_of(group) for group in inside if isinstance(group, PodGroup)},
            {key_of(group) for group in inside if isinstance(group, CompositePodGroup)},
        )


@dataclass(frozen=True, slots=True)
class Groups:
    pod_groups: Mapping[GroupKey, PodGroup] = field(default_factory=dict)
    composites: Mapping[GroupKey, CompositePodGroup] = field(default_factory=dict)
    # What was last asked for: a decision asks for one list of keys again and again.
    _last: dict[str, GroupColumns] = field(default_factory=dict, init=False, repr=False, compare=False)
    _index: list[GroupsByParent] = field(default_factory=list, init=False, repr=False, compare=False)
    _outermost: dict[GroupKey, CompositePodGroup | None] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def _by_parent(self) -> GroupsByParent:
        """Made when it is first asked for: most changes of groups need none."""
        if not self._index:
            self._index.append(GroupsByParent([*self.pod_groups.values(), *self.composites.values()]))
        return self._index[0]

    def children(self, composite: GroupKey) -> list[Group]:
        """The groups that name it as their parent, the oldest first, then by name."""
        return sorted(self._by_parent().children(composite), key=_age)

    def ancestry(self, key: GroupKey) -> Ancestry:
        group: Group | None = self.pod_groups.get(key)
        if group is None or not group.spec.parent:
            return Ancestry()
        namespace, seen = key[0], list[str]()
        while group is not None and group.spec.parent and len(seen) <= DEEPEST:
            if group.spec.parent in seen:
                return Ancestry(problem=f"CompositePodGroup {namespace}/{group.spec.parent} is inside itself")
            seen.append(group.spec.parent)
            group = self.composites.get((namespace, group.spec.parent))
        if len(seen) >= DEEPEST:  # how far it goes on is not looked at: clients may create long chains
            above = f"CompositePodGroup {namespace}/{seen[DEEPEST - 1]}"
            text = f"it is {DEEPEST} levels below {above}; a tree has no more than {DEEPEST} levels"
            return Ancestry(problem=text)
        return Ancestry((namespace, seen[-1]))

    def chain(self, key: GroupKey | None) -> Iterator[tuple[str, Group]]:
        """A pod's group and the known groups around it, from the inside out, each with a name that includes
        its kind.

        Of a chain that is too long, only the outermost group follows the allowed levels: as for all pods of
        a tree, its priority applies to pods that run there. In a cycle there is none.
        """
        group: Group | None = self.pod_groups.get(key) if key is not None else None
        for _ in range(DEEPEST):
            if group is None:
                return
            yield kind_and_name(group), group
            namespace, parent = group.metadata.namespace, group.spec.parent
            group = self.composites.get((namespace, parent)) if parent else None
        if isinstance(group, CompositePodGroup) and (root := self._root_of(group)) is not None:
            yield kind_and_name(root), root

    def _root_of(self, composite: CompositePodGroup) -> CompositePodGroup | None:
        """The outermost known group around it, or the group itself; None in a cycle.

        Found once for all groups on the way: chains may be long, and groups at their ends many.
        """
        way = dict[GroupKey, CompositePodGroup]()
        around: CompositePodGroup | None = composite
        while around is not None and (key := key_of(around)) not in self._outermost and key not in way:
            way[key] = around
            around = self.composites.get((key[0], around.spec.parent)) if around.spec.parent else None
        last = next(reversed(way.values()), None)
        found = last if around is None else self._outermost.get(key_of(around))
        self._outermost.update(dict.fromkeys(way, found))
        return found

    def root(self, key: GroupKey | None) -> Group | None:
        """The outermost group, whose priority applies to all pods inside."""
        chain = [group for _, group in self.chain(key)]
        return chain[-1] if chain else None

    def leaves(self, root: GroupKey) -> list[GroupKey]:
        """The PodGroups that are scheduled with this outermost group, whether or not it is known.

        A PodGroup that is too deep, or in a cycle, is in no tree.
        """
        return [key for key in self.beneath(root) if self.ancestry(key).root == root]

    def beneath(self, composite: GroupKey) -> list[GroupKey]:
        """The PodGroups inside a composite group, whether or not that one is known."""
        return self._by_parent().beneath(composite)[0]

    def unit(self, key: GroupKey | None) -> tuple[str, Group] | None:
        """The outermost group that can only be evicted as a whole."""
        whole = [(name, group) for name, group in self.chain(key) if group.spec.disrupted_whole]
        return whole[-1] if whole else None

    def columns(self, keys: Sequence[GroupKey | None]) -> GroupColumns:
        """``keys`` only ever grows."""
        last = self._last.get("")
        if last is None or last.keys is not keys or len(last.known) != len(keys):
            last = self._last[""] = _columns(self, keys)
        return last


def _columns(groups: Groups, keys: Sequence[GroupKey | None]) -> GroupColumns:
    size = len(keys)
    known, priority, whole = np.zeros(size, np.bool_), np.zeros(size, np.int64), np.full(size, -1)
    least, in_gang, publishing = np.full(size, -1), np.zeros(size, np.bool_), np.zeros(size, np.bool_)
    wholes: dict[str, int] = {}
    first, composite, outermost = list[int](), list[bool](), list[Group | None]()
    for code, key in enumerate(keys):
        # Keys of groups that are gone may be as many as those in use.
        own = groups.pod_groups.get(key) if key is not None else None
        around = [*groups.chain(key)] if own is not None else []
        outermost.append(around[-1][1] if around else None)
        if own is None:
            continue
        for _, group in around:
            if CHECKPOINT in group.metadata.annotations:
                publishing[code] = True
        known[code], priority[code] = True, around[-1][1].spec.priority or 0
        least[code] = own.spec.gang.min_count if own.spec.gang is not None else -1
        in_gang[code] = bool(own.spec.gang or own.spec.parent)
        for name, group in reversed(around):
            if group.spec.disrupted_whole:
                whole[code] = wholes.setdefault(name, len(wholes))
                if whole[code] == len(first):
                    first.append(code)
                    composite.append(isinstance(group, CompositePodGroup))
                break
    return GroupColumns(
        keys,
        known,
        priority,
        tuple(outermost),
        whole,
        tuple(wholes),
        np.array(first, np.int64),
        np.array(composite, np.bool_),
        least,
        in_gang,
        publishing,
    )


def key_of(group: Group) -> GroupKey:
    return group.metadata.namespace, group.metadata.name


def _parent(group: Group) -> GroupKey:
    return group.metadata.namespace, group.spec.parent


def kind_and_name(group: Group) -> str:
    """With its kind."""
    return "/".join((type(group).__name__, *key_of(group)))


def _age(group: Group) -> tuple[float, str]:
    created = group.metadata.creation_timestamp
    return created.timestamp() if created is not None else 0.0, group.metadata.name


def groups_table(objects: Iterable[KubernetesObject]) -> Groups:
    pod_groups: dict[GroupKey, PodGroup] = {}
    composites: dict[GroupKey, CompositePodGroup] = {}
    for thing in objects:
        key = (thing.metadata.namespace, thing.metadata.name)
        match thing:
            case PodGroup():
                pod_groups[key] = thing
            case CompositePodGroup():
                composites[key] = thing
            case _:
                pass
    return Groups(pod_groups, composites)


def group_key(pod: Pod) -> GroupKey | None:
    name = group_of(pod)
    return (pod.metadata.namespace, name) if name else None
