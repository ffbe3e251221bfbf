"""For how long one leads: until the deadline by whichever clock is ahead, and not a write longer."""

import asyncio
import json
from collections.abc import Awaitable, Callable

from tests.unit.cluster.kube.listening import Listener, always, listening, text

from reprieve.cluster.kube.auth import Access
from reprieve.cluster.kube.client import connected
from reprieve.cluster.kube.kubeconfig import KubeconfigCluster, KubeconfigUser, Login
from reprieve.cluster.kube.lease import Election, LeaseTerms
from reprieve_minicluster.virtual_time import clock, run

LEASE = {"metadata": {"name": "reprieve", "resourceVersion": "1"}, "spec": {"holderIdentity": "we"}}
AGREES = always(text("200 OK", json.dumps(LEASE)))


class SetClock:
    """A wall clock that tests set."""

    ahead = 0.0

    def __call__(self) -> float:
        return clock() + self.ahead


Story = Callable[[Election, SetClock, Listener], Awaitable[None]]


def elected(story: Story) -> None:
    async def main() -> None:
        async with listening(AGREES) as listener:
            access = Access(
                Login(KubeconfigCluster(server=f"http://127.0.0.1:{listener.port}"), KubeconfigUser())
            )
            today = SetClock()
            async with connected(access) as connection:
                election = Election(connection, LeaseTerms("kube-system", "reprieve", "we"), today)
                assert election.seconds_left() < 0 < election.may_write_lease_for()
                await election.win()
                assert election.seconds_left() == election.may_write_lease_for() == 10.0
                await story(election, today, listener)

    run(main())


def test_by_the_clock_that_goes_on() -> None:
    async def story(election: Election, today: SetClock, _: Listener) -> None:
        today.ahead = -1000.0
        await asyncio.sleep(4)
        assert election.seconds_left() == 6.0, "a wall clock that is set back gives no more time"

    elected(story)


def test_by_the_time_of_day_if_that_is_ahead() -> None:
    """The other one stood still while the machine slept."""

    async def story(election: Election, today: SetClock, _: Listener) -> None:
        today.ahead = 30.0
        assert election.seconds_left() == election.may_write_lease_for() == -20.0
        before = asyncio.get_running_loop().time()
        await election.keep()
        assert asyncio.get_running_loop().time() == before

    elected(story)


def test_it_is_renewed_in_time() -> None:
    async def story(election: Election, _: SetClock, listener: Listener) -> None:
        keeping = asyncio.create_task(election.keep())
        await asyncio.sleep(60)
        assert election.seconds_left() > 7
        assert len(listener.heads) > 25
        keeping.cancel()

    elected(story)


def test_what_was_lost_is_not_released() -> None:
    async def story(election: Election, _: SetClock, listener: Listener) -> None:
        await asyncio.sleep(11)
        asked = len(listener.heads)
        await election.release()
        assert len(listener.heads) == asked

    elected(story)


def test_after_a_release_leadership_is_over_whatever_the_server_says() -> None:
    async def story(election: Election, _: SetClock, listener: Listener) -> None:
        asked = len(listener.heads)
        await election.release()
        assert len(listener.heads) == asked + 1
        assert election.seconds_left() < 0

    elected(story)
