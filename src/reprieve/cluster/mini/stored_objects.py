"""How the store names and keeps one version of an object: a key, and raw JSON.

What the JSON means is not known here.
"""

from typing import NamedTuple

import msgspec


class Key(NamedTuple):
    """The resource type (``pods``, ``jobs.batch``), the namespace ("" for none), the name."""

    resource: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f'{self.resource} "{self.name}"'


class Stored(msgspec.Struct, frozen=True, gc=False):
    """One version of an object, as JSON."""

    key: Key
    uid: str
    version: int
    raw: bytes
