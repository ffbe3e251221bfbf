"""A cluster in this process is scheduled, in real and in virtual time."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from reprieve.assembly.mini_cluster import cluster_in_process, features_of
from reprieve.assembly.scheduler_settings import EVERYTHING
from reprieve.cluster.apiserver.features import ALL_FEATURES, DEFAULT_FEATURES
from reprieve.config import Gates, default_configuration, parse_feature_gates
from reprieve.runtime import virtual_time
from reprieve.scheduler.decision import Decision

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
