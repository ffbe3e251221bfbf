"""Time that jumps: timers fire in order and exactly, without real waiting."""

import asyncio
from time import monotonic

import pytest

from reprieve_minicluster.virtual_time import EPOCH, StuckError, clock, run

DAY = 86400.0


def test_timers_fire_in_the_order_of_their_times() -> None:
    async def main() -> list[str]:
        fired: list[str] = []
        loop = asyncio.get_running_loop()
        for seconds, name in ((3.0, "last"), (1.0, "first"), (2.0, "middle")):
            loop.call_later(seconds, fired.append, name)
        await asyncio.sleep(5.0)
        return fired

    assert run(main()) == ["first", "middle", "last"]


def test_days_pass_at_once_and_exactly() -> None:
    async def main() -> tuple[float, list[float]]:
        time, late = asyncio.get_running_loop().time, []
        for minute in range(1, 7 * 24 * 60 + 1):
            await asyncio.sleep(minute * 60.0 - time())
            late.append(time() - minute * 60.0)
        await asyncio.sleep(400 * DAY)
        return time(), late

    began = monotonic()
    now, late = run(main())
    assert now == 407 * DAY
    assert set(late) == {0.0}
    assert monotonic() - began < 30.0


def test_the_clock_starts_at_the_epoch_and_follows_the_loop() -> None:
    async def main() -> tuple[float, float]:
        before = clock()
        await asyncio.sleep(90.0)
        return before, clock()

    assert run(main()) == (EPOCH, EPOCH + 90.0)


def test_what_is_ready_goes_before_time_passes() -> None:
    async def main() -> list[str]:
        seen: list[str] = []
        asyncio.get_running_loop().call_later(0.001, seen.append, "later")
        for _ in range(100):
            await asyncio.sleep(0)
        seen.append("now")
        await asyncio.sleep(1.0)
        return seen

    assert run(main()) == ["now", "later"]


def test_a_timeout_strikes_in_virtual_time() -> None:
    async def main() -> float:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(3600.0):
                await asyncio.Event().wait()
        return asyncio.get_running_loop().time()

    assert run(main()) == 3600.0


def test_sockets_on_this_machine_work() -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        name = await reader.readline()
        await asyncio.sleep(DAY)
        writer.write(b"hello " + name)
        writer.close()

    async def main() -> tuple[bytes, float]:
        server = await asyncio.start_server(greet, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(b"pod\n")
        answer = await reader.readline()
        writer.close()
        server.close()
        await server.wait_closed()
        return answer, asyncio.get_running_loop().time()

    assert run(main()) == (b"hello pod\n", DAY)


def test_waiting_for_nothing_is_an_error() -> None:
    async def main() -> None:
        await asyncio.Event().wait()

    with pytest.raises(StuckError, match="every task waits"):
        run(main())


def test_each_run_starts_at_zero() -> None:
    async def main() -> float:
        await asyncio.sleep(5.0)
        return asyncio.get_running_loop().time()

    assert [run(main()), run(main())] == [5.0, 5.0]


def test_for_a_reader_that_looks_on_time_passes_at_a_speed() -> None:
    async def main() -> None:
        await asyncio.sleep(20.0)

    began = monotonic()
    run(main(), speed=400.0)
    assert monotonic() - began >= 0.05
