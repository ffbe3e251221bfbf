"""Whatever number is asked for, a step makes a bounded number of writes, and other objects get theirs."""

import pytest
from tests.minicluster.scene import HandClock, Scene, node, template

from reprieve.model.json import Json
from reprieve_minicluster.controllers import ControllerManager, owners
from reprieve_minicluster.controllers.content_deletion import NamespaceController
from reprieve_minicluster.controllers.garbage_collector import FOREGROUND, ORPHAN, GarbageCollector
from reprieve_minicluster.controllers.job import TRACKED, IndexSet, read_indexes
from reprieve_minicluster.kinds import NAMESPACE_FINALIZER
from reprieve_minicluster.store import Key, Part, Store

MOST = 2**31 - 1
WRITES_PER_STEP = 900


def owner(kind: str, name: str = "big", **spec: object) -> Json:
    selector = {"selector": {"matchLabels": {"app": name}}} if kind != "Job" else {}
    return {
        "kind": kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"template": template(name), **selector, **spec},
    }


LARGE = [
    owner("StatefulSet", replicas=MOST, podManagementPolicy="Parallel"),
    owner("StatefulSet", replicas=MOST, podManagementPolicy="Parallel", ordinals={"start": MOST}),
    owner("ReplicaSet", replicas=MOST),
    owner("Deployment", replicas=MOST),
    owner("Deployment", replicas=MOST, strategy={"type": "Recreate"}),
    owner("Job", parallelism=MOST),
    owner("Job", parallelism=MOST, completions=MOST),
    owner("Job", parallelism=MOST, completions=MOST, completionMode="Indexed"),
]
SMALL = owner("Deployment", "small", replicas=2)


@pytest.fixture(autouse=True)
def few_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owners, "MOST_WAITING", 500)


def steps(scene: Scene, count: int) -> None:
    for _ in range(count):
        before = scene.store.version
        at = scene.controllers.step()
        assert scene.store.version - before <= WRITES_PER_STEP
        scene.clock.now = max(scene.clock.now, at or 0.0) if at else scene.clock.now


def names(scene: Scene, app: str) -> list[str]:
    return [b["metadata"]["name"] for b in scene.all("pods") if b["metadata"]["labels"]["app"] == app]


@pytest.mark.parametrize("body", LARGE, ids=lambda body: f"{body['kind']}{len(body['spec'])}")
def test_an_immense_number_is_made_in_batches(body: Json) -> None:
    scene = Scene()
    scene.add(body, SMALL)
    steps(scene, 4)
    assert len(names(scene, "big")) >= 200
    steps(scene, 12)
    assert len(names(scene, "small")) == 2
    assert len(names(scene, "big")) == owners.MOST_WAITING
    # A restart: the cache is filled again, and nothing more is made.
    scene.controllers = ControllerManager(scene.store)
    steps(scene, 6)
    assert len(names(scene, "big")) == owners.MOST_WAITING


def test_pods_that_found_a_node_make_way_for_more() -> None:
    scene = Scene()
    scene.add(LARGE[0])
    steps(scene, 12)
    for body in scene.all("pods")[:10]:
        key = Key("pods", "default", body["metadata"]["name"])
        scene.change(key, lambda found: found["spec"].update(nodeName="n1"))
    steps(scene, 4)
    assert sorted(names(scene, "big"), key=lambda name: int(name.split("-")[1])) == [
        f"big-{number}" for number in range(owners.MOST_WAITING + 10)
    ]


def test_many_large_owners_share_the_steps() -> None:
    scene = Scene()
    scene.add(
        *(owner("StatefulSet", f"s{i}", replicas=MOST, podManagementPolicy="Parallel") for i in range(5))
    )
    scene.add(SMALL)
    steps(scene, 12)
    assert len(names(scene, "small")) == 2
    assert all(len(names(scene, f"s{i}")) >= 200 for i in range(5))


def test_a_set_of_immense_size_is_rolled_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owners, "MOST_WAITING", 3)
    scene = Scene()
    scene.add(owner("StatefulSet", replicas=MOST, podManagementPolicy="Parallel"))
    steps(scene, 4)
    scene.change(
        Key("statefulsets.apps", "default", "big"),
        lambda b: b["spec"].update(template=template("big", "new:1")),
    )
    steps(scene, 8)
    images = {body["spec"]["containers"][0]["image"] for body in scene.all("pods")}
    assert images == {"new:1"}


