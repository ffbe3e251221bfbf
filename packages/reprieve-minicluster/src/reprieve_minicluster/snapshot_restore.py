"""Restores a cluster from a snapshot of another one: objects as they were, with their UIDs and statuses.

The other cluster has admitted them, so they are not admitted again.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

import msgspec

from reprieve.cluster.api import snapshot_header
from reprieve.cluster.api.decode_errors import UNDECODABLE
from reprieve.cluster.api.documents import Unparsed, documents
from reprieve.model.json import Json
from reprieve_minicluster.errors import ApiError
from reprieve_minicluster.kinds import BY_NAME
from reprieve_minicluster.kinds.conversion import to_storage_version
from reprieve_minicluster.store import Store
from reprieve_minicluster.store.metadata import key_of


class SnapshotError(ValueError):
    """The snapshot cannot be read: one sentence that says why."""


def restore(
    store: Store, text: str, progress: Callable[[int, int], None] = lambda _done, _all: None
) -> Counter[str]:
    """Store every object of YAML or JSON documents and lists; returns how many were skipped, by kind.

    Objects of kinds that are not served are skipped. A SnapshotError, with nothing stored, if the text is
    malformed. ``progress`` gets how many are stored, and of how many.
    """
    objects = list(_objects(_lines(text) if _is_saved(text) else documents(text)))
    served = [_addressed(body) for body in objects if body["kind"] in BY_NAME]
    for number, (resource, body) in enumerate(served, start=1):
        store.adopt(resource, body)
        progress(number, len(served))
    return Counter(body["kind"] for body in objects if body["kind"] not in BY_NAME)


def _is_saved(text: str) -> bool:
    """Whether it is a file of `reprieve snapshot save`: a header, and one object a line."""
    try:
        header = msgspec.json.decode(text.partition("\n")[0])
    except UNDECODABLE:
        return False
    return isinstance(header, dict) and header.get("kind") == snapshot_header.KIND


def _lines(text: str) -> Iterator[object]:
    """The values of its lines; a SnapshotError if it has fewer than its header says."""
    lines = [line for line in text.split("\n") if line.strip()]
    for number, line in enumerate(lines, start=1):
        try:
            yield msgspec.json.decode(line)
        except UNDECODABLE as error:
            raise SnapshotError(f"the file is truncated or damaged: line {number} is not JSON") from error
    expected = snapshot_header.lines_after(msgspec.json.decode(lines[0]))
    if len(lines) - 1 < expected:
        raise SnapshotError(
            f"the file is truncated: expected {expected} lines after the header, got {len(lines) - 1}"
        )


def _addressed(body: Json) -> tuple[str, Json]:
    kind = BY_NAME[body["kind"]]
    try:
        key_of(kind, body)
    except ApiError as error:
        raise SnapshotError(error.message) from error
    return kind.resource, to_storage_version(kind, str(body.get("apiVersion")), body)


def _objects(found: Iterable[object]) -> Iterator[Json]:
    """Decisions tell of the other cluster's past, and are skipped."""
    for document in found:
        match document:
            case Unparsed(expected):
                raise SnapshotError(expected)
            case {"kind": str(kind), "items": list(items)} if kind.endswith("List"):
                yield from _objects(items)
            case dict() if document.get("kind") == snapshot_header.KIND:
                if wrong := snapshot_header.refusal(document):
                    raise SnapshotError(wrong)
                objects = document.get("objects")
                yield from _objects(objects if isinstance(objects, list) else ())
            case {"kind": kind, "apiVersion": version} if snapshot_header.is_decision(kind, version):
                pass
            case dict() if isinstance(document.get("kind"), str) and isinstance(
                document.get("metadata"), dict
            ):
                yield document
            case _:
                raise SnapshotError(
                    "expected Kubernetes objects, or lists of them, each with a kind and metadata"
                )
