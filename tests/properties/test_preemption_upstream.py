"""The default is never worse than kube-scheduler's search, and where it is worse than kube-scheduler altogether,
that comes from two other choices, which docs/preemption.md explains."""

from dataclasses import dataclass, replace

import pytest
from hypothesis import settings

from reprieve.model.whatif import without
from reprieve.preemption.budgets import Joint
from reprieve.preemption.plan import Plan
from reprieve.preemption.policy import REPRIEVE, UPSTREAM, Policy, Search
from reprieve.preemption.ranking import rank
from tests.properties.crowded import EVERYTHING, ROOM_ONLY, Crowd, seeded_crowd
from tests.properties.preempting import plans_of, question_of

WORLDS = 10_000 if settings.default.max_examples > 1000 else 500
BATCHES = 10

SEARCH_AS_UPSTREAM = replace(REPRIEVE, search=Search.UPSTREAM)
