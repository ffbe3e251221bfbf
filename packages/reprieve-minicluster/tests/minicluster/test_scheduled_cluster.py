"""A cluster in this process is scheduled, in real and in virtual time."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from reprieve.assembly.scheduler_settings import EVERYTHING
from reprieve.cli.input_files import SHAPES
from reprieve.cluster.admission.features import ALL_FEATURES, DEFAULT_FEATURES
from reprieve.config import Gates, default_configuration, parse_feature_gates
from reprieve.model.effects import Effect
from reprieve.model.events import Event
from reprieve.model.moment import Moment
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.reporting.decision import Decision
from reprieve_minicluster import virtual_time
from reprieve_minicluster.assembly.mini_cluster import (
    LocalCluster,
    cluster_in_process,
    cluster_up,
    features_of,
)

NODE = {
    "kind": "Node",
    "metadata": {"name": "n1"},
    "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}},
}
POD = {"kind": "Pod", "metadata": {"name": "p"}, "spec": {"schedulerName": "reprieve", "containers": []}}


def test_one_list_of_gates_is_for_the_api_and_the_scheduler() -> None:
    assert features_of(EVERYTHING) == ALL_FEATURES
    assert features_of(Gates()) == DEFAULT_FEATURES
    fewer = features_of(parse_feature_gates("WorkloadAwarePreemption=false", EVERYTHING))
    assert fewer == replace(ALL_FEATURES, workload_aware_preemption=False)


@pytest.mark.parametrize("clock", [time.time, virtual_time.clock], ids=["real", "virtual"])
def test_a_cluster_in_this_process_is_scheduled(clock: Callable[[], float]) -> None:
    decisions: list[Decision] = []

    async def main() -> str:
        async with cluster_in_process(default_configuration(), clock, decisions.append) as cluster:
            cluster.apply([NODE, POD])
            async with asyncio.timeout(60.0):
                while not (found := cluster.list("Pod")[0]["spec"].get("nodeName")):
                    await asyncio.sleep(0.01)
        return str(found)

    run = virtual_time.run if clock is virtual_time.clock else asyncio.run
    assert run(main()) == "n1"
    assert [decision.nodes for decision in decisions] == [("n1",)]


def test_a_scheduler_that_fails_as_a_whole_is_started_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mishaps: list[logging.LogRecord]
) -> None:
    monkeypatch.setenv("REPRIEVE_RUNTIME_DIR", str(tmp_path))
    observe, calls = Scheduler.observe, []

    def fail_once(scheduler: Scheduler, events: Iterable[Event], now: Moment) -> list[Effect]:
        calls.append(scheduler)
        if len(calls) == 1:
            raise RuntimeError("it broke")
        return observe(scheduler, events, now)

    async def main() -> None:
        wanted = LocalCluster([SHAPES["cpu16"]], 1, tmp_path / "kubeconfig")
        async with cluster_up(wanted, print, scheduled=True):
            while len(calls) < 2:
                await asyncio.sleep(0.1)

    monkeypatch.setattr(Scheduler, "observe", fail_once)
    virtual_time.run(main())
    assert calls[0] is not calls[1]
    (record,) = mishaps
    assert record.getMessage().startswith("scheduler failed: ")
    assert record.getMessage().endswith("; retrying in 1 s")
