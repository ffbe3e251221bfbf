"""Which proxy leads to a server: proxy-url of the kubeconfig, or HTTPS_PROXY and NO_PROXY as in Go."""

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

from reprieve.cluster.kube.kubeconfig import AccessError

_SCHEMES = ("http", "https")
_PORTS = {"http": 80, "https": 443}


def proxy_for(server: str, configured: str, environ: Mapping[str, str]) -> str:
    """The URL of the proxy, or empty; ``configured`` wins over the environment."""
    if configured:
        return _checked(configured, "proxy-url")
    parts = urlsplit(server)
    host, port = parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 0)
    name = f"{parts.scheme.upper()}_PROXY"
    proxy = environ.get(name) or environ.get(name.lower()) or ""
    excepted = environ.get("NO_PROXY") or environ.get("no_proxy") or ""
    if not proxy or _is_local(host) or any(_excepts(entry, host, port) for entry in _entries(excepted)):
        return ""
    return _checked(proxy if "://" in proxy else f"http://{proxy}", name)


def _checked(proxy: str, where: str) -> str:
    try:
        parts = urlsplit(proxy)
        is_one = parts.scheme in _SCHEMES and bool(parts.hostname) and parts.port != 0
    except ValueError:  # an invalid port, or unbalanced brackets
        is_one = False
    if not is_one:
        raise AccessError(f"{where}: expected the http or https URL of a proxy")
    return proxy


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _is_local(host: str) -> bool:
    address = _address(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def _entries(text: str) -> list[str]:
    return [entry for part in text.split(",") if (entry := part.strip().lower())]


def _excepts(entry: str, host: str, port: int) -> bool:
    """``entry``: ``*``, an address, a network or a domain, the last three perhaps with a port."""
    if entry == "*":
        return True
    if "/" in entry:
        return _is_in_network(entry, host)
    name, only = _split_port(entry)
    if only and only != port:
        return False
    address = _address(host)
    if address is not None:
        return _address(name) == address
    domain = name[1:] if name.startswith("*.") else name
    if domain.startswith("."):
        return host.endswith(domain)
    return host == domain or host.endswith(f".{domain}")


def _split_port(entry: str) -> tuple[str, int]:
    if _address(entry) is not None:
        return entry, 0
    name, _, port = entry.rpartition(":")
    if name and port.isascii() and port.isdigit():
        return name.strip("[]"), int(port)
    return entry.strip("[]"), 0


def _is_in_network(entry: str, host: str) -> bool:
    address = _address(host)
    try:
        return address is not None and address in ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return False
