"""Inter-pod affinity read plainly: node by node, pod by pod, from the objects themselves."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from reprieve.model.objects import (
    LabelSelector,
    LabelSelectorRequirement,
    Node,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    WeightedPodAffinityTerm,
)
from reprieve.placement.profile import Profile
from reprieve.placement.rejection_codes import Code


@dataclass(frozen=True)
class Cluster:
    """``placed`` are the pods that run, each with its node; the newcomer is not one of them."""

    nodes: list[Node]
    placed: list[tuple[Pod, Node]]
    namespaces: Mapping[str, Mapping[str, str]]

    def means(self, owner: Pod, term: PodAffinityTerm, pod: Pod) -> bool:
        """Whether a term of the owner's is about the pod."""
        if not self._looks_into(owner, term, pod.metadata.namespace):
            return False
        if term.label_selector is None or not selects(term.label_selector, pod.metadata.labels):
            return False
        mine, its = owner.metadata.labels, pod.metadata.labels
        return all(its.get(k) == mine[k] for k in term.match_label_keys if k in mine) and all(
            its.get(k) != mine[k] for k in term.mismatch_label_keys if k in mine
        )

    def _looks_into(self, owner: Pod, term: PodAffinityTerm, namespace: str) -> bool:
        if term.namespace_selector is None:
            return namespace in (term.namespaces or (owner.metadata.namespace,))
        selected = selects(term.namespace_selector, self.namespaces[namespace])
        return namespace in term.namespaces or selected


def selects(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    exact = all(labels.get(key) == value for key, value in selector.match_labels.items())
    return exact and all(_holds(e, labels) for e in selector.match_expressions)


def _holds(expression: LabelSelectorRequirement, labels: Mapping[str, str]) -> bool:
    there = expression.key in labels
    among = there and labels[expression.key] in expression.values
    return {"In": among, "NotIn": not among, "Exists": there, "DoesNotExist": not there}[expression.operator]


def same_domain(one: Node, other: Node, key: str) -> bool:
    ours, theirs = one.metadata.labels, other.metadata.labels
    return key in ours and key in theirs and ours[key] == theirs[key]


# --- what is required ----------------------------------------------------------------------------


def _required(affinity: PodAffinity) -> tuple[PodAffinityTerm, ...]:
    return affinity.required_during_scheduling_ignored_during_execution


def refusal(cluster: Cluster, newcomer: Pod, node: Node) -> Code | None:
    """Why the newcomer cannot be on the node."""
    affinity = newcomer.spec.affinity
    if not _in_company(cluster, newcomer, node, _required(affinity.pod_affinity)):
        return Code.POD_AFFINITY
    for pod, home in cluster.placed:
        for term in _required(affinity.pod_anti_affinity):
            if cluster.means(newcomer, term, pod) and same_domain(node, home, term.topology_key):
                return Code.POD_ANTI_AFFINITY
    for pod, home in cluster.placed:
        for term in _required(pod.spec.affinity.pod_anti_affinity):
            if cluster.means(pod, term, newcomer) and same_domain(node, home, term.topology_key):
                return Code.EXISTING_ANTI_AFFINITY
    return None


def _in_company(cluster: Cluster, newcomer: Pod, node: Node, terms: tuple[PodAffinityTerm, ...]) -> bool:
    def is_company(pod: Pod) -> bool:
        return all(cluster.means(newcomer, term, pod) for term in terms)

    homes = [home for pod, home in cluster.placed if is_company(pod)]
    if all(any(same_domain(node, home, term.topology_key) for home in homes) for term in terms):
        return True
    # A pod on a node with none of the topologies is nowhere, as far as these terms go.
    somewhere = any(term.topology_key in home.metadata.labels for home in homes for term in terms)
    has_topologies = all(term.topology_key in node.metadata.labels for term in terms)
    return not somewhere and is_company(newcomer) and has_topologies


# --- what is preferred ---------------------------------------------------------------------------


def scores(cluster: Cluster, newcomer: Pod, feasible: list[Node], profile: Profile) -> list[int]:
    """From 0 to 100, for each of the feasible nodes."""
    pulls = [_pull(cluster, newcomer, node, profile) for node in feasible]
    lowest, highest = min(pulls), max(pulls)
    if lowest == highest:
        return [0 for _ in pulls]
    return [int(100 * ((pull - lowest) / (highest - lowest))) for pull in pulls]


def _pull(cluster: Cluster, newcomer: Pod, node: Node, profile: Profile) -> int:
    own = list(_wishes(newcomer))
    if profile.ignore_preferences_of_existing_pods and not own:
        return 0
    total = 0
    for pod, home in cluster.placed:
        for weight, term in own:
            if cluster.means(newcomer, term, pod) and same_domain(node, home, term.topology_key):
                total += weight
        for weight, term in [*_wishes(pod), *_needs(pod, profile)]:
            if cluster.means(pod, term, newcomer) and same_domain(node, home, term.topology_key):
                total += weight
    return total


def _wishes(pod: Pod) -> Iterator[tuple[int, PodAffinityTerm]]:
    affinity = pod.spec.affinity
    yield from _weighted(affinity.pod_affinity.preferred_during_scheduling_ignored_during_execution, 1)
    yield from _weighted(affinity.pod_anti_affinity.preferred_during_scheduling_ignored_during_execution, -1)


def _weighted(wishes: Iterable[WeightedPodAffinityTerm], sign: int) -> Iterator[tuple[int, PodAffinityTerm]]:
    return ((sign * wish.weight, wish.pod_affinity_term) for wish in wishes)


def _needs(pod: Pod, profile: Profile) -> Iterator[tuple[int, PodAffinityTerm]]:
    return ((profile.hard_pod_affinity_weight, term) for term in _required(pod.spec.affinity.pod_affinity))
