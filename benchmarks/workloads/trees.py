"""How long does the decision about a tree of groups take, on nodes that are free or full?"""

from benchmarks.driving import Played, configured
from benchmarks.timing import Run
from benchmarks.workloads.deciding import decisions
from benchmarks.worlds.full import cluster, empty_nodes
from benchmarks.worlds.tree import tree


def measure(nodes: int, middles: int, leaves: int, pods: int, *, is_full: bool) -> Run:
    settings = configured(gates="CompositePodGroup=true,TopologyAwareWorkloadScheduling=true")
    played = Played(cluster(nodes) if is_full else empty_nodes(nodes), settings)
    expected = "Nominate" if is_full else "Bind"
    return decisions(played, lambda number: tree(f"tree-{number}", middles, leaves, pods), expected)
