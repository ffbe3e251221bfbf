"""Namespaces go when their content is gone."""

from tests.minicluster.scene import HandClock

from reprieve_minicluster.controllers.content_deletion import NamespaceController
from reprieve_minicluster.kinds import NAMESPACE_FINALIZER
from reprieve_minicluster.store import Key, Store

TEAM = Key("namespaces", "", "team")


def test_a_namespace_is_emptied_and_goes() -> None:
    clock = HandClock()
    store = Store(clock)
    namespaces = NamespaceController(store)
    store.create("namespaces", {"metadata": {"name": "team"}})
    inside = store.create("configmaps", {"metadata": {"name": "a", "namespace": "team"}}).key
    other = store.create("configmaps", {"metadata": {"name": "a"}}).key
    pod = store.create(
        "pods", {"metadata": {"name": "p", "namespace": "team"}, "spec": {"nodeName": "n"}}
    ).key
    assert namespaces.step() is None
    store.delete(TEAM, held_by=(NAMESPACE_FINALIZER,))
    assert namespaces.step() == clock.now + 0.1
    assert store.find(inside) is None
    assert store.find(TEAM) is not None, "a pod still takes its time"
    store.delete(pod, grace=0)
    namespaces.step()
    assert store.find(TEAM) is None
    assert store.find(other) is not None
    assert namespaces.step() is None
