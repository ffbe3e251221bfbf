"""What Kubernetes adds to CEL: IP addresses and networks, URLs, quantities, versions, and named formats."""

import base64
import operator
import re
from collections.abc import Callable, Mapping
from datetime import date
from fractions import Fraction
from functools import partial
from ipaddress import IPv4Address, IPv4Interface, IPv6Address, IPv6Interface, ip_address, ip_interface
from typing import Any
from urllib.parse import parse_qsl, quote, unquote_to_bytes
from uuid import UUID

from reprieve.cluster.admission.cel_times import duration_of, timestamp_of
from reprieve.cluster.admission.cel_values import (
    LARGEST_INTEGER,
    NONE,
    CelQuantity,
    NamedFormat,
    Optional,
    Semver,
    SenselessError,
    Url,
    int64,
    uint64,
)
from reprieve.cluster.api.names import (
    LONGEST_LABEL,
    TextForm,
    before_suffix,
    dns_label,
    dns_subdomain,
    label_key,
    label_value,
)


def _is_valid(parse: Callable[[str], object]) -> Callable[[str], bool]:
    def is_valid(text: str) -> bool:
        try:
            parse(text)
        except SenselessError:
            return False
        return True

    return is_valid


def _three_way(one: Any, other: Any) -> int:
    return int(one > other) - int(one < other)


# --- addresses -------------------------------------------------------------------------------------

_Address = IPv4Address | IPv6Address
_Network = IPv4Interface | IPv6Interface


def _ip(text: str) -> _Address:
    try:
        found = ip_address(text)
    except ValueError as error:
        raise SenselessError("the text is no IP address") from error
    if isinstance(found, IPv6Address) and (found.ipv4_mapped is not None or found.scope_id is not None):
        raise SenselessError("IP addresses with a zone, and IPv4 addresses within IPv6, are not allowed")
    return found


def _cidr(text: str) -> _Network:
    address, _, bits = text.partition("/")
    found = _ip(address)
    if not re.fullmatch(r"0|[1-9]\d{0,2}", bits, re.ASCII) or int(bits) > found.max_prefixlen:
        raise SenselessError("the text is no network such as 10.0.0.0/8")
    return ip_interface((found, int(bits)))


def _is_global_unicast(address: _Address) -> bool:
    special = address.is_unspecified or address.is_loopback or address.is_multicast or _is_link_local(address)
    return not special and str(address) != "255.255.255.255"


def _is_link_local(address: _Address) -> bool:
    return address in (_cidr("169.254.0.0/16") if address.version == 4 else _cidr("fe80::/10")).network


def _is_link_local_multicast(address: _Address) -> bool:
    if address.version == 4:
        return address in _cidr("224.0.0.0/24").network
    return address.packed[0] == 0xFF and address.packed[1] & 0x0F == 2


def _contains_ip(network: _Network, address: _Address | str) -> bool:
    return (_ip(address) if isinstance(address, str) else address) in network.network


def _contains_cidr(network: _Network, other: _Network | str) -> bool:
    inner = _cidr(other) if isinstance(other, str) else other
    return inner.version == network.version and inner.network.subnet_of(network.network)  # type: ignore[arg-type]


_ADDRESSES: Mapping[str, Callable[..., Any]] = {
    "<cidr>.containsCIDR(cidr)": _contains_cidr,
    "<cidr>.containsCIDR(string)": _contains_cidr,
    "<cidr>.containsIP(ip)": _contains_ip,
    "<cidr>.containsIP(string)": _contains_ip,
    "<cidr>.ip()": lambda network: network.ip,
    "<cidr>.masked()": lambda network: ip_interface(network.network),
    "<cidr>.prefixLength()": lambda network: network.network.prefixlen,
    "<ip>.family()": lambda address: address.version,
    "<ip>.isGlobalUnicast()": _is_global_unicast,
    "<ip>.isLinkLocalMulticast()": _is_link_local_multicast,
    "<ip>.isLinkLocalUnicast()": _is_link_local,
    "<ip>.isLoopback()": lambda address: address.is_loopback,
    "<ip>.isUnspecified()": lambda address: address.is_unspecified,
    "cidr(string)": _cidr,
    "ip(string)": _ip,
    "ip.isCanonical(string)": lambda text: str(_ip(text)) == text,
    "isCIDR(string)": _is_valid(_cidr),
    "isIP(string)": _is_valid(_ip),
}


