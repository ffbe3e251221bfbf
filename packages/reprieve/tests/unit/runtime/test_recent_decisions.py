"""Recent decisions: which are kept, for how long, and what becomes of their plans."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.unit.report.test_decisions import choosing, refused
from tests.unit.scheduler.making import a_node, a_pod

from reprieve.assembly.decision_pages import asked_decisions
from reprieve.assembly.journals import earlier_decisions, journal_in
from reprieve.config import Gates, default_configuration
from reprieve.model.effects import Target
from reprieve.model.events import Seen, Synced
from reprieve.model.moment import on_one_clock
from reprieve.model.objects import KubernetesObject
from reprieve.runtime import recent_decisions
from reprieve.runtime.journal import Journaled, read_results
from reprieve.runtime.recent_decisions import KeepBounds, RecentDecisions, decisions_in
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.plans.handover import Stage
from reprieve.scheduler.plans.plan_records import EndReason, PlanEnded, Preemptor, StageReached, VictimsJudged
from reprieve.scheduler.reporting.decision import Decision, Outcome

VICTIM = Target("Pod", "default", "cheap", "uid-cheap")


def preempting(number: int) -> Decision:
    return replace(choosing(), id=f"d-{number}", at=float(number))


def waiting(number: int, at: float = 0.0) -> Decision:
    demand = Target("Pod", "default", f"p{number}", f"uid-{number}")
    return replace(refused(), id=f"d-{number}-{at}", demand=demand, at=at)


def ids(recent: RecentDecisions, after: int = 0) -> list[str]:
    return [kept.decision.id for kept in recent.after(after)]


def test_the_oldest_are_forgotten_first() -> None:
    recent = RecentDecisions(KeepBounds(each=3))
    for number in range(5):
        recent.keep(preempting(number))
    assert ids(recent) == ["d-2", "d-3", "d-4"]


def test_of_a_demand_that_waits_the_latest_decision_is_kept_and_pushes_out_no_preemption() -> None:
    recent = RecentDecisions(KeepBounds(each=3))
    recent.keep(preempting(0))
    for at in range(100):
        recent.keep(waiting(1, float(at)))
    first, last = recent.after()
    assert (first.decision.id, last.decision.id, last.attempts) == ("d-0", "d-1-99.0", 100)


def test_placements_are_not_kept() -> None:
    recent = RecentDecisions()
    recent.keep(replace(choosing(), outcome=Outcome.PLACED))
    assert ids(recent) == []


def test_bytes_are_bounded_and_preemptions_outlast_refusals() -> None:
    recent = RecentDecisions(KeepBounds(bytes=8_000))
    for number in range(4):
        recent.keep(preempting(number))
        recent.keep(waiting(number))
    assert [name for name in ids(recent) if "." not in name] == ["d-0", "d-1", "d-2", "d-3"]
    assert len(ids(recent)) < 8
    for number in range(100):
        recent.keep(preempting(number))
    assert 0 < len(ids(recent)) < 100


def test_a_reader_gets_what_is_new_or_has_changed() -> None:
    recent = RecentDecisions()
    recent.keep(preempting(1))
    recent.keep(preempting(2))
    seen = recent.revision
    assert ids(recent, seen) == []
    about = ("d-1", Target("Pod", "default", "new", "u"), Preemptor.POD, 1, 5.0, 1.0)
    recent.on_recorded([StageReached(*about, stage=Stage.EVICTING)])
    recent.on_recorded([PlanEnded(*about, reason=EndReason.ROOM_USED, stage=Stage.READY)])
    recent.on_recorded([VictimsJudged(*about, used=(VICTIM,))])
    (kept,) = recent.after(seen)
    assert kept.plan is not None
    assert (kept.plan.stage, kept.plan.end, kept.plan.ended_at) == ("ready", EndReason.ROOM_USED, 5.0)
    assert (kept.plan.used, kept.plan.wasted) == (("uid-cheap",), ())


def test_a_reader_with_the_revision_of_another_process_gets_all() -> None:
    recent = RecentDecisions()
    recent.keep(preempting(1))
    assert ids(recent, 1_000) == ["d-1"]


def test_a_limit_leaves_out_the_oldest() -> None:
    recent = RecentDecisions()
    for number in range(3):
        recent.keep(preempting(number))
    assert [kept.decision.id for kept in recent.after(0, 2)] == ["d-1", "d-2"]
    assert list(recent.after(0, 0)) == []


def test_a_copy_decodes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that schedules makes it for a reader, who may ask for all that there is."""
    kept = RecentDecisions()
    for number in range(20):
        kept.keep(replace(choosing(), id=f"d-{number}"))
    with monkeypatch.context() as patch:
        patch.setattr(recent_decisions, "_decode", None)
        copied = asked_decisions(kept, {"limit": "999"}).kept
    assert [one.decoded() for one in copied] == list(kept.after())


def test_a_plan_that_is_not_remembered_is_no_mistake() -> None:
    recent = RecentDecisions()
    about = ("d-1", Target("Pod", "default", "new", "u"), Preemptor.POD, 1, 5.0, 1.0)
    recent.on_recorded([StageReached(*about, stage=Stage.EVICTING)])
    assert ids(recent) == []


def journaled_preemption(directory: Path) -> None:
    with journal_in(directory, default_configuration(), Gates(), print) as journal:
        assert journal is not None
        machine = Journaled(Scheduler(), journal)
        world: list[KubernetesObject] = [
            a_node("n1"),
            a_pod("old", cpu="3", on="n1"),
            a_pod("new", cpu="3", priority=9),
        ]
        machine.observe([*map(Seen, world), Synced()], on_one_clock(1.0))
        machine.decide(on_one_clock(1.0))


def test_a_journal_tells_the_same(tmp_path: Path) -> None:
    journaled_preemption(tmp_path)
    (kept,) = decisions_in(read_results(tmp_path)).after()
    assert kept.decision.outcome is Outcome.PREEMPTS
    assert kept.plan is not None
    assert kept.plan.stage == "nominated"


def test_a_new_run_remembers_the_decisions_of_earlier_runs(tmp_path: Path) -> None:
    complaints: list[str] = []
    journaled_preemption(tmp_path)
    journaled_preemption(tmp_path)
    recent = earlier_decisions(tmp_path, complaints.append)
    assert [kept.decision.outcome for kept in recent.after()] == [Outcome.PREEMPTS]
    assert (recent.bounds, complaints) == (RecentDecisions().bounds, [])


def test_what_cannot_be_read_is_named_and_what_was_read_is_remembered(tmp_path: Path) -> None:
    complaints: list[str] = []
    journaled_preemption(tmp_path)
    (tmp_path / "00000002.jsonl").write_text("{}\n")
    recent = earlier_decisions(tmp_path, complaints.append)
    assert len(ids(recent)) == 1
    (complaint,) = complaints
    assert complaint.startswith(f"not all earlier decisions are shown: {tmp_path}/00000002.jsonl: line 1 ")


def test_a_cluster_without_a_journal_has_no_earlier_decisions(tmp_path: Path) -> None:
    assert ids(earlier_decisions(None, print)) == []
    assert ids(earlier_decisions(tmp_path / "journal", print)) == []
