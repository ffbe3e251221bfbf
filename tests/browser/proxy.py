"""A line between a browser and a server that a test can cut."""

import asyncio
import contextlib

from tests.browser.background import Background

CHUNK = 65_536


class Proxy:
    """It passes bytes on. Only its own address in requests becomes the server's, which looks at it."""

    def __init__(self, background: Background, port: int) -> None:
        self._background = background
        self._beyond = port
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.open = True
        self._server = background.run(asyncio.start_server(self._connected, "127.0.0.1", 0))
        self.port = self._server.sockets[0].getsockname()[1]

    def cut(self) -> None:
        """Ends all connections, in the middle of whatever they carry."""
        self._background.run(self._cut())

    async def _cut(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    def close(self) -> None:
        self.open = False
        self._background.run(self._closed())

    async def _closed(self) -> None:
        self._server.close()
        await self._cut()
        await asyncio.gather(*self._tasks)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self.open:
            writer.transport.abort()
            return
        beyond_reader, beyond_writer = await asyncio.open_connection("127.0.0.1", self._beyond)
        self._writers |= {writer, beyond_writer}
        ours, theirs = (f"127.0.0.1:{port}".encode() for port in (self.port, self._beyond))
        for work in (
            _passed(reader, beyond_writer, ours, theirs),
            _passed(beyond_reader, writer, b"", b""),
        ):
            task = asyncio.ensure_future(work)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)


async def _passed(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, ours: bytes, theirs: bytes
) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(CHUNK):
            writer.write(data.replace(ours, theirs) if ours else data)
            await writer.drain()
    writer.close()