# --- URLs ------------------------------------------------------------------------------------------

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):", re.ASCII)
_ESCAPES = re.compile(r"(?:[^%]|%[0-9a-fA-F]{2})*+", re.DOTALL)
_HOST = re.compile(
    r"(?:\[[0-9a-fA-F:.]+(?:%25[^\]\s]+)?\]|(?:[A-Za-z0-9\-._~!$&'()*+,;=<>\"]|[^\x00-\x7f]|%[0-9a-fA-F]{2})*)(?::\d*)?"
)
_USER = re.compile(r"(?:[A-Za-z0-9\-._:~!$&'()*+,;=@]|%[0-9a-fA-F]{2})*")
_PATH_KEPT = "$&+,/:;=@-_.~"
_PATH_VALID = re.compile(r"(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/\[\]]|%[0-9a-fA-F]{2})*+")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")
_NO_URL = SenselessError("the text is no absolute URL or path")


def _url(text: str) -> Url:
    """As Go parses it: an absolute URL, or an absolute path."""
    _request_url(text)
    return _request_url(text.partition("#")[0])


def _request_url(text: str) -> Url:
    found = _SCHEME.match(text)
    scheme = found[1].lower() if found else ""
    rest, _, query = text[found.end() if found else 0 :].partition("?")
    if _CONTROLS.search(text) or (not scheme and not rest.startswith("/") and rest != "*"):
        raise _NO_URL
    host = ""
    if not rest.startswith("/"):
        return Url(scheme, "", "", "", query)  # opaque, such as mailto:a@example.com
    if rest.startswith("//") and (scheme or not rest.startswith("///")):
        authority, slash, path = rest[2:].partition("/")
        user, _, host = authority.rpartition("@")
        if not _USER.fullmatch(user) or not _HOST.fullmatch(host):
            raise _NO_URL
        rest = slash + path
    if not _ESCAPES.fullmatch(rest):
        raise _NO_URL
    path = unquote_to_bytes(rest).decode(errors="surrogateescape")
    return Url(scheme, host, path, rest, query)


def _host_and_port(url: Url) -> tuple[str, str]:
    host, colon, port = url.host.rpartition(":")
    if not colon or "]" in port:
        host, port = url.host, ""
    return host.removeprefix("[").removesuffix("]"), port


def _escaped_path(url: Url) -> str:
    if _PATH_VALID.fullmatch(url.raw_path):
        return url.raw_path
    return quote(url.path.encode(errors="surrogateescape"), safe=_PATH_KEPT)


def _queried(url: Url) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    pieces = [piece for piece in url.query.split("&") if ";" not in piece and _ESCAPES.fullmatch(piece)]
    for name, value in parse_qsl("&".join(pieces), keep_blank_values=True):
        found.setdefault(name, []).append(value)
    return found


_URLS: Mapping[str, Callable[..., Any]] = {
    "<url>.getEscapedPath()": _escaped_path,
    "<url>.getHost()": lambda url: url.host,
    "<url>.getHostname()": lambda url: _host_and_port(url)[0],
    "<url>.getPort()": lambda url: _host_and_port(url)[1],
    "<url>.getQuery()": _queried,
    "<url>.getScheme()": lambda url: url.scheme,
    "isURL(string)": _is_valid(_request_url),
    "url(string)": _url,
}


# --- quantities and versions -----------------------------------------------------------------------

_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_QUANTITY = re.compile(
    r"([+-]?(?:\d{1,1000}\.?\d{0,1000}|\.\d{1,1000}))(?:[eE]([+-]?\d{1,9})|([numkMGTPE]|[KMGTPE]i|))",
    re.ASCII,
)
_LARGEST_EXPONENT = 1100  # beyond any number of digits: the amount is capped, or as small as can be
_BILLION = 10**9


