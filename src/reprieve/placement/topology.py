"""How many pods are near a node: on nodes with the same value of a label. A node without it is near none."""

import numpy as np

from reprieve.model.columns import Ints
from reprieve.placement.demand import Ask


def near(ask: Ask, topology_key: str, pods: Ints, weights: Ints | None = None) -> Ints:
    """For each node, the number of these pods (rows) near it, or the sum of their weights.

    Pods that wait are near no node, and neither is the asking pod, wherever it is.
    """
    column = ask.view.nodes.label(topology_key)
    nodes = ask.view.where[pods]
    counted = (nodes >= 0) & (pods != ask.pod)
    domains = column.codes[nodes[counted]]
    sums = np.bincount(domains, None if weights is None else weights[counted], len(column.things))
    sums[0] = 0  # what the nodes without the label hold
    return sums[column.codes].astype(np.int64, copy=False)
