"""How long does a decision take that must evict, for a pod or a gang in a cluster that is full?"""

from benchmarks.driving import Played, configured
from benchmarks.timing import Run
from benchmarks.workloads.deciding import decisions
from benchmarks.worlds.full import PODS_PER_NODE, cluster, newcomers


def measure(nodes: int, pods: int, variant: str = "", policy: str = "", per_node: int = PODS_PER_NODE) -> Run:
    played = Played(cluster(nodes, variant, per_node), configured(policy=policy) if policy else None)
    return decisions(played, lambda number: newcomers(f"high-{number}", pods, variant), "Nominate")
