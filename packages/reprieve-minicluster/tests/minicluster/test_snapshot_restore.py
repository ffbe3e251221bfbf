"""A cluster from a snapshot of another one."""

import pytest
from tests.minicluster.scene import HandClock

from reprieve_minicluster.bootstrap import SnapshotError, restore
from reprieve_minicluster.store import Key, Store, parsed

POD = """
apiVersion: v1
kind: Pod
metadata:
  name: p
  namespace: team
  uid: u-1
  resourceVersion: "99"
  creationTimestamp: "2025-01-01T00:00:00Z"
  managedFields: []
spec: {nodeName: n}
status: {phase: Running}
"""
P = Key("pods", "team", "p")


@pytest.fixture
def store() -> Store:
    return Store(HandClock())


def test_uid_times_and_status_are_restored(store: Store) -> None:
    assert not restore(store, POD)
    body = parsed(store.get(P))
    assert (body["metadata"]["uid"], body["metadata"]["creationTimestamp"]) == ("u-1", "2025-01-01T00:00:00Z")
    assert (body["status"], body["spec"]) == ({"phase": "Running"}, {"nodeName": "n"})
    assert body["metadata"]["resourceVersion"] == str(store.version)
    assert "managedFields" not in body["metadata"]


def test_lists_and_snapshots_are_unfolded(store: Store) -> None:
    indented = POD.strip().replace("\n", "\n    ")
    restore(store, f"kind: PodList\nitems:\n  - {indented}\n")
    assert store.find(P)
    restore(store, '{"kind": "ClusterSnapshot", "objects": [{"kind": "Node", "metadata": {"name": "n"}}]}')
    assert store.find(Key("nodes", "", "n"))


def test_an_older_spelling_is_understood(store: Store) -> None:
    head = "apiVersion: scheduling.k8s.io/v1alpha2, kind: PodGroup"
    restore(store, f"{{{head}, metadata: {{name: g}}, spec: {{disruptionMode: PodGroup}}}}")
    group = parsed(store.get(Key("podgroups.scheduling.k8s.io", "default", "g")))
    assert group["spec"]["disruptionMode"] == {"all": {}}


def test_what_is_there_is_replaced(store: Store) -> None:
    store.create("pods", {"metadata": {"name": "p", "namespace": "team"}})
    restore(store, POD)
    assert store.get(P).uid == "u-1"


def test_kinds_that_are_not_served_are_counted(store: Store) -> None:
    strange = "\n---\n".join(f"{{kind: Gateway, metadata: {{name: i{n}}}}}" for n in range(2))
    assert restore(store, f"{strange}\n---\n{POD}") == {"Gateway": 2}
    assert store.find(P)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("kind: [", "expected YAML or JSON"),
        ("hello", "expected Kubernetes objects"),
        ("kind: Pod", "expected Kubernetes objects"),
        ("{kind: Pod, metadata: {name: 7}}", "metadata.name"),
        (POD + "\n---\n{kind: Pod, metadata: {}}", "metadata.name"),
    ],
)
def test_what_cannot_be_read_leaves_nothing(store: Store, text: str, sentence: str) -> None:
    with pytest.raises(SnapshotError, match=sentence):
        restore(store, text)
    assert store.version == 0


HEADER = (
    '{"apiVersion": "reprieve.dev/v1alpha1", "kind": "ClusterSnapshot", "objectCount": 1, "decisionCount": 1}'
    "\n"
)
LINE = '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "team"}}\n'
DECISION = '{"apiVersion": "reprieve.dev/v1alpha1", "kind": "Decision", "id": "d-1"}\n'


def test_a_saved_snapshot_is_restored(store: Store) -> None:
    assert not restore(store, HEADER + LINE + DECISION)
    assert store.find(P)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (HEADER.replace("v1alpha1", "v2") + LINE + DECISION, "ClusterSnapshot of version reprieve.dev/v2"),
        (HEADER + LINE, "the file is truncated: expected 2 lines after the header, got 1"),
        (HEADER + LINE[:-5], "the file is truncated or damaged: line 2 is not JSON"),
    ],
)
def test_a_saved_snapshot_that_is_not_whole_leaves_nothing(store: Store, text: str, sentence: str) -> None:
    with pytest.raises(SnapshotError, match=sentence):
        restore(store, text)
    assert store.version == 0


def test_progress_is_told(store: Store) -> None:
    told: list[tuple[int, int]] = []
    restore(
        store,
        "{kind: Node, metadata: {name: a}}\n---\n{kind: Node, metadata: {name: b}}",
        lambda *n: told.append(n),
    )
    assert told == [(1, 2), (2, 2)]
