"""Extended resources that a client advertises in the capacity of a node: does the kubelet offer them?

A function of the status before and after a change. Resources of the node itself are not known here.
"""

from reprieve.cluster.mini.kinds import peek
from reprieve.model.json import Json


def offered_anew(status: Json, before: Json) -> Json | None:
    """The allocatable resources that follow from the capacity; None if they are so already.

    Only what comes to the capacity is added, and only what leaves it is removed: nodes may be described by
    their allocatable resources alone.
    """
    capacity, allocatable = peek(status, "capacity"), peek(status, "allocatable")
    come = {
        name: amount for name, amount in capacity.items() if _is_extended(name) and name not in allocatable
    }
    gone = {name for name in peek(before, "capacity") if _is_extended(name) and name not in capacity}
    if not come and not gone & allocatable.keys():
        return None
    return {name: amount for name, amount in {**allocatable, **come}.items() if name not in gone}


def _is_extended(name: str) -> bool:
    return "/" in name
