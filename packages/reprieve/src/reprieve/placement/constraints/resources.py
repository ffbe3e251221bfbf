"""Free resources: every resource that the pod requests, and one more pod."""

from collections.abc import Iterator

import numpy as np

from reprieve.model.columns import Ints
from reprieve.model.resources import PODS
from reprieve.model.shape import Shape
from reprieve.placement.demand import Ask
from reprieve.placement.profile import Profile
from reprieve.placement.rejection_codes import Code, Reason, Rejection


def resources(ask: Ask) -> Iterator[Rejection]:
    view = ask.view
    requests = view.pods.requests[:, ask.pod]  # [resource]
    # A resource that the pod does not request may be overdrawn: it takes nothing of it.
    for row in np.flatnonzero(requests):
        name = view.axis.names[row]
        if is_ignored(name, ask.profile):
            continue
        amount, capacity = requests[row], view.allocatable[row]
        short = capacity - view.requested[row] < amount  # [node]
        if not short.any():
            continue
        if name == PODS:
            yield Rejection(short, Reason(Code.TOO_MANY_PODS), curable=True)
            continue
        hopeless = short & (amount > capacity)  # too little even if no other pod were there
        if hopeless.any():
            yield Rejection(hopeless, Reason(Code.EXCEEDS_CAPACITY, name), curable=False)
        curable = short & ~hopeless
        if curable.any():
            yield Rejection(curable, Reason(Code.INSUFFICIENT_RESOURCE, name), curable=True)


def how_many_fit(ask: Ask) -> Ints:
    """[node] for how many pods like this one ``resources`` leaves room, one beside the other."""
    view, requests = ask.view, ask.view.pods.requests[:, ask.pod]
    fit = np.full(len(view.nodes), np.iinfo(np.int64).max)
    for row in np.flatnonzero(requests):
        if not is_ignored(view.axis.names[row], ask.profile):
            fit = np.minimum(fit, (view.allocatable[row] - view.requested[row]) // requests[row])
    return fit


def has_room(ask: Ask, node: int) -> bool:
    """Whether one node is not among those that ``resources`` rejects."""
    view, requests = ask.view, ask.view.pods.requests[:, ask.pod]
    short = (requests > 0) & (view.allocatable[:, node] - view.requested[:, node] < requests)
    return not short.any() or all(
        is_ignored(view.axis.names[row], ask.profile) for row in np.flatnonzero(short)
    )


def has_room_for(ask: Ask, shape: Shape, node: int) -> bool:
    """Whether one node (row) has room for a pod that requests what its shape says."""
    names, allocatable, requested = ask.view.axis.names, ask.view.allocatable, ask.view.requested
    for name, amount in shape.requests:
        if not amount:
            continue  # a resource of which every object names 0 may have no row
        row = names.index(name)
        is_short = allocatable.item(row, node) - requested.item(row, node) < amount
        if is_short and not is_ignored(name, ask.profile):
            return False
    return True


def is_ignored(name: str, profile: Profile) -> bool:
    """Extended resources that the profile ignores, by name or by the group before the slash."""
    return name in profile.ignored_resources or (
        "/" in name and name.split("/", maxsplit=1)[0] in profile.ignored_resource_groups
    )
