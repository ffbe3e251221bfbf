"""Required topology spread constraints.

Which rules hold for a pod, and which nodes and pods count for them, is the same for preferred constraints.
"""

from collections.abc import Iterator

import numpy as np

from reprieve.model.columns import Ints, Mask
from reprieve.model.selectors import Selector, first_untolerated
from reprieve.model.shape import SpreadRule
from reprieve.placement.demand import Ask
from reprieve.placement.profile import DefaultSpread
from reprieve.placement.rejection_codes import Code, Reason, Rejection


def spread_rules_of(ask: Ask, *, required: bool) -> tuple[SpreadRule, ...]:
    """The pod's own rules of this kind; if it has none of either kind, the profile's defaults."""
    own = ask.shape.spread
    if own:
        return tuple(rule for rule in own if rule.required is required)
    defaults = tuple(d for d in ask.profile.default_spread if d.required is required)
    if not defaults:
        return ()
    selector = ask.view.owners.selector_for(ask.shape)
    if not selector.requirements:
        return ()
    return tuple(_default_rule(default, selector) for default in defaults)


def _default_rule(default: DefaultSpread, selector: Selector) -> SpreadRule:
    return SpreadRule(
        topology_key=default.topology_key,
        max_skew=default.max_skew,
        selector=selector,
        required=default.required,
        min_domains=default.min_domains,
        honors_affinity=default.honors_affinity,
        honors_taints=default.honors_taints,
    )


def fully_labelled(ask: Ask, rules: tuple[SpreadRule, ...]) -> Mask:
    """[node] whether it has the label of every rule."""
    mask = np.ones(len(ask.view.nodes), np.bool_)
    for rule in rules:
        mask &= ask.view.nodes.label(rule.topology_key).codes > 0
    return mask


def included(ask: Ask, rule: SpreadRule, nodes: Mask) -> Mask:
    """[node] those of the nodes ([node]) that the rule takes for possible homes of the pod."""
    if rule.honors_affinity:
        nodes = nodes & ask.view.nodes.matching(ask.shape.nodes)
    if rule.honors_taints:
        tolerations = ask.shape.tolerations
        column = ask.view.nodes.taints
        nodes = nodes & column.where(lambda taints: first_untolerated(taints, tolerations) is None)
    return nodes


def homes(ask: Ask, rules: tuple[SpreadRule, ...]) -> dict[Selector, Ints]:
    """For each selector, the node (row) of every pod that counts: of the pod's namespace, running and to
    stay.

    A node is there as often as it has such pods.
    """
    return {selector: _homes(ask, selector) for selector in dict.fromkeys(rule.selector for rule in rules)}


def _homes(ask: Ask, selector: Selector) -> Ints:
    if not selector.requirements:
        # Kubernetes counts no pods for a selector that would match all, though the pod itself matches it.
        return np.zeros(0, np.int64)
    view = ask.view
    matching = view.pods.matching(selector, frozenset((ask.shape.namespace,)))
    rows = np.flatnonzero(matching & ~view.pods.terminating)
    nodes: Ints = view.where[rows]
    counted: Mask = (nodes >= 0) & (rows != ask.pod)
    return nodes[counted]


def spread(ask: Ask) -> Iterator[Rejection]:
    """The first rule that rejects a node gives its reason; ``left``: [node] none has rejected it so far."""
    rules = spread_rules_of(ask, required=True)
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
    """[domain] whether its skew would exceed maxSkew with one more pod. A domain is a value of the label.

    matches   [pod that counts] its node
    counting  [node] whether the rule takes it for a possible home
    """
    column = ask.view.nodes.label(rule.topology_key)
    domains = np.bincount(column.codes[counting], minlength=len(column.things)) > 0
    counts = np.bincount(column.codes[matches[counting[matches]]], minlength=len(column.things))
    # With fewer domains than the rule asks for, the emptiest is one that does not exist yet.
    enough = np.count_nonzero(domains) >= rule.min_domains
    fewest = int(counts[domains].min()) if enough else 0
    newcomer = rule.selector.matches(dict(ask.shape.labels))
    return counts > rule.max_skew + fewest - newcomer
