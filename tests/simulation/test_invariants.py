"""A simulation is worth what it finds: each invariant can be broken, and is found to be."""

import pytest
from tests.unit.scheduler.making import a_key, a_node, a_pod

from reprieve.model.events import Done, Seen, Synced
from reprieve.model.json import Json
from reprieve.model.moment import on_one_clock
from reprieve.scheduler.settings import Settings
from reprieve_minicluster.kinds import BY_NAME
from reprieve_minicluster.store import Key, Part, Store
from tests.simulation.invariants import AuditedScheduler, Auditor, BrokenInvariantError, waiting_in_vain
from tests.simulation.objects import node, pod, pod_spec


def audited(*objects: Json) -> Auditor:
    store = Store(lambda: 0.0)
    auditor = Auditor(store, lambda _: None)
    for body in objects:
        kind = BY_NAME[body["kind"]]
        stored = store.create(kind.resource, body)
        if body["kind"] == "Pod" and body["spec"].get("moved"):
            store.patch(stored.key, _moved, Part.WHOLE)
    return auditor


def _moved(body: Json) -> Json:
    return {**body, "spec": {**body["spec"], "nodeName": body["spec"]["moved"]}}


@pytest.mark.parametrize(
    ("objects", "sentence"),
    [
        ([pod("p", pod_spec("1", nodeName="n1", moved="n2"))], "p was on n1 and is on 'n2'"),
        (
            [pod("p", pod_spec("1", nodeName="n1")), pod("q", pod_spec("4", nodeName="n1"))],
            "n1 has 4000 cpu and is given 5000",
        ),
        (
            [pod(name, pod_spec("0", nodeName="n1", host_port=80)) for name in "pq"],
            "two pods on n1 have the same host port",
        ),
        (
            [pod(name, pod_spec("0", nodeName="n1"), labels={"alone": "web"}) for name in "pq"],
            "pods on n1 are not alone",
        ),
    ],
    ids=["bound twice", "over capacity", "port taken twice", "not alone"],
)
def test_what_the_api_server_must_never_hold(objects: list[Json], sentence: str) -> None:
    with pytest.raises(BrokenInvariantError, match=sentence):
        audited(node("n1", "z"), node("n2", "z"), *objects).look()


def test_what_may_be() -> None:
    audited(node("n1", "z"), *(pod(f"p{i}", pod_spec("1", nodeName="n1")) for i in range(4))).look()


def test_an_effect_that_ends_twice() -> None:
    scheduler = AuditedScheduler(Settings(), audited())
    scheduler.observe([Seen(a_node("n1")), Seen(a_pod("p")), Synced()], on_one_clock(0.0))
    decided = scheduler.decide(on_one_clock(0.0))
    assert decided is not None
    (bind,) = decided.effects
    with pytest.raises(BrokenInvariantError, match="promises are left"):
        scheduler.check_rest()
    scheduler.observe([Done(bind)], on_one_clock(0.0))
    with pytest.raises(BrokenInvariantError, match="was not under way"):
        scheduler.observe([Done(bind)], on_one_clock(0.0))


def test_a_pod_that_none_remembers() -> None:
    scheduler = AuditedScheduler(Settings(), audited())
    scheduler.observe([Seen(a_pod("p")), Synced()], on_one_clock(0.0))
    scheduler._state.queue.remove(a_key("p"))
    with pytest.raises(BrokenInvariantError, match="p is None"):
        scheduler.observe([], on_one_clock(0.0))


def test_a_pod_that_waits_although_there_is_room() -> None:
    store = Store(lambda: 0.0)
    store.create("nodes", node("n1", "z", cpu=1))
    store.create("pods", pod("small", pod_spec("1")))
    store.create("pods", pod("large", pod_spec("2")))
    assert waiting_in_vain(store) == {"default/small"}
    store.delete(Key("pods", "default", "small"))
    assert waiting_in_vain(store) == set()
