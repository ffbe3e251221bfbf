"""How many connections does a server take, how many of one peer, and which one gives its place to another?

All servers listen here: clients without a token cannot take the descriptors that a process needs for its own
calls. When all places are taken, the oldest connection without a request in progress is closed for the new
one: a probe is answered, however many connections are held open. If all have one, the new connection gets one
of a few spare places, where the oldest is closed in any case: enough for a probe, which is answered at once.
"""

import asyncio
import logging
import resource
import socket
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from aiohttp import web

_log = logging.getLogger(__name__)

_BACKLOG = 128
_AGAIN_SECONDS = 1.0  # after an error of accept, which lasts while there is no descriptor
_SILENT_SECONDS = 60.0  # between two lines in the log about that
_SHUTDOWN_SECONDS = 2.0  # for a client to say that TLS ends
_SPARE = 16


@dataclass(frozen=True, slots=True)
class ConnectionBounds:
    """``each``: places of one peer. ``head_seconds``: until the head of the first request is there."""

    most: int
    each: int
    spare: int = _SPARE
    handshake_seconds: float = 5.0
    head_seconds: float = 10.0


def bounds_of_process(most: int) -> ConnectionBounds:
    """Half of the descriptors at most; of these, one peer gets three quarters."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit != resource.RLIM_INFINITY:
        most = min(most, limit // 2)
    return ConnectionBounds(most, most - most // 4)


@dataclass(slots=True, eq=False)
class _Place:
    """``handler``: None until the handshake is done."""

    peer: str
    opening: asyncio.Task[None] | None = None
    handler: web.RequestHandler | None = None

    @property
    def is_open(self) -> bool:
        if self.opening is not None and not self.opening.done():
            return True
        return self.handler is not None and self.handler.connected

    @property
    def is_idle(self) -> bool:
        # Of aiohttp's own state, which has no public name.
        return self.handler is None or self.handler._current_request is None

    def close_if_silent(self) -> None:
        if self.is_idle and self.handler is not None and self.handler._request_count == 0:
            self.close()

    def close(self) -> None:
        if self.opening is not None and not self.opening.done():
            self.opening.cancel()
        elif self.handler is not None and self.handler.transport is not None:
            self.handler.transport.abort()  # what it did not read yet is not waited for


class ConnectionPlaces:
    """Which connections a server has. The oldest comes first."""

    def __init__(self, bounds: ConnectionBounds) -> None:
        self.bounds = bounds
        self._places: list[_Place] = []
        self._spare: list[_Place] = []

    def __len__(self) -> int:
        return sum(place.is_open for place in (*self._places, *self._spare))

    def add(self, place: _Place) -> None:
        """Others give way if there are too many."""
        self._places = [one for one in self._places if one.is_open]
        self._spare = [one for one in self._spare if one.is_open]
        of_peer = [one for one in self._places if one.peer == place.peer]
        rivals = of_peer if len(of_peer) >= self.bounds.each else self._places
        if len(self._places) < self.bounds.most and rivals is not of_peer:
            self._places.append(place)
        elif (idle := next((one for one in rivals if one.is_idle), None)) is not None:
            idle.close()
            self._places.remove(idle)
            self._places.append(place)
        else:
            if len(self._spare) >= self.bounds.spare:
                self._spare.pop(0).close()
            self._spare.append(place)

    def close(self) -> None:
        """Those whose handshake is not done; the others end with the server."""
        for place in (*self._places, *self._spare):
            if place.handler is None:
                place.close()


class BoundedSite(web.BaseSite):
    """An address at which a runner of aiohttp listens. Several may share their places."""

    __slots__ = ("_address", "_places", "_reuse_port")

    def __init__(
        self,
        runner: web.BaseRunner,
        address: tuple[str, int],
        places: ConnectionPlaces,
        *,
        tls: ssl.SSLContext | None = None,
        reuse_port: bool = False,
    ) -> None:
        super().__init__(runner, ssl_context=tls)
        self._address = address
        self._places = places
        self._reuse_port = reuse_port

    @property
    def name(self) -> str:
        host, port = self._address
        return f"{'https' if self._ssl_context else 'http'}://{host}:{port}"

    async def start(self) -> None:
        """An OSError when the address is in use or not available."""
        await super().start()
        # Not by the event loop: that asks a thread, for which no virtual time waits.
        family, *_, address = socket.getaddrinfo(
            *self._address, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.create_server(
            address[:2], family=family, backlog=_BACKLOG, reuse_port=self._reuse_port
        )
        listening.setblocking(False)
        # All that a runner wants of it is to close it, and its address.
        self._server = cast(asyncio.AbstractServer, _Listening(listening, self._take, self._places))

    def _take(self, connection: socket.socket, peer: str) -> None:
        place = _Place(peer)
        self._places.add(place)
        place.opening = asyncio.create_task(self._open(connection, place))

    async def _open(self, connection: socket.socket, place: _Place) -> None:
        loop = asyncio.get_running_loop()
        server = self._runner.server
        assert server is not None
        tls = self._ssl_context
        try:
            _, place.handler = await loop.connect_accepted_socket(
                server,
                connection,
                ssl=tls,
                ssl_handshake_timeout=self._places.bounds.handshake_seconds if tls else None,
                ssl_shutdown_timeout=_SHUTDOWN_SECONDS if tls else None,
            )
        except OSError:
            return  # it does not speak TLS, is too slow, or has gone
        loop.call_later(self._places.bounds.head_seconds, place.close_if_silent)


class _Listening:
    def __init__(
        self,
        listening: socket.socket,
        take: Callable[[socket.socket, str], None],
        places: ConnectionPlaces,
    ) -> None:
        self.sockets: Sequence[socket.socket] = (listening,)
        self._places = places
        self._task = asyncio.create_task(accept_connections(listening, take))

    def close(self) -> None:
        self._task.cancel()
        self._places.close()
        for listening in self.sockets:
            listening.close()


async def accept_connections(listening: socket.socket, take: Callable[[socket.socket, str], None]) -> None:
    """Until it is cancelled. ``take`` gets a connection and the address of its peer."""
    loop = asyncio.get_running_loop()
    failures, silent_until = 0, -_SILENT_SECONDS
    while True:
        try:
            connection, address = await loop.sock_accept(listening)
        except OSError as error:
            failures += 1
            if loop.time() >= silent_until:
                silent_until = loop.time() + _SILENT_SECONDS
                _log.warning("new connections cannot be accepted: %s (%d times so far)", error, failures)
            await asyncio.sleep(_AGAIN_SECONDS)
            continue
        take(connection, str(address[0]))
        await asyncio.sleep(0)  # who opens many at once does not keep out the requests of others
