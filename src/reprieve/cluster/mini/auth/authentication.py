"""Users and their bearer tokens: JSON Web Tokens that this cluster has signed.

As in Kubernetes there is no list of users: a token names its user. What a user may do is not known here.
"""

import base64
import hashlib
import hmac
from dataclasses import dataclass

import msgspec

from reprieve.cluster.mini.store import Store
from reprieve.cluster.mini.stored_objects import Key
from reprieve.model.json import Json

ISSUER = "https://kubernetes.default.svc"
MASTERS, AUTHENTICATED = "system:masters", "system:authenticated"
_ACCOUNTS = "system:serviceaccounts"
_ACCOUNT = "system:serviceaccount"
_HEADER = {"alg": "HS256", "typ": "JWT"}


@dataclass(frozen=True, slots=True)
class UserInfo:
    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""

    @property
    def is_admin(self) -> bool:
        """Members of system:masters may do everything, whatever the roles say."""
        return MASTERS in self.groups


ANONYMOUS = UserInfo("system:anonymous", ("system:unauthenticated",))
ADMIN = UserInfo("reprieve-admin", (MASTERS, AUTHENTICATED))


@dataclass(frozen=True, slots=True)
class TokenIssuer:
    """Issues and verifies tokens. ``secret`` signs them; it is also the token of the cluster admin."""

    secret: str

    def token_of(self, user: UserInfo) -> str:
        """A token without an expiry."""
        return self._signed({"iss": ISSUER, "sub": user.name, "groups": list(user.groups)})

    def account_token(self, account: Key, uid: str, until: float, audiences: list[str]) -> str:
        bound = {"namespace": account.namespace, "serviceaccount": {"name": account.name, "uid": uid}}
        subject = f"{_ACCOUNT}:{account.namespace}:{account.name}"
        return self._signed(
            {"iss": ISSUER, "sub": subject, "aud": audiences, "exp": int(until), "kubernetes.io": bound}
        )

    def user_of(self, token: str, store: Store, now: float) -> UserInfo | None:
        """None for a token that this cluster has not signed, is expired, or is of a deleted
        ServiceAccount."""
        if hmac.compare_digest(token.encode(), self.secret.encode()):
            return ADMIN
        claims = self._claims(token)
        if claims is None or ("exp" in claims and claims["exp"] <= now):
            return None
        bound = claims.get("kubernetes.io")
        if bound is None:
            return UserInfo(claims["sub"], (*claims["groups"], AUTHENTICATED))
        return _account(bound, store)

    def _signed(self, claims: Json) -> str:
        said = ".".join(_packed(msgspec.json.encode(part)) for part in (_HEADER, claims))
        return f"{said}.{self._signature(said)}"

    def _claims(self, token: str) -> Json | None:
        said, _, signature = token.rpartition(".")
        if not hmac.compare_digest(signature.encode(), self._signature(said).encode()):
            return None
        claims: Json = msgspec.json.decode(_unpacked(said.partition(".")[2]))
        return claims

    def _signature(self, said: str) -> str:
        return _packed(hmac.digest(self.secret.encode(), said.encode(), hashlib.sha256))


def account_user(namespace: str, name: str, uid: str = "") -> UserInfo:
    groups = (_ACCOUNTS, f"{_ACCOUNTS}:{namespace}", AUTHENTICATED)
    return UserInfo(f"{_ACCOUNT}:{namespace}:{name}", groups, uid)


def _account(bound: Json, store: Store) -> UserInfo | None:
    namespace, account = bound["namespace"], bound["serviceaccount"]
    found = store.find(Key("serviceaccounts", namespace, account["name"]))
    if found is None or found.uid != account["uid"]:
        return None
    return account_user(namespace, account["name"], found.uid)


def _packed(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _unpacked(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
