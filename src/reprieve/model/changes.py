"""What can happen in a cluster that demands wait for."""

from enum import Enum, auto


class Change(Enum):
    """Something that happened to nodes, running pods or storage, as far as it could let a demand fit."""

    NODE_ADDED = auto()
    NODE_GONE = auto()
    NODE_GREW = auto()
    NODE_UNCORDONED = auto()
    NODE_TAINTS = auto()
    NODE_LABELS = auto()
    NODE_FEATURES = auto()
    POD_ARRIVED = auto()
    POD_LEAVING = auto()
    POD_LEFT = auto()
    POD_SHRANK = auto()
    POD_GREW = auto()  # which helps no demand, but takes room that one may have counted on
    POD_RELABELED = auto()
    STORAGE = auto()
    NAMESPACES = auto()
    OWNERS = auto()
    BUDGETS = auto()  # for policies that exceed no budget
    TOLERATIONS = auto()  # what priority classes say of them
    CLOCKS = auto()  # the toleration of a pod has begun to count
    EVICTIONS = auto()  # one that counted against a limit did not happen
    CONTROLLERS = auto()  # a pod that runs belongs to another workload, whose evictions count
    GROUPS = auto()  # of pods that run: other priorities, or other units of preemption
