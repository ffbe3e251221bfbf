"""Which figures must be reached, and which are aimed at?

The goals were set on a machine of their own. On another one, all figures are larger or smaller by one factor,
which the figures of a revision whose speed is known tell.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import fmean

from benchmarks.cases import CASES, Case
from benchmarks.comparison import figure
from benchmarks.statistics import percentile
from benchmarks.timing import Run

Figure = Callable[[Case, Run], float]


@dataclass(frozen=True, slots=True)
class Goal:
    about: str
    case: str
    figure: Figure
    unit: str
    before: str = ""  # what it was when the goal was set
    must: float | None = None
    aim: float | None = None

    def row(self, run: Run) -> str:
        """A row of a table in Markdown; see ``HEADING``."""
        now = f"{_short(self.figure(CASES[self.case], run))} {self.unit}"
        goals = " | ".join("" if goal is None else _short(goal) for goal in (self.must, self.aim))
        return f"| {self.about} | `{self.case}` | {self.before} | {now} | {goals} |"


HEADING = "| | Case | Before | Now | Must | Aim |\n|---|---|---|---|---|---|"


def slowest(_: Case, run: Run) -> float:
    """On the wall, of a hundred."""
    return percentile(run.wall_ms, 0.99)


def longest(_: Case, run: Run) -> float:
    return max(run.wall_ms)


def rate(_: Case, run: Run) -> float:
    """In a second of processor time."""
    return 1000 / fmean(run.cpu_ms)


def memory(_: Case, run: Run) -> float:
    return run.rss_mb


def share_of_a_core(_: Case, run: Run) -> float:
    """If what is measured is a second."""
    return fmean(run.cpu_ms) / 10


def all_jobs(case: Case, run: Run) -> float:
    jobs = case.arguments["jobs"]
    assert isinstance(jobs, int)
    return fmean(run.cpu_ms) * jobs / 1000


def all_seconds(_: Case, run: Run) -> float:
    return sum(run.cpu_ms) / 1000


def _decisions() -> Iterator[Goal]:
    for about, case, before, must, aim in (
        ("one pod, 500 nodes", "P500", "4.3 ms", 1.2, 1),
        ("one pod, 5,000 nodes", "P5000", "8.9 ms", 4.5, 2.5),
        ("a gang of 50, 500 nodes", "G500", "13.4 ms", 13, 8),
        ("a gang of 100, 5,000 nodes", "G5000", "66.7 ms", 55, 35),
        ("the same, with budgets on every pod", "G5000-all-budgets", "509 ms", 250, 120),
        ("the same, with a priority for every pod", "G5000-priorities", "254 ms", 190, 100),
        ("one pod, 5,000 nodes, among groups", "P5000-groups", "30 ms", 20, 10),
        ("the same, with budgets on every pod", "P5000-all-budgets", "40 ms", 20, 10),
        ("the same, with anti-affinity to every pod", "P5000-anti-affinity", "62 ms", 20, 10),
        ("a gang of 20 that spreads among 4,000 pods, 1,000 nodes", "G1000-spread-all", "8–9 s", 150, 100),
        ("the same, with anti-affinity", "G1000-anti-affinity", "8–9 s", 150, 100),
        ("a preemptor beside 100 open plans", "preemptors-100", "7.8 ms", 4, 4),
        ("beside 500", "preemptors-500", "20 ms", 5, 4),
        ("beside 2,000", "preemptors-2000", "76 ms", 10, 4),
    ):
        yield Goal(about, case, figure, "ms", before, must, aim)
    for about, case, must, aim in (
        ("a pod in H1000, p99 on the wall", "H1000-pod", 15, 8),
        ("in H5000", "H5000-pod", 40, 25),
        ("a gang of 32 in H1000, p99", "H1000-gang", 150, 100),
        ("in H5000", "H5000-gang", 150, 100),
    ):
        yield Goal(about, case, slowest, "ms", must=must, aim=aim)
    yield Goal("a gang that nothing can help, in H1000, p99", "H1000-gang-hopeless", slowest, "ms", must=150)
    yield Goal("in H5000", "H5000-gang-hopeless", slowest, "ms", must=150)
    shapes = "plain placement, 20 shapes, 5,000 nodes"
    yield Goal(shapes, "schedule-5000", rate, "/s", "2,800 /s", 3500, 4000)
    yield Goal("a run of equal pods, 5,000 nodes", "schedule-5000-equal", rate, "/s", aim=15_000)
    yield Goal("2,000 jobs on 40 full nodes, until all have run", "jobs-waiting", all_jobs, "s", "36 s", 8, 4)


def _daemon() -> Iterator[Goal]:
    yield Goal("a live watch event", "daemon-events", figure, "ms", "0.12–0.4 ms", 0.1, 0.07)
    yield Goal("a plain pod", "daemon-load", figure, "ms", "1.3–1.9 ms")
    yield Goal("a preemptor with one victim", "daemon-preemption", figure, "ms", "15–26 ms")
    yield Goal("a victim, ten of each preemptor", "daemon-victims", figure, "ms")
    heartbeats = "idle, while nodes report every 5 minutes"
    yield Goal(heartbeats, "daemon-heartbeats-5min", share_of_a_core, "% of a core", "0.8 % of a core", 1)
    yield Goal("the longest step of the loop while it only watches", "daemon-pauses", longest, "ms", must=50)
    memory_at = "memory at 5,000 nodes, 20,000 pods"
    yield Goal(memory_at, "daemon-start-20000", memory, "MB", "180 MB", 160, 160)


def _studies() -> Iterator[Goal]:
    yield Goal("a study: a week of openb", "study-openb", all_seconds, "s", "3.0 s", aim=2)
    yield Goal("100,000 jobs in a week, 200 nodes", "study-jobs-100000", all_jobs, "s", aim=60)


GOALS = (*_decisions(), *_daemon(), *_studies())


def _short(value: float) -> str:
    """Three digits, however large or small."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
