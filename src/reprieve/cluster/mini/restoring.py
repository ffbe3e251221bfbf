"""A cluster from what was written down of another one: objects as they were, identity and status included.

They were admitted where they come from, so nobody asks again whether they may be.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from reprieve.cluster.api.documents import Unparsed, documents
from reprieve.cluster.mini.errors import ApiError
from reprieve.cluster.mini.kinds import BY_NAME
from reprieve.cluster.mini.metadata import key_of
from reprieve.cluster.mini.spelling import stored_form
from reprieve.cluster.mini.store import Store
from reprieve.model.json import Json


class SnapshotError(ValueError):
    """A snapshot that cannot be read: one sentence."""


def restore(store: Store, text: str) -> Counter[str]:
    """Takes YAML or JSON, one document or many, lists unfolded; says which kinds were left out as not served.

    A SnapshotError, and nothing is written, if it cannot be read.
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
    return kind.resource, stored_form(kind, str(body.get("apiVersion")), body)


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
