"""What pods that run forbid a newcomer: host ports in use, required pod affinity and anti-affinity.

A pod is near a node if they are in one topology domain: see ``near``. Preferred terms are for ``scoring``.
"""

from collections.abc import Iterator

import numpy as np

from reprieve.model.columns import Ints, Mask
from reprieve.model.shape import PodTerm
from reprieve.placement.demand import Ask
from reprieve.placement.rejection_codes import Code, Reason, Rejection


def near(ask: Ask, topology_key: str, pods: Ints, weights: Ints | None = None) -> Ints:
    """[node] the number of these pods (rows) near it, or the sum of their weights ([as pods]).

    Pods that wait are near no node, and neither is the asking pod, wherever it is.
    """
    column = ask.view.nodes.label(topology_key)
    nodes = ask.view.where[pods]
    counted = (nodes >= 0) & (pods != ask.pod)
    domains = column.codes[nodes[counted]]
    # [domain] A domain is a value of the label, and has its code.
    sums = np.bincount(domains, None if weights is None else weights[counted], len(column.things))
    sums[0] = 0  # nodes without the label are in no domain, and near nothing
    return sums[column.codes].astype(np.int64, copy=False)


def pod_affinity(ask: Ask) -> Iterator[Rejection]:
    """A node is rejected for the first of the reasons only, as in kube-scheduler."""
    shape = ask.shape
    if not (
        shape.affinity or shape.anti_affinity or len(ask.view.terms_matching(ask.pod).anti_affinity.codes)
    ):
        return
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
    """[node] whether it is near pods that match *all* terms, by the topology of each term.

    If there are no such pods and the incoming pod matches its own terms, it is the first of its kind and may
    run wherever all the topologies exist.
    """
    wanted: Mask = np.logical_and.reduce([ask.view.pods_matching(term) for term in terms])  # [pod]
    keys = dict.fromkeys(term.topology_key for term in terms)
    company = np.flatnonzero(wanted)
    counts = [near(ask, key, company) for key in keys]
    if wanted[ask.pod] and not any(count.any() for count in counts):
        counts = [ask.view.nodes.label(key).codes for key in keys]  # zero where the label is missing
    everywhere: Mask = np.logical_and.reduce([count > 0 for count in counts])
    return everywhere


def kept_apart(ask: Ask) -> Iterator[tuple[str, Ints]]:
    """Pods (rows) that the incoming pod may not be near, by its own terms or by theirs, and the topology."""
    yield from _avoided(ask)
    yield from _avoiding(ask)


def _avoided(ask: Ask) -> Iterator[tuple[str, Ints]]:
    """Pods that the anti-affinity of the incoming pod excludes."""
    for term in ask.shape.anti_affinity:
        yield term.topology_key, np.flatnonzero(ask.view.pods_matching(term))


def _avoiding(ask: Ask) -> Iterator[tuple[str, Ints]]:
    """Pods whose anti-affinity excludes the incoming pod."""
    known, terms = ask.view.pods, ask.view.terms_matching(ask.pod).anti_affinity
    for topology_key, pods, _ in known.carriers(terms, known.anti_affinity):
        yield topology_key, pods


def host_ports(ask: Ask) -> Iterator[Rejection]:
    for wanted in ask.shape.ports:
        holders = ask.view.pods.holders().of_port(wanted)
        nodes = ask.view.where[holders[holders != ask.pod]]
        if (nodes := nodes[nodes >= 0]).size:
            taken = np.zeros(len(ask.view.nodes), np.bool_)
            taken[nodes] = True
            detail = f"{wanted.port}/{wanted.protocol}"
            yield Rejection(taken, Reason(Code.HOST_PORT, detail), curable=True)
