"""Sends the calls of webhooks, each within its time limit, and a limited number to one target at once.

A webhook that hangs holds up the requests that ask it, and no others. Only this machine is called: a target
is an address of the loopback interface. What goes wrong is part of the reply.
"""

import asyncio
import ssl
from base64 import b64decode
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeVar
from weakref import WeakValueDictionary

import aiohttp

from reprieve.model.sized_cache import cached_by_text
from reprieve_minicluster.errors import ApiError
from reprieve_minicluster.store import Store
from reprieve_minicluster.store.metadata import Identity
from reprieve_minicluster.webhooks.calls import Replies, Reply, UnansweredError, WebhookCall, WebhookTarget

T = TypeVar("T")

_JSON = "application/json"
_MOST_ROUNDS, _MOST_CALLS = 32, 2000  # for one request
_MOST_BYTES = 32 * 1024 * 1024  # of all answers to one request
_AT_ONCE = 32  # calls of one target


class WebhookClient:
    def __init__(self) -> None:
        self._places: WeakValueDictionary[WebhookTarget, asyncio.Semaphore] = WeakValueDictionary()

    async def attempted(self, attempt: Callable[[Replies, Identity | None], T], store: Store) -> T:
        """Repeat what may raise an UnansweredError until it has its replies.

        An ApiError if it needs too many. ``attempt`` takes the replies so far, and with them the identity of
        the object that it may create.
        """
        replies: Replies = {}
        identity: Identity | None = None
        for _ in range(_MOST_ROUNDS):
            try:
                return attempt(replies, identity)
            except UnansweredError as asked:
                if len(replies) + len(asked.calls) > _MOST_CALLS:
                    break
                if identity is None:
                    identity = store.identity()  # what is asked differs with it
                else:
                    replies = await self.ask(asked.calls, replies)
        message = f"the request needs more than {_MOST_ROUNDS} rounds or {_MOST_CALLS} calls of webhooks"
        raise ApiError(500, "InternalError", message)

    async def ask(self, calls: Iterable[WebhookCall], replies: Replies = MappingProxyType({})) -> Replies:
        """The replies so far and these; never an exception for what a webhook does."""
        distinct = list(dict.fromkeys(calls))
        room = _Room(_MOST_BYTES - sum(len(reply.body) for reply in replies.values()))
        more = await asyncio.gather(*(self._reply(call, room) for call in distinct))
        return {**replies, **dict(zip(distinct, more, strict=True))}

    async def _reply(self, call: WebhookCall, room: "_Room") -> Reply:
        places = self._places.setdefault(call.target, asyncio.Semaphore(_AT_ONCE))
        try:
            async with asyncio.timeout(call.seconds), places:
                return Reply(await _answer(call, room))
        except TimeoutError:
            why = "context deadline exceeded"
        except aiohttp.ClientConnectorCertificateError as error:
            why = f"tls: failed to verify certificate: {error.certificate_error}"
        except (aiohttp.ClientError, OSError, ValueError) as error:
            why = str(error) or type(error).__name__
        return Reply(failure=f'Post "{call.shown}": {why}')


@dataclass(slots=True)
class _Room:
    """How many bytes the answers to a request may still have."""

    left: int

    def take(self, size: int) -> None:
        self.left -= size
        if self.left < 0:
            raise ValueError(f"the answers to the request are larger than {_MOST_BYTES} bytes")


async def _answer(call: WebhookCall, room: _Room) -> bytes:
    """A ValueError for an answer that does not count."""
    target = call.target
    host = f"[{target.host}]" if ":" in target.host else target.host
    connector = aiohttp.TCPConnector(ssl=_trusting(target.authority), force_close=True)
    async with (
        aiohttp.ClientSession(connector=connector, auto_decompress=False) as session,
        session.post(
            f"https://{host}:{target.port}{target.path}?timeout={call.seconds}s",
            data=call.body,
            headers={"Content-Type": _JSON, "Accept": _JSON, "Host": target.name},
            server_hostname=target.name,
            allow_redirects=False,
        ) as response,
    ):
        if response.status != 200:
            raise ValueError(f"the webhook answered with status {response.status}")
        body = bytearray()
        async for chunk in response.content.iter_any():
            room.take(len(chunk))
            body += chunk
        return bytes(body)


@cached_by_text(entries=64, size=1 << 20)
def _trusting(authority: str) -> ssl.SSLContext:
    """``authority``: PEM as base64; without one, those of this machine are trusted. A ValueError if it is
    malformed."""
    text = b64decode(authority).decode().strip()
    try:
        return ssl.create_default_context(cadata=text or None)
    except ssl.SSLError as error:
        raise ValueError(f"unable to load root certificates: {error.reason or error}") from error
