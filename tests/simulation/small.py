"""Small clusters that live for a while, with the real loop, in virtual time."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from tests.minicluster.faulty_cluster import NO_FAULTS, FaultPlan, FaultyCluster

from reprieve.model.json import Json
from reprieve.runtime.loop import Loop
from reprieve.scheduler.core import Scheduler
from reprieve_minicluster.cluster import MiniCluster
from reprieve_minicluster.kinds import BY_NAME
from reprieve_minicluster.virtual_time import clock, run

Story = Callable[[MiniCluster], Awaitable[None]]

MINUTE = 60.0


def lived(story: Story, faults: FaultPlan = NO_FAULTS) -> MiniCluster:
    """A cluster after a story was told in it."""

    async def main() -> MiniCluster:
        cluster = FaultyCluster(clock, faults)
        cluster.start()
        async with Loop(Scheduler(), cluster, clock).running():
            await story(cluster)
        await cluster.stop()
        return cluster

    return run(main())


def after(seconds: float, objects: Iterable[Json], faults: FaultPlan = NO_FAULTS) -> MiniCluster:
    """A cluster some time after these objects came into it, as they are: without validation."""

    async def story(cluster: MiniCluster) -> None:
        store(cluster, objects)
        await asyncio.sleep(seconds)

    return lived(story, faults)


def store(cluster: MiniCluster, objects: Iterable[Json]) -> None:
    for body in objects:
        cluster.store.create(BY_NAME[body["kind"]].resource, body)


def phases(cluster: MiniCluster) -> dict[str, str]:
    return {pod["metadata"]["name"]: pod["status"]["phase"] for pod in cluster.list("Pod")}


def warnings(cluster: MiniCluster, name: str) -> list[str]:
    """What people were told about an object, for as long as it does not run."""
    events = cluster.list("Event")
    return [e["message"] for e in events if e["involvedObject"]["name"] == name and e["type"] == "Warning"]
