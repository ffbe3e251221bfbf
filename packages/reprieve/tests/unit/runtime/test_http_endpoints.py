"""What is served while the scheduler does not answer."""

import asyncio
from http import HTTPStatus

import aiohttp
from aiohttp import web

from reprieve.runtime.http_endpoints import (
    ContentEndpoint,
    Denial,
    HttpClient,
    application,
)
from reprieve_minicluster.virtual_time import run


async def all_are_allowed(_: HttpClient, __: str) -> Denial | None:
    return None


async def never(*_: object) -> bytes:
    await asyncio.Event().wait()
    return b""


def test_content_that_does_not_come_is_told_after_a_while() -> None:
    async def main() -> tuple[int, str, float]:
        runner = web.AppRunner(application({"/page": ContentEndpoint(never)}, all_are_allowed))
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}/page"
        async with aiohttp.ClientSession() as session, session.get(url) as response:
            text = await response.text()
        seconds = asyncio.get_running_loop().time()
        await runner.cleanup()
        return response.status, text, seconds

    status, text, seconds = run(main())
    assert (status, text) == (503, "scheduling has been blocked for 10 s: see /readyz\n")
    assert 10.0 <= seconds < 11.0


def test_a_token_of_odd_bytes_is_spelled_out() -> None:
    """Bytes that are no UTF-8 become surrogates, which no review could hold."""
    tokens: list[str] = []

    async def authorize(caller: HttpClient, _: str) -> Denial | None:
        tokens.append(caller.token)
        return HTTPStatus.UNAUTHORIZED, "no"

    async def main() -> bytes:
        runner = web.AppRunner(application({"/page": ContentEndpoint(never)}, authorize))
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        reader, writer = await asyncio.open_connection("127.0.0.1", runner.addresses[0][1])
        writer.write(
            b"GET /page HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer \xff\r\n\r\n"
        )
        answer = await reader.read()
        writer.close()
        await runner.cleanup()
        return answer

    assert run(main()).startswith(b"HTTP/1.1 401")
    assert tokens == ["\\udcff"]
