"""Which of the feasible nodes is better: one function per preference, 0 to 100 each."""

import math
from collections.abc import Iterator, Mapping
from itertools import chain

import numpy as np

from reprieve.model.columns import Column, Floats, Ints, Mask
from reprieve.model.objects import Taint, Toleration
from reprieve.model.selectors import tolerated
from reprieve.model.shape import SpreadRule
from reprieve.placement.constraints.pods import near
from reprieve.placement.constraints.spread import fully_labelled, homes, included, spread_rules_of
from reprieve.placement.demand import Ask, Scorer
from reprieve.placement.profile import HOSTNAME, Preference
from reprieve.placement.resource_scores import HIGHEST, allocation, balance


def to_highest(raw: Ints, feasible: Mask, *, reverse: bool = False) -> Ints:
    """[node] 0 to 100 in proportion to the largest feasible score; with ``reverse``, less is better.

    raw  [node]  zero or more
    """
    largest = int(raw[feasible].max(initial=0))
    if largest == 0:
        return np.full(len(raw), HIGHEST if reverse else 0, np.int64)
    scaled = raw * HIGHEST // largest
    return HIGHEST - scaled if reverse else scaled


_MEBIBYTE = 1 << 20
_SMALL_IMAGES = 23 * _MEBIBYTE  # in total; below that the score is 0
_LARGE_IMAGE = 1000 * _MEBIBYTE  # per image; above that the score does not grow


def taint_score(ask: Ask, feasible: Mask) -> Ints | None:
    """[node] the fewer PreferNoSchedule taints that the pod does not tolerate, the better.

    Here as in all scorers, None is a preference that says nothing about the pod.
    """
    column = ask.view.nodes.taints
    tolerations = ask.shape.tolerations
    counts = [_untolerated(taints, tolerations) for taints in column.things]
    if not any(counts):
        return None
    return to_highest(np.array(counts, np.int64)[column.codes], feasible, reverse=True)


def _untolerated(taints: tuple[Taint, ...], tolerations: tuple[Toleration, ...]) -> int:
    soft = [taint for taint in taints if taint.effect == "PreferNoSchedule"]
    return sum([not tolerated(taint, tolerations) for taint in soft])


def node_affinity_score(ask: Ask, feasible: Mask) -> Ints | None:
    preferred = ask.profile.added_preferred_nodes + ask.shape.preferred_nodes
    if not preferred:
        return None
    total = np.zeros(len(ask.view.nodes), np.int64)  # [node] the sum of the weights of terms that match
    for weighted in preferred:
        total += weighted.weight * ask.view.nodes.matching(weighted.term)
    return to_highest(total, feasible)


def image_score(ask: Ask, _: Mask) -> Ints | None:
    """[node] the total size of the pod's images there; images that few nodes have count less.

    Otherwise all pods of one image would go to the first node that pulled it.
    """
    nodes = ask.view.nodes
    held = [sizes for name in ask.shape.images if (sizes := nodes.image_sizes(name)) is not None]
    if not held:
        return None
    total = np.zeros(len(nodes), np.int64)  # [node] bytes
    for sizes in held:
        share = int(np.count_nonzero(sizes)) / len(nodes)
        total += (sizes * share).astype(np.int64)
    most = _LARGE_IMAGE * len(ask.shape.images)
    bounded = np.clip(total, _SMALL_IMAGES, most)
    return HIGHEST * (bounded - _SMALL_IMAGES) // (most - _SMALL_IMAGES)


def pod_affinity_score(ask: Ask, feasible: Mask) -> Ints | None:
    if ask.profile.ignore_preferences_of_existing_pods and not ask.shape.preferred_pods:
        return None
    total: Ints | None = None
    for pull in chain(_own_pulls(ask), _pulls_of_others(ask)):
        total = pull if total is None else total + pull
    return _stretched(total, feasible) if total is not None else None


def _own_pulls(ask: Ask) -> Iterator[Ints]:
    """[node] for each preferred term of the pod, its weight times the pods near that it selects."""
    for preferred in ask.shape.preferred_pods:
        pods = np.flatnonzero(ask.view.pods_matching(preferred.term))
        yield preferred.weight * near(ask, preferred.term.topology_key, pods)


