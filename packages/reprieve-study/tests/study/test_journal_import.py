"""The jobs of a journal: a preempted pod and its replacement are one, and what is unknown is said."""

from dataclasses import replace as replace_job
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from reprieve.model.effects import Target
from reprieve.model.events import Event, Gone, Seen
from reprieve.model.moment import on_one_clock
from reprieve.model.objects import Condition, ObjectMeta, Pod, PodStatus
from reprieve.runtime.journal_lines import Observed
from reprieve_study.importers.journal import JournaledCluster, read
from reprieve_study.job import Job, budget_of, group_of, template_of
from reprieve_study.node_pools import node
from reprieve_study.text_lines import TraceError

T = 1_700_000_000.0
MARK = Condition(type="DisruptionTarget", status="True", reason="PreemptionByScheduler")


def pod(name: str, job: Job) -> Pod:
    return template_of(job, "reprieve").pod(name, T)


def bound(one: Pod) -> Pod:
    return replace(one, spec=replace(one.spec, node_name="n"))


def gone(one: Pod) -> Gone:
    meta: ObjectMeta = one.metadata
    return Gone(Target("Pod", meta.namespace, meta.name, meta.uid))


def journal(*steps: tuple[float, Event]) -> JournaledCluster:
    return read("j", [Observed(on_one_clock(T + at), (event,)) for at, event in steps])


PLAIN = Job(
    name="a", arrival=0, duration=1, requests=(("cpu", "2"), ("memory", "1Gi")), priority=7, tenant="t"
)
GANG = Job(name="g", arrival=0, duration=1, pods=2, gang=2, whole=True, priority=9, requests=(("cpu", "1"),))


def test_a_pod_that_ran() -> None:
    one = pod("a-0", PLAIN)
    over = replace(bound(one), status=PodStatus(phase="Succeeded"))
    found = journal(
        (0, Seen(node("n", {"cpu": "4"}))), (10, Seen(one)), (20, Seen(bound(one))), (80, Seen(over))
    )
    (job,) = found.trace.jobs
    assert (job.duration, job.priority, job.tenant, job.pods) == (60.0, 7, "t", 1)
    assert job.requests == (("cpu", "2000m"), ("memory", str(2**30)))
    assert [n.metadata.name for n in found.nodes] == ["n"]


def test_a_preempted_pod_and_its_replacement_are_one_job() -> None:
    first, second = pod("a-0", PLAIN), pod("a-1", PLAIN)
    marked = replace(bound(first), status=PodStatus(conditions=(MARK,)))
    started = datetime.fromtimestamp(T + 120, UTC)
    running = replace(bound(second), status=PodStatus(phase="Running", start_time=started))
    found = journal(
        (0, Seen(first)),
        (1, Seen(bound(first))),
        (50, Seen(marked)),
        (60, gone(first)),
        (61, Seen(second)),
        (121, Seen(running)),
        (420, gone(second)),
    )
    (job,) = found.trace.jobs
    assert (job.arrival, job.duration) == (0.0, 300.0)


def test_a_gang_and_what_is_not_known() -> None:
    members = [pod(f"g-{i}", GANG) for i in range(2)]
    waits = pod("a-0", PLAIN)
    found = journal(
        (0, Seen(group_of(GANG, T))),
        (0, Seen(members[0])),
        (0, Seen(members[1])),
        (5, Seen(bound(members[0]))),
        (5, Seen(bound(members[1]))),
        (30, Seen(waits)),
        (105, Seen(node("n", {"cpu": "4"}))),
    )
    gang, single = found.trace.jobs
    assert (gang.pods, gang.gang, gang.whole, gang.priority, gang.duration) == (2, 2, True, 9, 100.0)
    assert single.duration == 3600.0
    assert [text.partition(":")[0] for text in found.trace.invented[:2]] == [
        "2 pods still ran at the end of the journal",
        "1 pods had not started",
    ]


def test_a_gang_that_begins_anew_is_the_same_gang() -> None:
    """One member is preempted; the rest is deleted with it, and all are replaced."""
    first, second = [pod(f"g-{i}", GANG) for i in range(2)], [pod(f"h-{i}", GANG) for i in range(2)]
    marked = replace(bound(first[0]), status=PodStatus(conditions=(MARK,)))
    deleted = replace(
        bound(first[1]),
        metadata=replace(first[1].metadata, deletion_timestamp=datetime.fromtimestamp(T + 50, UTC)),
    )
    found = journal(
        (0, Seen(group_of(GANG, T))),
        *((0, Seen(one)) for one in first),
        *((1, Seen(bound(one))) for one in first),
        (50, Seen(marked)),
        (50, Seen(deleted)),
        *((60, gone(one)) for one in first),
        *((61, Seen(one)) for one in second),
        *((70, Seen(bound(one))) for one in second),
        *((370, gone(one)) for one in second),
    )
    (job,) = found.trace.jobs
    assert (job.arrival, job.duration, job.pods, job.gang) == (0.0, 300.0, 2, 2)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"min_available": 2}, 2),
        ({"min_available": 9}, 3),
        ({"min_available": "50%"}, 2),
        ({"max_unavailable": 1}, 2),
        ({"max_unavailable": "34%"}, 1),
        ({}, None),
        ({"min_available": "half"}, None),
    ],
)
def test_pods_under_a_budget_are_a_job_with_one(spec: dict[str, int | str], expected: int | None) -> None:
    job = replace_job(PLAIN, pods=3)
    budget = budget_of(job, T)
    budget = replace(
        budget,
        spec=replace(budget.spec, **{"min_available": None, "max_unavailable": None, **spec}),
    )
    members = [pod(f"a-{i}", job) for i in range(3)]
    other = replace(pod("o", PLAIN), metadata=replace(pod("o", PLAIN).metadata, labels={}))
    found = journal(
        (0, Seen(budget)),
        *((i, Seen(one)) for i, one in enumerate(members)),
        *((5, Seen(bound(one))) for one in members),
        (5, Seen(other)),
        *((65, gone(one)) for one in members),
    )
    service, single = found.trace.jobs
    assert (service.name, service.pods, service.budget, service.duration) == ("service-0", 3, expected, 60.0)
    assert (single.pods, single.budget) == (1, None)


def test_work_begins_when_the_kubelet_says_so_and_a_grace_of_0_is_one() -> None:
    job = replace_job(PLAIN, grace=0.0)
    one = pod("a-0", job)
    started = datetime.fromtimestamp(T + 100, UTC)
    running = replace(bound(one), status=PodStatus(phase="Running", start_time=started))
    found = journal((0, Seen(one)), (1, Seen(bound(one))), (100, Seen(running)), (160, gone(one)))
    assert (found.trace.jobs[0].duration, found.trace.jobs[0].grace) == (60.0, 0.0)


def test_a_preempted_pod_without_a_replacement_is_named() -> None:
    one = pod("a-0", PLAIN)
    marked = replace(bound(one), status=PodStatus(conditions=(MARK,)))
    found = journal((0, Seen(one)), (1, Seen(bound(one))), (50, Seen(marked)), (61, gone(one)))
    assert found.trace.jobs[0].duration == 60.0
    assert found.trace.invented[0].startswith("1 pods were cut off and not replaced")


def test_a_journal_without_pods() -> None:
    with pytest.raises(TraceError, match="j: expected a journal with pods, got none"):
        journal((0, Seen(node("n", {}))))
