"""The API server: first without a socket, where every refusal becomes a Status, then behind an HTTP server.

It authenticates, routes, authorizes and handles a request. A client that stops sending or reading in the
middle costs a connection for a limited time and little memory.
"""

import asyncio
import contextlib
import logging
import ssl
from collections.abc import Awaitable, Generator, Mapping
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Self

from aiohttp import web
from aiohttp.web_exceptions import HTTPRequestEntityTooLarge

from reprieve.cluster.admission.features import DEFAULT_FEATURES, Features
from reprieve.cluster.api.timestamps import Clock
from reprieve.cluster.certificates import CertificateSubject, subject_of
from reprieve.supervision.listening import BoundedSite, ConnectionPlaces, bounds_of_process
from reprieve_minicluster.auth.authentication import ANONYMOUS, AUTHENTICATED, TokenIssuer, UserInfo
from reprieve_minicluster.auth.authorizer import RbacAuthorizer
from reprieve_minicluster.auth.policy_rules import RequestAttributes
from reprieve_minicluster.bootstrap import LOOPBACK
from reprieve_minicluster.cluster import MiniCluster
from reprieve_minicluster.errors import ApiError, bad_request, too_large
from reprieve_minicluster.kinds import BY_NAME
from reprieve_minicluster.rest.api_call import ApiCall, ApiContext, described
from reprieve_minicluster.rest.authorization import attributes_of, authorize, impersonated
from reprieve_minicluster.rest.handlers import handler
from reprieve_minicluster.rest.http_messages import (
    JSON,
    NOTHING,
    Answer,
    ApiRequest,
    ApiResponse,
    Batched,
    Stream,
    Subject,
    refusal,
    status_subject,
    with_warnings,
)
from reprieve_minicluster.rest.listing import PagedLists
from reprieve_minicluster.rest.non_resource_paths import (
    NO_OWN_PAGES,
    NO_PAGES,
    PUBLIC,
    OwnPages,
    Page,
    Pages,
    respond,
)
from reprieve_minicluster.rest.query_parameters import Query
from reprieve_minicluster.rest.request_bodies import LARGEST
from reprieve_minicluster.rest.routes import NonResourcePath, ResourcePath, catalogue_of, route
from reprieve_minicluster.rest.serialization import serializer_of
from reprieve_minicluster.store import StorageError, Store
from reprieve_minicluster.store.metadata import Identity
from reprieve_minicluster.webhooks.calls import Replies, UnansweredError, Webhooks
from reprieve_minicluster.webhooks.client import WebhookClient
from reprieve_minicluster.webhooks.reviews import RequestOrigin

_REVIEW_SECONDS = 60.0  # for all webhooks of a request


