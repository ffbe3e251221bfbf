"""What a request asks of webhooks, and what they answered: as data, so that handlers stay synchronous.

A handler that needs an answer which is not there raises an UnansweredError before it has written anything.
The server asks, and runs the handler again from its beginning with the answers: whatever changed meanwhile is
seen, and a webhook that hangs keeps nobody else waiting.
"""

import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from reprieve.cluster.api.values import items, part, text_in, texts
from reprieve.model.json import Json
from reprieve_minicluster.store import Key, Store, parsed

_HTTPS = 443
_SERVICE_OF_SLICE = "kubernetes.io/service-name"


@dataclass(frozen=True, slots=True)
class WebhookTarget:
    """``name``: whose certificate it must show. ``authority``: who has signed that, as base64 of PEM."""

    url: str
    host: str
    port: int
    name: str
    path: str
    authority: str


@dataclass(frozen=True, slots=True)
class WebhookCall:
    target: WebhookTarget
    body: bytes
    seconds: int

    @property
    def shown(self) -> str:
        """The URL, as errors name it."""
        return f"{self.target.url}?timeout={self.seconds}s"


@dataclass(frozen=True, slots=True)
class Reply:
    """``failure``: why there is no answer."""

    body: bytes = b""
    failure: str = ""


Replies = Mapping[WebhookCall, Reply]


class UnansweredError(Exception):
    """The request cannot go on before these calls are answered."""

    def __init__(self, calls: Sequence[WebhookCall]) -> None:
        super().__init__(f"{len(calls)} calls of webhooks are not answered yet")
        self.calls = tuple(calls)


@dataclass(frozen=True, slots=True)
class WebhookQuestion:
    """``config``: the clientConfig of a webhook."""

    config: Json
    body: bytes
    seconds: int


@dataclass(frozen=True, slots=True)
class Webhooks:
    """What one request knows of webhooks: where they are, and what they have answered to it so far."""

    store: Store
    replies: Replies = field(default_factory=dict)

    def ask(self, questions: Sequence[WebhookQuestion]) -> list[Reply]:
        """In the order of the questions; an UnansweredError if answers are missing."""
        found = [self._found(question) for question in questions]
        missing = [call for call in found if isinstance(call, WebhookCall)]
        if missing:
            raise UnansweredError(missing)
        return [reply for reply in found if isinstance(reply, Reply)]

    def _found(self, question: WebhookQuestion) -> Reply | WebhookCall:
        target = self._target(question.config)
        if isinstance(target, _Unreachable):
            return Reply(failure=f'Post "{target.url}?timeout={question.seconds}s": {target.why}')
        call = WebhookCall(target, question.body, question.seconds)
        return self.replies.get(call, call)

    def _target(self, config: Json) -> "WebhookTarget | _Unreachable":
        authority = text_in(config, "caBundle")
        if url := text_in(config, "url"):
            there = urlsplit(url)
            name, port = there.hostname or "", there.port or _HTTPS
            host = "127.0.0.1" if name == "localhost" else name
            if not _is_here(host):
                return _Unreachable(url, f"{name} is not on this machine: {_ONLY_HERE}")
            return WebhookTarget(url, host, port, name, there.path or "/", authority)
        service = part(config, "service")
        namespace, name = text_in(service, "namespace"), text_in(service, "name")
        port, path = service.get("port", _HTTPS), text_in(service, "path") or "/"
        url = f"https://{name}.{namespace}.svc:{port}{path}"
        endpoint = self._endpoint(namespace, name, port)
        if isinstance(endpoint, str):
            return _Unreachable(url, endpoint)
        return WebhookTarget(url, *endpoint, f"{name}.{namespace}.svc", path, authority)

    def _endpoint(self, namespace: str, name: str, port: int) -> tuple[str, int] | str:
        """An endpoint of a Service on this machine; or why there is none, as a sentence."""
        service = self.store.find(Key("services", namespace, name))
        if service is None:
            return f'service "{name}" not found'
        ports = [one for one in items(part(parsed(service), "spec"), "ports") if one.get("port") == port]
        if not ports:
            return f'no service port {port} found for service "{name}"'
        found = list(self._endpoints(namespace, name, text_in(ports[0], "name")))
        here = [endpoint for endpoint in found if _is_here(endpoint[0])]
        if here:
            return here[0]
        if not found:
            return f'no endpoints available for service "{name}"'
        address, number = found[0]
        return f"dial tcp {address}:{number}: the address is not on this machine: {_ONLY_HERE}"

    def _endpoints(self, namespace: str, name: str, port: str) -> Iterator[tuple[str, int]]:
        for stored in self.store.list(("endpointslices.discovery.k8s.io",), namespace).items:
            body = parsed(stored)
            if part(body, "metadata", "labels").get(_SERVICE_OF_SLICE) == name:
                ready = [
                    e for e in items(body, "endpoints") if part(e, "conditions").get("ready") is not False
                ]
                addresses = [address for endpoint in ready for address in texts(endpoint, "addresses")]
                yield from _with_ports(addresses, body, port)
        whole = self.store.find(Key("endpoints", namespace, name))
        for subset in items(parsed(whole) if whole is not None else {}, "subsets"):
            yield from _with_ports([text_in(a, "ip") for a in items(subset, "addresses")], subset, port)


@dataclass(frozen=True, slots=True)
class _Unreachable:
    url: str
    why: str


_ONLY_HERE = "the mini cluster calls webhooks on loopback addresses only"


def _with_ports(addresses: Sequence[str], body: Json, name: str) -> Iterator[tuple[str, int]]:
    for port in items(body, "ports"):
        if text_in(port, "name") == name and isinstance(port.get("port"), int):
            yield from ((address, port["port"]) for address in addresses)


def _is_here(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
