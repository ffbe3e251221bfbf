"""A connection to the API server that is worse than the contract allows: it repeats itself, and goes down.

In some clusters an admission webhook refuses for good to delete some of the pods.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from random import Random

from tests.minicluster.faulty_cluster import FaultyCluster, WatchFault

from reprieve.cluster.port import Answer, ClusterEvent, Refused
from reprieve.model.effects import Effect, Evict, WriteStatus
from reprieve.model.events import Gone, Seen, Synced
from reprieve.model.urgency import FIRST, Urgency
from reprieve_minicluster.store import Stored
from reprieve_minicluster.store.scheduler_calls import key_of_target
from reprieve_minicluster.virtual_time import clock

_REMEMBERED = 40  # sights; older news do not come again


class Protected:
    """Pods that an admission webhook protects from deletion, by their names."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self.share = Random(f"protected {seed}").choice((0.0, 0.0, 0.0, 0.3))

    def answer(self, effect: Effect | WriteStatus) -> Answer | None:
        if not isinstance(effect, Evict) or not self.covers(effect.target.name):
            return None
        return Refused(
            f"an admission webhook denied the request: {effect.target.name} is protected", again=False
        )

    def covers(self, name: str) -> bool:
        return bool(self.share) and Random(f"protected {self._seed} {name}").random() < self.share


class UnreliableConnection:
    """How good it is, is drawn from a seed. Until a moment news may be old ones."""

    def __init__(self, cluster: FaultyCluster, seed: int, until: float) -> None:
        self._cluster = cluster
        self._rng = Random(f"connection {seed}")
        self._rate = self._rng.choice((0.0, 0.02, 0.1))  # how often a sight is followed by an old one
        self._seconds = self._rng.choice((0.0, 0.1, 1.0))  # until a request arrives, at most
        self._until = until
        self._up_at = 0.0
        self._protected = Protected(seed)
        self.refused: set[str] = set()  # uids of pods whose deletion was refused for good
        self.mistaken: list[Effect | WriteStatus] = []  # effects on a namesake of their target

    def restart(self, seconds: float) -> None:
        """For so long there is no answer; then watches have to list again."""
        self._up_at = clock() + seconds
        self._cluster.disconnect(WatchFault.RELIST)

    async def watch(self) -> AsyncIterator[ClusterEvent]:
        recent: deque[ClusterEvent] = deque(maxlen=_REMEMBERED)
        synced = False
        async for sight in self._cluster.watch():
            await asyncio.sleep(max(0.0, self._up_at - clock()))
            yield sight
            synced |= isinstance(sight, Synced)
            if isinstance(sight, Seen | Gone):
                recent.append(sight)
            if synced and recent and clock() < self._until and self._rng.random() < self._rate:
                yield self._rng.choice(recent)

    async def perform(self, effect: Effect | WriteStatus, urgency: Urgency = FIRST) -> Answer:
        await asyncio.sleep(self._seconds * self._rng.random())
        if clock() < self._up_at:
            return Refused(f"{effect.target}: connection refused", again=True)
        namesake, before = self._namesake(effect), clock()
        denied = self._protected.answer(effect) if self._exists(effect) else None
        answer = denied or await self._cluster.perform(effect, urgency)
        if isinstance(effect, Evict) and isinstance(answer, Refused) and not answer.again:
            self.refused.add(effect.target.uid)
        if namesake is not None and clock() == before and self._namesake(effect) != namesake:
            self.mistaken.append(effect)
        return answer

    def _exists(self, effect: Effect | WriteStatus) -> bool:
        """Nothing is denied about an object that is gone."""
        found = self._cluster.store.find(key_of_target(effect.target))
        return found is not None and found.uid == effect.target.uid

    def _namesake(self, effect: Effect | WriteStatus) -> Stored | None:
        """Another object of the same name."""
        found = self._cluster.store.find(key_of_target(effect.target))
        return found if found is not None and found.uid != effect.target.uid else None
