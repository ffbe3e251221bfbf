"""The key of a demand: the object that it is made of, and the kind of demand that the object makes."""

from enum import IntEnum
from typing import NamedTuple

from reprieve.model.groups import GroupKey, Groups, group_key
from reprieve.model.objects import Pod


class DemandKind(IntEnum):
    """The order is the last tie-breaker but one of the queue: of equals, the lower kind is decided first."""

    RESIZE = 0  # a pod that runs, and whose node has deferred its resize
    POD = 1
    GROUP = 2
    TREE = 3  # a CompositePodGroup that is in no other, with all that is in it

    @property
    def is_of_groups(self) -> bool:
        return self >= DemandKind.GROUP


class DemandKey(NamedTuple):
    kind: DemandKind
    namespace: str
    name: str

    @classmethod
    def of_pod(cls, pod: Pod) -> "DemandKey":
        return cls(DemandKind.POD, pod.metadata.namespace, pod.metadata.name)

    @classmethod
    def of_group(cls, group: GroupKey) -> "DemandKey":
        return cls(DemandKind.GROUP, *group)

    @classmethod
    def of_tree(cls, root: GroupKey) -> "DemandKey":
        return cls(DemandKind.TREE, *root)

    @classmethod
    def of_resize(cls, pod: Pod) -> "DemandKey":
        return cls(DemandKind.RESIZE, pod.metadata.namespace, pod.metadata.name)

    @property
    def object_kind(self) -> str:
        match self.kind:
            case DemandKind.POD | DemandKind.RESIZE:
                return "Pod"
            case DemandKind.GROUP:
                return "PodGroup"
            case DemandKind.TREE:
                return "CompositePodGroup"

    @property
    def object(self) -> tuple[str, str]:
        """The pod or the group, as the mirror knows it."""
        return self.namespace, self.name


# --- which demand a waiting pod is part of -------------------------------------------------------


def with_its_tree(pod: Pod, groups: Groups) -> DemandKey:
    """All pods below one root, whether or not the root is known; where there is none, those of the group."""
    group = group_key(pod)
    root = groups.ancestry(group).root if group is not None else None
    return DemandKey.of_tree(root) if root is not None else with_its_group(pod, groups)


def with_its_group(pod: Pod, _: Groups) -> DemandKey:
    group = group_key(pod)
    return DemandKey.of_group(group) if group is not None else DemandKey.of_pod(pod)


def by_itself(pod: Pod, _: Groups) -> DemandKey:
    return DemandKey.of_pod(pod)
