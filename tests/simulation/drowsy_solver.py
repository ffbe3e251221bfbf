"""A solver that takes its time, and behind whose back the cluster changes just then."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from random import Random

import msgspec

from reprieve.model.events import Improvement
from reprieve.model.groups import group_key
from reprieve.preemption.least_disturbance.solver_task import solved
from reprieve_minicluster.cluster import MiniCluster
from reprieve_minicluster.errors import ApiError
from reprieve_minicluster.store import Key
from tests.simulation.invariants import pods_in, waiting_in
from tests.simulation.objects import pod, pod_spec

_PAUSES = (0.0, 0.0, 0.0, 0.2, 0.2, 0.2, 1.0, 4.0, 60.0)  # seconds before something happens, and after


class DrowsySolver:
    """``restart``: another scheduler takes over."""

    def __init__(self, seed: int, cluster: MiniCluster, until: float, restart: Callable[[], None]) -> None:
        self._rng = Random(f"solver {seed}")
        self._cluster = cluster
        self._until = until
        self._restart = restart
        self._asked = 0

    async def solve(self, message: bytes) -> bytes | None:
        self._asked += 1
        answer = solved(message)
        await asyncio.sleep(self._rng.choice(_PAUSES))
        if asyncio.get_running_loop().time() < self._until:
            with suppress(ApiError):  # what it is about is not there any more
                self._meddle(answer)
        await asyncio.sleep(self._rng.choice(_PAUSES))
        return self._rng.choice((answer, answer, answer, None))

    async def close(self) -> None:
        """It runs in tasks of others."""

    def _meddle(self, answer: bytes) -> None:
        match self._rng.randrange(8):
            case 0:
                self._delete([p.metadata.name for p in waiting_in(self._cluster.store) if group_key(p)])
            case 1:
                self._delete(self._victims(answer))
            case 2:
                spec = pod_spec(self._rng.choice(("2", "4")), priority=20)
                self._cluster.apply([pod(f"vip-{self._asked}", spec)])
            case 3:
                self._restart()

    def _delete(self, names: list[str]) -> None:
        if names:
            self._cluster.store.delete(Key("pods", "default", self._rng.choice(sorted(names))), grace=0)

    def _victims(self, answer: bytes) -> list[str]:
        found = msgspec.msgpack.decode(answer, type=tuple[Improvement, ...])
        units = {unit for one in found for unit in one.units or ()}
        wholes = {tuple(unit.split("/")[1:]) for unit in units}
        return [
            one.metadata.name
            for one in pods_in(self._cluster.store)
            if (one.metadata.namespace, one.metadata.name) in wholes or group_key(one) in wholes
        ]
