"""An informer reports every change, relists when its watch expires, and never goes back in time."""

from tests.minicluster.scene import HandClock, pod, pod_key

from reprieve_minicluster.store import Informer, Part, Store, WatchEvent


def told(changes: list[WatchEvent]) -> list[str]:
    return [f"{change.type.value} {change.object.key.name} {change.object.version}" for change in changes]


def test_first_everything_then_what_changes() -> None:
    store = Store(HandClock())
    store.create("pods", pod("b"))
    store.create("pods", pod("a"))
    informer = Informer(store, ("pods",))
    assert told(informer.poll()) == ["ADDED a 2", "ADDED b 1"]
    store.create("pods", pod("c"))
    assert told(informer.poll()) == ["ADDED c 3"]


def test_where_the_history_is_broken_it_lists_again_and_deletions_come_last() -> None:
    store = Store(HandClock(), kept_changes=2)
    for name in ("same", "changed", "lost", "replaced"):
        store.create("pods", pod(name))
    informer = Informer(store, ("pods",))
    informer.poll()
    store.patch(pod_key("changed"), lambda body: {**body, "status": {"phase": "Running"}}, Part.STATUS)
    store.delete(pod_key("lost"))
    store.delete(pod_key("replaced"))
    store.create("pods", pod("replaced"))
    store.create("pods", pod("new"))
    assert told(informer.poll()) == [
        "MODIFIED changed 5",
        "ADDED new 9",
        "DELETED replaced 4",
        "ADDED replaced 8",
        "DELETED lost 3",
    ]


def test_a_list_from_the_past_shows_nothing() -> None:
    store = Store(HandClock())
    store.create("pods", pod("a"))
    informer = Informer(store, ("pods",))
    informer.poll()
    store.delete(pod_key("a"))
    store.create("pods", pod("b"))
    assert told(informer.poll()) == ["DELETED a 2", "ADDED b 3"]
    assert informer.relist(store.list(("pods",), at=1)) == []
    store.create("pods", pod("c"))
    assert told(informer.poll()) == ["ADDED c 4"]
