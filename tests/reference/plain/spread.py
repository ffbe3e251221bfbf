"""Topology spread read plainly: node by node, pod by pod, from the objects themselves."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from reprieve.model.objects import (
    LabelSelector,
    Node,
    Pod,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
    Taint,
    Toleration,
)
from reprieve.model.pod_compilation import compile_pod
from reprieve.placement.profile import Profile
from reprieve.placement.rejection_codes import Code
from tests.reference.plain.pods import selects

HOSTNAME = "kubernetes.io/hostname"


@dataclass(frozen=True)
class Cluster:
    """``placed`` are the pods that run, each with its node; the newcomer is not one of them."""

    nodes: list[Node]
    placed: list[tuple[Pod, Node]]
    services: list[Service]
    controllers: Mapping[str, ReplicaSet | StatefulSet | ReplicationController]


@dataclass(frozen=True)
class Rule:
    """One constraint, a pod's own or by default. Without any selector it selects nothing."""

    key: str
    max_skew: int
    selectors: list[LabelSelector]
    min_domains: int
    honors_affinity: bool
    honors_taints: bool

    def selects(self, pod: Pod) -> bool:
        return self.selectors != [] and all(selects(s, pod.metadata.labels) for s in self.selectors)

    def counts(self, newcomer: Pod, pod: Pod) -> bool:
        """A rule that would select every pod counts none."""
        alike = pod.metadata.namespace == newcomer.metadata.namespace and self.selects(pod)
        return alike and pod.metadata.deletion_timestamp is None and any(map(_narrows, self.selectors))

    def includes(self, newcomer: Pod, node: Node) -> bool:
        """Whether the rule takes the node for a possible home of the newcomer."""
        query = compile_pod(newcomer).shape.nodes
        if self.honors_affinity and not query.matches(node.metadata.labels, node.metadata.name):
            return False
        return not self.honors_taints or _endures(newcomer, node)


def _narrows(selector: LabelSelector) -> bool:
    return bool(selector.match_labels or selector.match_expressions)


def _endures(pod: Pod, node: Node) -> bool:
    hard = [taint for taint in node.spec.taints if taint.effect != "PreferNoSchedule"]
    return all(any(_tolerates(t, taint) for t in pod.spec.tolerations) for taint in hard)


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    same_key = toleration.key in ("", taint.key)
    same_effect = toleration.effect in ("", taint.effect)
    return same_key and same_effect and (toleration.operator == "Exists" or toleration.value == taint.value)


# --- which rules there are -----------------------------------------------------------------------


def _rules(cluster: Cluster, newcomer: Pod, profile: Profile, when: str) -> list[Rule]:
    if newcomer.spec.topology_spread_constraints:
        return _own_rules(newcomer, when)
    return _default_rules(profile, _kinship(cluster, newcomer), when)


def _own_rules(newcomer: Pod, when: str) -> list[Rule]:
    mine = newcomer.metadata.labels
    rules = []
    for constraint in newcomer.spec.topology_spread_constraints:
        selectors = []
        if constraint.label_selector is not None:
            same = {key: mine[key] for key in constraint.match_label_keys if key in mine}
            selectors = [constraint.label_selector, LabelSelector(match_labels=same)]
        rule = Rule(
            key=constraint.topology_key,
            max_skew=constraint.max_skew,
            selectors=selectors,
            min_domains=constraint.min_domains or 1,
            honors_affinity=constraint.node_affinity_policy == "Honor",
            honors_taints=constraint.node_taints_policy == "Honor",
        )
        if constraint.when_unsatisfiable == when:
            rules.append(rule)
    return rules


def _default_rules(profile: Profile, kinship: list[LabelSelector], when: str) -> list[Rule]:
    if not any(map(_narrows, kinship)):
        return []
    return [
        Rule(d.topology_key, d.max_skew, kinship, d.min_domains, d.honors_affinity, d.honors_taints)
        for d in profile.default_spread
        if d.required == (when == "DoNotSchedule")
    ]


