"""An agenda holds one task for each subject, and gives them in order of time."""

from reprieve.cluster.mini.agenda import Agenda


def test_tasks_come_in_order_of_time_then_of_entry() -> None:
    agenda: Agenda[str, str] = Agenda()
    for subject, at in (("late", 3.0), ("b", 1.0), ("a", 1.0)):
        agenda.plan(subject, "go", at)
    assert agenda.next_at() == 1.0
    assert agenda.due(2.0) == [("b", "go"), ("a", "go")]
    assert agenda.next_at() == 3.0


def test_the_same_task_is_only_moved_forward() -> None:
    agenda: Agenda[str, str] = Agenda()
    for at in (5.0, 9.0, 3.0):
        agenda.plan("a", "go", at)
    assert agenda.next_at() == 3.0
    assert agenda.due(10.0) == [("a", "go")]
    assert agenda.next_at() is None


def test_another_task_takes_its_place() -> None:
    agenda: Agenda[str, str] = Agenda()
    agenda.plan("a", "start", 1.0)
    agenda.plan("a", "stop", 4.0)
    assert agenda.due(3.0) == []
    assert agenda.due(4.0) == [("a", "stop")]


def test_what_was_cleared_is_not_due() -> None:
    agenda: Agenda[str, str] = Agenda()
    agenda.plan("a", "go", 1.0)
    agenda.clear("a")
    assert agenda.due(9.0) == []
