"""What questions say of an eviction limit, from the events and marks of a cluster alone."""

from dataclasses import replace

from tests.unit.inquiry.asking_why import NOW, an_event, cluster_of

from reprieve.assembly.inquiries import PolicyChoice, inquiry_settings
from reprieve.inquiry.decoded_cluster import DecodedCluster
from reprieve.inquiry.exposure import running_view
from reprieve.inquiry.object_names import ObjectName
from reprieve.inquiry.seen_events import limit_notes, noted_evictions, with_evictions
from reprieve.inquiry.trials import Asking
from reprieve.inquiry.why import Evidence, WhyReport, why_json
from reprieve.inquiry.why_answers import why_object
from reprieve.model.json import Json
from reprieve.preemption.eviction_limit import EvictionLimit
from tests.scenarios.making import moment
from tests.scenarios.reading import PodLine, WorldLine

HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
LIMIT = {"evictions": 2, "window": "30m", "belowPriority": 1000}
WORLD = WorldLine(
    nodes={"n1": "cpu 4"},
    replica_sets={"web-1": "web"},
    pods={
        "web-1-c": PodLine(on="n1", cpu=4, owner="ReplicaSet/web-1"),
        "new": PodLine(cpu=4, priority=9, start=None),
    },
)


def preempted(name: str, minutes: float) -> Json:
    note = "Preempted by pod u-1 on node n1 (decision d-1); counts as an eviction of Deployment default/web"
    return an_event(name, "Preempted", note, minutes, uid=f"uid-{name}")


def read(*events: Json) -> DecodedCluster:
    return cluster_of(WORLD, events)


TWICE = (preempted("web-1-a", 40), preempted("web-1-b", 50), an_event("x", "Preempted", "by another", 50))


def why(name: str, *events: Json) -> WhyReport:
    cluster = read(*events)
    document = {
        **HEAD,
        "profiles": [{"pluginConfig": [{"name": "Reprieve", "args": {"evictionLimit": LIMIT}}]}],
    }
    chosen = inquiry_settings(PolicyChoice("file", document), cluster)
    asking = Asking(chosen.settings, chosen.policy)
    return why_object(ObjectName("default", name, "Pod"), Evidence(cluster, (), NOW), asking)


def test_events_say_when_workloads_were_evicted() -> None:
    assert [(one.workload, one.key, one.at) for one in noted_evictions(read(*TWICE))] == [
        ("Deployment/default/web", "uid-web-1-a", moment(40)),
        ("Deployment/default/web", "uid-web-1-b", moment(50)),
    ]
    view = with_evictions(running_view(read(*TWICE).seen), read(*TWICE), NOW)
    assert view.evictions == {"Deployment/default/web": [moment(40), moment(50)]}


def test_a_pod_that_waits_is_told_what_ends_when() -> None:
    report = why("new", *TWICE)
    said = {statement.code: statement.text for statement in report.statements}
    assert said["EvictionLimit"] == (
        "It cannot help: 1 pod of a workload that was evicted 2 times within 30 min (evictionLimit) is "
        "protected until 01:10:00 UTC."
    )
    (wait,) = (remedy for remedy in report.remedies if remedy.code == "WaitForEvictionLimit")
    assert wait.text.startswith(
        "Wait until 01:10:00 UTC, when the protection of Deployment default/web by evictionLimit ends"
    )


def test_without_evictions_it_preempts() -> None:
    assert "once 1 pod is preempted" in why("new", TWICE[0]).headline


def test_a_pod_that_runs_is_told_that_it_is_protected() -> None:
    report = why("web-1-c", *TWICE)
    (protected,) = (s for s in report.statements if s.code == "EvictionLimit")
    assert protected.text == (
        "Its workload, Deployment default/web, was evicted 2 times within 30 min: demands of a priority "
        "below 1000 may not preempt it until 01:10:00 UTC (evictionLimit)."
    )
    assert "EvictionLimit" in {statement["code"] for statement in why_json(report)["statements"]}
    assert [s for s in why("web-1-c", TWICE[0]).statements if s.code == "EvictionLimit"] == []


def test_what_may_be_missing_is_said() -> None:
    limit = EvictionLimit(2, 600.0, 0)
    assert limit_notes(None) == ()
    (short,), (long,) = limit_notes(limit), limit_notes(replace(limit, window=7200.0))
    assert short.endswith("not from the memory of its scheduler.")
    assert long.endswith(
        "the API server keeps events for 1 h by default, and the window of evictionLimit is 2 h."
    )
