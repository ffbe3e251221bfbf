"""How good a node is for what it is and for the room it has, node by node.

Each function gives the feasible nodes' scores by name, or None when the pod gives no ground for a preference.
"""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

from reprieve.model.objects import Node, Pod
from reprieve.placement.profile import Profile, ResourceWeight, ShapePoint, Strategy
from tests.reference.plain.cluster import Cluster, scaled
from tests.reference.plain.node import is_tolerated
from tests.reference.plain.requests import Amounts, nonzero_requests, plus, requests
from tests.reference.plain.resources import capacity
from tests.reference.plain.selectors import accepts

Scores = dict[str, int]
PlainScore = Callable[[Cluster, Sequence[Node], Profile], Scores | None]

Totals = tuple[int, int, int, int]  # a resource's weight, and how much is taken, wanted, and there

STANDARD = ("cpu", "memory", "ephemeral-storage")
MIB = 1024 * 1024


def taints(cluster: Cluster, feasible: Sequence[Node], _: Profile) -> Scores:
    return scaled({n.metadata.name: unwelcoming(n, cluster.newcomer) for n in feasible}, reverse=True)


def unwelcoming(node: Node, pod: Pod) -> int:
    soft = [taint for taint in node.spec.taints if taint.effect == "PreferNoSchedule"]
    return len([taint for taint in soft if not is_tolerated(taint, pod)])


def affinity(cluster: Cluster, feasible: Sequence[Node], _: Profile) -> Scores:
    wishes = cluster.newcomer.spec.affinity.node_affinity.preferred_during_scheduling_ignored_during_execution
    return scaled(
        {n.metadata.name: sum(w.weight for w in wishes if accepts(w.preference, n)) for n in feasible}
    )


# --- images --------------------------------------------------------------------------------------


def images(cluster: Cluster, feasible: Sequence[Node], _: Profile) -> Scores:
    spec = cluster.newcomer.spec
    wanted = [full_name(c.image) for c in (*spec.init_containers, *spec.containers)]
    wanted += [full_name(v.image.reference) for v in spec.volumes if v.image is not None]
    most = 1000 * MIB * len(wanted)
    scores = {}
    for node in feasible:
        present = sum(spread_size(cluster, node, name) for name in wanted)
        bounded = min(max(present, 23 * MIB), most)
        scores[node.metadata.name] = 100 * (bounded - 23 * MIB) // (most - 23 * MIB)
    return scores


def full_name(image: str) -> str:
    return image if ":" in image.rpartition("/")[2] else f"{image}:latest"


def size_on(node: Node, name: str) -> int:
    return next((image.size_bytes for image in node.status.images if name in image.names), 0)


def spread_size(cluster: Cluster, node: Node, name: str) -> int:
    holders = [n for n in cluster.nodes if size_on(n, name)]
    return int(size_on(node, name) * (len(holders) / len(cluster.nodes)))


# --- room ----------------------------------------------------------------------------------------


def amounts(pod: Pod, *, floored: bool) -> Amounts:
    return requests(pod) | (nonzero_requests(pod) if floored else {})


def counted(
    cluster: Cluster, node: Node, weights: Sequence[ResourceWeight], *, floored: bool
) -> list[Totals]:
    """The resources that count: present on the node, and asked for if they are not standard."""
    wanted = amounts(cluster.newcomer, floored=floored)
    taken = plus(*(amounts(pod, floored=floored) for pod in cluster.pods_on(node)))
    there = capacity(node)
    return [
        (resource.weight, taken.get(name, 0), wanted.get(name, 0), there[name])
        for resource in weights
        if there.get(name := resource.name) and (name in STANDARD or wanted.get(name))
    ]


def allocation(cluster: Cluster, feasible: Sequence[Node], profile: Profile) -> Scores:
    scores = {}
    for node in feasible:
        resources = counted(cluster, node, profile.strategy_resources, floored=True)
        scores[node.metadata.name] = by_strategy(resources, profile)
    return scores


def by_strategy(resources: Sequence[Totals], profile: Profile) -> int:
    match profile.strategy:
        case Strategy.LEAST_ALLOCATED:
            return mean(
                [(w, max(there - taken - asked, 0) * 100 // there) for w, taken, asked, there in resources]
            )
        case Strategy.MOST_ALLOCATED:
            return mean(utilizations(resources))
        case Strategy.REQUESTED_TO_CAPACITY_RATIO:
            scores = [(w, on_line(profile.strategy_shape, used)) for w, used in utilizations(resources)]
            return mean([(w, score) for w, score in scores if score > 0], rounded=True)


def utilizations(resources: Sequence[Totals]) -> list[tuple[int, int]]:
    return [(w, min(taken + asked, there) * 100 // there) for w, taken, asked, there in resources]


def mean(parts: Sequence[tuple[int, int]], *, rounded: bool = False) -> int:
    """Of scores with weights; halves are rounded up, if at all."""
    weight = sum(w for w, _ in parts)
    total = sum(w * score for w, score in parts)
    if weight == 0:
        return 0
    return (2 * total + weight) // (2 * weight) if rounded else total // weight


def on_line(shape: Sequence[ShapePoint], percent: int) -> int:
    """Between two points the score goes straight; steps are cut off towards the left point's score."""
    if percent <= shape[0].utilization:
        return shape[0].score * 10
    for left, right in pairwise(shape):
        if percent <= right.utilization:
            rise = (right.score - left.score) * 10 * (percent - left.utilization)
            step = abs(rise) // (right.utilization - left.utilization)
            return left.score * 10 + (step if rise > 0 else -step)
    return shape[-1].score * 10


def balance(cluster: Cluster, feasible: Sequence[Node], profile: Profile) -> Scores | None:
    asked = requests(cluster.newcomer)
    if not any(asked.get(resource.name, 0) for resource in profile.balanced_resources):
        return None
    scores = {}
    for node in feasible:
        resources = counted(cluster, node, profile.balanced_resources, floored=False)
        before = evenness([min(taken / there, 1.0) for _, taken, _, there in resources])
        after = evenness([min((taken + wanted) / there, 1.0) for _, taken, wanted, there in resources])
        scores[node.metadata.name] = 50 + (50 + after - before) // 2
    return scores


def evenness(fractions: Sequence[float]) -> int:
    """100 less the standard deviation in percent."""
    if len(fractions) < 2:
        return 100
    if len(fractions) == 2:
        return int((1 - abs((fractions[0] - fractions[1]) / 2)) * 100)
    mean = in_order(fractions) / len(fractions)
    squares = in_order([(fraction - mean) * (fraction - mean) for fraction in fractions])
    return int((1 - math.sqrt(squares / len(fractions))) * 100)


def in_order(numbers: Sequence[float]) -> float:
    """Added one by one; ``sum`` is more exact in newer Pythons, and one digit can tip a score."""
    total = 0.0
    for number in numbers:
        total += number
    return total
