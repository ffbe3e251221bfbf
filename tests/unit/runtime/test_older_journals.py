"""A journal and documents that an older version wrote are read, and shown as that version showed them.

``older`` holds a journal of format 2, as it was written, and its decisions as documents of v1alpha1.
"""

import json
from pathlib import Path

from reprieve.runtime.journal import results
from reprieve.runtime.recent_decisions import decisions_in
from reprieve.scheduler.decision import Decision, Outcome

OLDER = Path(__file__).parent / "older"


def decisions() -> dict[str, Decision]:
    return {kept.decision.demand.name: kept.decision for kept in decisions_in(results(OLDER / "journal_format_2")).after()}


def test_every_decision_is_read() -> None:
    found = decisions()
    assert [*found] == ["new", "late", "urgent", "large", "db"]
    assert found["large"].outcome is Outcome.UNSCHEDULABLE
    room = found["urgent"].preemption
    assert room is not None
    assert [victim.pod.name for victim in room.victims] == ["p1", "p0"]
    assert room.quality is not None
    assert room.quality.proved
