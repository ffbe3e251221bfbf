"""The hash that names the ReplicaSet or ControllerRevision of a pod template."""

import hashlib

import msgspec

from reprieve.model.json import Json

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"


def template_hash(template: Json) -> str:
    """Equal templates have equal hashes, whatever the order of their fields."""
    digest = hashlib.blake2b(msgspec.json.encode(template, order="deterministic"), digest_size=10).digest()
    return "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in digest)
