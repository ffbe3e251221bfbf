"""The contract of every cluster, on the mini cluster in process and in virtual time."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
from tests.minicluster.faulty_cluster import NO_FAULTS, FaultPlan, FaultyCluster, WatchFault

from reprieve.cluster.port import Answer, ClusterEvent, Succeeded
from reprieve.model.effects import Bind, Effect, Evict, WriteStatus
from reprieve.model.events import Gone
from reprieve.model.json import Json
from reprieve.model.urgency import FIRST, Urgency
from reprieve.testing.cluster_contract import CHECKS, Check, check_contract
from reprieve.testing.contract_fixture import BrokenContractError, ClusterFixture
from reprieve_minicluster.store import parsed
from reprieve_minicluster.virtual_time import clock, run


@dataclass(frozen=True)
class MiniOperator:
    mini: FaultyCluster
    fault: WatchFault

    async def create(self, body: Json) -> Json:
        (made,) = self.mini.apply([body])
        return parsed(made)

    async def delete(self, kind: str, namespace: str, name: str) -> None:
        self.mini.delete(kind, namespace, name, grace=0)

    async def read(self, kind: str, namespace: str, name: str) -> Json | None:
        return self.mini.read(kind, namespace, name)

    async def list(self, kind: str, namespace: str) -> list[Json]:
        return self.mini.list(kind, namespace)

    async def disconnect(self) -> None:
        self.mini.disconnect(self.fault)


@asynccontextmanager
async def stage(fault: WatchFault, plan: FaultPlan = NO_FAULTS) -> AsyncIterator[ClusterFixture]:
    mini = FaultyCluster(clock, plan)
    yield ClusterFixture(mini, MiniOperator(mini, fault), "contract")


@pytest.mark.parametrize("fault", [WatchFault.DROP, WatchFault.RELIST, WatchFault.STALE])
@pytest.mark.parametrize("check", CHECKS)
def test_the_mini_cluster_keeps_the_contract(check: Check, fault: WatchFault) -> None:
    async def main() -> None:
        async with stage(fault) as made:
            await check(made)

    run(main())


@pytest.mark.parametrize("seed", range(20))
def test_it_is_kept_when_watches_suffer(seed: int) -> None:
    plan = FaultPlan(seed, changes=tuple((fault, 0.2) for fault in WatchFault))
    run(check_contract(lambda: stage(WatchFault.RELIST, plan)))


# --- a contract is worth what it finds ----------------------------------------------------------


class Forgetful(FaultyCluster):
    """Does not tell what vanished."""

    async def watch(self) -> AsyncIterator[ClusterEvent]:
        async for sight in super().watch():
            if not isinstance(sight, Gone):
                yield sight


class Careless(FaultyCluster):
    """Reports success for every bind, and binds no pod."""

    async def perform(self, effect: Effect | WriteStatus, urgency: Urgency = FIRST) -> Answer:
        return Succeeded() if isinstance(effect, Bind) else await super().perform(effect, urgency)


class Talkative(FaultyCluster):
    """Shows everything twice."""

    async def watch(self) -> AsyncIterator[ClusterEvent]:
        async for sight in super().watch():
            yield sight
            yield sight


class Rash(FaultyCluster):
    """Evicts whatever has the name."""

    async def perform(self, effect: Effect | WriteStatus, urgency: Urgency = FIRST) -> Answer:
        if isinstance(effect, Evict) and self.read("Pod", effect.target.namespace, effect.target.name):
            self.delete("Pod", effect.target.namespace, effect.target.name, grace=0)
            return Succeeded()
        return await super().perform(effect, urgency)


@pytest.mark.parametrize("kind", [Forgetful, Careless, Talkative, Rash])
def test_a_cluster_that_breaks_the_contract_is_found_out(kind: type[FaultyCluster]) -> None:
    @asynccontextmanager
    async def make() -> AsyncIterator[ClusterFixture]:
        mini = kind(clock)
        yield ClusterFixture(mini, MiniOperator(mini, WatchFault.DROP), "contract")

    with pytest.raises(BrokenContractError):
        run(check_contract(make))