def test_daemons_on_many_nodes_come_in_batches() -> None:
    scene = Scene()
    scene.add(owner("DaemonSet"), SMALL, *(node(f"n{i}") for i in range(500)))
    steps(scene, 20)
    assert len(names(scene, "big")) == 500
    assert len(names(scene, "small")) == 2


# --- jobs ------------------------------------------------------------------------------------------


def test_pods_that_end_at_once_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owners, "MOST_WAITING", 10_000)
    scene = Scene()
    scene.add(owner("Job", parallelism=500, completions=500, completionMode="Indexed"))
    steps(scene, 12)
    created = names(scene, "big")
    assert len(created) == 500
    for name in created:
        key = Key("pods", "default", name)
        scene.store.patch(key, lambda b: {**b, "status": {"phase": "Succeeded"}}, Part.STATUS)
    steps(scene, 12)
    status = scene.read(Key("jobs.batch", "default", "big"))["status"]
    assert (status["succeeded"], status["failed"], status["completedIndexes"]) == (500, 0, "0-499")
    assert names(scene, "big") == created
    assert not [b for b in scene.all("pods") if TRACKED in b["metadata"].get("finalizers", ())]


def test_indexes_are_spans() -> None:
    every = read_indexes(f"0-{MOST}", MOST)
    assert (len(every), str(every)) == (MOST, f"0-{MOST - 1}")
    assert list(every.missing(MOST)) == []
    assert read_indexes("9" * 5000 + ",1-" + "9" * 5000, 10) == IndexSet()
    some = read_indexes("5-6,1,0,3-2,8", 10)
    assert (str(some), str(some.with_all([7, 2, 5]))) == ("0,1,5,6,8", "0-2,5-8")
    assert list(some.missing(12)) == [2, 3, 4, 7, 9, 10, 11]


def test_a_status_that_says_that_billions_have_succeeded() -> None:
    scene = Scene()
    scene.add(owner("Job", parallelism=2, completions=MOST, completionMode="Indexed"))
    key = Key("jobs.batch", "default", "big")
    scene.store.patch(key, lambda b: {**b, "status": {"completedIndexes": f"0-{MOST - 2}"}}, Part.STATUS)
    steps(scene, 4)
    (only,) = scene.all("pods")
    assert only["metadata"]["generateName"] == f"big-{MOST - 1}-"


# --- deletions -------------------------------------------------------------------------------------


@pytest.mark.parametrize("finalizer", [FOREGROUND, ORPHAN, ""])
def test_dependents_go_in_batches(finalizer: str) -> None:
    store = Store(HandClock())
    uid = store.create("deployments.apps", {"metadata": {"name": "web"}}).uid
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": uid}
    for i in range(1200):
        meta = {"name": f"m{i}", "ownerReferences": [{**reference, "blockOwnerDeletion": True}]}
        store.create("configmaps", {"metadata": meta})
    store.delete(Key("deployments.apps", "default", "web"), held_by=(finalizer,) if finalizer else ())
    collector = GarbageCollector(store)
    writes = []
    while True:
        before = store.version
        at = collector.step()
        writes.append(store.version - before)
        if at is None and store.version == before:
            break
    assert writes[:2] == [500, 500]
    assert max(writes) <= 501
    assert len(store.list(("configmaps",)).items) == (1200 if finalizer == ORPHAN else 0)
    assert store.list(("deployments.apps",)).items == []


def test_a_namespace_is_emptied_in_batches() -> None:
    clock = HandClock()
    store = Store(clock)
    store.create("namespaces", {"metadata": {"name": "team"}})
    for i in range(1200):
        store.create("configmaps", {"metadata": {"name": f"m{i}", "namespace": "team"}})
    store.delete(Key("namespaces", "", "team"), held_by=(NAMESPACE_FINALIZER,))
    namespaces = NamespaceController(store)
    for _ in range(3):
        before = store.version
        namespaces.step()
        assert store.version - before <= 501
    assert store.list(("configmaps", "namespaces")).items == []
