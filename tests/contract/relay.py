"""Relays bytes between clients and a server, until the test cuts all connections."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

Pump = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Relay:
    def __init__(self, host: str, port: int) -> None:
        self._behind = host, port
        self._connections: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[int]:
        """The port of this machine to connect to."""
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            server.close()
            self.cut_all()
            await asyncio.gather(*self._connections, return_exceptions=True)

    def lead_to(self, port: int) -> None:
        """For new connections; open ones stay."""
        self._behind = self._behind[0], port

    def cut_all(self) -> None:
        for task in self._connections:
            task.cancel()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)
        with suppress(asyncio.CancelledError):
            await self._join(reader, writer)
        writer.transport.abort()

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Until one of the two ends closes the connection, or the test cuts it."""
        there, back = self.met()
        behind, onwards = await asyncio.open_connection(*self._behind)
        pumps = [
            asyncio.ensure_future(there(reader, onwards)),
            asyncio.ensure_future(back(behind, writer)),
        ]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            onwards.transport.abort()
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)

    def met(self) -> tuple[Pump, Pump]:
        """How a new connection is treated: what goes there, and what comes back."""
        return self.pump, self.pump

    async def pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while data := await source.read(4096):
            sink.write(data)
            await sink.drain()