def _pulls_of_others(ask: Ask) -> Iterator[Ints]:
    """[node] for each topology, the weights of the terms by which pods near want the pod, or not.

    Preferred terms of other pods count, and their required affinity, too, by hardPodAffinityWeight.
    """
    pods, terms = ask.view.pods, ask.view.terms_matching(ask.pod)
    for topology_key, carriers, weights in pods.carriers(terms.preferred, pods.preferred):
        yield near(ask, topology_key, carriers, weights)
    hard = ask.profile.hard_pod_affinity_weight
    for topology_key, carriers, weights in pods.carriers(terms.affinity, pods.affinity):
        yield near(ask, topology_key, carriers, hard * weights)


def _stretched(raw: Ints, feasible: Mask) -> Ints:
    """[node] the lowest feasible score becomes 0 and the highest 100; if all are equal, they become 0."""
    scores = np.zeros(len(raw), np.int64)
    values = raw[feasible]
    lowest, highest = values.min(), values.max()
    if highest > lowest:
        scores[feasible] = (HIGHEST * ((values - lowest) / (highest - lowest))).astype(np.int64)
    return scores


def spread_score(ask: Ask, feasible: Mask) -> Ints | None:
    rules = spread_rules_of(ask, required=False)
    if not rules:
        return None
    counting = np.ones(len(feasible), np.bool_)
    # Only the built-in defaults score nodes that lack a label: without zones they still spread over hosts.
    if ask.shape.spread or not ask.profile.system_default_spread:
        counting = fully_labelled(ask, rules)
    scored = feasible & counting
    matches = homes(ask, rules)
    crowding = np.zeros(len(feasible))  # [node] the less, the better
    for rule in rules:
        alike = matches[rule.selector]  # [pod that counts] its node
        if rule.topology_key == HOSTNAME:
            crowding += _on_host(ask, rule, alike, scored)
        else:
            eligible = included(ask, rule, counting)
            crowding += _in_domain(ask, rule, alike[eligible[alike]], scored)
    rounded = (crowding + 0.5).astype(np.int64)  # half up, unlike np.round
    return _fewest_best(rounded, scored)


def _on_host(ask: Ask, rule: SpreadRule, matches: Ints, scored: Mask) -> Floats:
    """[node] its crowding by host: each node is a domain of its own, whatever the value of its label."""
    counts = np.bincount(matches, minlength=len(scored))
    crowding = _weighed(counts, rule, int(np.count_nonzero(scored)))
    crowding[ask.view.nodes.label(HOSTNAME).codes == 0] = 0
    return crowding


def _in_domain(ask: Ask, rule: SpreadRule, matches: Ints, scored: Mask) -> Floats:
    """[node] the crowding of its domain, by all matching pods there. Only domains with scored nodes count."""
    column = ask.view.nodes.label(rule.topology_key)
    codes = _domains(column)
    counts = np.bincount(codes[matches], minlength=len(column.things))
    domains = np.count_nonzero(np.bincount(codes[scored]))
    crowding = _weighed(counts, rule, int(domains))
    crowding[0] = 0  # nodes without the label do not count
    return crowding[column.codes]


def _domains(column: Column[str | None]) -> Ints:
    """[node] the code of its domain: nodes without the label share one with those whose label is empty.

    So it is in kube-scheduler, which reads a missing label as an empty one.
    """
    if "" not in column.index:
        return column.codes
    return np.where(column.codes > 0, column.codes, column.index[""])


def _weighed(counts: Ints, rule: SpreadRule, domains: int) -> Floats:
    """[as counts] crowding, from how many matching pods there are.

    It grows with the logarithm of the number of domains; a larger maxSkew makes differences matter less.
    """
    return counts.astype(np.float64) * math.log(domains + 2) + (rule.max_skew - 1)


def _fewest_best(crowding: Ints, scored: Mask) -> Ints:
    """[node] 100 for the least crowded, 0 for unscored nodes, others in proportion to the most crowded."""
    scores = np.zeros(len(scored), np.int64)
    values = crowding[scored]
    most = int(values.max(initial=0))
    scores[scored] = HIGHEST * (most + values.min() - values) // most if most else HIGHEST
    return scores


SCORERS: Mapping[Preference, Scorer] = {
    Preference.RESOURCES: allocation,
    Preference.BALANCE: balance,
    Preference.TAINTS: taint_score,
    Preference.NODE_AFFINITY: node_affinity_score,
    Preference.PODS: pod_affinity_score,
    Preference.SPREAD: spread_score,
    Preference.IMAGES: image_score,
}
