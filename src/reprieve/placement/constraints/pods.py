"""Is the node near the pods that the new pod must be with, and apart from pods that it must not meet?

Near means within one topology domain: see ``near``. Preferences are not looked at here.
"""

from collections.abc import Iterator

import numpy as np

from reprieve.model.columns import Ints, Mask
from reprieve.model.shape import PodTerm
from reprieve.placement.demand import Ask
from reprieve.placement.reasons import Code, Reason, Rejection
from reprieve.placement.topology import near


def pod_affinity(ask: Ask) -> Iterator[Rejection]:
    """A node is refused for the first of the reasons only, as kube-scheduler does."""
    refused = np.zeros(len(ask.view.nodes), np.bool_)
    for rejection in _rejections(ask):
        yield Rejection(rejection.rows & ~refused, rejection.reason, rejection.curable)
        refused |= rejection.rows


def _rejections(ask: Ask) -> Iterator[Rejection]:
    if ask.shape.affinity:
        alone = ~_in_company(ask, ask.shape.affinity)
        yield Rejection(alone, Reason(Code.POD_AFFINITY), curable=False)
    for kept_away, code in ((_avoided, Code.POD_ANTI_AFFINITY), (_avoiding, Code.EXISTING_ANTI_AFFINITY)):
        if close := [near(ask, topology_key, pods) > 0 for topology_key, pods in kept_away(ask)]:
            yield Rejection(np.logical_or.reduce(close), Reason(code), curable=True)


def _in_company(ask: Ask, terms: tuple[PodTerm, ...]) -> Mask:
    """Nodes near pods that match *all* terms, by the topology of each term.

    If there are no such pods and the newcomer would be one, it is the first of its kind and may start
    wherever all the topologies exist.
    """
    wanted: Mask = np.logical_and.reduce([ask.view.pods_meant(term) for term in terms])
    keys = dict.fromkeys(term.topology_key for term in terms)
    company = np.flatnonzero(wanted)
    counts = [near(ask, key, company) for key in keys]
    if wanted[ask.pod] and not any(count.any() for count in counts):
        counts = [ask.view.nodes.label(key).codes for key in keys]  # zero where the label is missing
    everywhere: Mask = np.logical_and.reduce([count > 0 for count in counts])
    return everywhere


def kept_apart(ask: Ask) -> Iterator[tuple[str, Ints]]:
    """Pods (rows) that the new pod may not be near, by its own terms or by theirs, and by which topology."""
    yield from _avoided(ask)
    yield from _avoiding(ask)


def _avoided(ask: Ask) -> Iterator[tuple[str, Ints]]:
    """Pods from which the newcomer's own terms keep it apart."""
    for term in ask.shape.anti_affinity:
        yield term.topology_key, np.flatnonzero(ask.view.pods_meant(term))


def _avoiding(ask: Ask) -> Iterator[tuple[str, Ints]]:
    """Pods whose terms keep the newcomer away."""
    carried = ask.view.pods.anti_affinity
    for topology_key, weights in ask.view.mentions(ask.pod).anti_affinity.items():
        yield topology_key, carried.weighed(weights)[0]
