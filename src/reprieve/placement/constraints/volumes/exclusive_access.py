"""Exclusive access: disks that pods cannot share, and ReadWriteOncePod claims."""

from collections.abc import Iterator

import numpy as np

from reprieve.model.columns import Ints
from reprieve.placement.constraints.volumes.claim_checks import claims_of
from reprieve.placement.demand import Ask
from reprieve.placement.rejection_codes import Code, Reason, Rejection


def exclusive(ask: Ask) -> Iterator[Rejection]:
    shape, view = ask.shape, ask.view
    for disk in shape.disks:
        nodes = _homes(ask, view.pods.holders().of_disk(disk))
        if nodes.size:
            taken = np.zeros(len(view.nodes), np.bool_)
            taken[nodes] = True
            yield Rejection(taken, Reason(Code.DISK_CONFLICT), curable=True)
    if not shape.claims:
        return
    for claim in claims_of(ask):
        name = claim.key[1]
        if not claim.for_one_pod or name in shape.ephemeral_claims:
            continue
        # The pod that uses the claim blocks it on all nodes, wherever it runs.
        if _homes(ask, view.pods.claims.rows_with(claim.key)).size:
            everywhere = np.ones(len(view.nodes), np.bool_)
            yield Rejection(everywhere, Reason(Code.CLAIM_IN_USE, name), curable=True)


def _homes(ask: Ask, pods: Ints) -> Ints:
    """The nodes of those pods that have one, without the incoming pod."""
    nodes: Ints = ask.view.where[pods[pods != ask.pod]]
    return nodes[nodes >= 0]
