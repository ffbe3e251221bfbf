"""The cluster with one more pod of a demand in its place, as the next pod sees it."""

from dataclasses import replace

from reprieve.model.snapshot import Snapshot
from reprieve.model.whatif import with_pod
from reprieve.placement.constraints.volumes import bindings
from reprieve.placement.demand import Ask


def with_taken(ask: Ask, node: int) -> Snapshot:
    """The pod that asks runs on a node that will do for it; free volumes that its claims get there are not
    free any more, and new ones are made there."""
    view = with_pod(ask.view, ask.pod, node)
    wanted = bindings(ask, node) if ask.shape.claims else None
    if wanted is None or not (wanted.bound or wanted.provisioned):
        return view
    storage = view.storage.reserving(wanted.bound, wanted.provisioned, view.nodes.names[node])
    return replace(view, storage=storage)
