"""What is written down is read back as it was."""

import pytest
from tests.unit.scheduler.crowds import a_budget, a_group
from tests.unit.scheduler.making import a_claim, a_class, a_namespace, a_node, a_pod, a_volume, leaving

from reprieve.model.effects import (
    Announce,
    Bind,
    BindVolume,
    Effect,
    Evict,
    Nominate,
    SelectNode,
    SetCondition,
    Target,
    Tone,
)
from reprieve.model.events import Done, Event, EvictionsRead, Failed, Gone, Seen, Synced, Unknown, Unread
from reprieve.model.moment import Moment, on_one_clock
from reprieve.model.objects import KubernetesObject, Problem, Ref
from reprieve.model.workloads import PastEviction
from reprieve.runtime.journal_lines import (
    Asked,
    Began,
    Observed,
    Recorded,
    UnreadableLineError,
    decision_line,
    events_line,
    has_events,
    head_line,
    parsed_line,
    records_line,
)
from reprieve.scheduler.plans.handover import Stage
from reprieve.scheduler.plans.plan_records import (
    EndReason,
    GrowthEnd,
    GrowthEnded,
    PlanEnded,
    PlanOpened,
    PlanRecord,
    Preemptor,
    StageReached,
    VictimsJudged,
)
from reprieve.scheduler.reporting.decision import Decision, Outcome

NOW = Moment(1767225600.1, 12.5)
POD = Target("Pod", "default", "p", "uid-p")
CLAIM = Target("PersistentVolumeClaim", "default", "c", "uid-c")
EFFECTS: list[Effect] = [
    Bind(POD, "n1"),
    SetCondition(POD, "PodScheduled", "False", "Unschedulable", "nowhere, »sorry«\n"),
    Announce(POD, Tone.WARNING, "FailedScheduling", "Scheduling", "nowhere"),
    BindVolume(Target("PersistentVolume", "", "v", "uid-v"), CLAIM),
    SelectNode(CLAIM, "n1"),
    Nominate(POD, ""),
    Evict(POD),
]
THINGS: list[KubernetesObject] = [
    a_node(),
    leaving(a_pod("p", labels={"a": "b"}, claims=["c"])),
    a_group("g", 5, 2),
    a_budget("b", 1, app="a"),
    a_class(),
    a_claim("c"),
    a_volume("v", only_on="n1"),
]
EVENTS: list[Event] = [
    *map(Seen, THINGS),
    Seen(a_namespace("team"), unserved=("spec.resourceClaims",)),
    Unread(
        POD, Problem(ref=Ref(kind="Pod", namespace="default", name="p"), path="spec", expected="an object")
    ),
    Gone(POD),
    EvictionsRead((PastEviction(workload="Job/team/b", key="uid-p", at=1.5),), 0.5, "events are lost"),
    Synced(),
    *map(Done, EFFECTS),
    *(Failed(effect, "no") for effect in EFFECTS),
    Failed(Evict(POD), "not found", missing=True),
    *(Unknown(effect, "no answer") for effect in EFFECTS),
]


PLAN = ("d-1", POD, Preemptor.POD_GROUP, 2, 1767225600.1, 0.25)
RECORDS: list[PlanRecord] = [
    PlanOpened(*PLAN),
    *(StageReached(*PLAN, stage) for stage in Stage),
    *(PlanEnded(*PLAN, reason, Stage.DRAINING) for reason in EndReason),
    VictimsJudged(*PLAN, used=(POD,), wasted=(POD, POD)),
    *(GrowthEnded(POD, end, 1.5, 0.5) for end in GrowthEnd),
]


@pytest.mark.parametrize("record", RECORDS, ids=repr)
def test_a_record(record: PlanRecord) -> None:
    assert parsed_line(records_line([record], 1.5)) == Recorded(1.5, (record,))


def test_a_record_that_is_no_longer_made_is_left_out() -> None:
    """Of a journal that an earlier version wrote."""
    written = records_line([PlanOpened(*PLAN), StageReached(*PLAN, Stage.EVICTING)], 1.5)
    earlier = written.replace(b'"is":"StageReached"', b'"is":"ChainContinued"')
    assert parsed_line(earlier) == Recorded(1.5, (PlanOpened(*PLAN),))


@pytest.mark.parametrize("event", EVENTS, ids=repr)
def test_an_event(event: Event) -> None:
    assert parsed_line(events_line([event], NOW)) == Observed(NOW, (event,))


@pytest.mark.parametrize("at", [0.0, 1767225600.1, 1767225600.1000001, 5e-324])
def test_a_time_is_kept_to_the_last_bit(at: float) -> None:
    now = Moment(at, at / 3)
    assert parsed_line(events_line([], now)) == Observed(now, ())


def test_numbers_beyond_any_machine() -> None:
    pod = a_pod("p", cpu=10**40)  # type: ignore[arg-type]
    assert parsed_line(events_line([Seen(pod)], NOW)) == Observed(NOW, (Seen(pod),))


def test_a_decision_is_kept_as_bytes() -> None:
    decision = Decision("d-1", POD, 9, 1.5, Outcome.PLACED, considered=1, places=((POD, "n1"),))
    line = decision_line(decision, NOW)
    found = parsed_line(line)
    assert isinstance(found, Asked)
    assert found.decision is not None
    assert found.decision in line


def test_that_none_was_decided_about() -> None:
    assert parsed_line(decision_line(None, NOW)) == Asked(NOW, None)


def test_a_beginning() -> None:
    assert parsed_line(head_line({"gates": {"A": True}})) == Began({"gates": {"A": True}}, format=4)


def test_an_older_journal_has_one_clock() -> None:
    assert parsed_line(b'{"at":7.5,"events":[]}') == Observed(on_one_clock(7.5), ())
    assert parsed_line(b'{"at":7.5,"decision":null}') == Asked(on_one_clock(7.5), None)


@pytest.mark.parametrize("line", [events_line([Synced()], Moment(1.5, 0.5)), b'{"at":7.5,"events":[]}'])
def test_a_line_with_events_is_known_by_its_beginning(line: bytes) -> None:
    assert has_events(line)
    assert not has_events(decision_line(None, Moment(1.5, 0.5)))


def test_the_beginning_of_an_older_journal() -> None:
    older = parsed_line(b'{"begin": 1, "head": {}}')
    assert older == Began({}, format=1)
    assert isinstance(older, Began)
    assert not older.has_records


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (b"not JSON", "is not a line of a journal: JSON is malformed: invalid character (byte 4)"),
        (b"{}", "is not a line of a journal: expected begin, events, decision or records"),
        (
            b'{"events": [{"is": "Seen", "kind": "Dragon", "object": {}}]}',
            "names a kind that Reprieve does not know: 'Dragon'",
        ),
        (b'{"events": [{}]}', "is not a line of a journal: an event has no 'is'"),
        (b'{"records": [{"is": "Dragon"}]}', "names a kind that Reprieve does not know: 'Dragon'"),
        (b'{"events": [{"is": "Done", "effect": {}}]}', "is not a line of a journal: an event has no 'kind'"),
        (b'{"begin": 5}', "has format 5, and this version of Reprieve reads 1 to 4"),
    ],
)
def test_what_is_no_line(line: bytes, complaint: str) -> None:
    with pytest.raises(UnreadableLineError) as raised:
        parsed_line(line)
    assert str(raised.value) == complaint


def test_an_event_without_what_it_is_about() -> None:
    with pytest.raises(UnreadableLineError, match="missing 1 required positional argument: 'target'"):
        parsed_line(b'{"events": [{"is": "Gone"}]}')
