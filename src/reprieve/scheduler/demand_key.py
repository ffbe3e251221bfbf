"""The key of a demand: the object that it is made of, and the kind of demand that the object makes.

What a demand asks for is not known here.
"""

from enum import IntEnum
from typing import NamedTuple

from reprieve.model.groups import GroupKey, group_key
from reprieve.model.objects import Pod


class DemandKind(IntEnum):
    """The order is the last tie-breaker but one of the queue: of equals, the lower kind is decided first."""

    RESIZE = 0  # a pod that runs, and whose node has deferred its resize
    POD = 1
    GROUP = 2


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
    def of_resize(cls, pod: Pod) -> "DemandKey":
        return cls(DemandKind.RESIZE, pod.metadata.namespace, pod.metadata.name)

    @property
    def object(self) -> tuple[str, str]:
        """The pod or the group, as the mirror knows it."""
        return self.namespace, self.name


# --- which demand a waiting pod is part of -------------------------------------------------------


def with_its_group(pod: Pod) -> DemandKey:
    group = group_key(pod)
    return DemandKey.of_group(group) if group is not None else DemandKey.of_pod(pod)


def by_itself(pod: Pod) -> DemandKey:
    return DemandKey.of_pod(pod)
