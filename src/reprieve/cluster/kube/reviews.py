"""Who is it that asks us, and may they? The API server knows: TokenReview and SubjectAccessReview.

What it said counts for a few seconds, as in kube-scheduler: whoever scrapes metrics comes again and again.
"""

import asyncio
import hashlib
from collections.abc import Generator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import msgspec

from reprieve.cluster.kube.client import Connection, NoAnswerError
from reprieve.cluster.kube.requests import Request, Response

Json = dict[str, Any]

_GOOD_FOR = 10.0  # seconds
_REMEMBERED = 1000  # then everything is asked anew
_TOKENS = ("authentication.k8s.io/v1", "TokenReview")
_RIGHTS = ("authorization.k8s.io/v1", "SubjectAccessReview")


class _Person(msgspec.Struct, frozen=True):
    """As the server tells it, and wants to hear it."""

    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = {}


class _TokenStatus(msgspec.Struct, frozen=True):
    authenticated: bool = False
    user: _Person = _Person()


class _RightStatus(msgspec.Struct, frozen=True):
    allowed: bool = False


NOBODY = _Person("system:anonymous", groups=("system:unauthenticated",))


class UndecidedError(Exception):
    """The server did not say."""


def who_has(token: str) -> Generator[Request, Response, _Person | None]:
    status = yield from _asked(*_TOKENS, {"token": token})
    found = msgspec.convert(status, _TokenStatus)
    return found.user if found.authenticated else None


def may(person: _Person, path: str) -> Generator[Request, Response, bool]:
    spec = {
        "user": person.username,
        "uid": person.uid,
        "groups": person.groups,
        "extra": person.extra,
        "nonResourceAttributes": {"path": path, "verb": "get"},
    }
    status = yield from _asked(*_RIGHTS, spec)
    return msgspec.convert(status, _RightStatus).allowed


def _asked(api_version: str, kind: str, spec: Json) -> Generator[Request, Response, object]:
    body = msgspec.json.encode({"apiVersion": api_version, "kind": kind, "spec": spec})
    response = yield Request("POST", f"/apis/{api_version}/{kind.lower()}s", (), body)
    if not response.is_success:
        raise UndecidedError(response.message)
    return response.object.get("status") or {}


@dataclass(frozen=True, slots=True)
class _Said:
    refusal: tuple[int, str] | None
    until: float


class Doorkeeper:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._said: dict[tuple[bytes, str], _Said] = {}

    async def refusal(self, token: str, path: str) -> tuple[int, str] | None:
        """Why somebody may not read a page, as an HTTP status and a sentence; None if they may."""
        now = asyncio.get_running_loop().time()
        # Tokens of others are not kept, only what tells them apart.
        key = hashlib.sha256(token.encode()).digest(), path
        known = self._said.get(key)
        if known is not None and now < known.until:
            return known.refusal
        try:
            refusal = await self._judged(token, path)
        except (NoAnswerError, UndecidedError, msgspec.ValidationError) as error:
            return HTTPStatus.SERVICE_UNAVAILABLE, f"who may read {path} could not be found out: {error}"
        if len(self._said) >= _REMEMBERED:
            self._said.clear()
        self._said[key] = _Said(refusal, now + _GOOD_FOR)
        return refusal

    async def _judged(self, token: str, path: str) -> tuple[int, str] | None:
        person = await self._connection.ask(who_has(token)) if token else NOBODY
        if person is None:
            return (
                HTTPStatus.UNAUTHORIZED,
                "Unauthorized: the token is not of this cluster, or no longer good",
            )
        if not await self._connection.ask(may(person, path)):
            return HTTPStatus.FORBIDDEN, f'forbidden: User "{person.username}" cannot get path "{path}"'
        return None
