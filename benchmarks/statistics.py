"""What do many measured times say, and how sure is the difference between two revisions?

Numbers in, numbers out: nothing is known here of what was measured.
"""

from collections.abc import Sequence
from dataclasses import dataclass
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
    outside = _outside(len(differences), confidence)
    return Ratio(exp(median(means)), exp(means[outside]), exp(means[-1 - outside]))


def _outside(pairs: int, confidence: float) -> int:
    """How many of the pairwise means lie below the interval; as many lie above it.

    The largest number c for which a signed-rank sum of at most c has a probability of (1 - confidence) / 2
    or less.
    """
    if pairs < FEWEST_PAIRS:
        raise ValueError(f"{pairs} pairs are too few for an interval, {FEWEST_PAIRS} are needed")
    subsets = [1]  # by sum: how many sets of the ranks so far have it
    for rank in range(1, pairs + 1):
        longer = [*subsets, *[0] * rank]
        for total, count in enumerate(subsets):
            longer[total + rank] += count
        subsets = longer
    allowed = 2.0**pairs * (1 - confidence) / 2
    outside, seen = -1, 0
    for count in subsets:
        seen += count
        if seen > allowed:
            break
        outside += 1
    return outside
