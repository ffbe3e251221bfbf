"""Pods from the template of their owner, and the numbers that owners declare."""

import hashlib
import re

import msgspec

from reprieve.cluster.mini.kinds import Json, peek
from reprieve.model.objects import ObjectMeta

_PERCENT = re.compile(r"(\d+)%", re.ASCII)
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"


def owner_reference(api_version: str, kind: str, owner: ObjectMeta) -> Json:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def pod_of(template: Json, owner: ObjectMeta, reference: Json, labels: dict[str, str] | None = None) -> Json:
    meta = peek(template, "metadata")
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "generateName": f"{owner.name}-",
            "namespace": owner.namespace,
            "labels": {**peek(meta, "labels"), **(labels or {})},
            "annotations": peek(meta, "annotations"),
            "ownerReferences": [reference],
        },
        "spec": peek(template, "spec"),
    }


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
