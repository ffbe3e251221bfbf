"""Preferred topology spread constraints, and the default ones."""

import math

import numpy as np

from reprieve.model.columns import Column, Floats, Ints, Mask
from reprieve.model.shape import SpreadRule
from reprieve.placement.demand import Ask
from reprieve.placement.profile import HOSTNAME
from reprieve.placement.scoring.scale import HIGHEST
from reprieve.placement.spread_rules import fully_labelled, homes, included, rules_of


def spread(ask: Ask, feasible: Mask) -> Ints | None:
    rules = rules_of(ask, required=False)
    if not rules:
        return None
    counting = np.ones(len(feasible), np.bool_)
    # Only the built-in defaults score nodes that lack a label: without zones they still spread over hosts.
    if ask.shape.spread or not ask.profile.system_default_spread:
        counting = fully_labelled(ask, rules)
    scored = feasible & counting
    matches = homes(ask, rules)
    crowding = np.zeros(len(feasible))
    for rule in rules:
        alike = matches[rule.selector]
        if rule.topology_key == HOSTNAME:
            crowding += _on_host(ask, rule, alike, scored)
        else:
            eligible = included(ask, rule, counting)
            crowding += _in_domain(ask, rule, alike[eligible[alike]], scored)
    rounded = (crowding + 0.5).astype(np.int64)  # half up, unlike np.round
    return _fewest_best(rounded, scored)


def _on_host(ask: Ask, rule: SpreadRule, matches: Ints, scored: Mask) -> Floats:
    """Each node is a domain of its own, whatever the value of its label."""
    counts = np.bincount(matches, minlength=len(scored))
    crowding = _weighed(counts, rule, int(np.count_nonzero(scored)))
    crowding[ask.view.nodes.label(HOSTNAME).codes == 0] = 0
    return crowding


def _in_domain(ask: Ask, rule: SpreadRule, matches: Ints, scored: Mask) -> Floats:
    column = ask.view.nodes.label(rule.topology_key)
    codes = _domains(column)
    counts = np.bincount(codes[matches], minlength=len(column.things))
    domains = np.count_nonzero(np.bincount(codes[scored]))
    crowding = _weighed(counts, rule, int(domains))
    crowding[0] = 0  # nodes without the label do not count
    return crowding[column.codes]


def _domains(column: Column[str | None]) -> Ints:
    """Nodes without the label share a domain with those whose label is empty."""
    if "" not in column.index:
        return column.codes
    return np.where(column.codes > 0, column.codes, column.index[""])


def _weighed(counts: Ints, rule: SpreadRule, domains: int) -> Floats:
    """Weighted by the logarithm of the number of domains; a larger maxSkew makes differences matter less."""
    return counts.astype(np.float64) * math.log(domains + 2) + (rule.max_skew - 1)


def _fewest_best(crowding: Ints, scored: Mask) -> Ints:
    """100 for the least crowded, 0 for unscored nodes, the others in proportion to the most crowded."""
    scores = np.zeros(len(scored), np.int64)
    values = crowding[scored]
    most = int(values.max(initial=0))
    scores[scored] = HIGHEST * (most + values.min() - values) // most if most else HIGHEST
    return scores