def _kinship(cluster: Cluster, newcomer: Pod) -> list[LabelSelector]:
    """What the newcomer's services and its controller select."""
    meta = newcomer.metadata
    exact: dict[str, str] = {}
    for service in cluster.services:
        theirs = service.spec.selector
        if service.metadata.namespace == meta.namespace and theirs.items() <= meta.labels.items():
            exact |= theirs
    owner = next((o.uid for o in meta.owner_references if o.controller), "")
    controller = cluster.controllers.get(owner)
    if isinstance(controller, ReplicationController):
        exact |= controller.spec.selector
    elif controller is not None and controller.spec.selector is not None:
        return [LabelSelector(match_labels=exact), controller.spec.selector]
    return [LabelSelector(match_labels=exact)]


# --- what is required ----------------------------------------------------------------------------


def refusal(cluster: Cluster, newcomer: Pod, node: Node, profile: Profile) -> Code | None:
    """Why the newcomer cannot be on the node, by the first rule that says so."""
    rules = _rules(cluster, newcomer, profile, "DoNotSchedule")
    for rule in rules:
        if rule.key not in node.metadata.labels:
            return Code.SPREAD_LABEL_MISSING
        counts = _counts_by_domain(cluster, newcomer, rule, _with_all_labels(cluster.nodes, rules))
        fewest = min(counts.values()) if len(counts) >= rule.min_domains else 0
        here = counts.get(node.metadata.labels[rule.key], 0) + rule.selects(newcomer)
        if here - fewest > rule.max_skew:
            return Code.SPREAD_SKEW
    return None


def _with_all_labels(nodes: list[Node], rules: list[Rule]) -> list[Node]:
    return [node for node in nodes if all(rule.key in node.metadata.labels for rule in rules)]


def _counts_by_domain(cluster: Cluster, newcomer: Pod, rule: Rule, nodes: list[Node]) -> dict[str, int]:
    """A domain is there if the rule includes a node of it, with or without pods."""
    counts: dict[str, int] = {}
    for node in nodes:
        if rule.includes(newcomer, node):
            domain = node.metadata.labels.get(rule.key, "")
            counts[domain] = counts.get(domain, 0) + _count_on(cluster, newcomer, rule, node)
    return counts


def _count_on(cluster: Cluster, newcomer: Pod, rule: Rule, node: Node) -> int:
    return sum(rule.counts(newcomer, pod) for pod, home in cluster.placed if home is node)


# --- what is preferred ---------------------------------------------------------------------------


def scores(cluster: Cluster, newcomer: Pod, feasible: list[Node], profile: Profile) -> dict[str, int] | None:
    """From 0 to 100, by the names of the feasible nodes; None if the newcomer has no rules."""
    rules = _rules(cluster, newcomer, profile, "ScheduleAnyway")
    if not rules:
        return None
    nodes, scored = cluster.nodes, feasible
    if newcomer.spec.topology_spread_constraints or not profile.system_default_spread:
        nodes, scored = _with_all_labels(nodes, rules), _with_all_labels(feasible, rules)
    crowding = dict.fromkeys((node.metadata.name for node in scored), 0.0)
    for rule in rules:
        counts = _counts_by_domain(cluster, newcomer, rule, nodes)
        weight = math.log(_domains(rule, scored) + 2)
        for node in scored:
            if rule.key in node.metadata.labels:
                count = counts.get(node.metadata.labels[rule.key], 0)
                if rule.key == HOSTNAME:
                    count = _count_on(cluster, newcomer, rule, node)
                crowding[node.metadata.name] += count * weight + (rule.max_skew - 1)
    rounded = {name: int(number + 0.5) for name, number in crowding.items()}
    return {node.metadata.name: _score(node, rounded) for node in feasible}


def _domains(rule: Rule, scored: list[Node]) -> int:
    """Each host is a domain of its own, whatever it says of itself."""
    if rule.key == HOSTNAME:
        return len(scored)
    return len({node.metadata.labels.get(rule.key, "") for node in scored})


def _score(node: Node, crowding: dict[str, int]) -> int:
    """A node that was not scored gets nothing."""
    if node.metadata.name not in crowding:
        return 0
    most, least = max(crowding.values()), min(crowding.values())
    return 100 * (most + least - crowding[node.metadata.name]) // most if most else 100
