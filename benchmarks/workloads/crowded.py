"""How long does a decision take in a large crowded cluster, for a pod or a gang?"""

from collections.abc import Iterator

from benchmarks.driving import Played
from benchmarks.timing import Run
from benchmarks.workloads.deciding import decisions
from benchmarks.worlds.crowded import crowded, is_newcomer, renamed
from benchmarks.worlds.objects import Json


def measure(
    world: str, pods: int, millicpu: int, expected: str = "Nominate", nodes: int | None = None
) -> Run:
    newcomers: list[Json] = []

    def running() -> Iterator[Json]:
        """One at a time: as values, all of them would take more memory than the scheduler."""
        for thing in crowded(world, pods, millicpu, nodes):
            if is_newcomer(thing):
                newcomers.append(thing)
            else:
                yield thing

    played = Played(running())
    return decisions(played, lambda number: renamed(newcomers, number), expected)
