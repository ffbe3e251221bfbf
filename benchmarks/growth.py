"""How do the costs of a decision and of a study grow? Four sizes each, and the exponent that fits.

An exponent of 1 means that twice the size takes twice the time, and 0 that the size does not matter.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from statistics import linear_regression

from benchmarks.cases import Arguments, Case, Compared

_DOUBLED = (625, 1250, 2500, 5000)


@dataclass(frozen=True, slots=True)
class Family:
    """Cases that differ in one argument."""

    name: str
    about: str
    workload: str
    argument: str
    sizes: Sequence[int]
    others: Arguments
    compared: Compared = Compared.QUARTILE_CPU

    def cases(self) -> list[Case]:
        return [
            Case(
                f"grows-{self.name}-{size}",
                f"{self.about}: {size}",
                self.workload,
                {**self.others, self.argument: size},
                self.compared,
            )
            for size in self.sizes
        ]

    def row(self, figures: Sequence[float]) -> str:
        """A row of a table in Markdown; see ``HEADING``."""
        times = ", ".join(f"{value:.3g}" for value in figures)
        sizes = ", ".join(f"{size:,}" for size in self.sizes)
        return f"| {self.about} | {sizes} | {times} ms | {exponent(self.sizes, figures):.2f} |"


HEADING = "| What grows | Sizes | Processor time | Exponent |\n|---|---|---|---|"


def exponent(sizes: Sequence[float], figures: Sequence[float]) -> float:
    """The slope of the line that fits best, where both axes are logarithmic."""
    slope: float = linear_regression([*map(log, sizes)], [*map(log, figures)]).slope
    return slope


FAMILIES = (
    Family("nodes", "nodes with four pods each, for a pod", "preempting", "nodes", _DOUBLED, {"pods": 1}),
    Family("nodes-gang", "the same, for a gang of 50", "preempting", "nodes", _DOUBLED, {"pods": 50}),
    Family(
        "pods",
        "pods on each of 1,250 nodes, for a pod",
        "preempting",
        "per_node",
        (4, 8, 16, 32),
        {"nodes": 1250, "pods": 1},
    ),
    Family(
        "groups",
        "groups of four, and as many nodes, for a pod",
        "preempting",
        "nodes",
        _DOUBLED,
        {"pods": 1, "variant": "groups"},
    ),
    Family("gang", "pods of a gang, 2,500 nodes", "preempting", "pods", (10, 20, 40, 80), {"nodes": 2500}),
    Family(
        "plans",
        "open plans, 2,500 nodes, for one more preemptor",
        "preemptors",
        "preemptors",
        (125, 250, 500, 1000),
        {"nodes": 2500},
        Compared.MEAN_CPU,
    ),
    Family(
        "placing",
        "half-full nodes with ten pods each, for a pod that finds room",
        "scheduling",
        "nodes",
        _DOUBLED,
        {},
        Compared.MEAN_CPU,
    ),
    Family(
        "study-jobs",
        "jobs of a study on 200 nodes, for all of them",
        "simulating",
        "jobs",
        (1250, 2500, 5000, 10_000),
        {"nodes": 200, "as_one": True},
        Compared.MEAN_CPU,
    ),
    Family(
        "study-nodes",
        "nodes of a study, for one of 2,000 jobs",
        "simulating",
        "nodes",
        _DOUBLED,
        {"jobs": 2000},
        Compared.MEAN_CPU,
    ),
)
CASES: Mapping[str, Case] = {case.name: case for family in FAMILIES for case in family.cases()}
