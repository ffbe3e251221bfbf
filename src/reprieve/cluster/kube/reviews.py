"""Who is it that asks us, and may they? A certificate tells who, or the API server by a TokenReview; and what
they may, the server tells by a SubjectAccessReview.

What it said counts for a few seconds, as in kube-scheduler: whoever scrapes metrics comes again and again.
"""

import asyncio
import hashlib
from collections.abc import Generator
from dataclasses import dataclass
from http import HTTPStatus

import msgspec

from reprieve.cluster.certificates import Bearer
from reprieve.cluster.kube.client import Connection, NoAnswerError
from reprieve.cluster.kube.requests import Request, Response
from reprieve.model.json import Json

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
_AUTHENTICATED, _MASTERS = "system:authenticated", "system:masters"


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
class Memory:
    """For how many seconds counts who has a token, that somebody may, and that somebody may not."""

    token: float
    allowed: float
    refused: float


@dataclass(frozen=True, slots=True)
class _Said:
    refusal: tuple[int, str] | None
    until: float


class Doorkeeper:
    """``who`` and ``may``: whom to ask for either."""

    def __init__(self, who: Connection, may: Connection, memory: Memory) -> None:
        self._who = who
        self._may = may
        self._memory = memory
        self._said: dict[tuple[bytes, Bearer | None, str], _Said] = {}

    async def refusal(self, token: str, bearer: Bearer | None, path: str) -> tuple[int, str] | None:
        """Why somebody may not read a page, as an HTTP status and a sentence; None if they may.

        ``bearer``: of a certificate that was verified; it counts before a token.
        """
        now = asyncio.get_running_loop().time()
        # Tokens of others are not kept, only what tells them apart.
        key = hashlib.sha256(token.encode()).digest(), bearer, path
        known = self._said.get(key)
        if known is not None and now < known.until:
            return known.refusal
        try:
            refusal = await self._judged(token, bearer, path)
        except (NoAnswerError, UndecidedError, msgspec.ValidationError) as error:
            return HTTPStatus.SERVICE_UNAVAILABLE, f"who may read {path} could not be found out: {error}"
        if len(self._said) >= _REMEMBERED:
            self._said.clear()
        self._said[key] = _Said(refusal, now + self._good_for(refusal))
        return refusal

    def _good_for(self, refusal: tuple[int, str] | None) -> float:
        return min(self._memory.token, self._memory.allowed if refusal is None else self._memory.refused)

    async def _judged(self, token: str, bearer: Bearer | None, path: str) -> tuple[int, str] | None:
        person = await self._person(token, bearer)
        if person is None:
            return (
                HTTPStatus.UNAUTHORIZED,
                "Unauthorized: the token is not of this cluster, or no longer good",
            )
        # Whoever may do everything in the cluster need not be asked for, as in kube-scheduler.
        if _MASTERS in person.groups or await self._may.ask(may(person, path)):
            return None
        return HTTPStatus.FORBIDDEN, f'forbidden: User "{person.username}" cannot get path "{path}"'

    async def _person(self, token: str, bearer: Bearer | None) -> _Person | None:
        if bearer is not None:
            return _Person(bearer.name, groups=(*bearer.groups, _AUTHENTICATED))
        return await self._who.ask(who_has(token)) if token else NOBODY
