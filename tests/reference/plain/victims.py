"""Units, budgets and prices as a reader would count them, from the objects themselves."""

from collections.abc import Iterable

from reprieve.model.objects import (
    CompositePodGroup,
    KubernetesObject,
    Pod,
    PodDisruptionBudget,
    PodGroup,
    group_of,
)
from tests.reference.plain.cluster import Cluster
from tests.reference.plain.pods import selects

Key = tuple[str, str]


def groups_around(objects: Iterable[KubernetesObject], pod: Pod) -> list[PodGroup | CompositePodGroup]:
    """From the inside out, as far as they are known."""
    by_key = {
        (type(thing), thing.metadata.namespace, thing.metadata.name): thing
        for thing in objects
        if isinstance(thing, PodGroup | CompositePodGroup)
    }
    found, namespace = [], pod.metadata.namespace
    group = by_key.get((PodGroup, namespace, group_of(pod)))
    while group is not None:
        found.append(group)
        group = by_key.get((CompositePodGroup, namespace, group.spec.parent))
    return found


def priority_of(objects: Iterable[KubernetesObject], pod: Pod) -> int:
    around = groups_around(objects, pod)
    return (around[-1] if around else pod).spec.priority or 0


def unit_of(objects: Iterable[KubernetesObject], pod: Pod) -> tuple[str, str]:
    """The kind and the name of what the pod goes with."""
    whole = [group for group in groups_around(objects, pod) if group.spec.disrupted_whole]
    thing = whole[-1] if whole else pod
    return type(thing).__name__, thing.metadata.name


def running(cluster: Cluster) -> list[Pod]:
    return [pod for node in cluster.nodes for pod in cluster.pods_on(node)]


def excess(objects: Iterable[KubernetesObject], going: Iterable[Pod]) -> int:
    """By how many pods the budgets are exceeded if these go together."""
    pods = list(going)
    budgets = [thing for thing in objects if isinstance(thing, PodDisruptionBudget)]
    return sum(max(0, _charged(b, pods) - max(0, b.status.disruptions_allowed)) for b in budgets)


def _charged(budget: PodDisruptionBudget, pods: list[Pod]) -> int:
    return sum(
        pod.metadata.namespace == budget.metadata.namespace
        and pod.metadata.name not in budget.status.disrupted_pods
        and budget.spec.selector is not None
        and selects(budget.spec.selector, pod.metadata.labels)
        for pod in pods
    )
