"""Which call goes first when more wait than may be sent: shares of lanes, and priority within them."""

from collections import Counter

from reprieve.model.urgency import CallQueue, Lane, Urgency


def popped(queue: CallQueue[str], count: int) -> list[str]:
    return [queue.pop() for _ in range(count)]


def crowded(**waiting: Urgency) -> CallQueue[str]:
    """A hundred of each."""
    queue = CallQueue[str]()
    for name, urgency in waiting.items():
        for i in range(100):
            queue.put(f"{name} {i}", urgency)
    return queue


def test_half_for_binds_of_whatever_priority_and_a_tenth_for_reports() -> None:
    queue = crowded(
        report=Urgency(Lane.REPORT), evict=Urgency(Lane.MAKE_ROOM, 1000), bind=Urgency(Lane.BIND, 0)
    )
    assert Counter(item.split()[0] for item in popped(queue, 100)) == {"report": 10, "bind": 50, "evict": 40}


def test_shares_that_are_not_used_go_to_the_others() -> None:
    queue = crowded(report=Urgency(Lane.REPORT), evict=Urgency(Lane.MAKE_ROOM))
    assert Counter(item.split()[0] for item in popped(queue, 100)) == {"report": 10, "evict": 90}
    assert popped(crowded(report=Urgency(Lane.REPORT)), 3) == ["report 0", "report 1", "report 2"]


def test_the_highest_priority_first_and_then_the_one_that_came_first() -> None:
    queue = CallQueue[str]()
    for name, lane, priority in (
        ("low", Lane.BIND, 0),
        ("first", Lane.BIND, 5),
        ("second", Lane.BIND, 5),
        ("room", Lane.MAKE_ROOM, 9),
    ):
        queue.put(name, Urgency(lane, priority))
    assert popped(queue, 4) == ["room", "first", "second", "low"]


def test_an_entry_moves_and_leaves() -> None:
    queue = CallQueue[str]()
    for name in "abc":
        queue.put(name, Urgency(Lane.REPORT))
    queue.put("c", Urgency(Lane.BIND))
    queue.discard("a")
    assert len(queue) == 2
    assert popped(queue, 2) == ["c", "b"]
    assert len(queue) == 0
