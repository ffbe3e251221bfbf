"""Required topology spread constraints."""

from collections.abc import Iterator

import numpy as np

from reprieve.model.columns import Ints, Mask
from reprieve.model.shape import SpreadRule
from reprieve.placement.demand import Ask
from reprieve.placement.rejection_codes import Code, Reason, Rejection
from reprieve.placement.spread_rules import fully_labelled, homes, included, rules_of


def spread(ask: Ask) -> Iterator[Rejection]:
    """The first rule that rejects a node gives its reason."""
    rules = rules_of(ask, required=True)
    if not rules:
        return
    matches = homes(ask, rules)
    labelled = fully_labelled(ask, rules)
    left = np.ones(len(labelled), np.bool_)
    for rule in rules:
        key = rule.topology_key
        column = ask.view.nodes.label(key)
        missing = left & (column.codes == 0)
        if missing.any():
            left &= ~missing
            yield Rejection(missing, Reason(Code.SPREAD_LABEL_MISSING, key), curable=False)
        counting = included(ask, rule, labelled)
        uneven = left & column.lookup(_overfull(ask, rule, matches[rule.selector], counting))
        if uneven.any():
            left &= ~uneven
            yield Rejection(uneven, Reason(Code.SPREAD_SKEW, key), curable=True)


def _overfull(ask: Ask, rule: SpreadRule, matches: Ints, counting: Mask) -> Mask:
    """The topology values (codes) whose skew would exceed maxSkew with one more pod."""
    column = ask.view.nodes.label(rule.topology_key)
    domains = np.bincount(column.codes[counting], minlength=len(column.things)) > 0
    counts = np.bincount(column.codes[matches[counting[matches]]], minlength=len(column.things))
    enough = np.count_nonzero(domains) >= rule.min_domains
    fewest = int(counts[domains].min()) if enough else 0
    newcomer = rule.selector.matches(dict(ask.shape.labels))
    return counts > rule.max_skew + fewest - newcomer
