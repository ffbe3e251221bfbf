"""How do policies differ, and how sure is that? Paired differences over the same seeds, with intervals.

Every policy meets the same jobs for the same seed, so that a difference within a seed is due to the policy
alone; the interval says what the choice of seeds may have added. It knows no files and no page.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import msgspec

from reprieve_study.measures import Measured

# The 97.5 % points of Student's distribution for 1 to 30 degrees of freedom.
_STUDENT = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
_NORMAL = 1.959964
_ENOUGH_SEEDS = 5

Metric = Callable[[Measured], float]


def _per_hour(count: Callable[[Measured], float]) -> Metric:
    return lambda measured: count(measured) / measured.hours if measured.hours else 0.0


METRICS: Mapping[str, Metric] = {
    "preemptions an hour": _per_hour(lambda measured: measured.preemptions),
    "evictions an hour": _per_hour(lambda measured: measured.evictions),
    "evictions": lambda measured: measured.evictions,
    "evictions in vain": lambda measured: measured.in_vain,
    "gangs interrupted": lambda measured: measured.workloads_ended,
    "budget breaks": lambda measured: measured.budget_breaks,
    "work lost": lambda measured: measured.work_lost,
    "goodput": lambda measured: measured.goodput,
    "fairness": lambda measured: measured.fairness,
    "unfinished": lambda measured: measured.unfinished,
}


class Estimate(msgspec.Struct, frozen=True):
    """A mean over seeds. ``low`` and ``high``: its 95 % interval; None with a single seed."""

    mean: float
    low: float | None = None
    high: float | None = None
    seeds: int = 1

    @property
    def is_of_few_seeds(self) -> bool:
        """Then an interval says little: two equal differences would make it a point."""
        return self.seeds < _ENOUGH_SEEDS

    @property
    def excludes_zero(self) -> bool:
        if self.low is None or self.high is None or self.is_of_few_seeds:
            return False
        return self.low > 0 or self.high < 0


class ComparedMetric(msgspec.Struct, frozen=True):
    """One metric: every policy's mean, and its differences from the first policy's."""

    metric: str
    means: dict[str, Estimate]
    differences: dict[str, Estimate]


class Disagreement(msgspec.Struct, frozen=True):
    """How often a policy preempted otherwise than the first one; over all seeds.

    Once two policies have differed their clusters differ, too, and so what follows differs more.
    """

    policy: str
    seeds_that_differ: int
    only_first: int  # preempting decisions of the first policy alone
    only_other: int

    @property
    def never(self) -> bool:
        return self.seeds_that_differ == 0


def estimated(values: Sequence[float]) -> Estimate:
    count = len(values)
    mean = math.fsum(values) / count
    if count < 2:
        return Estimate(mean)
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    half = student(count - 1) * math.sqrt(variance / count)
    return Estimate(mean, mean - half, mean + half, count)


def student(freedom: int) -> float:
    """The 97.5 % point; beyond the table by Cornish and Fisher, exact to four digits there."""
    if freedom <= len(_STUDENT):
        return _STUDENT[freedom - 1]
    z = _NORMAL
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)


def compared(results: Mapping[str, Sequence[Measured]]) -> list[ComparedMetric]:
    """``results``: by policy, one for each seed, in the same order of seeds; the first policy is the base."""
    base = next(iter(results))
    found = []
    for name, metric in METRICS.items():
        values = {policy: [metric(measured) for measured in arm] for policy, arm in results.items()}
        differences = {
            policy: estimated([other - first for first, other in zip(values[base], mine, strict=True)])
            for policy, mine in values.items()
            if policy != base
        }
        means = {policy: estimated(mine) for policy, mine in values.items()}
        found.append(ComparedMetric(name, means, differences))
    return found


def disagreements(results: Mapping[str, Sequence[Measured]]) -> list[Disagreement]:
    (_, base), *others = results.items()
    found = []
    for policy, arm in others:
        only_first = only_other = seeds = 0
        for first, other in zip(base, arm, strict=True):
            left, right = Counter(first.preempted), Counter(other.preempted)
            only_first += (left - right).total()
            only_other += (right - left).total()
            seeds += first.digest != other.digest
        found.append(Disagreement(policy, seeds, only_first, only_other))
    return found
