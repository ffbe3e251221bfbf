"""A journal and documents that an older version wrote are read, and shown as that version showed them.

``older`` holds journals of formats 2 and 3, as they were written, and the decisions of the first as documents
of v1alpha1.
"""

import json
from dataclasses import replace
from pathlib import Path

from tests.unit.report import texts

from reprieve.inquiry.decision_list import kept_document, list_document, read_decisions
from reprieve.model.json import Json
from reprieve.page.history import fold_entry
from reprieve.page.picture import Picture
from reprieve.preemption.resize import DeferredResizes
from reprieve.preemption.searches import REPRIEVE
from reprieve.report.decisions import decision_lines
from reprieve.runtime.journal import read_entries, read_results
from reprieve.runtime.journal_replay import Replayed, replay_runs
from reprieve.runtime.recent_decisions import KeptDecision, decisions_in
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.reporting.decision import Outcome
from reprieve.scheduler.reporting.older_decisions import V1ALPHA1
from reprieve.scheduler.settings import SCHEDULER_NAME, Settings

OLDER = Path(__file__).parent / "older"
JOURNAL = OLDER / "journal_format_2"
ONE_CLOCK = OLDER / "journal_format_3"


def kept() -> dict[str, KeptDecision]:
    return {one.decision.demand.name: one for one in decisions_in(read_results(JOURNAL)).after()}


def documents() -> list[Json]:
    found: list[Json] = json.loads((OLDER / "decisions_v1alpha1.json").read_text())["items"]
    return found


def test_every_decision_is_read() -> None:
    found = {name: one.decision for name, one in kept().items()}
    assert [*found] == ["new", "late", "urgent", "large", "db"]
    assert found["large"].outcome is Outcome.UNSCHEDULABLE
    assert found["db"].growth is not None and found["db"].growth.text == "3 cpu"
    room = found["urgent"].preemption
    assert room is not None
    assert [victim.pod.name for victim in room.victims] == ["p0", "p1"]
    assert (room.victim_nodes, room.units_spared, room.pods_spared) == ({"n0": 1, "n1": 1}, 1, 1)
    assert room.quality is not None
    assert (room.quality.proved, room.quality.cost["Cascade"]) == (True, 4)
    assert room.choice_text == "proved: no plan disturbs less"


def test_a_choice_is_shown() -> None:
    lines = texts(decision_lines(kept()["new"].decision))
    assert lines[:3] == [
        "Pod default/new (priority 9): decision d-21bc8e2cff",
        "  It fits after preemption: preempting 1 pod on n1.",
        "  Then new goes to n1.",
    ]
    assert "  n1 is the best of 2 placements by: fewest disruption budgets broken." in lines


def test_it_is_written_in_v1alpha1_as_it_was() -> None:
    written = [kept_document(one, version=V1ALPHA1) for one in kept().values()]
    document = list_document(written, version=V1ALPHA1)
    assert document == json.loads((OLDER / "decisions_v1alpha1.json").read_text())


def test_documents_of_v1alpha1_say_the_same() -> None:
    read = read_decisions(documents())
    assert read.unreadable == 0
    for one, known in zip(read.decisions, kept().values(), strict=True):
        assert texts(decision_lines(one.decision)) == texts(decision_lines(known.decision))
        assert kept_document(one, version=V1ALPHA1) == kept_document(known, version=V1ALPHA1)


def test_the_page_folds_it() -> None:
    picture = Picture()
    for entry in read_entries(JOURNAL):
        fold_entry(picture, entry)
    assert [one.decision.demand.name for one in picture.decisions.all()][-1:] == ["large"]


def test_it_is_replayed_by_what_was_decided() -> None:
    """Of a run whose settings are those of the first and the third; forms of documents do not count."""
    policy = replace(REPRIEVE, resizes=DeferredResizes())
    settings = Settings(policies={SCHEDULER_NAME: policy})
    first, _, third = replay_runs(JOURNAL, lambda _: Scheduler(settings))
    assert isinstance(first, Replayed) and isinstance(third, Replayed)
    assert (first.difference, third.difference) == (None, None)
    assert first.decisions > 1


def test_a_journal_with_one_clock_is_replayed_byte_for_byte() -> None:
    """A play in which groups tolerate preemption, and the scheduler is started anew."""
    runs = [*replay_runs(ONE_CLOCK, lambda _: Scheduler(Settings(stuck_victim_seconds=15.0)))]
    assert all(isinstance(run, Replayed) for run in runs)
    assert [run.difference for run in runs if isinstance(run, Replayed)] == [None, None]
    assert sum(run.decisions for run in runs if isinstance(run, Replayed)) > 5
