"""Does this revision take longer than another one? Both are run alternately, each time in a new process."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from benchmarks.cases import Case, Compared
from benchmarks.statistics import Ratio, percentile, ratio
from benchmarks.timing import Run

RUNS = 7  # of each revision; with fewer, one disturbed run would decide the interval

Measure = Callable[[], Run]


@dataclass(frozen=True, slots=True)
class Result:
    """The runs of one revision, summed up: all their times together."""

    case: str
    median_ms: float
    p99_ms: float
    per_second: float
    rss_mb: float
    cpu_ms: float
    asking: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Ratios of this revision to the other: below one, this revision takes less."""

    result: Result
    against: str
    other: Result
    compared: Compared
    time: Ratio
    rss: Ratio
    runs: int


def result(case: Case, runs: Sequence[Run]) -> Result:
    wall = [time for run in runs for time in run.wall_ms]
    return Result(
        case=case.name,
        median_ms=median(wall),
        p99_ms=percentile(wall, 0.99),
        per_second=median(run.per_second for run in runs),
        rss_mb=median(run.rss_mb for run in runs),
        cpu_ms=median(time for run in runs for time in run.cpu_ms),
        asking=fmean(run.asking for run in runs),
    )


def alternated(ours: Measure, theirs: Measure, runs: int) -> Iterator[tuple[Run, Run]]:
    """Pairs of runs. Which one begins alternates, so that a machine that slows down favours neither."""
    for number in range(runs):
        if number % 2:
            other = theirs()
            yield ours(), other
        else:
            yield ours(), theirs()


def comparison(case: Case, against: str, pairs: Sequence[tuple[Run, Run]]) -> Comparison:
    ours, theirs = [one for one, _ in pairs], [other for _, other in pairs]
    return Comparison(
        result=result(case, ours),
        against=against,
        other=result(case, theirs),
        compared=case.compared,
        time=ratio([figure(case, run) for run in ours], [figure(case, run) for run in theirs]),
        rss=ratio([run.rss_mb for run in ours], [run.rss_mb for run in theirs]),
        runs=len(pairs),
    )


def figure(case: Case, run: Run) -> float:
    """The figure of a run that tells two revisions apart."""
    match case.compared:
        case Compared.QUARTILE_CPU:
            return percentile(run.cpu_ms, 0.25)
        case Compared.MEAN_CPU:
            return fmean(run.cpu_ms)
        case Compared.MEDIAN_WALL:
            return median(run.wall_ms)
