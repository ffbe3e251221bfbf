"""How long does a decision take that finds room, for a pod of one shape?"""

from benchmarks.driving import Played
from benchmarks.timing import Run
from benchmarks.workloads.deciding import decisions
from benchmarks.worlds.half_full import cluster
from benchmarks.worlds.shapes import shaped, shapes


def measure(nodes: int, shape: str) -> Run:
    asked = next(one for one in shapes() if one.name == shape)
    expected = "Bind" if asked.fits else "SetCondition"
    return decisions(Played(cluster(nodes)), lambda number: [shaped(asked, f"new-{number}")], expected)
