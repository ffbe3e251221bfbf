"""How long does a decision take that must evict so that a running pod can grow?"""

from benchmarks.driving import Played, configured
from benchmarks.timing import Run
from benchmarks.workloads.deciding import decisions
from benchmarks.worlds.full import cluster, growing

_GATES = "InPlacePodVerticalScalingSchedulerPreemption=true"


def measure(nodes: int, variant: str = "") -> Run:
    """Each time another pod, which comes with the wish to grow."""
    played = Played(cluster(nodes, variant), configured(gates=_GATES))
    return decisions(played, lambda number: [growing(number % nodes)], "SetCondition")
