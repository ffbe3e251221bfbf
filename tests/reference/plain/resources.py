"""Is there room, counted pod by pod."""

from collections.abc import Mapping

from reprieve.model.objects import Node
from reprieve.placement.rejection_codes import Code, Reason
from tests.reference.plain.cluster import Cluster, Refusals
from tests.reference.plain.requests import Amounts, plus, read, requests, whole_units


def capacity(node: Node) -> Amounts:
    return whole_units(read(node.status.allocatable))


def used(cluster: Cluster, node: Node) -> Amounts:
    return plus(*(requests(pod) for pod in cluster.pods_on(node)))


def resources(cluster: Cluster, node: Node, ignored: Mapping[str, bool] | None = None) -> Refusals:
    refusals: Refusals = set()
    there, taken = capacity(node), used(cluster, node)
    if len(cluster.pods_on(node)) + 1 > there.get("pods", 0):
        refusals.add((Reason(Code.TOO_MANY_PODS), True))
    for name, amount in requests(cluster.newcomer).items():
        if amount == 0 or (ignored or {}).get(name, False):
            continue
        if amount > there.get(name, 0):
            refusals.add((Reason(Code.EXCEEDS_CAPACITY, name), False))
        elif amount > there.get(name, 0) - taken.get(name, 0):
            refusals.add((Reason(Code.INSUFFICIENT_RESOURCE, name), True))
    return refusals
