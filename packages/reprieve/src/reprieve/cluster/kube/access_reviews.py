"""Authentication and authorization of requests to our own endpoints, delegated to the API server.

A client certificate names the user, or a TokenReview does; a SubjectAccessReview says what the user may read.
Answers are cached for a few seconds, as in kube-scheduler: Prometheus scrapes again and again.
"""

import asyncio
import hashlib
from collections.abc import Collection, Generator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Generic, TypeVar

import msgspec

from reprieve.cluster.certificates import CertificateSubject
from reprieve.cluster.kube.client import Connection
from reprieve.cluster.kube.requests import KubeRequest, KubeResponse, NoAnswerError
from reprieve.model.json import Json

K = TypeVar("K")
V = TypeVar("V")

_MOST_CACHED, _MOST_OBJECTS_CACHED = 1_000, 20_000
_AT_ONCE = 4  # reviews of objects, for all readers together
_TOKENS = ("authentication.k8s.io/v1", "TokenReview")
_ACCESS = ("authorization.k8s.io/v1", "SubjectAccessReview")


class _UserInfo(msgspec.Struct, frozen=True):
    """A user in a TokenReview's status, and in a SubjectAccessReview's spec."""

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
    """Seconds for which an authenticated token, an allowed access, and a denied one are cached."""

    token: float
    allowed: float
    refused: float


class _Cache(Generic[K, V]):
    """Answers for some seconds. ``most``: then it starts over."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: dict[K, tuple[V, float]] = {}

    def get(self, key: K) -> V | None:
        found = self._known.get(key)
        return found[0] if found is not None and _elapsed() < found[1] else None

    def put(self, key: K, value: V, seconds: float) -> None:
        if len(self._known) >= self._most:
            self._known.clear()
        self._known[key] = value, _elapsed() + seconds


def _elapsed() -> float:
    return asyncio.get_running_loop().time()


@dataclass(frozen=True, slots=True)
class _CachedResult:
    refusal: tuple[int, str] | None


@dataclass(frozen=True, slots=True)
class ReviewConnections:
    """Connections for TokenReviews, for reviews of our paths, and for those of objects that readers may get.

    The last are many, and of one reader: they must not use up the rate of those that let readers in.
    """

    tokens: Connection
    paths: Connection
    objects: Connection


class DelegatedAuth:
    def __init__(self, connections: ReviewConnections, cache_times: ReviewCacheTimes) -> None:
        self._connections = connections
        self._cache_times = cache_times
        self._turns = asyncio.Semaphore(_AT_ONCE)
        self._paths: _Cache[tuple[bytes, CertificateSubject | None, str], _CachedResult] = _Cache(
            _MOST_CACHED
        )
        self._users: _Cache[bytes, _UserInfo] = _Cache(_MOST_CACHED)
        self._objects: _Cache[tuple[bytes, NamespacedKind], bool] = _Cache(_MOST_OBJECTS_CACHED)

    async def refusal(
        self, token: str, subject: CertificateSubject | None, path: str
    ) -> tuple[int, str] | None:
        """Why a client may not read a page, as an HTTP status and a sentence; None if it may.

        ``subject``: of a verified client certificate; it wins over a token.
        """
        key = _hashed(token.encode()), subject, path
        known = self._paths.get(key)
        if known is not None:
            return known.refusal
        try:
            refusal = await self._reviewed(token, subject, path)
        except (NoAnswerError, UndecidedError, msgspec.ValidationError) as error:
            return HTTPStatus.SERVICE_UNAVAILABLE, f"access to {path} could not be reviewed: {error}"
        self._paths.put(key, _CachedResult(refusal), self._cached_for(allowed=refusal is None))
        return refusal

    async def user_name(self, token: str, subject: CertificateSubject | None) -> str:
        """The name is empty if it cannot be found out."""
        user = await self._known_user(token, subject)
        return user.username if user is not None else ""

    async def may_get(
        self, token: str, subject: CertificateSubject | None, kinds: Collection[NamespacedKind]
    ) -> frozenset[NamespacedKind]:
        """Select the kinds that a client may get. A review that fails denies.

        A client that may get a kind in all namespaces costs one review for it, however many there are.
        """
        user = await self._known_user(token, subject)
        if user is None:
            return frozenset()
        if _MASTERS in user.groups:
            return frozenset(kinds)
        everywhere = {NamespacedKind(kind.group, kind.resource, "") for kind in kinds}
        allowed = {(kind.group, kind.resource) for kind in await self._allowed(user, everywhere)}
        known = {kind for kind in kinds if (kind.group, kind.resource) in allowed}
        return frozenset(known | await self._allowed(user, set(kinds) - known))

    async def _allowed(self, user: _UserInfo, kinds: Collection[NamespacedKind]) -> set[NamespacedKind]:
        asked, who = sorted(kinds), _hashed(msgspec.json.encode(user))
        answers = {kind: self._objects.get((who, kind)) for kind in asked}

        async def ask(kind: NamespacedKind) -> None:
            async with self._turns:
                try:
                    may = await self._connections.objects.run(resource_access_review(user, kind))
                except (NoAnswerError, UndecidedError, msgspec.ValidationError):
                    return
            answers[kind] = may
            self._objects.put((who, kind), may, self._cached_for(allowed=may))

        await asyncio.gather(*(ask(kind) for kind in asked if answers[kind] is None))
        return {kind for kind, may in answers.items() if may}

    def _cached_for(self, *, allowed: bool) -> float:
        times = self._cache_times
        return min(times.token, times.allowed if allowed else times.refused)

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
        if _MASTERS in user.groups or await self._connections.paths.run(subject_access_review(user, path)):
            return None
        return HTTPStatus.FORBIDDEN, f'forbidden: User "{user.username}" cannot get path "{path}"'

    async def _known_user(self, token: str, subject: CertificateSubject | None) -> _UserInfo | None:
        """None if there is no such user, or if that cannot be found out."""
        try:
            return await self._user(token, subject)
        except (NoAnswerError, UndecidedError, msgspec.ValidationError):
            return None

    async def _user(self, token: str, subject: CertificateSubject | None) -> _UserInfo | None:
        if subject is not None:
            return _UserInfo(subject.name, groups=(*subject.groups, _AUTHENTICATED))
        if not token:
            return ANONYMOUS
        key = _hashed(token.encode())
        user = self._users.get(key)
        if user is None:
            user = await self._connections.tokens.run(token_review(token))
            if user is not None:
                self._users.put(key, user, self._cache_times.token)
        return user


def _hashed(secret: bytes) -> bytes:
    """Clients' tokens are not kept in memory."""
    return hashlib.sha256(secret).digest()


# --- the authorities of client certificates --------------------------------------------------------


CLIENT_CA = "kube-system", "extension-apiserver-authentication"  # namespace and name of the ConfigMap
_KEY = "client-ca-file"


class ClientCaUnavailableError(Exception):
    """The ConfigMap cannot be read, or lacks the CA."""


def read_client_ca() -> Generator[KubeRequest, KubeResponse, bytes]:
    """Read the CA as PEM, which the API server publishes in a ConfigMap for servers beside it.

    ClientCaUnavailableError if there is none.
    """
    namespace, name = CLIENT_CA
    response = yield KubeRequest("GET", f"/api/v1/namespaces/{namespace}/configmaps/{name}")
    if not response.is_success:
        raise ClientCaUnavailableError(response.message)
    data = response.object.get("data")
    found = data.get(_KEY) if isinstance(data, dict) else None
    if not isinstance(found, str) or not found.strip():
        raise ClientCaUnavailableError(f"ConfigMap {namespace}/{name} has no {_KEY}")
    return found.encode()
