"""The default never does worse than kube-scheduler's search would in its place.

Against kube-scheduler as a whole it does now and then, for two other differences that docs/preemption.md
explains: which pods rank as groups, and how budgets are counted.
"""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import settings

from reprieve.preemption.budgets import Joint, accounts
from reprieve.preemption.plan import Plan
from reprieve.preemption.policy import REPRIEVE, UPSTREAM, Policy, Search
from reprieve.preemption.ranking import rank
from tests.properties.crowded import EVERYTHING, ROOM_ONLY, Crowd, seeded_crowd
from tests.properties.preempting import plans_of, question_of

WORLDS = 10_000 if settings().max_examples > 1000 else 500
BATCH = WORLDS // 5

ONLY_THE_SEARCH = replace(REPRIEVE, search=Search.UPSTREAM)


def best_by(policy: Policy, crowd: Crowd) -> Plan | None:
    """For the same number of members, and with budgets counted alike, so that plans can be compared."""
    question = question_of(crowd)
    if question is None:
        return None
    counting = Joint(accounts(REPRIEVE.stocks(question.view)), ())
    plans = plans_of(replace(question, policy=policy))
    return min((replace(p, broken=counting.broken(p.victims)) for p in plans), key=rank, default=None)


def crowds_of(batch: int) -> Iterator[Crowd]:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        yield seeded_crowd(seed, ROOM_ONLY if seed % 2 else EVERYTHING)


def is_worse(ours: Plan | None, theirs: Plan | None) -> bool:
    if ours is None or theirs is None:
        return theirs is not None
    return rank(ours)[:-1] > rank(theirs)[:-1]


@pytest.mark.parametrize("batch", range(5))
def test_never_worse_than_their_search(batch: int) -> None:
    for crowd in crowds_of(batch):
        assert not is_worse(best_by(REPRIEVE, crowd), best_by(ONLY_THE_SEARCH, crowd))


@pytest.mark.parametrize("batch", range(5))
def test_rarely_worse_than_all_they_do(batch: int) -> None:
    pairs = [(best_by(REPRIEVE, crowd), best_by(UPSTREAM, crowd)) for crowd in crowds_of(batch)]
    assert not any(ours is None for ours, theirs in pairs if theirs is not None)
    worse = sum(is_worse(ours, theirs) for ours, theirs in pairs)
    better = sum(is_worse(theirs, ours) for ours, theirs in pairs)
    assert worse <= 0.02 * len(pairs)
    assert better >= 5 * worse
