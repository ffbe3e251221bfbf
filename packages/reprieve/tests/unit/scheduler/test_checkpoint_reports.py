"""Checkpoints that cannot be right are reported once, on the object that publishes them."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest
from tests.unit.scheduler.making import a_node, a_pod, later, target
from tests.unit.scheduler.serving import Served, served

from reprieve.model.annotations import CHECKPOINT
from reprieve.model.conditions import RUN_STARTED
from reprieve.model.effects import Announce, Tone
from reprieve.model.objects import Pod, PodGroup
from reprieve.preemption.criteria import AS_UPSTREAM, PODS
from reprieve.preemption.policy import Policy
from reprieve.preemption.searches import REPRIEVE
from reprieve.scheduler.settings import SCHEDULER_NAME, Settings

STARTED = "1970-01-01T00:01:00Z"


def publishing(value: str) -> Pod:
    pod = later(a_pod("train", cpu="4", on="n1"), annotations={CHECKPOINT: value})
    status = msgspec.convert({"phase": "Running", "startTime": STARTED}, type(pod.status))
    return msgspec.structs.replace(pod, status=status)


def a_group(value: str) -> PodGroup:
    condition = {"type": RUN_STARTED, "status": "True", "lastTransitionTime": STARTED}
    document: dict[str, Any] = {
        "metadata": {"name": "gang", "namespace": "default", "annotations": {CHECKPOINT: value}},
        "status": {"conditions": [condition]},
    }
    return msgspec.convert(document, PodGroup)


def a_cluster(*things: Pod | PodGroup, policy: Policy = REPRIEVE) -> Served:
    """At a time of day of 100 seconds."""
    cluster = served(a_node(), settings=Settings(policies={SCHEDULER_NAME: policy}))
    cluster.stage.now = 100.0
    return cluster.show(*things)


def warnings(cluster: Served) -> list[Announce]:
    taken = cluster.take(Announce)
    return [e for e in taken if isinstance(e, Announce) and e.reason == "InvalidCheckpoint"]


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ("yesterday", "expected a time with a zone, as 2026-01-05T10:30:00Z"),
        ("1970-01-01T00:01:10", "expected a time with a zone, as 2026-01-05T10:30:00Z"),
        ("1970-01-01T00:01:50Z", "it is in the future"),
        ("1970-01-01T00:00:50Z", "it is before the start"),
        ("1970-01-01T00:01:30Z", ""),
    ],
)
def test_what_is_ignored_is_reported_on_the_object(value: str, fault: str) -> None:
    for thing in (publishing(value), a_group(value)):
        found = warnings(a_cluster(thing))
        text = f'annotation {CHECKPOINT} is ignored: {fault}, got "{value}"'
        assert [(e.target, e.tone, e.note) for e in found] == (
            [(target(thing), Tone.WARNING, text)] if fault else []
        )


def test_each_value_is_reported_once() -> None:
    pod = publishing("never")
    cluster = a_cluster(pod, later(pod, labels={"a": "b"}))
    assert len(warnings(cluster)) == 1
    cluster.show(later(later(pod), annotations={CHECKPOINT: "soon"}))
    assert [e.note.rpartition(" ")[2] for e in warnings(cluster)] == ['"soon"']


def test_a_long_value_is_shown_in_part() -> None:
    (found,) = warnings(a_cluster(publishing("x" * 5000)))
    assert len(found.note) < 200


def test_a_pod_of_the_same_name_is_another_one() -> None:
    cluster = a_cluster(publishing("never"))
    cluster.gone("train").show(msgspec.structs.replace(again := publishing("never"), metadata=named(again)))
    assert len(warnings(cluster)) == 2


def named(pod: Pod) -> Any:
    return msgspec.structs.replace(pod.metadata, uid="uid-again")


@pytest.mark.parametrize("policy", [replace(REPRIEVE, disturbance=order) for order in (AS_UPSTREAM, (PODS,))])
def test_nothing_is_reported_where_lost_work_does_not_count(policy: Policy) -> None:
    assert warnings(a_cluster(publishing("never"), policy=policy)) == []
