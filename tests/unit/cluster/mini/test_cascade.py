"""Deletion in the order that a client chose."""

import pytest

from reprieve.cluster.mini.cascade import FOREGROUND, ORPHAN, Cascade
from reprieve.cluster.mini.controllers.job import TRACKED
from reprieve.cluster.mini.history import Key
from reprieve.cluster.mini.store import Store, parsed
from tests.unit.cluster.mini.scene import HandClock

OWNER = Key("deployments.apps", "default", "web")


@pytest.fixture
def store() -> Store:
    return Store(HandClock())


def owning(store: Store) -> str:
    return store.create("deployments.apps", {"metadata": {"name": "web"}}).uid


def owned(store: Store, name: str, owner: str, *, blocks: bool = True, **meta: object) -> Key:
    reference = {"kind": "Deployment", "name": "web", "uid": owner, "blockOwnerDeletion": blocks}
    body = {"metadata": {"name": name, "ownerReferences": [reference], **meta}}
    return store.create("configmaps", body).key


def test_what_is_owned_goes_first(store: Store) -> None:
    uid = owning(store)
    keys = [owned(store, name, uid) for name in "ab"]
    store.delete(OWNER, held_by=(FOREGROUND,))
    Cascade(store).step()
    assert [store.find(key) for key in (*keys, OWNER)] == [None, None, None]


def test_the_owner_waits_for_what_takes_its_time(store: Store) -> None:
    cascade = Cascade(store)
    slow = owned(store, "slow", owning(store), finalizers=["example.com/mine"])
    store.delete(OWNER, held_by=(FOREGROUND,))
    cascade.step()
    assert "deletionTimestamp" in parsed(store.get(slow))["metadata"]
    assert store.find(OWNER) is not None
    body = parsed(store.get(slow))
    store.update("configmaps", {**body, "metadata": {**body["metadata"], "finalizers": []}})
    cascade.step()
    assert store.find(OWNER) is None


def test_the_owner_does_not_wait_for_whom_it_need_not(store: Store) -> None:
    slow = owned(store, "slow", owning(store), blocks=False, finalizers=["example.com/mine"])
    store.delete(OWNER, held_by=(FOREGROUND,))
    Cascade(store).step()
    assert store.find(OWNER) is None
    assert "deletionTimestamp" in parsed(store.get(slow))["metadata"]


def test_it_goes_on_through_generations(store: Store) -> None:
    cascade = Cascade(store)
    child = owned(store, "child", owning(store))
    grandchild = owned(store, "grandchild", store.get(child).uid)
    store.delete(OWNER, held_by=(FOREGROUND,))
    for _ in range(3):
        cascade.step()
    assert [store.find(key) for key in (OWNER, child, grandchild)] == [None, None, None]


def test_what_is_owned_is_let_go(store: Store) -> None:
    uid = owning(store)
    kept = owned(store, "kept", uid, finalizers=[TRACKED])
    store.delete(OWNER, held_by=(ORPHAN,))
    Cascade(store).step()
    assert store.find(OWNER) is None
    meta = parsed(store.get(kept))["metadata"]
    assert (meta["ownerReferences"], meta["finalizers"]) == ([], [])


def test_nonsense_owns_nothing(store: Store) -> None:
    key = store.create("configmaps", {"metadata": {"name": "a", "ownerReferences": "x", "finalizers": 7}}).key
    Cascade(store).step()
    assert store.find(key) is not None
