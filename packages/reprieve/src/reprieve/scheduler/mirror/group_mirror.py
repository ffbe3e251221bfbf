"""Groups as the cluster shows them: their members, what they say, and what their classes said for them."""

import math
from collections.abc import Iterable, Iterator, Sequence

from reprieve.model.conditions import NEVER, run_started_at, scheduled_at
from reprieve.model.effects import Target
from reprieve.model.groups import GROUP_KINDS, Group, GroupKey, Groups, GroupsByParent, key_of
from reprieve.model.objects import (
    CompositePodGroup,
    KubernetesObject,
    ObjectKey,
    Pod,
    PodGroup,
    PriorityClass,
)
from reprieve.preemption.preemption_priority import ANNOTATION
from reprieve.scheduler.targets import group_target


class GroupMirror:
    def __init__(self) -> None:
        self._pod_groups: dict[GroupKey, PodGroup] = {}
        self._composites: dict[GroupKey, CompositePodGroup] = {}
        self.classes: dict[str, PriorityClass] = {}
        # What its class said of preemption when a group (by UID) and the class were first known together. As
        # for pods, which get it when they are created, what becomes of the class later changes nothing.
        self._policies: dict[str, str] = {}
        self._members: dict[GroupKey, set[ObjectKey]] = {}
        self._by_parent = GroupsByParent()  # kept up to date: a list of groups is a change for each of them
        # Composite groups so far inside one that has changed that PodGroups in them are in no tree with it.
        self._below_changes: set[GroupKey] = set()
        self._tree: Groups | None = None

    def tree(self) -> Groups:
        if self._tree is None:
            self._tree = Groups(dict(self._pod_groups), dict(self._composites))
        return self._tree

    def beneath(self, composite: GroupKey) -> list[GroupKey]:
        """The PodGroups inside a composite group, whether or not that one is known."""
        return self._by_parent.beneath(composite)[0]

    def take_too_deep(self) -> list[GroupKey]:
        """The PodGroups, since this was last asked, that are too deep inside a group that has changed.

        As victims they have the priority of the outermost group, at any depth. A chain may be of any length,
        and all groups of it may change: it is followed down once for all of these changes.
        """
        composites, self._below_changes = self._below_changes, set()
        return self._by_parent.at_any_depth(composites)

    def group(self, key: GroupKey) -> PodGroup | None:
        return self._pod_groups.get(key)

    def composite(self, key: GroupKey) -> CompositePodGroup | None:
        return self._composites.get(key)

    # --- members ---

    def members(self, group: GroupKey) -> list[ObjectKey]:
        return sorted(self._members.get(group, ()))

    def size(self, group: GroupKey) -> int:
        return len(self._members.get(group, ()))

    def join(self, group: GroupKey | None, pod: ObjectKey) -> None:
        if group is not None:
            self._members.setdefault(group, set()).add(pod)

    def leave(self, group: GroupKey | None, pod: ObjectKey) -> None:
        members = self._members.get(group) if group is not None else None
        if group is not None and members is not None:
            members.discard(pod)
            if not members:
                del self._members[group]

    # --- what they say ---

    def policy_of(self, group: PodGroup) -> str:
        """The preemption policy that the outermost group itself has; empty if it has none."""
        return self.root(group).spec.preemption_policy

    def policy_of_class(self, group: PodGroup) -> str:
        """The preemption policy that the class of the outermost group gave it; empty if it gave none."""
        return self._policies.get(self.root(group).metadata.uid, "")

    def root(self, group: PodGroup) -> Group:
        """The outermost known group around it, or the group itself."""
        return self.tree().root((group.metadata.namespace, group.metadata.name)) or group

    # --- what is shown ---

    def see(self, thing: KubernetesObject) -> list[GroupKey]:
        """The groups of pods of which something new is said; for those too deep, see ``take_too_deep``."""
        key = (thing.metadata.namespace, thing.metadata.name)
        old: Group | None = None
        match thing:
            case PodGroup():
                old, self._pod_groups[key] = self._pod_groups.get(key), thing
            case CompositePodGroup():
                old, self._composites[key] = self._composites.get(key), thing
            case PriorityClass():
                known, self.classes[thing.metadata.name] = self.classes.get(thing.metadata.name), thing
                self._settle(self._all())
                return self._naming(thing) if known is None or known.value != thing.value else []
            case _:
                return []
        self._tree = None
        if old is not None:
            self._by_parent.remove(old)
        self._by_parent.add(thing)
        self._settle([thing])
        return self._inside(type(thing), key) if old is None or _said_by(old) != _said_by(thing) else []

    def lose(self, kind: type, key: GroupKey) -> list[GroupKey]:
        """The groups of pods that it said something of."""
        if kind is PriorityClass:
            lost = self.classes.pop(key[1], None)
            return self._naming(lost) if lost is not None else []
        if kind not in GROUP_KINDS:
            return []
        gone = self._pod_groups.pop(key) if kind is PodGroup else self._composites.pop(key)
        self._policies.pop(gone.metadata.uid, None)
        self._by_parent.remove(gone)
        self._tree = None
        return self._inside(kind, key)

    def naming_classes(self) -> Iterator[Group]:
        """The groups that name a class for their role as victims."""
        return (group for group in self._all() if ANNOTATION in group.metadata.annotations)

    def _naming(self, known: PriorityClass) -> list[GroupKey]:
        """The groups of pods whose priority as victims the class may be."""
        name = known.metadata.name
        groups = (group for group in self._all() if group.metadata.annotations.get(ANNOTATION) == name)
        return [key for group in groups for key in self._inside(type(group), key_of(group))]

    def _all(self) -> tuple[Group, ...]:
        return (*self._pod_groups.values(), *self._composites.values())

    def _inside(self, kind: type, key: GroupKey) -> list[GroupKey]:
        if kind is PodGroup:
            return [key]
        inside, deepest = self._by_parent.beneath(key)
        self._below_changes |= deepest
        return inside

    def _settle(self, groups: Iterable[Group]) -> None:
        for group in groups:
            if (known := self.classes.get(group.spec.priority_class_name)) is not None:
                self._policies.setdefault(group.metadata.uid, known.preemption_policy)


