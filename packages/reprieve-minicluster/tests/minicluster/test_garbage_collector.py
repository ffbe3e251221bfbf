"""Foreground, background and orphaning deletion."""

import pytest
from tests.minicluster.scene import HandClock

from reprieve.model.json import Json
from reprieve_minicluster.controllers.garbage_collector import FOREGROUND, ORPHAN, GarbageCollector
from reprieve_minicluster.controllers.job import TRACKED
from reprieve_minicluster.store import Key, Store, parsed

OWNER = Key("deployments.apps", "default", "web")


@pytest.fixture
def store() -> Store:
    return Store(HandClock())


def owning(store: Store) -> str:
    return store.create("deployments.apps", {"metadata": {"name": "web"}}).uid


def owned(store: Store, name: str, owner: str, *, blocks: bool = True, **meta: object) -> Key:
    references = [{**reference(owner), "blockOwnerDeletion": blocks}]
    body = {"metadata": {"name": name, "ownerReferences": references, **meta}}
    return store.create("configmaps", body).key


def reference(uid: str, kind: str = "Deployment", name: str = "web", version: str = "apps/v1") -> Json:
    return {"apiVersion": version, "kind": kind, "name": name, "uid": uid}


def owners(store: Store, key: Key) -> list[str]:
    return [r["uid"] for r in parsed(store.get(key))["metadata"]["ownerReferences"]]


def test_what_is_owned_goes_first(store: Store) -> None:
    uid = owning(store)
    keys = [owned(store, name, uid) for name in "ab"]
    store.delete(OWNER, held_by=(FOREGROUND,))
    GarbageCollector(store).step()
    assert [store.find(key) for key in (*keys, OWNER)] == [None, None, None]


def test_the_owner_waits_for_what_takes_its_time(store: Store) -> None:
    cascade = GarbageCollector(store)
    slow = owned(store, "slow", owning(store), finalizers=["example.com/mine"])
    store.delete(OWNER, held_by=(FOREGROUND,))
    cascade.step()
    assert "deletionTimestamp" in parsed(store.get(slow))["metadata"]
    assert store.find(OWNER) is not None
    body = parsed(store.get(slow))
    store.update("configmaps", {**body, "metadata": {**body["metadata"], "finalizers": []}})
    cascade.step()
    assert store.find(OWNER) is None


def test_the_owner_waits_only_for_dependents_that_block_it(store: Store) -> None:
    slow = owned(store, "slow", owning(store), blocks=False, finalizers=["example.com/mine"])
    store.delete(OWNER, held_by=(FOREGROUND,))
    GarbageCollector(store).step()
    assert store.find(OWNER) is None
    assert "deletionTimestamp" in parsed(store.get(slow))["metadata"]


def test_it_goes_on_through_generations(store: Store) -> None:
    cascade = GarbageCollector(store)
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
    GarbageCollector(store).step()
    assert store.find(OWNER) is None
    meta = parsed(store.get(kept))["metadata"]
    assert (meta["ownerReferences"], meta["finalizers"]) == ([], [])


# --- owners that are gone --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("resource", "kind", "version"),
    [
        ("configmaps", "ConfigMap", "v1"),
        ("nodes", "Node", "v1"),
        ("poddisruptionbudgets.policy", "PodDisruptionBudget", "policy/v1"),
        ("podgroups.scheduling.k8s.io", "PodGroup", "scheduling.k8s.io/v1alpha2"),
        ("leases.coordination.k8s.io", "Lease", "coordination.k8s.io/v1"),
    ],
)
def test_what_is_owned_goes_after_an_owner_of_any_kind(
    store: Store, resource: str, kind: str, version: str
) -> None:
    cascade = GarbageCollector(store)
    owner = store.create(resource, {"metadata": {"name": "it"}})
    meta = {"name": "a", "ownerReferences": [reference(owner.uid, kind, "it", version)]}
    keys = [store.create(kind, {"metadata": meta}).key for kind in ("secrets", "pods", "jobs.batch")]
    cascade.step()
    assert all(store.find(key) for key in keys)
    store.delete(owner.key)
    cascade.step()
    assert [store.find(key) for key in keys] == [None] * 3


def test_a_namesake_of_the_owner_is_another(store: Store) -> None:
    cascade = GarbageCollector(store)
    key = owned(store, "a", owning(store))
    store.delete(OWNER)
    owning(store)
    cascade.step()
    assert store.find(key) is None


def test_a_dependent_with_another_owner_stays(store: Store) -> None:
    cascade = GarbageCollector(store)
    first = owning(store)
    second = store.create("configmaps", {"metadata": {"name": "second"}})
    both = [reference(first), reference(second.uid, "ConfigMap", "second", "v1")]
    key = store.create("configmaps", {"metadata": {"name": "a", "ownerReferences": both}}).key
    store.delete(OWNER)
    cascade.step()
    assert owners(store, key) == [second.uid]
    store.delete(second.key)
    cascade.step()
    assert store.find(key) is None


def test_a_foreground_deletion_releases_dependents_with_another_owner(store: Store) -> None:
    cascade = GarbageCollector(store)
    first = owning(store)
    second = store.create("configmaps", {"metadata": {"name": "second"}})
    both = [
        {**reference(first), "blockOwnerDeletion": True},
        reference(second.uid, "ConfigMap", "second", "v1"),
    ]
    key = store.create("configmaps", {"metadata": {"name": "a", "ownerReferences": both}}).key
    store.delete(OWNER, held_by=(FOREGROUND,))
    cascade.step()
    assert store.find(OWNER) is None
    assert owners(store, key) == [second.uid]


def test_two_that_own_each_other_both_go(store: Store) -> None:
    cascade = GarbageCollector(store)
    uid = owning(store)
    other = owned(store, "other", uid)
    back = [{**reference(store.get(other).uid, "ConfigMap", "other", "v1"), "blockOwnerDeletion": True}]
    store.update("deployments.apps", {"metadata": {"name": "web", "ownerReferences": back}})
    store.delete(OWNER, held_by=(FOREGROUND,))
    for _ in range(4):
        cascade.step()
    assert [store.find(key) for key in (OWNER, other)] == [None, None]


@pytest.mark.parametrize(("kind", "version"), [("Rocket", "v1"), ("ConfigMap", "example.com/v1")])
def test_owners_of_unknown_kinds_are_taken_to_exist(store: Store, kind: str, version: str) -> None:
    meta = {"name": "a", "ownerReferences": [reference("?", kind, "it", version)]}
    key = store.create("configmaps", {"metadata": meta}).key
    GarbageCollector(store).step()
    assert store.find(key) is not None


def test_what_has_no_namespace_cannot_belong_to_what_has_one(store: Store) -> None:
    meta = {"name": "a", "ownerReferences": [reference("?")]}
    key = store.create("persistentvolumes", {"metadata": meta}).key
    GarbageCollector(store).step()
    assert store.find(key) is not None


def test_no_job_counts_what_it_left_behind(store: Store) -> None:
    pod = {
        "metadata": {
            "name": "a",
            "finalizers": [TRACKED],
            "ownerReferences": [reference("?", "Job", "j", "batch/v1")],
        }
    }
    key = store.create("pods", pod).key
    cascade = GarbageCollector(store)
    cascade.step()
    cascade.step()
    assert store.find(key) is None


def test_nonsense_owns_nothing(store: Store) -> None:
    key = store.create("configmaps", {"metadata": {"name": "a", "ownerReferences": "x", "finalizers": 7}}).key
    GarbageCollector(store).step()
    assert store.find(key) is not None
