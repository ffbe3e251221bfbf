"""A cluster in this process is scheduled, in real and in virtual time."""

import asyncio
import time
from collections.abc import Callable

import pytest

from reprieve.assembly.mini_cluster import cluster_in_process
from reprieve.config import default_configuration
from reprieve.runtime import virtual_time
from reprieve.scheduler.decision import Decision

NODE = {
    "kind": "Node",
    "metadata": {"name": "n1"},
    "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}},
}
POD = {"kind": "Pod", "metadata": {"name": "p"}, "spec": {"schedulerName": "reprieve", "containers": []}}


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
