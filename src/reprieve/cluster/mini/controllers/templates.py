"""Templates, and the numbers that those who have one declare."""

import hashlib
import re

import msgspec

from reprieve.cluster.api.templates import ControllerOwner
from reprieve.model.json import Json
from reprieve.model.objects import ObjectMeta

_PERCENT = re.compile(r"(\d+)%", re.ASCII)
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"


def maker(api_version: str, kind: str, meta: ObjectMeta) -> ControllerOwner:
    return ControllerOwner(api_version, kind, meta.namespace, meta.name, meta.uid)


def template_hash(template: Json) -> str:
    """The same for equal templates, whatever the order of their fields."""
    digest = hashlib.blake2b(msgspec.json.encode(template, order="deterministic"), digest_size=10).digest()
    return "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in digest)


def scaled(value: int | str, total: int, *, round_up: bool) -> int | None:
    """A number, or a percentage of a total; None when it is neither."""
    if isinstance(value, int):
        return value
    match = _PERCENT.fullmatch(value)
    if match is None:
        return None
    hundredths = int(match[1]) * total
    return -(-hundredths // 100) if round_up else hundredths // 100
