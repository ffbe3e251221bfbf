"""Authentication and authorization of requests to our own endpoints, delegated to the API server.

A client certificate names the user, or a TokenReview does; a SubjectAccessReview says what the user may read.
Answers are cached for a few seconds, as in kube-scheduler: Prometheus scrapes again and again.
"""

import asyncio
import hashlib
from collections.abc import Collection, Generator
from dataclasses import dataclass
from http import HTTPStatus

import msgspec

from reprieve.cluster.certificates import CertificateSubject
from reprieve.cluster.kube.client import Connection, NoAnswerError
from reprieve.cluster.kube.requests import KubeRequest, KubeResponse
from reprieve.model.json import Json

_MOST_CACHED = 1000  # then the cache starts over
_AT_ONCE = 4  # reviews for one reader
_TOKENS = ("authentication.k8s.io/v1", "TokenReview")
_ACCESS = ("authorization.k8s.io/v1", "SubjectAccessReview")


class _UserInfo(msgspec.Struct, frozen=True):
    """As in a TokenReview's status, and in a SubjectAccessReview's spec."""

    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = {}


class _TokenStatus(msgspec.Struct, frozen=True):
    authenticated: bool = False
    user: _UserInfo = _UserInfo()


class _AccessStatus(msgspec.Struct, frozen=True):
    allowed: bool = False


ANONYMOUS = _UserInfo("system:anonymous", groups=("system:unauthenticated",))
_AUTHENTICATED, _MASTERS = "system:authenticated", "system:masters"


class UndecidedError(Exception):
    """The server rejected the review itself."""


def token_review(token: str) -> Generator[KubeRequest, KubeResponse, _UserInfo | None]:
    status = yield from _review(*_TOKENS, {"token": token})
    found = msgspec.convert(status, _TokenStatus)
    return found.user if found.authenticated else None


def subject_access_review(user: _UserInfo, path: str) -> Generator[KubeRequest, KubeResponse, bool]:
    spec = {**_subject(user), "nonResourceAttributes": {"path": path, "verb": "get"}}
    status = yield from _review(*_ACCESS, spec)
    return msgspec.convert(status, _AccessStatus).allowed


@dataclass(frozen=True, slots=True, order=True)
class NamespacedKind:
    """Objects of a resource in a namespace; an empty namespace: in all of them."""

    group: str
    resource: str
    namespace: str


def resource_access_review(
    user: _UserInfo, kind: NamespacedKind
) -> Generator[KubeRequest, KubeResponse, bool]:
    """Whether a user may get any object of a kind in a namespace."""
    attributes = {"verb": "get", "group": kind.group, "resource": kind.resource, "namespace": kind.namespace}
    status = yield from _review(*_ACCESS, {**_subject(user), "resourceAttributes": attributes})
    return msgspec.convert(status, _AccessStatus).allowed


def _subject(user: _UserInfo) -> Json:
    return {"user": user.username, "uid": user.uid, "groups": user.groups, "extra": user.extra}


def _review(api_version: str, kind: str, spec: Json) -> Generator[KubeRequest, KubeResponse, object]:
    body = msgspec.json.encode({"apiVersion": api_version, "kind": kind, "spec": spec})
    response = yield KubeRequest("POST", f"/apis/{api_version}/{kind.lower()}s", (), body)
    if not response.is_success:
        raise UndecidedError(response.message)
    return response.object.get("status") or {}


@dataclass(frozen=True, slots=True)
class ReviewCacheTimes:
    """For how many seconds to cache an authenticated token, an allowed access, and a denied one."""

    token: float
    allowed: float
    refused: float


@dataclass(frozen=True, slots=True)
class _CachedResult:
    refusal: tuple[int, str] | None
    until: float


class DelegatedAuth:
    """``authentication``, ``authorization``: the connections for TokenReviews and SubjectAccessReviews."""

    def __init__(
        self, authentication: Connection, authorization: Connection, cache_times: ReviewCacheTimes
    ) -> None:
        self._authentication = authentication
        self._authorization = authorization
        self._cache_times = cache_times
        self._cache: dict[tuple[bytes, CertificateSubject | None, str], _CachedResult] = {}

    async def refusal(
        self, token: str, subject: CertificateSubject | None, path: str
    ) -> tuple[int, str] | None:
        """Why a client may not read a page, as an HTTP status and a sentence; None if it may.

        ``subject``: of a verified client certificate; it wins over a token.
        """
        now = asyncio.get_running_loop().time()
        # A hash: clients' tokens are not kept in memory.
        key = hashlib.sha256(token.encode()).digest(), subject, path
        known = self._cache.get(key)
        if known is not None and now < known.until:
            return known.refusal
        try:
            refusal = await self._reviewed(token, subject, path)
        except (NoAnswerError, UndecidedError, msgspec.ValidationError) as error:
            return HTTPStatus.SERVICE_UNAVAILABLE, f"access to {path} could not be reviewed: {error}"
        if len(self._cache) >= _MOST_CACHED:
            self._cache.clear()
        self._cache[key] = _CachedResult(refusal, now + self._cached_for(refusal))
        return refusal

    async def may_get(
        self, token: str, subject: CertificateSubject | None, kinds: Collection[NamespacedKind]
    ) -> frozenset[NamespacedKind]:
        """Those of the kinds that a client may get. Nothing is cached; a review that fails denies.

        A client that may get a kind in all namespaces costs one review for it, however many there are.
        """
        try:
            user = await self._user(token, subject)
        except (NoAnswerError, UndecidedError, msgspec.ValidationError):
            return frozenset()
        if user is None:
            return frozenset()
        if _MASTERS in user.groups:
            return frozenset(kinds)
        everywhere = {NamespacedKind(kind.group, kind.resource, "") for kind in kinds}
        allowed = {(kind.group, kind.resource) for kind in await self._allowed(user, everywhere)}
        known = {kind for kind in kinds if (kind.group, kind.resource) in allowed}
        return frozenset(known | await self._allowed(user, set(kinds) - known))

    async def _allowed(self, user: _UserInfo, kinds: Collection[NamespacedKind]) -> set[NamespacedKind]:
        turns = asyncio.Semaphore(_AT_ONCE)

        async def ask(kind: NamespacedKind) -> bool:
            async with turns:
                try:
                    return await self._authorization.run(resource_access_review(user, kind))
                except (NoAnswerError, UndecidedError, msgspec.ValidationError):
                    return False

        asked = sorted(kinds)
        return {kind for kind, may in zip(asked, await asyncio.gather(*map(ask, asked)), strict=True) if may}

    def _cached_for(self, refusal: tuple[int, str] | None) -> float:
        times = self._cache_times
        return min(times.token, times.allowed if refusal is None else times.refused)

    async def _reviewed(
        self, token: str, subject: CertificateSubject | None, path: str
    ) -> tuple[int, str] | None:
        user = await self._user(token, subject)
        if user is None:
            return (
                HTTPStatus.UNAUTHORIZED,
                "Unauthorized: the token is not of this cluster, or has expired",
            )
        # system:masters may do everything: no review is needed, as in kube-scheduler.
        if _MASTERS in user.groups or await self._authorization.run(subject_access_review(user, path)):
            return None
        return HTTPStatus.FORBIDDEN, f'forbidden: User "{user.username}" cannot get path "{path}"'

    async def _user(self, token: str, subject: CertificateSubject | None) -> _UserInfo | None:
        if subject is not None:
            return _UserInfo(subject.name, groups=(*subject.groups, _AUTHENTICATED))
        return await self._authentication.run(token_review(token)) if token else ANONYMOUS
