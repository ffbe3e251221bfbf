"""The pods of the mirror: what is kept from one table to the next still holds there."""

import pytest
from tests.unit.scheduler.making import a_node, a_pod, target

from reprieve.model.events import Gone, Seen, Synced
from reprieve.model.json import Json
from reprieve.model.moment import on_one_clock
from reprieve.model.pod_compilation import compile_pod
from reprieve.model.pods import Pods
from reprieve.model.resources import ResourceAxis
from reprieve.model.shape import CompiledPod
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.mirror import growable_columns
from reprieve.scheduler.mirror.pod_rows import PodRows

AXIS = ResourceAxis()


def preferring(name: str, weight: int, app: str = "web") -> Json:
    """The spec of a pod that likes to be near some pods."""
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": "zone"}
    wish = {"weight": weight, "podAffinityTerm": term}
    affinity = {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [wish]}}
    return {"name": name, "affinity": affinity}


def rows_with(*specs: Json) -> PodRows:
    rows = PodRows()
    rows.widen(AXIS)
    for spec in specs:
        pod = compile_pod(a_pod(**spec))
        rows.add(("default", spec["name"]), pod)
    return rows


def weights(table: Pods) -> list[int]:
    """With what weights a web pod is wanted near."""
    shape = compile_pod(a_pod("web", labels={"app": "web"})).shape
    return [int(weight) for weight in table.terms_matching(shape, {}).preferred.weights]


def test_terms_that_none_carries_are_forgotten_in_the_end() -> None:
    rows = rows_with()
    for i in range(5000):
        key = ("default", f"p{i}")
        rows.add(key, compile_pod(a_pod(**preferring(f"p{i}", 1, app=f"app-{i}"))))
        rows.drop(key)
    assert len(rows.table().preferred.things) < 2000
    assert len(rows.table().compiled) == 1, "a free row is used again"


def test_mentions_follow_the_weights_of_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same term gets the same code, since garbage is collected at once, but another weight."""
    monkeypatch.setattr(growable_columns, "_GARBAGE_WORTH_COLLECTING", 0)
    rows = rows_with(preferring("a", 10))
    assert weights(rows.table()) == [10]
    rows.change(0, compile_pod(a_pod(**preferring("a", 20))))
    assert weights(rows.table()) == [20]


def test_a_row_that_is_free_is_none() -> None:
    rows = rows_with({"name": "a", "labels": {"app": "web"}}, {"name": "b"})
    rows.drop(("default", "a"))
    table = rows.table()
    assert table.namespaces.where_in(["default"]).tolist() == [False, True]
    assert table.groups[0] is None
    rows.drop(("default", "b"))
    assert rows.table().label("app").codes.tolist() == [0, 0]


def test_columns_that_could_not_be_written_are_not_taken_for_up_to_date() -> None:
    """The axis lacks a resource of one pod, which is a mistake of ours: no other pod may pay for it."""
    odd = {"name": "c", "resources": {"requests": {"example.com/odd": "1"}}}
    rows = rows_with({"name": "a", "cpu": "1"}, {"name": "b", "containers": [odd]})
    for _ in range(2):
        with pytest.raises(KeyError):
            rows.table()
    rows.drop(("default", "b"))
    assert rows.table().requests[0].tolist() == [1000, 0]


def test_pods_that_pass_while_no_demand_waits_are_written_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that are gone by then are not written at all."""
    written, write_pods = list[int](), PodRows._write_pods

    def noted(self: PodRows, rows: list[int], pods: list[CompiledPod]) -> None:
        written.append(len(rows))
        write_pods(self, rows, pods)

    monkeypatch.setattr(PodRows, "_write_pods", noted)
    scheduler = Scheduler()
    scheduler.observe([Seen(a_node("n1")), Synced()], on_one_clock(0.0))
    for i in range(100):
        pod = a_pod(f"other-{i}", on="n1")
        scheduler.observe([Seen(pod)], on_one_clock(0.0))
        scheduler.observe([Gone(target(pod))], on_one_clock(0.0))
    assert written == []
    for i in range(300):
        scheduler.observe([Seen(a_pod(f"stays-{i}", on="n1"))], on_one_clock(0.0))
    assert len(written) == 1
    scheduler.observe([Seen(a_pod("waits"))], on_one_clock(0.0))
    assert len(written) == 2
    assert sum(written) == 301