class ApiServer:
    """``secret`` signs the tokens of this cluster, and is the admin token."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        features: Features = DEFAULT_FEATURES,
        secret: str = "",
        own: OwnPages = NO_OWN_PAGES,
    ) -> None:
        self._own = own
        self._api = ApiContext(
            store,
            PagedLists(store),
            clock,
            features,
            RbacAuthorizer(store),
            TokenIssuer(secret),
            WebhookClient(),
        )
        self._features = features
        self._kinds = store.kinds
        self._catalogue = catalogue_of(features, store.kinds.values())

    def authenticate(
        self, path: str, headers: Mapping[str, str], certificate: CertificateSubject | None = None
    ) -> UserInfo:
        """The user of a request; an ApiError 401 without valid credentials, 400 or 403 for an impersonation
        that is malformed or forbidden.

        ``headers``: may be a multi-mapping. ``certificate``: the subject of a verified client certificate.
        """
        return impersonated(self._api.authorizer, self._sender(path, headers, certificate), headers)

    def _sender(
        self, path: str, headers: Mapping[str, str], certificate: CertificateSubject | None
    ) -> UserInfo:
        if certificate is not None:
            return UserInfo(certificate.name, (*certificate.groups, AUTHENTICATED))
        given = next((value for name, value in headers.items() if name.lower() == "authorization"), "")
        if not given and path.strip("/").split("/")[0] in PUBLIC:
            return ANONYMOUS
        scheme, _, token = given.partition(" ")
        known = self._api.issuer.user_of(token.strip(), self._api.store, self._api.clock())
        if scheme.lower() != "bearer" or known is None:
            needed = "the request needs a bearer token or a client certificate of this cluster"
            raise ApiError(401, "Unauthorized", f"Unauthorized: {needed}")
        return known

    def answer(self, request: ApiRequest) -> Answer:
        """An UnansweredError if it needs further replies of webhooks: then nothing has changed."""
        before = self._api.store.version
        try:
            return self._answered(request)
        except UnansweredError:
            assert self._api.store.version == before, "a request must ask before it writes"
            raise

    async def reviewed(self, request: ApiRequest) -> Answer:
        """The answer when the webhooks that it needs have replied, for a limited time."""

        def attempt(replies: Replies, identity: Identity | None) -> Answer:
            return self.answer(replace(request, replies=replies, identity=identity))

        try:
            async with asyncio.timeout(_REVIEW_SECONDS):
                return await self._api.client.attempted(attempt, self._api.store)
        except TimeoutError:
            message = f"webhooks have not answered the request within {_REVIEW_SECONDS:g} s"
            return refusal(ApiError(504, "Timeout", message))
        except ApiError as error:
            return refusal(error)

    def _answered(self, request: ApiRequest) -> Answer:
        place: ResourcePath | NonResourcePath = NonResourcePath(())
        warnings: list[str] = []
        self._refresh_kinds()
        try:
            place = route(request.path, self._catalogue)
            Query(request.query).check_timeout()
            if isinstance(place, NonResourcePath):
                return self._non_resource(place, request)
            authorize(self._api.authorizer, request.user, attributes_of(place, request))
            if place.kind.converted_by_webhook and request.method != "GET":
                # What is to be said of an object must be known before it is written.
                dry = replace(request, query={**request.query, "dryRun": "All"})
                rehearsed = handler(place, request.method)(self._call(place, dry, []))
                if isinstance(rehearsed, ApiResponse) and rehearsed.status >= 400:
                    return rehearsed
            found = handler(place, request.method)(self._call(place, request, warnings))
        except (ApiError, StorageError) as error:
            found = _refusal(place, error)
        if isinstance(found, ApiResponse):
            return with_warnings(found, tuple(warnings))
        return Batched(_refusing(place, found.batches)) if isinstance(found, Batched) else found

    def _refresh_kinds(self) -> None:
        """Pick up kinds of new or deleted CustomResourceDefinitions."""
        if self._api.store.kinds is not self._kinds:
            self._kinds = self._api.store.kinds
            self._catalogue = catalogue_of(self._features, self._kinds.values())

    def _non_resource(self, place: NonResourcePath, request: ApiRequest) -> ApiResponse:
        if not place.steps or place.steps[0] not in PUBLIC:
            authorize(self._api.authorizer, request.user, attributes_of(place, request))
        page = self._own.pages.get(request.path)
        found = (
            self._page(page, request)
            if page is not None
            else respond(place, request, self._catalogue, self._own.probes)
        )
        if request.method != "GET":
            raise ApiError(
                405,
                "MethodNotAllowed",
                f"the server does not allow this method on the requested resource: {request.method}",
            )
        return found

    def _page(self, page: Page, request: ApiRequest) -> ApiResponse:
        def may_get(kind: str, namespace: str) -> bool:
            known = BY_NAME.get(kind)
            return known is not None and any(
                self._api.authorizer.allows(
                    request.user,
                    RequestAttributes("get", version.rpartition("/")[0], known.plural, "", namespace),
                )
                for version in known.served
            )

        try:
            content = page.content(request.query, may_get)
        except ValueError as error:
            raise bad_request(str(error)) from error
        return ApiResponse(200, content, content_type=page.content_type)

    def _call(self, place: ResourcePath, request: ApiRequest, warnings: list[str]) -> ApiCall:
        query = Query(request.query)
        is_list = not place.name and request.method in ("GET", "DELETE")
        webhooks = Webhooks(self._api.store, request.replies)
        serializer = serializer_of(place, request, self._api.clock(), webhooks, is_list=is_list)
        origin = RequestOrigin(
            described(request.user), webhooks, query.is_dry_run, request.identity, warnings
        )
        return ApiCall(self._api, place, request, query, serializer, origin)


def _refusing(
    place: ResourcePath | NonResourcePath, batches: Generator[None, None, ApiResponse]
) -> Generator[None, None, ApiResponse]:
    try:
        return (yield from batches)
    except (ApiError, StorageError) as error:
        return _refusal(place, error)


def _refusal(place: ResourcePath | NonResourcePath, error: ApiError | StorageError) -> ApiResponse:
    if isinstance(error, ApiError):
        return refusal(error, _subject(place, error))
    return refusal(ApiError(507, "InsufficientStorage", f"the change could not be stored: {error}"))


def _subject(place: ResourcePath | NonResourcePath, error: ApiError) -> Subject:
    """A Status for an invalid object names its kind, any other the resource."""
    if isinstance(place, NonResourcePath):
        return NOTHING
    subject = status_subject(place.kind, place.name or error.name)
    return replace(subject, what=place.kind.kind) if error.status == 422 else subject


_LONGEST_LINE = 64 * 1024  # the request line includes selectors and continue tokens
_IDLE_SECONDS = 90.0  # without a request, or with half of the head of one
_BODY_SECONDS = 60.0
_MOST_CONNECTIONS = 4096
_UNREAD_SECONDS = 30.0  # between two looks at a client that takes nothing; at the second it is disconnected
_SMALL = 64 * 1024  # bytes, that the transport takes without waiting for the client
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """Port 0 means any free port; without a context there is no TLS."""

    host: str = LOOPBACK
    port: int = 0
    tls: ssl.SSLContext | None = None


ANYWHERE = ListenAddress()


class _Connection(web.RequestHandler):
    """Answers malformed HTTP with a Status, and does not log it: it is the client's mistake."""

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        if request.writer.output_size > 0:
            raise ConnectionError("the response has started already, and cannot be replaced by an error")
        if status < 500:
            detail = " ".join(str(message or "no details").split())
            answer = _response_of(refusal(bad_request(f"the request is not valid HTTP: {detail}")))
        else:
            _log.error("%s %s failed", request.method, request.rel_url.raw_path, exc_info=exc)
            answer = _response_of(refusal(_internal_error()))
        answer.force_close()
        return answer