def quantity_of(text: str) -> CelQuantity:
    """Rounded up to billionths, and capped at what 64 bits can hold, as Kubernetes reads them."""
    found = _QUANTITY.fullmatch(text)
    if found is None:
        raise SenselessError("the text is no quantity such as 1.5Gi")
    digits, exponent, suffix = found.groups()
    amount = Fraction(digits)
    if suffix in _BINARY:
        amount *= 2 ** _BINARY[suffix]
    else:
        power = int(exponent) if exponent else _DECIMAL[suffix or ""]
        amount *= Fraction(10) ** max(-_LARGEST_EXPONENT, min(power, _LARGEST_EXPONENT))
    sign = -1 if amount < 0 else 1
    amount = sign * Fraction(-(-abs(amount) * _BILLION // 1), _BILLION)
    capped = max(Fraction(-LARGEST_INTEGER), min(amount, Fraction(LARGEST_INTEGER)))
    return CelQuantity(capped, capped != amount)


def _quantity_integer(quantity: CelQuantity) -> int:
    if quantity.is_capped or quantity.amount.denominator != 1:
        raise SenselessError("the quantity is no integer")
    return int64(quantity.amount.numerator)


def _changed(sign: int) -> Callable[[CelQuantity, CelQuantity | int], CelQuantity]:
    def changed(quantity: CelQuantity, other: CelQuantity | int) -> CelQuantity:
        amount = other.amount if isinstance(other, CelQuantity) else other
        return CelQuantity(quantity.amount + sign * amount)

    return changed


_VERSION_NUMBER = r"(0|[1-9]\d{0,19})"
_SEMVER = re.compile(
    rf"{_VERSION_NUMBER}\.{_VERSION_NUMBER}\.{_VERSION_NUMBER}"
    r"(?:-((?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?"
    r"(?:\+[0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*)?",
    re.ASCII,
)


def _semver(text: str, normalize: bool = False) -> Semver:
    """``normalize``: accept a leading v, missing numbers, and zeros before numbers."""
    found = _SEMVER.fullmatch(_normalized(text) if normalize else text)
    if found is None:
        raise SenselessError("the text is no version such as 1.2.3")
    major, minor, patch = (int(uint64(int(number))) for number in found.groups()[:3])
    parts = (found[4] or "").split(".")
    before = tuple(int(part[:400]) if part.isdigit() else part for part in parts if part)
    return Semver(major, minor, patch, before)


def _normalized(text: str) -> str:
    parts = text.removeprefix("v").split(".", 2)
    parts = [re.sub(r"^0+(?=\d)", "", part, flags=re.ASCII) for part in parts]
    if len(parts) < 3 and any(mark in parts[-1] for mark in "+-"):
        raise SenselessError("a version without all three numbers can have neither pre-release nor build")
    return ".".join([*parts, "0", "0"][: max(3, len(parts))])


def _rank(version: Semver) -> tuple[Any, ...]:
    """A release comes after its pre-releases, a name after a number."""
    names = tuple((1, 0, name) if isinstance(name, str) else (0, name, "") for name in version.before)
    return version.major, version.minor, version.patch, not version.before, names


def _is_semver(text: str, normalize: bool = False) -> bool:
    return _is_valid(partial(_semver, normalize=normalize))(text)


def _compared(kind: str, rank: Callable[[Any], Any]) -> dict[str, Callable[..., Any]]:
    return {
        f"<{kind}>.compareTo({kind})": lambda one, other: _three_way(rank(one), rank(other)),
        f"<{kind}>.isGreaterThan({kind})": lambda one, other: rank(one) > rank(other),
        f"<{kind}>.isLessThan({kind})": lambda one, other: rank(one) < rank(other),
    }


_AMOUNTS: Mapping[str, Callable[..., Any]] = {
    **_compared("quantity", operator.attrgetter("amount")),
    **_compared("semver", _rank),
    "<quantity>.add(int)": _changed(1),
    "<quantity>.add(quantity)": _changed(1),
    "<quantity>.asApproximateFloat()": lambda quantity: float(quantity.amount),
    "<quantity>.asInteger()": _quantity_integer,
    "<quantity>.isInteger()": _is_valid(_quantity_integer),  # type: ignore[arg-type]
    "<quantity>.sign()": lambda quantity: _three_way(quantity.amount, 0),
    "<quantity>.sub(int)": _changed(-1),
    "<quantity>.sub(quantity)": _changed(-1),
    "<semver>.major()": lambda version: version.major,
    "<semver>.minor()": lambda version: version.minor,
    "<semver>.patch()": lambda version: version.patch,
    "isQuantity(string)": _is_valid(quantity_of),
    "isSemver(string)": _is_semver,
    "isSemver(string, bool)": _is_semver,
    "quantity(string)": quantity_of,
    "semver(string)": _semver,
    "semver(string, bool)": _semver,
    "sign(quantity)": lambda quantity: _three_way(quantity.amount, 0),
}


# --- named formats ---------------------------------------------------------------------------------

_DNS_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


def _dns_1035_label(text: str) -> str | None:
    if _DNS_1035.fullmatch(text) is None or len(text) > LONGEST_LABEL:
        return "must be a DNS label that begins with a letter"
    return None


def _unless(parse: Callable[[str], object], sentence: str) -> TextForm:
    def form(text: str) -> str | None:
        try:
            parse(text)
        except (ValueError, SenselessError):
            return sentence
        return None

    return form


_MAC = re.compile(
    r"(?:[0-9a-fA-F]{2}([:-]))(?:[0-9a-fA-F]{2}\1){4,6}[0-9a-fA-F]{2}|(?:[0-9a-fA-F]{4}\.){2,3}[0-9a-fA-F]{4}"
)
_DATE = "must be a date such as 2026-01-02"


def _interface(text: str) -> None:
    if "/" not in text or "%" in text or not text.rpartition("/")[2].isdigit():
        raise ValueError(text)
    ip_interface(text)


# What ``format`` may say in a schema, as far as kube-apiserver checks it.
SCHEMA_FORMATS: Mapping[str, TextForm] = {
    "cidr": _unless(_interface, "must be a network such as 10.0.0.0/8"),
    "date": _unless(date.fromisoformat, _DATE),
    "duration": _unless(duration_of, "must be a duration such as 1h30m"),
    "ipv4": _unless(IPv4Address, "must be an IPv4 address"),
    "ipv6": _unless(IPv6Address, "must be an IPv6 address"),
    "mac": lambda text: None if _MAC.fullmatch(text) else "must be a MAC address",
    "uri": _unless(_request_url, "must be an absolute URL or path"),
    "uuid": _unless(UUID, "must be a UUID"),
}
_FORMATS: Mapping[str, TextForm] = {
    "byte": _unless(partial(base64.b64decode, validate=True), "must be encoded in base64"),
    "date": SCHEMA_FORMATS["date"],
    "datetime": _unless(timestamp_of, "must be a time such as 2026-01-02T03:04:05Z"),
    "dns1035Label": _dns_1035_label,
    "dns1035LabelPrefix": before_suffix(_dns_1035_label),
    "dns1123Label": dns_label,
    "dns1123LabelPrefix": before_suffix(dns_label),
    "dns1123Subdomain": dns_subdomain,
    "dns1123SubdomainPrefix": before_suffix(dns_subdomain),
    "labelValue": label_value,
    "qualifiedName": label_key,
    "uri": SCHEMA_FORMATS["uri"],
    "uuid": SCHEMA_FORMATS["uuid"],
}


def _validated(named: NamedFormat, text: str) -> Optional:
    sentence = _FORMATS[named.name](text)
    return NONE if sentence is None else Optional(([sentence],))


def _named_format(name: str) -> Optional:
    return Optional((NamedFormat(name),)) if name in _FORMATS else NONE


_NAMED_FORMATS: Mapping[str, Callable[..., Any]] = {
    "<format>.validate(string)": _validated,
    "format.named(string)": _named_format,
    **{f"format.{name}()": partial(NamedFormat, name) for name in _FORMATS},
}


KUBERNETES: Mapping[str, Callable[..., Any]] = {**_ADDRESSES, **_URLS, **_AMOUNTS, **_NAMED_FORMATS}
