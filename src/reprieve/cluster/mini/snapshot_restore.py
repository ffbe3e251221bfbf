"""Restores a cluster from a snapshot of another one: objects as they were, with their UIDs and statuses.

The other cluster has admitted them, so they are not admitted again.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from reprieve.cluster.api.documents import Unparsed, documents
from reprieve.cluster.mini.conversion import to_storage_version
from reprieve.cluster.mini.errors import ApiError
from reprieve.cluster.mini.kinds import BY_NAME
from reprieve.cluster.mini.metadata import key_of
from reprieve.cluster.mini.store import Store
from reprieve.model.json import Json


class SnapshotError(ValueError):
    """The snapshot cannot be read: one sentence that says why."""


def restore(store: Store, text: str) -> Counter[str]:
    """Store every object of YAML or JSON documents and lists; returns how many were skipped, by kind.

    Objects of kinds that are not served are skipped. A SnapshotError, with nothing stored, if the text is
    malformed.
    """
    objects = list(_objects(documents(text)))
    for resource, body in [_addressed(body) for body in objects if body["kind"] in BY_NAME]:
        store.adopt(resource, body)
    return Counter(body["kind"] for body in objects if body["kind"] not in BY_NAME)


def _addressed(body: Json) -> tuple[str, Json]:
    kind = BY_NAME[body["kind"]]
    try:
        key_of(kind, body)
    except ApiError as error:
        raise SnapshotError(error.message) from error
    return kind.resource, to_storage_version(kind, str(body.get("apiVersion")), body)


def _objects(found: Iterable[object]) -> Iterator[Json]:
    for document in found:
        match document:
            case Unparsed(expected):
                raise SnapshotError(expected)
            case {"kind": str(kind), "items": list(items)} if kind.endswith("List"):
                yield from _objects(items)
            case {"kind": "ClusterSnapshot", "objects": list(objects)}:
                yield from _objects(objects)
            case dict() if isinstance(document.get("kind"), str) and isinstance(
                document.get("metadata"), dict
            ):
                yield document
            case _:
                raise SnapshotError(
                    "expected Kubernetes objects, or lists of them, each with a kind and metadata"
                )
