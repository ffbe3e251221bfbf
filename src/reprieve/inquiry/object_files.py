"""Which objects are in a file of YAML, JSON, JSON lines, a kubectl list, a snapshot, or their gzip?

Content never raises: what makes a file unusable is a problem, what can be left out is a note. JSON is split
into objects without parsing them. This module must not know where bytes come from, nor what objects mean.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from reprieve.inquiry.cluster_objects import ApiObject, ClusterObjects
from reprieve.model.json import Json


@dataclass(frozen=True, slots=True)
class SnapshotHeader:
    """The first line of a snapshot."""

    taken_at: float
    resource_version: str = ""
    configuration: Json | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ObjectFile:
    """``documents``: for each object, the number of its document, or of its line in JSON lines, from 1.

    With ``problems`` the file cannot be used; ``notes`` say what of it was left out. Each is a sentence that
    begins with the name of the file.
    """

    objects: tuple[ApiObject, ...]
    documents: tuple[int, ...]
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    header: SnapshotHeader | None = None
    decisions: tuple[Json, ...] = ()


def parse_objects(text: bytes, where: str) -> ObjectFile:
    """``where``: the name of the file, for problems and notes."""
    raise NotImplementedError


def cluster_in(files: Sequence[ObjectFile], now: float) -> ClusterObjects:
    """The cluster that files without problems describe together; of one name, the last object counts.

    ``now``: when it was taken, unless a header says it. Unknown kinds, repeated names and contradictions are
    counted in its notes.
    """
    raise NotImplementedError
