"""The plays with a scheduler that speaks to its cluster over HTTP, through a network that is not kind."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from reprieve.cluster.kube.auth import Access
from reprieve.cluster.kube.client import Limits
from reprieve.cluster.kube.cluster import kube_cluster
from reprieve.cluster.kube.kubeconfig import Cluster, Login, User
from reprieve.cluster.mini.rest.server import Endpoint, Server
from reprieve.cluster.port import Cluster as Port
from reprieve.runtime.loop import Loop
from reprieve.runtime.virtual_time import clock, run
from reprieve.scheduler.core import Scheduler
from tests.simulation.chaos import TOKEN, BadRelay, Chaos, Fate, MoodyFront
from tests.simulation.crowded_play import CrowdedPlay, Tally
from tests.simulation.invariants import Tell, hold
from tests.simulation.play import first_of, silent
from tests.simulation.scenario import TROUBLED_SECONDS

# Shorter than a cluster is given to come to rest, and longer than the pauses of a quiet watch.
_LIMITS = Limits(silence_seconds=70.0, request_seconds=8.0)


class ChaoticPlay(CrowdedPlay):
    def __init__(self, seed: int, tell: Tell) -> None:
        super().__init__(seed, tell)
        self._chaos = Chaos(seed, TROUBLED_SECONDS)
        self._port: Port = self._cluster
        self.wronged = 0

    async def act(self) -> Tally:
        front = MoodyFront(self._cluster, self._chaos)
        async with Server(front, Endpoint()) as server:
            relay = BadRelay(server.port, self._chaos)
            async with relay.listening() as port, _reached(port) as self._port:
                tally = await super().act()
        self._check_nothing_told_twice()
        self.wronged = front.refusals + relay.fates.total() - relay.fates[Fate.PEACE]
        return tally

    def _loop(self, scheduler: Scheduler) -> Loop:
        return Loop(scheduler, self._port, clock, self._decided)

    def _check_nothing_told_twice(self) -> None:
        """Whoever two plans ask to go is told of both."""
        events = self._cluster.list("Event")
        told = Counter((e["involvedObject"].get("uid"), e["reason"], e["message"]) for e in events)
        twice = [key for key, count in told.items() if count > 1 and key[1] in ("Scheduled", "Preempted")]
        hold(not twice, f"these were told twice: {twice}")


@asynccontextmanager
async def _reached(port: int) -> AsyncIterator[Port]:
    login = Login(Cluster(server=f"http://127.0.0.1:{port}"), User(token=TOKEN))
    async with kube_cluster(Access(login), clock, _LIMITS) as cluster:
        yield cluster


def play_chaos(seed: int, tell: Tell = silent) -> tuple[Tally, int]:
    """How much was going on, and how often somebody was wronged."""
    play = ChaoticPlay(seed, tell)
    try:
        return run(play.act()), play.wronged
    except Exception as error:
        first = first_of(error)
        first.add_note(f"to see it happen: python -m tests.simulation.over_http {seed}")
        raise first from None


if __name__ == "__main__":
    import sys

    print(play_chaos(int(sys.argv[1]), print))
