"""A delaying queue has one task for each subject, and returns them in order of time."""

from reprieve_minicluster.control.delaying_queue import DelayingQueue


def test_tasks_come_in_order_of_time_then_of_entry() -> None:
    queue: DelayingQueue[str, str] = DelayingQueue()
    for subject, at in (("late", 3.0), ("b", 1.0), ("a", 1.0)):
        queue.add(subject, "go", at)
    assert queue.next_at() == 1.0
    assert queue.due(2.0) == [("b", "go"), ("a", "go")]
    assert queue.next_at() == 3.0


def test_the_same_task_is_only_moved_forward() -> None:
    queue: DelayingQueue[str, str] = DelayingQueue()
    for at in (5.0, 9.0, 3.0):
        queue.add("a", "go", at)
    assert queue.next_at() == 3.0
    assert queue.due(10.0) == [("a", "go")]
    assert queue.next_at() is None


def test_another_task_takes_its_place() -> None:
    queue: DelayingQueue[str, str] = DelayingQueue()
    queue.add("a", "start", 1.0)
    queue.add("a", "stop", 4.0)
    assert queue.due(3.0) == []
    assert queue.due(4.0) == [("a", "stop")]


def test_what_was_cleared_is_not_due() -> None:
    queue: DelayingQueue[str, str] = DelayingQueue()
    queue.add("a", "go", 1.0)
    queue.remove("a")
    assert queue.due(9.0) == []


def test_a_limited_number_is_taken_and_the_rest_stays_due() -> None:
    queue: DelayingQueue[int, str] = DelayingQueue()
    for subject in range(5):
        queue.add(subject, "go", 1.0)
    assert [subject for subject, _ in queue.due(2.0, 3)] == [0, 1, 2]
    assert queue.next_at() == 1.0
    assert [subject for subject, _ in queue.due(2.0, 3)] == [3, 4]
