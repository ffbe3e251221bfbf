"""A fault plan is a pure function, and ends in time; a faulty watch delivers everything late, in order."""

import asyncio
from collections import Counter

import pytest
from tests.minicluster.faulty_cluster import (
    NO_FAULTS,
    CallFault,
    DelayedEvents,
    FaultPlan,
    FaultyWatch,
    WatchFault,
    everything,
)
from tests.minicluster.scene import pod, pod_key

from reprieve_minicluster.store import EventType, Key, Part, Store, Stored, WatchEvent
from reprieve_minicluster.virtual_time import clock, run


def test_the_same_seed_gives_the_same_faults() -> None:
    def drawn(seed: int) -> list[CallFault | None]:
        return [everything(seed, 0.1).on_call(i, 0.0) for i in range(200)]

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def test_each_fault_is_as_frequent_as_asked() -> None:
    plan = FaultPlan(3, changes=((WatchFault.LATE, 0.5), (WatchFault.DROP, 0.1)))
    counts = Counter(plan.on_change(i, 0.0) for i in range(10_000))
    assert abs(counts[WatchFault.LATE] - 5000) < 200
    assert abs(counts[WatchFault.DROP] - 1000) < 100
    assert set(counts) == {WatchFault.LATE, WatchFault.DROP, None}


def test_faults_end_when_told_to() -> None:
    plan = everything(1, 0.16, until=100.0)
    assert any(plan.on_call(i, 99.9) for i in range(50))
    assert not any(plan.on_call(i, 100.0) or plan.on_change(i, 100.0) for i in range(50))


def test_without_a_plan_nothing_goes_wrong() -> None:
    assert NO_FAULTS.on_call(1, 0.0) is None
    assert NO_FAULTS.on_change(1, 0.0) is None


def test_lateness_is_bounded() -> None:
    plan = FaultPlan(1, late_seconds=3.0)
    assert all(0.0 <= plan.lateness(i) < 3.0 for i in range(100))


# --- watches --------------------------------------------------------------------------------------


def change(name: str, version: int) -> WatchEvent:
    return WatchEvent(version, EventType.MODIFIED, Stored(Key("pods", "", name), "u", version, b"{}"), None)


def test_what_follows_on_a_late_change_waits_behind_it() -> None:
    mail = DelayedEvents()
    first, second, other = change("a", 1), change("a", 2), change("b", 3)
    mail.hold(first, until=5.0)
    mail.hold(second, until=2.0)
    mail.hold(other, until=3.0)
    assert mail.next_at() == 3.0
    assert mail.due(4.0) == [other]
    assert mail.holds_up(change("a", 4))
    assert not mail.holds_up(change("b", 4))
    assert mail.due(5.0) == [first, second]
    assert not mail.holds_up(change("a", 4))


def test_a_deletion_waits_behind_all_late_changes_of_its_kind() -> None:
    mail = DelayedEvents()
    late, deleted = change("late", 1), WatchEvent(2, EventType.DELETED, change("old", 2).object, None)
    mail.hold(late, until=5.0)
    assert mail.holds_up(deleted)
    mail.hold(deleted, until=2.0)
    assert mail.due(4.0) == []
    assert mail.due(5.0) == [late, deleted]


def set_phase(store: Store, name: str, phase: str) -> None:
    store.patch(pod_key(name), lambda body: {**body, "status": {"phase": phase}}, Part.STATUS)


async def live(store: Store) -> None:
    """Three pods come, change and go in turns."""
    for i in range(60):
        name = "abc"[i % 3]
        if store.find(pod_key(name)) is None:
            store.create("pods", pod(name))
        elif i % 5 == 0:
            store.delete(pod_key(name))
        else:
            set_phase(store, name, str(i))
        await asyncio.sleep(0.1 * (i % 4))


async def follow(line: FaultyWatch, seen: list[WatchEvent]) -> None:
    seen += line.first()
    while True:
        seen += await line.next()


def everything_that_arrives(plan: FaultPlan) -> tuple[list[WatchEvent], Store]:
    async def main() -> tuple[list[WatchEvent], Store]:
        store = Store(clock)
        seen: list[WatchEvent] = []
        watcher = asyncio.create_task(follow(FaultyWatch(store, ("pods",), clock, plan, 1), seen))
        await live(store)
        await asyncio.sleep(60)
        watcher.cancel()
        return seen, store

    return run(main())


FAULTS = [
    (),
    ((WatchFault.LATE, 0.5),),
    ((WatchFault.DROP, 0.5),),
    ((WatchFault.RELIST, 0.5),),
    ((WatchFault.STALE, 0.5),),
    tuple((fault, 0.2) for fault in WatchFault),
]


@pytest.mark.parametrize("faults", FAULTS)
@pytest.mark.parametrize("seed", range(5))
def test_whatever_happens_the_picture_is_right_in_the_end(
    faults: tuple[tuple[WatchFault, float], ...], seed: int
) -> None:
    seen, store = everything_that_arrives(FaultPlan(seed, changes=faults))
    picture: dict[Key, Stored] = {}
    newest: dict[Key, int] = {}
    for arrived in seen:
        key = arrived.object.key
        if arrived.type is EventType.DELETED:
            assert picture.pop(key).uid == arrived.object.uid
        else:
            assert arrived.version > newest.get(key, 0), "never back in time"
            assert key not in picture or picture[key].uid == arrived.object.uid, "first the old one goes"
            picture[key] = arrived.object
        newest[key] = max(arrived.version, newest.get(key, 0))
    lasting = {item.key: item for item in store.list(("pods",)).items}
    assert picture == lasting


def test_the_same_seed_gives_the_same_story() -> None:
    plan = FaultPlan(7, changes=tuple((fault, 0.2) for fault in WatchFault))
    assert everything_that_arrives(plan)[0] == everything_that_arrives(plan)[0]
