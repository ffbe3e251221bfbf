"""A condition of a group that could not be written is written later, though nothing changes."""

from tests.unit.scheduler.crowds import a_group, a_member
from tests.unit.scheduler.making import a_node
from tests.unit.scheduler.serving import Served, served

from reprieve.model.conditions import RUN_STARTED
from reprieve.model.effects import SetCondition
from reprieve.model.events import Done
from reprieve.scheduler.reporting.delayed_reports import RefusedReports

GROUP = ("default", "train")


def test_ever_more_slowly() -> None:
    reports = RefusedReports()
    assert (reports.next_time(), reports.due(0.0)) == (None, [])
    for now, due in ((0.0, 1.0), (1.0, 3.0), (3.0, 7.0)):
        reports.begin(GROUP, now)
        assert (reports.next_time(), reports.due(due - 0.5)) == (due, [])
        assert (reports.due(due), reports.due(due)) == ([GROUP], []), "each once"
    for _ in range(100):
        reports.begin(GROUP, 0.0)
    assert reports.next_time() == 3600.0


def test_what_was_written_is_over() -> None:
    reports = RefusedReports()
    reports.begin(GROUP, 0.0)
    reports.end(GROUP)
    reports.end(GROUP)
    assert reports.next_time() is None
    reports.begin(GROUP, 5.0)
    assert reports.next_time() == 6.0, "from the beginning"


# --- in the scheduler ----------------------------------------------------------------------------


def a_run() -> Served:
    """A whole group runs, and the start of its run is to be written."""
    member = a_member("t0", "train", on="n1")
    cluster = served(a_node("n1"), a_group("train", disruptedWhole=True), member)
    other = [e for e in cluster.stage.wanted if isinstance(e, SetCondition) and e.type != RUN_STARTED]
    for effect in other:
        cluster.stage.wanted.remove(effect)
        cluster.stage.happens(Done(effect), *cluster.applied(effect))
    assert starts(cluster) == ["train"]
    return cluster


def starts(cluster: Served) -> list[str]:
    written = [e for e in cluster.stage.wanted if isinstance(e, SetCondition) and e.type == RUN_STARTED]
    return [effect.target.name for effect in written]


def test_the_start_of_a_run_is_written_again_after_a_refusal() -> None:
    cluster = a_run().fails(SetCondition)
    assert starts(cluster) == []
    cluster.stage.after(0.5)
    assert starts(cluster) == []
    cluster.stage.after(0.5)
    assert starts(cluster.fails(SetCondition)) == []
    cluster.stage.after(2.0)
    assert starts(cluster) == ["train"]
    cluster.does()
    cluster.stage.after(5000.0)
    assert (starts(cluster), cluster.conditions("train", "PodGroup")[RUN_STARTED]) == ([], "True")


def test_and_after_a_lost_answer_unless_it_was_written() -> None:
    lost, done = a_run().loses(SetCondition, done=False), a_run().loses(SetCondition, done=True)
    for cluster, expected in ((lost, ["train"]), (done, [])):
        cluster.stage.after(1.0)
        assert starts(cluster) == expected


def test_a_group_that_is_gone_is_not_written() -> None:
    cluster = a_run().fails(SetCondition).gone("train", kind="PodGroup")
    cluster.stage.after(10.0)
    assert starts(cluster) == []
    assert cluster.stage.scheduler._state.reporter.refused.next_time() is None
