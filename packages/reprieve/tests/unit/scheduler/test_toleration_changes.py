"""What priority classes say of tolerations: what is reported, and which demand comes back when."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from tests.unit.scheduler.making import a_node, a_pod, later
from tests.unit.scheduler.serving import Served, served

from reprieve.model.effects import Announce, Tone
from reprieve.model.objects import Pod, PodGroup, PriorityClass
from reprieve.preemption.toleration import MINIMUM_PRIORITY, SECONDS
from reprieve.report.decisions import decision_lines
from reprieve.scheduler.plans.toleration_rules import HONOURED, IGNORED, TolerationRules
from reprieve.scheduler.reporting.decision import Decision, Outcome, ProtectedBy
from reprieve.scheduler.reporting.decision_document import document_of
from reprieve.scheduler.settings import Settings


def a_class(minimum: str = "100", seconds: str = "600", **metadata: Any) -> PriorityClass:
    annotations = {MINIMUM_PRIORITY: minimum, SECONDS: seconds}
    meta = {"name": "low", "uid": "uid-low", "resourceVersion": "1", "annotations": annotations, **metadata}
    return msgspec.convert({"metadata": meta, "value": 1}, PriorityClass)


def annotated(known: PriorityClass, minimum: str, seconds: str) -> PriorityClass:
    return later(known, annotations={MINIMUM_PRIORITY: minimum, SECONDS: seconds})


def tolerant(name: str = "young", node: str = "n1", minute: int = 0) -> Pod:
    """It was scheduled on the first day of all."""
    pod = a_pod(name, cpu="4", priority=1, on=node, priorityClassName="low")
    since = f"1970-01-01T00:{minute:02}:00Z"
    condition = {"type": "PodScheduled", "status": "True", "lastTransitionTime": since}
    status = msgspec.convert({"conditions": [condition]}, type(pod.status))
    return msgspec.structs.replace(pod, status=status)


def waiting(*more: Any, settings: Settings | None = None) -> Served:
    return served(
        a_node(), a_class(), tolerant(), *more, a_pod("new", cpu="4", priority=9), settings=settings
    )


def last(cluster: Served) -> Decision:
    return cluster.stage.decisions[-1]


def warnings(cluster: Served) -> list[Announce]:
    taken = cluster.take(Announce)
    return [e for e in taken if isinstance(e, Announce) and e.reason == "InvalidToleration"]


# --- when it comes back --------------------------------------------------------------------------


def test_a_decision_carries_the_moment() -> None:
    decision = last(waiting())
    assert (decision.outcome, decision.retry_at) == (Outcome.UNSCHEDULABLE, 600.0)
    assert decision.eviction is not None
    assert decision.eviction.because.code == "Toleration"
    assert decision.eviction.protected == (
        ProtectedBy("Toleration", ("low",), 1, "of class low", 600.0, "a toleration of class low"),
    )


def test_programs_and_people_can_read_it() -> None:
    decision = last(waiting())
    document = document_of(decision)
    assert document["retryAt"] == "1970-01-01T00:10:00Z"
    assert document["eviction"]["protected"] == [
        {
            "code": "Toleration",
            "by": ["low"],
            "pods": 1,
            "which": "of class low",
            "first": "1970-01-01T00:10:00Z",
            "ends": "a toleration of class low",
        }
    ]
    text = "\n".join(line.text for line in decision_lines(decision))
    assert "1 pod of class low is protected until 00:10:00 UTC" in text


def test_nothing_is_done_before_that_moment_but_the_usual_look() -> None:
    cluster = waiting()
    cluster.stage.after(599.0)
    assert len(cluster.stage.decisions) == 2, "the first look, and one after five minutes of waiting"
    assert cluster.stage.next_time() == 600.0
    cluster.stage.after(1.0)
    assert last(cluster).outcome is Outcome.PREEMPTS
    assert last(cluster).at == 600.0


def test_no_backoff_makes_it_miss_the_moment() -> None:
    """Pods leave again and again, so that its backoff is longest when the toleration ends."""
    others = [a_pod(f"o{i}", cpu="0", priority=50, on="n1") for i in range(12)]
    cluster = waiting(*others)
    cluster.stage.after(540.0)
    for i in range(12):
        cluster.gone(f"o{i}")
        cluster.stage.after(4.9)
    cluster.stage.after(600.0 - cluster.stage.now)
    assert (last(cluster).outcome, last(cluster).at) == (Outcome.PREEMPTS, 600.0)


def test_the_earliest_of_all_that_ask_alone_counts() -> None:
    """Two pods of a basic group can go to one node each, where tolerations end at different times."""
    group = msgspec.convert(
        {
            "metadata": {"name": "g", "namespace": "default", "uid": "g", "resourceVersion": "1"},
            "spec": {"priority": 9},
        },
        PodGroup,
    )
    members = [
        a_pod(f"m{i}", "4", 9, schedulingGroup={"podGroupName": "g"}, nodeSelector={"which": f"n{i}"})
        for i in (1, 2)
    ]
    nodes = [a_node(f"n{i}", labels={"which": f"n{i}"}) for i in (1, 2)]
    victims = [tolerant("a", "n1", minute=9), tolerant("b", "n2", minute=4)]
    cluster = served(*nodes, a_class(), group, *victims, *members)
    assert last(cluster).retry_at == 14 * 60.0


def test_a_pod_that_would_not_help_either_is_not_waited_for() -> None:
    """A more important pod holds a third of the node, and three quarters of it are wanted."""
    important = a_pod("important", cpu="4", priority=50, on="n1")
    other = a_pod("other", cpu="1", priority=0, on="n1")
    cluster = served(a_node(cpu="12"), a_class(), tolerant(), important, other, a_pod("new", "9", 9))
    decision = last(cluster)
    assert decision.retry_at is None
    assert decision.eviction is not None
    assert decision.eviction.because.text.startswith("even after evicting both pods of lower priority")


# --- changes -------------------------------------------------------------------------------------


def test_a_change_of_the_class_skips_the_backoff() -> None:
    cluster = waiting()
    cluster.stage.after(0.1)
    cluster.show(later(a_class(), annotations={}))
    assert (last(cluster).outcome, last(cluster).at) == (Outcome.PREEMPTS, 0.1)


def test_a_class_that_is_shown_again_wakes_none() -> None:
    cluster = waiting()
    cluster.show(later(a_class()), later(later(a_class()), labels={"a": "b"}))
    assert len(cluster.stage.decisions) == 1


def test_a_pod_that_does_not_wait_for_a_toleration_is_not_woken_by_a_class() -> None:
    cluster = served(a_node(), a_class(), a_pod("huge", cpu="40", priority=9))
    cluster.show(annotated(a_class(), "100", "0"))
    assert len(cluster.stage.decisions) == 1


# --- what people are told ------------------------------------------------------------------------


def test_a_fault_is_told_on_the_class() -> None:
    cluster = served(a_class(seconds="10m"))
    (warning,) = warnings(cluster)
    assert (warning.target.kind, warning.target.name, warning.tone) == ("PriorityClass", "low", Tone.WARNING)
    assert SECONDS in warning.note
    assert '"10m"' in warning.note


def test_it_is_told_once_for_each_change() -> None:
    bad = a_class(seconds="10m")
    cluster = served(bad)
    assert len(warnings(cluster)) == 1
    again = later(bad, labels={"a": "b"})
    cluster.show(bad, again)
    assert warnings(cluster) == []
    good = annotated(again, "100", "600")
    cluster.show(good)
    assert warnings(cluster) == []
    cluster.show(annotated(good, "100", "10m"))
    assert len(warnings(cluster)) == 1


def test_a_class_that_came_anew_is_told_anew() -> None:
    cluster = served(a_class(seconds="10m"))
    warnings(cluster)
    cluster.gone("low", kind="PriorityClass").show(a_class(seconds="10m", uid="uid-next"))
    assert len(warnings(cluster)) == 1


@pytest.mark.parametrize(("tolerations", "told"), [(HONOURED, 1), (IGNORED, 0)])
def test_without_tolerations_none_looks_at_annotations(tolerations: TolerationRules, told: int) -> None:
    cluster = served(a_class(seconds="10m"), settings=Settings(tolerations=tolerations))
    assert len(warnings(cluster)) == told


def test_a_victim_whose_class_is_gone_is_told_once() -> None:
    cluster = served(a_node(), tolerant(), a_pod("new", cpu="4", priority=9))
    notes = [e for e in cluster.take(Announce) if isinstance(e, Announce) and e.target.name == "young"]
    assert [(note.reason, note.tone) for note in notes] == [("PriorityClassGone", Tone.WARNING)]
    cluster.comes_true()
    assert cluster.places() == {"new": "n1"}


# --- what ends anyway ----------------------------------------------------------------------------


def test_a_pod_that_is_leaving_is_counted_on_whatever_its_class_says() -> None:
    cluster = served(a_node(), a_class(seconds="-1"), tolerant())
    cluster.deleted("young").show(a_pod("new", cpu="4", priority=9))
    assert last(cluster).outcome is Outcome.PREEMPTS
    assert last(cluster).victims == ()
    cluster.comes_true()
    assert cluster.places() == {"new": "n1"}


def test_a_pod_that_is_just_being_bound_is_safe() -> None:
    """It counts as running, and its time has not begun."""
    cluster = served(a_node(), a_class(), a_pod("young", cpu="4", priority=1, priorityClassName="low"))
    cluster.show(a_pod("new", cpu="4", priority=9))
    assert last(cluster).outcome is Outcome.UNSCHEDULABLE
    assert last(cluster).retry_at is None


@pytest.mark.parametrize("seconds", [1, 3, 600])
def test_its_time_is_not_missed_when_it_begins_to_count(seconds: int) -> None:
    """The bind is shown while the demand has its longest backoff, and the toleration may end before that."""
    others = [a_pod(f"o{i}", cpu="0", priority=50, on="n1") for i in range(12)]
    young = a_pod("young", cpu="4", priority=1, priorityClassName="low")
    cluster = served(a_node(), a_class(seconds=str(seconds)), *others, young)
    cluster.show(a_pod("new", cpu="4", priority=9))
    for i in range(12):
        cluster.gone(f"o{i}").stage.after(4.9)
    assert {d.outcome for d in cluster.stage.decisions[1:]} == {Outcome.UNSCHEDULABLE}
    begins = int(cluster.stage.now)
    scheduled = tolerant(minute=begins // 60)
    condition = msgspec.structs.replace(
        scheduled.status.conditions[0], last_transition_time=datetime.fromtimestamp(begins, UTC)
    )
    status = msgspec.structs.replace(scheduled.status, conditions=(condition,))
    cluster.show(msgspec.structs.replace(later(later(scheduled)), status=status)).stage.after(700.0)
    assert (last(cluster).outcome, last(cluster).at) == (Outcome.PREEMPTS, float(begins + seconds))
