"""What do many measured times say, and how sure is the difference between two revisions?

Numbers in, numbers out: nothing is known here of what was measured.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, zip_longest
from math import ceil, exp, log
from statistics import median

CONFIDENCE = 0.95
FEWEST_PAIRS = 6  # with fewer, no interval reaches the confidence


@dataclass(frozen=True, slots=True)
class Ratio:
    """By which factor one is larger than the other, and the bounds of the confidence interval."""

    estimate: float
    low: float
    high: float


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the values does not exceed (nearest rank)."""
    return sorted(values)[max(ceil(share * len(values)) - 1, 0)]


def ratio(ours: Sequence[float], theirs: Sequence[float], confidence: float = CONFIDENCE) -> Ratio:
    """Of values that were measured in pairs: the Hodges-Lehmann estimate, and Wilcoxon's exact interval.

    If both revisions take the same time, the logarithm of a pair's ratio is symmetric around zero, however
    the noise is distributed. The interval assumes that and nothing else, and draws no random numbers.
    """
    differences = [log(one / other) for one, other in zip(ours, theirs, strict=True)]
    means = sorted((one + other) / 2 for i, one in enumerate(differences) for other in differences[: i + 1])
    outside = critical_value(len(differences), confidence) + 1
    return Ratio(exp(median(means)), exp(means[outside - 1]), exp(means[-outside]))


def critical_value(pairs: int, confidence: float) -> int:
    """Of Wilcoxon's signed-rank test: the largest rank sum that is too small to be chance.

    If neither revision is faster, each of the ranks 1 to ``pairs`` is in the sum with probability one half.
    """
    if pairs < FEWEST_PAIRS:
        raise ValueError(f"{pairs} pairs are too few for an interval, {FEWEST_PAIRS} are needed")
    sets: list[int] = [1]  # by sum: how many sets of ranks have it
    for rank in range(1, pairs + 1):
        with_rank = [0] * rank + sets
        sets = [one + other for one, other in zip_longest(sets, with_rank, fillvalue=0)]
    allowed = 2**pairs * (1 - confidence) / 2
    return sum(1 for together in accumulate(sets) if together <= allowed) - 1