def _said_by(group: Group) -> tuple[object, ...]:
    """What of a group matters to others."""
    return group.spec, group.metadata.annotations.get(ANNOTATION)


# --- runs ----------------------------------------------------------------------------------------


class GroupRuns:
    """When did the present run of a group start?

    A run starts when as many pods of the group are bound as it needs, after none was; it ends when none is
    left. Pods that join or leave in between do not move the start. A group that ran before this process
    looked at it keeps the start that its condition says, or else counts from the earliest of its pods.
    """

    def __init__(self) -> None:
        self._starts: dict[Target, float] = {}
        self._without: set[Target] = set()  # groups of which no pod was bound at the last look

    def forget(self, group: Target) -> None:
        self._starts.pop(group, None)
        self._without.discard(group)

    def start_of(self, group: PodGroup, running: Sequence[Pod], wall: float) -> float | None:
        """The start of the present run; None if there is none, or not yet.

        ``running``: the pods of the group that are bound and not being deleted. ``wall``: the time of day.
        """
        target = group_target(group)
        if not running:
            self._starts.pop(target, None)
            self._without.add(target)
            return None
        if target not in self._starts:
            start = _fresh(group, running, wall) if target in self._without else _known(group, running, wall)
            if start is None:
                return None
            self._starts[target] = start
            self._without.discard(target)
        return self._starts[target]


def _fresh(group: PodGroup, running: Sequence[Pod], wall: float) -> float | None:
    """The moment at which the last pod that it needs was bound; None while some are missing."""
    if len(running) < (group.spec.gang.min_count if group.spec.gang is not None else 1):
        return None
    latest = max(map(scheduled_at, running))
    return latest if math.isfinite(latest) else wall  # the sight of a bind may come before the condition


def _known(group: PodGroup, running: Sequence[Pod], wall: float) -> float:
    """The start of a run that was going on at the first look, whether or not all of its pods are left."""
    written = run_started_at(group)
    earliest = min(map(scheduled_at, running)) if written == NEVER else written
    return max(0.0, earliest) if earliest < NEVER else wall
