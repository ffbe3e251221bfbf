"""Who we are to an API server, and whether it is the one that we mean."""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field


class AccessError(Exception):
    """There is no way in, for the reason that it says."""


@dataclass(frozen=True, slots=True)
class Grant:
    """What goes with a request: headers, and the TLS settings for https; None are those of the system."""

    headers: Mapping[str, str] = field(default_factory=dict)
    tls: ssl.SSLContext | None = None


class Access:
    def __init__(self, server: str, token: str = "", tls: ssl.SSLContext | None = None) -> None:
        self.server = server.rstrip("/")
        self.server_name = ""
        self.proxy = ""
        self._grant = Grant({"Authorization": f"Bearer {token}"} if token else {}, tls)

    async def grant(self) -> Grant:
        return self._grant

    def renew(self) -> bool:
        """Told that the server did not accept what was granted; whether another try makes sense."""
        return False
