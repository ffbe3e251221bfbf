"""The front on a socket: HTTP in, HTTP out. What a request means is not known here."""

import asyncio
import contextlib
import logging
import ssl
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from aiohttp import web
from aiohttp.web_exceptions import HTTPRequestEntityTooLarge

from reprieve.cluster.certificates import CertificateSubject, subject_of
from reprieve.cluster.mini.cluster import MiniCluster
from reprieve.cluster.mini.errors import ApiError, bad_request
from reprieve.cluster.mini.rest.bodies import LARGEST
from reprieve.cluster.mini.rest.exchange import JSON, Answer, Request, Response, Stream
from reprieve.cluster.mini.rest.front import Front
from reprieve.cluster.mini.rest.statuses import refusal
from reprieve.cluster.mini.rights.users import User
from reprieve.cluster.mini.setup import LOOPBACK

_LONGEST_LINE = 64 * 1024  # selectors and tokens stand in the first line
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where to serve. Port 0 is any that is free; without a context there is no TLS."""

    host: str = LOOPBACK
    port: int = 0
    tls: ssl.SSLContext | None = None


ANYWHERE = Endpoint()


class _Connection(web.RequestHandler):
    """What is no proper request is answered by a Status as well, and is nothing for the log."""

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        if request.writer.output_size > 0:
            raise ConnectionError("an answer has begun already, and cannot be followed by another")
        if status < 500:
            told = " ".join(str(message or "no more is known").split())
            answer = _carried(refusal(bad_request(f"the request is not proper HTTP: {told}")))
        else:
            _log.error("%s %s failed", request.method, request.rel_url.raw_path, exc_info=exc)
            answer = _carried(refusal(_our_mistake()))
        answer.force_close()
        return answer


class _Connections(web.Server):
    def __call__(self) -> web.RequestHandler:
        return _Connection(self, loop=self._loop, **self._kwargs)


class Server:
    """Serves on the running event loop. To be stopped, or used in an ``async with`` statement."""

    def __init__(self, front: Front, endpoint: Endpoint) -> None:
        self._front = front
        self._endpoint = endpoint
        self._streams: set[asyncio.Task[object]] = set()
        self._port = endpoint.port
        self._runner: web.ServerRunner | None = None

    @property
    def port(self) -> int:
        return self._port

    @property
    def url(self) -> str:
        host = f"[{self._endpoint.host}]" if ":" in self._endpoint.host else self._endpoint.host
        return f"{'https' if self._endpoint.tls else 'http'}://{host}:{self._port}"

    async def start(self) -> None:
        """An OSError when the address cannot be had."""
        runner = web.ServerRunner(self._protocol(), shutdown_timeout=1.0)
        await runner.setup()
        end = self._endpoint
        try:
            await web.TCPSite(runner, end.host, end.port, ssl_context=end.tls).start()
        except OSError:
            await runner.cleanup()
            raise
        self._runner = runner
        self._port = int(runner.addresses[0][1])

    def _protocol(self) -> web.Server:
        loop = asyncio.get_running_loop()

        def request(message: Any, payload: Any, protocol: Any, writer: Any, task: Any) -> web.BaseRequest:
            return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=LARGEST)

        return _Connections(
            self._handle,
            request_factory=request,
            handler_cancellation=True,
            access_log=None,
            max_line_size=_LONGEST_LINE,
            max_field_size=_LONGEST_LINE,
        )

    async def stop(self) -> None:
        self.disconnect()
        if self._runner is not None:
            await self._runner.cleanup()

    def disconnect(self) -> None:
        """Breaks every open watch, as a network may do at any time."""
        for task in self._streams:
            task.cancel()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    # --- one request -----------------------------------------------------------------------------

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        answer = await self._answer(request)
        match answer:
            case Response():
                return _carried(answer)
            case Stream():
                return await self._stream(request, answer)

    async def _answer(self, request: web.BaseRequest) -> Answer:
        try:
            user = self._front.who(request.rel_url.raw_path, request.headers, _shown(request))
            body = await request.read()
        except ApiError as error:
            return refusal(error)
        except HTTPRequestEntityTooLarge:
            return refusal(
                ApiError(413, "RequestEntityTooLarge", f"the body of a request may have {LARGEST} bytes")
            )
        except web.RequestPayloadError:
            return refusal(bad_request("the body of the request is not encoded as it says"))
        try:
            return self._front.answer(_understood(request, body, user))
        except Exception:
            # A mistake of ours. The client is told no more than that, and the log has the rest.
            _log.exception("%s %s failed", request.method, request.rel_url.raw_path)
            return refusal(_our_mistake())

    async def _stream(self, request: web.BaseRequest, stream: Stream) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": JSON, **stream.headers})
        response.enable_chunked_encoding()
        task = asyncio.current_task()
        assert task is not None
        self._streams.add(task)
        try:
            await response.prepare(request)
            async with contextlib.aclosing(stream.chunks) as chunks:
                async for chunk in chunks:
                    await response.write(chunk)
            await response.write_eof()
        except (ConnectionError, asyncio.CancelledError):
            # The client is gone, or the watch was broken off: either way nobody listens any more.
            if request.transport is not None:
                request.transport.abort()
        finally:
            self._streams.discard(task)
        return response


def _carried(answer: Response) -> web.Response:
    headers = {"Content-Type": answer.content_type, **answer.headers}
    return web.Response(status=answer.status, body=answer.body, headers=headers)


def _shown(request: web.BaseRequest) -> CertificateSubject | None:
    """The certificate of a client, which TLS has verified."""
    transport = request.transport
    return subject_of(transport.get_extra_info("peercert")) if transport is not None else None


def _our_mistake() -> ApiError:
    return ApiError(500, "InternalError", "the mini cluster made a mistake; its log tells more")


def _understood(request: web.BaseRequest, body: bytes, user: User) -> Request:
    return Request(
        method=request.method,
        path=request.rel_url.raw_path,
        query=dict(request.rel_url.query),
        accept=request.headers.get("Accept", ""),
        content_type=request.headers.get("Content-Type", ""),
        body=body,
        user=user,
        agent=request.headers.get("User-Agent", ""),
    )


def serve(cluster: MiniCluster, secret: str, endpoint: Endpoint = ANYWHERE) -> Server:
    """A server that is still to be started. ``secret``: the token of the one who owns the cluster."""
    return Server(Front(cluster.store, cluster.clock, cluster.features, secret), endpoint)
