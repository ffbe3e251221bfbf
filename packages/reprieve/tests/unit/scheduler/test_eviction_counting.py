"""Which evictions count, and what their events say."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from tests.unit.scheduler.making import a_node, a_pod, later, wanting
from tests.unit.scheduler.serving import Served, served

from reprieve.model.effects import Announce, Evict, Nominate, SetCondition, Target
from reprieve.model.events import EvictionsRead
from reprieve.model.moment import on_one_clock
from reprieve.model.objects import Pod, PodGroup, ReplicaSet
from reprieve.model.workloads import PastEviction
from reprieve.preemption.eviction_limit import EvictionLimit, WithinLimit
from reprieve.preemption.policy import RULES
from reprieve.preemption.resize import Accounting, DeferredResizes
from reprieve.preemption.searches import REPRIEVE
from reprieve.report.decisions import decision_lines
from reprieve.report.hidden_names import without_hidden_names
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.reporting.decision import Decision, Outcome, ProtectedBy
from reprieve.scheduler.reporting.decision_document import decision_of, document_of
from reprieve.scheduler.settings import SCHEDULER_NAME, Settings

LIMIT = EvictionLimit(2, 600.0, 1000)


def limited(limit: EvictionLimit = LIMIT) -> Settings:
    return Settings(policies={SCHEDULER_NAME: replace(REPRIEVE, rules=(*RULES, WithinLimit(limit)))})


def owned(pod: Pod, kind: str = "ReplicaSet", name: str = "web-1", created: float | None = None) -> Pod:
    owner = {"kind": kind, "name": name, "uid": f"uid-{name}", "controller": True}
    meta = msgspec.to_builtins(pod.metadata) | {"ownerReferences": [owner]}
    if created is not None:
        meta["creationTimestamp"] = datetime.fromtimestamp(created, UTC)
    return msgspec.structs.replace(pod, metadata=msgspec.convert(meta, type(pod.metadata)))


def a_replica_set(name: str = "web-1", deployment: str = "web") -> ReplicaSet:
    owner = {"kind": "Deployment", "name": deployment, "uid": f"uid-{deployment}", "controller": True}
    meta = {"name": name, "namespace": "default", "uid": f"uid-{name}", "resourceVersion": "1"}
    return msgspec.convert({"metadata": {**meta, "ownerReferences": [owner]}}, ReplicaSet)


def web(name: str, node: str = "n1") -> Pod:
    return owned(a_pod(name, cpu="4", on=node))


def moments(cluster: Served) -> dict[str, list[float]]:
    return {name: [*found] for name, found in cluster.stage.scheduler._state.evictions.moments.items()}


def last(cluster: Served) -> Decision:
    return cluster.stage.decisions[-1]


def told(cluster: Served, reason: str) -> list[str]:
    return [e.note for e in cluster.take(Announce) if isinstance(e, Announce) and e.reason == reason]


def evicted_once(settings: Settings | None = None) -> Served:
    cluster = served(a_node(), a_replica_set(), web("a"), settings=settings or limited())
    return cluster.show(a_pod("new", cpu="4", priority=9)).does(Nominate).does(SetCondition)


# --- what counts ---------------------------------------------------------------------------------


def test_an_eviction_counts_when_it_is_sent() -> None:
    cluster = evicted_once()
    assert cluster.wanted(Evict) == ["a"]
    assert moments(cluster) == {"Deployment/default/web": [0.0]}


def test_not_if_it_is_refused() -> None:
    cluster = evicted_once().fails(Evict)
    assert moments(cluster) == {}


def test_not_if_the_victim_leaves_in_the_same_step() -> None:
    cluster = served(a_node(), a_replica_set(), web("a"), settings=limited())
    cluster.show(a_pod("new", cpu="4", priority=9)).does(Nominate)
    cluster.gone("a")
    assert moments(cluster) == {}


def test_without_a_limit_nothing_is_counted_and_events_name_no_workload() -> None:
    cluster = evicted_once(Settings())
    assert moments(cluster) == {}
    cluster.does(Evict)
    (note,) = told(cluster, "Preempted")
    assert "counts as an eviction" not in note


def test_the_event_of_a_victim_names_its_workload() -> None:
    cluster = evicted_once().does(Evict)
    (note,) = told(cluster, "Preempted")
    assert note.endswith("; counts as an eviction of Deployment default/web")


def a_group(name: str = "g") -> PodGroup:
    meta = {"name": name, "namespace": "default", "uid": f"uid-{name}", "resourceVersion": "1"}
    return msgspec.convert({"metadata": meta, "spec": {"disruptedWhole": True}}, PodGroup)


def test_a_group_is_counted_once_and_named() -> None:
    member: dict[str, Any] = {"schedulingGroup": {"podGroupName": "g"}}
    pods = [a_pod(f"m{i}", cpu="2", on="n1", **member) for i in range(2)]
    cluster = served(a_node(), a_group(), *pods, settings=limited())
    cluster.show(a_pod("new", cpu="4", priority=9)).does(Nominate).does(SetCondition).does(SetCondition)
    assert cluster.wanted(Evict) == ["m0", "m1"]
    assert moments(cluster) == {"PodGroup/default/g": [0.0]}
    cluster.does(Evict)
    wanted = "; counts once with all of PodGroup default/g as an eviction of PodGroup default/g"
    assert [note.endswith(wanted) for note in told(cluster, "Preempted")] == [True, True]


def test_a_clock_that_is_put_back_prolongs_no_protection() -> None:
    cluster = evicted_once()
    cluster.stage.set_clock(-1000.0)
    cluster.show(a_pod("another"))
    assert moments(cluster) == {"Deployment/default/web": [-1000.0]}


# --- what is waited for --------------------------------------------------------------------------


def twice(at: float = 0.0) -> Served:
    evictions = tuple(
        PastEviction(workload="Deployment/default/web", key=f"uid-{i}", at=at + i) for i in range(2)
    )
    cluster = served(settings=limited())
    cluster.stage.happens(EvictionsRead(evictions, since=-600.0))
    return cluster.show(a_node(), a_replica_set(), web("a"))


def test_a_demand_is_told_the_workload_and_the_moment() -> None:
    cluster = twice().show(a_pod("new", cpu="4", priority=9))
    decision = last(cluster)
    assert (decision.outcome, decision.retry_at) == (Outcome.UNSCHEDULABLE, 600.0)
    assert decision.eviction is not None
    assert decision.eviction.because.code == "EvictionLimit"
    assert decision.eviction.protected == (
        ProtectedBy(
            "EvictionLimit",
            ("Deployment/default/web",),
            1,
            "of a workload that was evicted 2 times within 10 min (evictionLimit)",
            600.0,
            "the protection of Deployment default/web by evictionLimit",
        ),
    )
    text = "\n".join(line.text for line in decision_lines(decision))
    assert "evicted 2 times within 10 min (evictionLimit) is protected until 00:10:00 UTC" in text


def test_programs_read_it_and_read_it_again() -> None:
    decision = last(twice().show(a_pod("new", cpu="4", priority=9)))
    document = document_of(decision)
    assert document["eviction"]["protected"] == [
        {
            "code": "EvictionLimit",
            "by": ["Deployment/default/web"],
            "pods": 1,
            "which": "of a workload that was evicted 2 times within 10 min (evictionLimit)",
            "first": "1970-01-01T00:10:00Z",
            "ends": "the protection of Deployment default/web by evictionLimit",
        }
    ]
    again = decision_of(document)
    assert again.eviction == decision.eviction


def test_a_reader_without_rights_reads_no_name() -> None:
    decision = last(twice().show(a_pod("new", cpu="4", priority=9)))
    for shown in (
        without_hidden_names(decision, lambda kind, namespace: False),
        without_hidden_names(
            msgspec.structs.replace(decision, demand=of_another_kind(decision)), lambda kind, _: kind == "X"
        ),
    ):
        assert shown.eviction is not None
        assert [(one.by, one.ends) for one in shown.eviction.protected] == [(("Deployment/",), "")]


def of_another_kind(decision: Decision) -> Target:
    return msgspec.structs.replace(decision.demand, kind="X")


def test_it_preempts_at_that_moment_and_not_before() -> None:
    cluster = twice().show(a_pod("new", cpu="4", priority=9))
    cluster.stage.after(599.9)
    assert cluster.wanted(Nominate) == []
    cluster.stage.after(0.1)
    assert (last(cluster).outcome, last(cluster).at) == (Outcome.PREEMPTS, 600.0)


def test_an_eviction_that_is_refused_wakes_what_waits_for_the_limit() -> None:
    """The eviction on one node makes the limit, and a pod that wants to grow on another waits: what happens
    on the first node alone would not wake it."""
    policy = replace(
        REPRIEVE,
        rules=(*RULES, WithinLimit(EvictionLimit(1, 600.0, 1000))),
        resizes=DeferredResizes(Accounting.KUBELET),
    )
    growing = wanting(a_pod("growing", cpu="2", priority=9, on="n2"), "4")
    nodes = [a_node(f"n{i}", cpu=cpu, labels={"which": f"n{i}"}) for i, cpu in ((1, "4"), (2, "6"))]
    settings = Settings(policies={SCHEDULER_NAME: policy})
    cluster = served(*nodes, a_replica_set(), web("a"), web("b", "n2"), settings=settings)
    cluster.show(a_pod("new", cpu="4", priority=9, nodeSelector={"which": "n1"}))
    cluster.does(Nominate).does(SetCondition).show(growing)
    assert (last(cluster).demand.name, last(cluster).retry_at) == ("growing", 600.0)
    cluster.stage.after(20.0)
    cluster.fails(Evict)
    preempts = [d for d in cluster.stage.decisions if d.outcome is Outcome.PREEMPTS]
    assert [(d.demand.name, d.at) for d in preempts] == [("new", 0.0), ("growing", 20.0)]


def test_a_pod_that_gets_another_controller_wakes_what_waits_for_the_limit() -> None:
    cluster = twice().show(a_pod("new", cpu="4", priority=9))
    cluster.stage.after(20.0)
    assert cluster.wanted(Nominate) == []
    cluster.show(owned(later(cluster.pod("a")), name="other-1"))
    assert (last(cluster).outcome, last(cluster).at) == (Outcome.PREEMPTS, 20.0)


def test_so_does_a_controller_that_gets_another_one() -> None:
    cluster = twice().show(a_pod("new", cpu="4", priority=9))
    cluster.stage.after(20.0)
    cluster.show(later(a_replica_set(deployment="other")))
    assert (last(cluster).outcome, last(cluster).at) == (Outcome.PREEMPTS, 20.0)


# --- after a restart -----------------------------------------------------------------------------


def test_what_events_say_counts_once_with_what_marks_say() -> None:
    before = evicted_once().does(Evict)
    noted = PastEviction(workload="Deployment/default/web", key="uid-a", at=0.0)
    scheduler = Scheduler(limited())
    scheduler.observe([EvictionsRead((noted,), since=-600.0)], on_one_clock(0.0))
    after = served(*before.objects.values(), scheduler=scheduler)
    assert moments(after) == {"Deployment/default/web": [0.0]}


@pytest.mark.parametrize("at", [-600.0, -601.0])
def test_what_has_left_the_window_is_not_read(at: float) -> None:
    assert moments(twice(at - 1)) == {}


def test_a_new_leader_names_the_workload_of_a_victim_that_still_terminates() -> None:
    """The first died before it wrote the event."""
    cluster = evicted_once().does(Evict).restarted()
    (note,) = told(cluster, "Preempted")
    assert note.endswith("; counts as an eviction of Deployment default/web")


def test_a_new_leader_that_finishes_a_group_names_it_and_counts_it_once() -> None:
    member: dict[str, Any] = {"schedulingGroup": {"podGroupName": "g"}}
    pods = [a_pod(f"m{i}", cpu="2", on="n1", **member) for i in range(2)]
    cluster = served(a_node(), a_group(), *pods, settings=limited())
    cluster.show(a_pod("new", cpu="4", priority=9)).does(Nominate).does(SetCondition).does(SetCondition)
    cluster = cluster.restarted()
    assert cluster.wanted(Evict) == ["m0", "m1"]
    assert moments(cluster) == {"PodGroup/default/g": [0.0]}
    cluster.does(Evict)
    wanted = "; counts once with all of PodGroup default/g as an eviction of PodGroup default/g"
    assert [note.endswith(wanted) for note in told(cluster, "Preempted")] == [True, True]
