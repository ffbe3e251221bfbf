"""Users and their bearer tokens: JSON Web Tokens that this cluster has signed.

As in Kubernetes there is no list of users: a token names its user.
"""

import base64
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from reprieve.cluster.api.names import dns_label, dns_subdomain
from reprieve.model.json import Json
from reprieve_minicluster.store import Key, Store

ISSUER = "https://kubernetes.default.svc"
AUDIENCES = (ISSUER,)  # of this API server: a token for others is not accepted
MASTERS, AUTHENTICATED = "system:masters", "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
_ACCOUNTS = "system:serviceaccounts"
_ACCOUNT = "system:serviceaccount"
_HEADER = {"alg": "HS256", "typ": "JWT"}


@dataclass(frozen=True, slots=True)
class UserInfo:
    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def is_admin(self) -> bool:
        """Members of system:masters may do everything, whatever the roles say."""
        return MASTERS in self.groups


ANONYMOUS = UserInfo("system:anonymous", (UNAUTHENTICATED,))
ADMIN = UserInfo("reprieve-admin", (MASTERS, AUTHENTICATED))


@dataclass(frozen=True, slots=True)
class VerifiedToken:
    """``audiences``: the servers that the token is for."""

    user: UserInfo
    audiences: tuple[str, ...] = AUDIENCES


@dataclass(frozen=True, slots=True)
class TokenIssuer:
    """Issues and verifies tokens. ``secret`` signs them; it is also the token of the cluster admin."""

    secret: str

    def token_of(self, user: UserInfo) -> str:
        """A token without an expiry, for this API server."""
        return self._signed({"iss": ISSUER, "sub": user.name, "groups": list(user.groups)})

    def account_token(self, account: Key, uid: str, until: float, audiences: Sequence[str]) -> str:
        bound = {"namespace": account.namespace, "serviceaccount": {"name": account.name, "uid": uid}}
        subject = account_user(account.namespace, account.name).name
        return self._signed(
            {"iss": ISSUER, "sub": subject, "aud": audiences, "exp": int(until), "kubernetes.io": bound}
        )

    def user_of(self, token: str, store: Store, now: float) -> UserInfo | None:
        """None for a token that is not valid, or not for this API server."""
        known = self.verified(token, store, now)
        return known.user if known is not None and set(known.audiences) & set(AUDIENCES) else None

    def verified(self, token: str, store: Store, now: float) -> VerifiedToken | None:
        """None for a token that this cluster has not signed, is expired, or is of a deleted
        ServiceAccount."""
        if hmac.compare_digest(_raw(token), _raw(self.secret)):
            return VerifiedToken(ADMIN)
        claims = self._claims(token)
        if claims is None or ("exp" in claims and claims["exp"] <= now):
            return None
        bound = claims.get("kubernetes.io")
        if bound is None:
            return VerifiedToken(UserInfo(claims["sub"], (*claims["groups"], AUTHENTICATED)))
        user = _account(bound, store)
        # Earlier releases left the audience of a token for this server empty.
        return VerifiedToken(user, tuple(claims["aud"]) or AUDIENCES) if user is not None else None

    def _signed(self, claims: Json) -> str:
        said = ".".join(_packed(msgspec.json.encode(part)) for part in (_HEADER, claims))
        return f"{said}.{self._signature(said)}"

    def _claims(self, token: str) -> Json | None:
        said, _, signature = token.rpartition(".")
        if not hmac.compare_digest(_raw(signature), _raw(self._signature(said))):
            return None
        claims: Json = msgspec.json.decode(_unpacked(said.partition(".")[2]))
        return claims

    def _signature(self, said: str) -> str:
        return _packed(hmac.digest(_raw(self.secret), _raw(said), hashlib.sha256))


def account_user(namespace: str, name: str, uid: str = "") -> UserInfo:
    groups = (_ACCOUNTS, f"{_ACCOUNTS}:{namespace}", AUTHENTICATED)
    return UserInfo(f"{_ACCOUNT}:{namespace}:{name}", groups, uid)


def account_of(user: str) -> tuple[str, str] | None:
    """The namespace and the name of the ServiceAccount whose user name this is, to the letter."""
    match user.split(":"):
        case ["system", "serviceaccount", namespace, name] if _could_be(namespace, name):
            return namespace, name
    return None


def _could_be(namespace: str, account: str) -> bool:
    return dns_label(namespace) is None and dns_subdomain(account) is None


def _account(bound: Json, store: Store) -> UserInfo | None:
    namespace, account = bound["namespace"], bound["serviceaccount"]
    found = store.find(Key("serviceaccounts", namespace, account["name"]))
    if found is None or found.uid != account["uid"]:
        return None
    return account_user(namespace, account["name"], found.uid)


def _raw(text: str) -> bytes:
    """The bytes of a text, also of one that is not valid Unicode: a header may have any bytes."""
    return text.encode("utf-8", "surrogatepass")


def _packed(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _unpacked(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
