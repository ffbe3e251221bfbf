"""Is this replica ready? The answers to the probes of the kubelet.

A replica that only waits to become the leader is ready: it is there to take over. One that has begun to watch
its cluster, be it to take over fast, is ready when it has seen all of it.
"""

from collections.abc import Iterator, Sequence

from reprieve.model.effects import Effect
from reprieve.model.events import Event, Synced
from reprieve.runtime.heartbeat import SLOW_SECONDS, STUCK_SECONDS, Heartbeat
from reprieve.scheduler.decision import Decided
from reprieve.scheduler.plan_records import PlanRecord
from reprieve.supervision.health import HealthCheck
from reprieve.supervision.supervisor import Supervisor


class Readiness:
    """Observes the scheduler, to learn when it has seen the whole cluster.

    ``supervisor``: keeps the tasks of this replica running, and knows those that cannot go on. ``heartbeat``:
    knows how long the event loop has been blocked. The checks may be made in another thread than that of the
    event loop: what they read is replaced as a whole.
    """

    def __init__(self) -> None:
        self.supervisor = Supervisor()
        self.heartbeat = Heartbeat()
        self._looks = False
        self._knows_all = False
        self._leaving = False

    def looks(self) -> None:
        self._looks = True

    def knows_all(self) -> None:
        self._knows_all = True

    def leaves(self) -> None:
        self._leaving = True

    def alive(self) -> Iterator[HealthCheck]:
        """A process that can answer is alive, unless its event loop or one of its tasks cannot go on."""
        return self._running(STUCK_SECONDS)

    def ready(self) -> Iterator[HealthCheck]:
        yield from self._running(SLOW_SECONDS)
        yield "shutdown", "it is about to end" if self._leaving else ""
        unknown = self._looks and not self._knows_all
        yield "sched-handler-sync", "not all that the cluster has is known yet" if unknown else ""

    def _running(self, patience: float) -> Iterator[HealthCheck]:
        yield "ping", ""
        yield "scheduling-loop", self.heartbeat.late(patience)
        yield from self.supervisor.checks()

    def observed(self, events: Sequence[Event], effects: Sequence[Effect], now: float) -> None:
        if Synced() in events:
            self.knows_all()

    def decided(self, decided: Decided | None, now: float, seconds: float) -> None:
        pass

    def recorded(self, records: Sequence[PlanRecord]) -> None:
        pass
