"""Is the node near the pods that the newcomer must be with, and apart from those it must not meet?

Near means within one topology domain: see ``near``. Preferences are not looked at here.
"""

from collections.abc import Iterator

import numpy as np

from reprieve.model.columns import Mask
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
    if avoided := list(_near_avoided(ask)):
        yield Rejection(np.logical_or.reduce(avoided), Reason(Code.POD_ANTI_AFFINITY), curable=True)
    if avoiding := list(_near_avoiding(ask)):
        yield Rejection(np.logical_or.reduce(avoiding), Reason(Code.EXISTING_ANTI_AFFINITY), curable=True)


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


def _near_avoided(ask: Ask) -> Iterator[Mask]:
    """Nodes near pods from which the newcomer's own terms keep it apart."""
    for term in ask.shape.anti_affinity:
        avoided = np.flatnonzero(ask.view.pods_meant(term))
        yield near(ask, term.topology_key, avoided) > 0


def _near_avoiding(ask: Ask) -> Iterator[Mask]:
    """Nodes near pods whose terms keep the newcomer away."""
    carried = ask.view.pods.anti_affinity
    for topology_key, weights in ask.view.mentions(ask.pod).anti_affinity.items():
        avoiding, _ = carried.weighed(weights)
        yield near(ask, topology_key, avoiding) > 0
