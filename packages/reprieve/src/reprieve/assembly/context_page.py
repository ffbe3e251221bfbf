"""How is the page of a live cluster made in the caller's process, with the caller's credentials?

The cluster is only read, with lists as the commands read it: what the caller may not list is left out, and
noted. It is read again every few seconds, and never for more than a small part of the time.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any

from reprieve.assembly.cluster_reading import ClusterReadingError, read_cluster
from reprieve.assembly.decision_sources import DecisionServer, DecisionSourceError, served_decisions
from reprieve.assembly.loopback_page import loopback_page
from reprieve.assembly.page_questions import AskedCluster, ClusterQuestions
from reprieve.inquiry.decision_list import read_decisions
from reprieve.inquiry.decoded_cluster import DecodedCluster, decoded
from reprieve.model.events import Event, Seen, Synced
from reprieve.model.moment import on_one_clock
from reprieve.page.documents import PageAbilities, PageHead
from reprieve.page.live import FedSteps, LivePicture, PictureFeed
from reprieve.page.sources import LiveFrames, PageGate, PageParts
from reprieve.runtime.recent_decisions import KeptDecision

_PERIOD = 2.0  # seconds between two readings
_PAUSE_FACTOR = 9  # times as long as a reading took, if that is longer
_NONE_YET = "the cluster is being read: nothing is known of it yet"
_CAN = PageAbilities(whatif=True, why=True, exposure=True)

Complain = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ClusterReading:
    cluster: DecodedCluster
    decisions: tuple[KeptDecision, ...]


ReadAgain = Callable[[], Coroutine[Any, Any, ClusterReading]]


def reading_of(server: DecisionServer, namespace: str = "") -> ReadAgain:
    """A function that reads the cluster of a context: raises ClusterReadingError or DecisionSourceError.

    Decisions come from its API server, if `reprieve up` runs it, or from the replica that is named."""

    async def read() -> ClusterReading:
        found = await read_cluster(server.kubeconfig, server.context, namespace=namespace)
        if server.server:
            decisions = (await served_decisions(server)).decisions
        else:
            decisions = read_decisions(found.decisions).decisions
        cluster = await asyncio.to_thread(decoded, found)
        return ClusterReading(cluster, tuple(sorted(decisions, key=lambda kept: kept.decision.at)))

    return read


@dataclass(slots=True)
class PolledCluster:
    """``complain``: gets a sentence when the cluster can no longer be read, once for each such time."""

    last: ClusterReading
    read: ReadAgain
    complain: Complain
    feed: PictureFeed = field(default_factory=PictureFeed)
    _failed: bool = False

    def show(self) -> None:
        """What is not seen this time is gone."""
        self.feed.begin()
        cluster = self.last.cluster
        events: list[Event] = [Seen(one.object, one.unserved) for one in cluster.seen]
        self.feed.on_observed([*events, Synced()], (), on_one_clock(cluster.source.taken_at))
        self.feed.adopted(self.last.decisions)

    async def keep_reading(self) -> None:
        took = 0.0
        while True:
            await asyncio.sleep(max(_PERIOD, _PAUSE_FACTOR * took))
            began = time.monotonic()
            try:
                self.last = await self.read()
            except (ClusterReadingError, DecisionSourceError) as error:
                if not self._failed:
                    self.complain(f"the page shows the cluster as it was: {error}")
                self._failed = True
                continue
            self._failed = False
            took = time.monotonic() - began
            self.show()

    async def take(self) -> FedSteps:
        return self.feed.take()

    async def asked(self, at: float | None) -> AskedCluster:
        last = self.last
        return AskedCluster(lambda: last.cluster, last.decisions)


def page_of_context(
    name: str, first: ClusterReading, read: ReadAgain, complain: Complain
) -> AbstractAsyncContextManager[str]:
    """Serves the page while the context is open; yields the address. ``name``: of the cluster."""

    def parts(gate: PageGate) -> PageParts:
        polled = PolledCluster(first, read, complain)
        polled.show()
        live = LivePicture(polled.take)
        return PageParts(
            PageHead(name, "context", _CAN),
            LiveFrames(live, _NONE_YET),
            gate,
            live,
            ClusterQuestions(polled.asked),
            {"reading of the cluster": polled.keep_reading},
        )

    return loopback_page(parts, "`reprieve page` printed")
