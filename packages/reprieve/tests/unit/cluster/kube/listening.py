"""A server on a socket that answers as it is told, byte by byte if need be."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from reprieve.cluster.kube.requests import ApiCall, KubeRequest, answer_to

Answering = Callable[[asyncio.StreamWriter, str], Awaitable[None]]


@dataclass
class Listener:
    """``heads``: of every request that came, with the number of its connection before it."""

    port: int
    heads: list[tuple[int, str]] = field(default_factory=list)

    @property
    def connections(self) -> int:
        return len({number for number, _ in self.heads})


def text(status: str, body: str = "{}", **headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Content-Type: application/json"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n" + body).encode()


def always(*answers: bytes) -> Answering:
    """The answers one after the other, and the last one for ever."""
    left = list(answers)

    async def answer(writer: asyncio.StreamWriter, head: str) -> None:
        writer.write(left.pop(0) if len(left) > 1 else left[0])

    return answer


def once(request: KubeRequest) -> ApiCall:
    """A conversation of one request."""
    response = yield request
    return answer_to(response)


@asynccontextmanager
async def listening(answering: Answering, tls: ssl.SSLContext | None = None) -> AsyncIterator[Listener]:
    listener = Listener(0)
    numbers = iter(range(1000))
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number, task = next(numbers), asyncio.current_task()
        assert task is not None
        tasks.add(task)
        with suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            while not writer.is_closing():
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                await reader.readexactly(_length(head))
                listener.heads.append((number, head))
                await answering(writer, head)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    listener.port = server.sockets[0].getsockname()[1]
    try:
        yield listener
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _length(head: str) -> int:
    for line in head.split("\r\n"):
        name, _, value = line.partition(":")
        if name.lower() == "content-length":
            return int(value)
    return 0
