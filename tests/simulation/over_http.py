"""The plays with a scheduler that speaks to its cluster over HTTP, through a network that is not kind."""

import asyncio
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from reprieve.cluster.kube.auth import Access
from reprieve.cluster.kube.client import ClientLimits
from reprieve.cluster.kube.cluster import kube_cluster
from reprieve.cluster.port import ClusterPort
from reprieve.model.moment import on_one_clock
from reprieve.runtime.loop import Loop
from reprieve.scheduler.core import Scheduler
from reprieve_minicluster.virtual_time import clock, run
from tests.simulation.chaos import BadRelay, Chaos, Fate, MoodyFront
from tests.simulation.crowded_play import CrowdedPlay, Tally
from tests.simulation.invariants import Tell, hold
from tests.simulation.play import first_of, silent
from tests.simulation.rotation import Credentials, RotatingServer
from tests.simulation.scenario import TROUBLED_SECONDS

# Shorter than a cluster is given to come to rest, and longer than the pauses of a quiet watch.
_LIMITS = ClientLimits(silence_seconds=70.0, request_seconds=8.0)


@dataclass(frozen=True, slots=True)
class Wrongs:
    """``refused``: requests and connections that did not end well. ``renewed``: credentials, that often.
    ``strangers``: requests of one whose credentials do not count any more."""

    refused: int
    renewed: int
    strangers: int


class ChaoticPlay(CrowdedPlay):
    def __init__(self, seed: int, tell: Tell) -> None:
        super().__init__(seed, tell)
        self._chaos = Chaos(seed, TROUBLED_SECONDS)
        self._port: ClusterPort = self._cluster
        self.wrongs = Wrongs(0, 0, 0)

    async def act(self) -> Tally:
        with TemporaryDirectory(prefix="reprieve-") as folder:
            tally = await self._act_with(Credentials(Path(folder)))
        self._check_nothing_told_twice()
        return tally

    async def _act_with(self, credentials: Credentials) -> Tally:
        front = MoodyFront(self._cluster, self._chaos)
        rotating = RotatingServer(front, credentials, self._chaos)
        async with rotating as server:
            relay = BadRelay(server.port, self._chaos)
            async with relay.listening() as port:
                login = credentials.login(port, by_certificate=self._chaos.seed % 2 == 0)
                async with kube_cluster(
                    Access(login, now=lambda: on_one_clock(clock())), clock, _LIMITS
                ) as self._port:
                    renewing = asyncio.create_task(rotating.renew_all(server, relay))
                    tally = await super().act()
                    await renewing
        refused = front.refusals + relay.fates.total() - relay.fates[Fate.PEACE]
        self.wrongs = Wrongs(refused, rotating.renewed, front.strangers)
        return tally

    def _loop(self, scheduler: Scheduler) -> Loop:
        return Loop(scheduler, self._port, clock, self._decided)

    def _check_nothing_told_twice(self) -> None:
        """A victim of two plans gets the events of both."""
        events = self._cluster.list("Event")
        told = Counter((e["involvedObject"].get("uid"), e["reason"], e["message"]) for e in events)
        twice = [key for key, count in told.items() if count > 1 and key[1] in ("Scheduled", "Preempted")]
        hold(not twice, f"these were told twice: {twice}")


def play_chaos(seed: int, tell: Tell = silent) -> tuple[Tally, Wrongs]:
    """How much was going on, and what went wrong."""
    play = ChaoticPlay(seed, tell)
    try:
        return run(play.act()), play.wrongs
    except Exception as error:
        first = first_of(error)
        first.add_note(f"to see it happen: python -m tests.simulation.over_http {seed}")
        raise first from None


if __name__ == "__main__":
    import sys

    print(play_chaos(int(sys.argv[1]), print))