class _Connections(web.Server):
    def __call__(self) -> web.RequestHandler:
        return _Connection(self, loop=self._loop, **self._kwargs)


class _Patience:
    """Disconnects a client that takes nothing of a response for a while.

    It looks from time to time whether anything moves: a timer for each write would cost more than the write.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        transport.set_write_buffer_limits(high=_SMALL)  # asyncio's own is eight times that with TLS
        self._transport = transport
        self._writes = 0
        self._waits = False
        self._seen = (0, 0)
        self._timer = self._look_later()

    def _look_later(self) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(_UNREAD_SECONDS, self._look)

    def _look(self) -> None:
        seen = (self._writes, self._transport.get_write_buffer_size())
        if self._waits and seen == self._seen:
            self._transport.abort()
            return
        self._seen = seen
        self._timer = self._look_later()

    async def during(self, write: Awaitable[None]) -> None:
        self._writes += 1
        self._waits = True
        await write
        self._waits = False

    def close(self) -> None:
        self._timer.cancel()


class HttpServer:
    """Serves on the running event loop. Stop it, or use it in an ``async with`` statement."""

    def __init__(self, api_server: ApiServer, endpoint: ListenAddress) -> None:
        self._api_server = api_server
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
        """An OSError when the address is in use or not available."""
        runner = web.ServerRunner(self._protocol(), shutdown_timeout=1.0)
        await runner.setup()
        end = self._endpoint
        try:
            places = ConnectionPlaces(bounds_of_process(_MOST_CONNECTIONS))
            await BoundedSite(runner, (end.host, end.port), places, tls=end.tls).start()
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
            keepalive_timeout=_IDLE_SECONDS,
        )

    async def stop(self) -> None:
        self.disconnect()
        if self._runner is not None:
            await self._runner.cleanup()

    def disconnect(self) -> None:
        """Break every open watch, as a network may do at any time."""
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
            case ApiResponse():
                response = _response_of(answer)
                if len(answer.body) > _SMALL:
                    await _send(request, response)
                return response
            case Stream():
                return await self._stream(request, answer)

    async def _answer(self, request: web.BaseRequest) -> ApiResponse | Stream:
        try:
            user = self._api_server.authenticate(
                request.rel_url.raw_path, request.headers, _certificate(request)
            )
            async with asyncio.timeout(_BODY_SECONDS):
                body = await request.read()
        except TimeoutError:
            return refusal(
                ApiError(408, "Timeout", f"the body of the request was not sent within {_BODY_SECONDS:g} s")
            )
        except ApiError as error:
            return refusal(error)
        except HTTPRequestEntityTooLarge:
            return refusal(too_large(f"the body of the request is too large: the limit is {LARGEST} bytes"))
        except web.RequestPayloadError:
            return refusal(bad_request("the body of the request does not match its Content-Encoding"))
        try:
            asked = _request_of(request, body, user)
            try:
                answer = self._api_server.answer(asked)
            except UnansweredError:
                answer = await self._api_server.reviewed(asked)
            return await _finished(answer) if isinstance(answer, Batched) else answer
        except Exception:
            # A bug of the server: the client gets a plain 500, and the log the traceback.
            _log.exception("%s %s failed", request.method, request.rel_url.raw_path)
            return refusal(_internal_error())

    async def _stream(self, request: web.BaseRequest, stream: Stream) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": JSON, **stream.headers})
        response.enable_chunked_encoding()
        task = asyncio.current_task()
        assert task is not None
        self._streams.add(task)
        try:
            await response.prepare(request)
            with contextlib.closing(_Patience(_transport(request))) as patience:
                async with contextlib.aclosing(stream.chunks) as chunks:
                    async for chunk in chunks:
                        await patience.during(response.write(chunk))
            await response.write_eof()
        except (ConnectionError, asyncio.CancelledError):
            # The client has disconnected, or the watch was broken: no more can be sent.
            if request.transport is not None:
                request.transport.abort()
        finally:
            self._streams.discard(task)
        return response


async def _finished(batched: Batched) -> ApiResponse:
    """Other requests have their turn between two batches."""
    while (response := batched.next()) is None:
        await asyncio.sleep(0)
    return response


async def _send(request: web.BaseRequest, response: web.Response) -> None:
    with contextlib.closing(_Patience(_transport(request))) as patience:
        await response.prepare(request)
        await patience.during(response.write_eof())


def _transport(request: web.BaseRequest) -> asyncio.Transport:
    if request.transport is None:
        raise ConnectionResetError("the client has disconnected")
    return request.transport


def _response_of(answer: ApiResponse) -> web.Response:
    headers = {"Content-Type": answer.content_type, **answer.headers}
    return web.Response(status=answer.status, body=answer.body, headers=headers)


def _certificate(request: web.BaseRequest) -> CertificateSubject | None:
    """The subject of the client certificate, which TLS has verified."""
    transport = request.transport
    return subject_of(transport.get_extra_info("peercert")) if transport is not None else None


def _internal_error() -> ApiError:
    return ApiError(500, "InternalError", "Internal error occurred: the log of the mini cluster has details")


def _request_of(request: web.BaseRequest, body: bytes, user: UserInfo) -> ApiRequest:
    return ApiRequest(
        method=request.method,
        path=request.rel_url.raw_path,
        query=dict(request.rel_url.query),
        accept=_header(request, "Accept"),
        content_type=_header(request, "Content-Type"),
        body=body,
        user=user,
        agent=_header(request, "User-Agent"),
    )


def _header(request: web.BaseRequest, name: str) -> str:
    """A header as valid Unicode: aiohttp puts surrogates for other bytes, which no response can have."""
    return request.headers.get(name, "").encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def serve(
    cluster: MiniCluster, secret: str, endpoint: ListenAddress = ANYWHERE, pages: Pages = NO_PAGES
) -> HttpServer:
    """A server that is not started yet. ``secret``: the admin token."""
    probes = {"healthz": cluster.alive, "livez": cluster.alive, "readyz": cluster.ready}
    return HttpServer(
        ApiServer(cluster.store, cluster.clock, cluster.features, secret, OwnPages(probes, pages)), endpoint
    )
