"""By when can it start, where that depends on grace periods, on protections or on the deadlines of Jobs?"""

from pathlib import Path
from typing import Any

import pytest
from tests.unit.inquiry.asking import ask, report
from tests.unit.inquiry.objects import STARTED, node, pod, priority_class

PREFIX = "preemption-toleration.scheduling.x-k8s.io/"


def job(name: str, seconds: int) -> Any:
    spec = {"activeDeadlineSeconds": seconds, "template": {"spec": pod(name)["spec"]}}
    head = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": "default"}}
    return {**head, "spec": spec, "status": {"startTime": STARTED}}


def of_job(name: str, gpus: int, on: str) -> Any:
    body = pod(f"{name}-0", gpus, on=on, level="urgent", owner=name)
    body["metadata"]["ownerReferences"][0] |= {"apiVersion": "batch/v1", "kind": "Job"}
    return body


def test_grace_periods(tmp_path: Path) -> None:
    cluster = [node("n1"), pod("old", 8, on="n1", level="low")]
    cluster[1]["spec"]["terminationGracePeriodSeconds"] = 90
    found = report(tmp_path, cluster, [pod("new", 8, level="urgent")])
    assert found["startsAt"] == "2026-03-02T10:01:30Z"
    assert found["startsBecause"]["code"] == "GracePeriods"
    said = ask(tmp_path, cluster, [pod("new", 8, level="urgent")]).stdout
    assert "as soon as the victim is gone, within 1 min 30 s." in said


def test_what_starts_at_once_waits_for_nothing(tmp_path: Path) -> None:
    found = report(tmp_path, [node("n1")], [pod("new", 8)])
    assert (found["startsAt"], found["startsBecause"]) == (None, None)


@pytest.mark.parametrize(
    ("gpus", "start"), [(4, "2026-03-02T10:10:00Z"), (8, "2026-03-02T10:30:00Z"), (9, None)]
)
def test_deadlines_of_jobs(tmp_path: Path, gpus: int, start: str | None) -> None:
    """Started at half past nine; the longer one must have ended, too, before there is room for eight."""
    cluster = [
        node("n1"),
        job("short", 2400),
        job("long", 3600),
        of_job("short", 4, "n1"),
        of_job("long", 4, "n1"),
    ]
    found = report(tmp_path, cluster, [pod("new", gpus)])
    assert found["outcome"] == "Unschedulable"
    assert found["startsAt"] == start
    if gpus == 4:
        assert found["startsBecause"]["text"] == "Job default/short has ended by its activeDeadlineSeconds"
        said = ask(tmp_path, cluster, [pod("new", gpus)]).stdout
        assert "It can start by 10:10:00 UTC, when Job default/short has ended" in said


def test_protections(tmp_path: Path) -> None:
    """Scheduled at half past nine, and protected for an hour; then it has its grace period."""
    tolerant = priority_class(
        "calm",
        {f"{PREFIX}minimum-preemptable-priority": "1000", f"{PREFIX}toleration-seconds": "3600"},
        value=1,
    )
    urgent = priority_class("urgent", value=900)
    cluster = [tolerant, urgent, node("n1"), pod("old", 8, on="n1", level="calm")]
    found = report(tmp_path, cluster, [pod("new", 8, level="urgent")])
    assert found["outcome"] == "Unschedulable"
    assert found["startsAt"] == "2026-03-02T10:30:30Z"
    assert found["startsBecause"]["code"] == "ProtectionEnds"
