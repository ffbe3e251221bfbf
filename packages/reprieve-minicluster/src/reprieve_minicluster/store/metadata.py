"""The metadata that the API server sets: names, UIDs, timestamps, and fields that clients cannot change.

Nothing is random: names and UIDs derive from the version at which an object was created, which is unique.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from uuid import UUID, uuid5

from reprieve.cluster.api.timestamps import stamp
from reprieve.model.json import Json
from reprieve_minicluster.errors import invalid
from reprieve_minicluster.kinds import ResourceKind
from reprieve_minicluster.store.watch_cache import Key

# A client may send these, and cannot change them.
SYSTEM_FIELDS = (
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "resourceVersion",
    "managedFields",
)
# Objects from other clusters may have these; they are dropped.
_IGNORED_FIELDS = ("managedFields", "selfLink")
_UIDS = UUID("6a1f2b9e-7a3c-5d7e-9c55-0d7b0c2f4e11")
# As in Kubernetes: without vowels and look-alikes, so that no suffix is a word.
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX = 5
_SCATTER = 7_654_321  # coprime to the number of suffixes: neighbouring versions differ, and none repeats
_APART = 4_999_999  # between the suffixes of a request that waits and one that does not
_LONGEST_BASE = 63 - _SUFFIX


@dataclass(frozen=True, slots=True)
class Identity:
    """From what the UID of a new object, and a generated name, derive: the version at which it is stored.

    ``waited``: a number of the request, if it waits for webhooks: then another object may get that version.
    """

    version: int
    waited: int = 0

    @property
    def uid(self) -> str:
        return _uid(f"{self.version}.{self.waited}" if self.waited else str(self.version))

    @property
    def suffix(self) -> str:
        return suffix_at(self.version + self.waited * _APART)


@lru_cache(maxsize=16)  # called before an object is admitted and again when it is stored
def _uid(place: str) -> str:
    return str(uuid5(_UIDS, place))


def suffix_at(place: int) -> str:
    number = place * _SCATTER % len(_ALPHABET) ** _SUFFIX
    letters = []
    for _ in range(_SUFFIX):
        number, digit = divmod(number, len(_ALPHABET))
        letters.append(_ALPHABET[digit])
    return "".join(letters)


def metadata_of(body: Json) -> Json:
    """The metadata; an ApiError 422 when it is missing or malformed."""
    found = body.get("metadata")
    if not isinstance(found, dict):
        raise invalid(str(body.get("kind", "object")), "metadata", f"expected an object, got {found!r}")
    return found


def expected_version(meta: Json) -> str:
    """The resource version that an update is based on; as in Kubernetes, 0 is none."""
    version = str(meta.get("resourceVersion") or "")
    return "" if version == "0" else version


def key_of_body(kind: ResourceKind, body: Json) -> Key:
    """The key of an object that has its name already."""
    meta = metadata_of(body)
    name = _text(kind.kind, meta, "name")
    if not name or "/" in name:
        raise invalid(kind.kind, "metadata.name", f"expected a name without slashes, got {name!r}")
    return Key(kind.resource, namespace_of(kind, meta), name)


def namespace_of(kind: ResourceKind, meta: Json) -> str:
    if not kind.namespaced:
        return ""
    return _text(kind.kind, meta, "namespace") or "default"


def named(kind: str, meta: Json, identity: Identity) -> Json:
    """The metadata with a name, generated from generateName where none is given."""
    if meta.get("name"):
        return meta
    base = _text(kind, meta, "generateName")
    if not base:
        raise invalid(kind, "metadata.name", "expected a name or a generateName")
    return {**meta, "name": base[:_LONGEST_BASE] + identity.suffix}


def _text(kind: str, meta: Json, field: str) -> str:
    value = meta.get(field, "")
    if not isinstance(value, str):
        raise invalid(kind, f"metadata.{field}", f"expected text, got {value!r}")
    return value


def born(meta: Json, key: Key, uid: str, moment: float) -> Json:
    """The metadata of a new object."""
    scope = {"namespace": key.namespace} if key.namespace else {}
    return {
        "name": key.name,
        **scope,
        "uid": uid,
        "creationTimestamp": stamp(moment),
        **_own(meta),
    }


def adopted(meta: Mapping[str, object]) -> Json:
    """The metadata of an object from another cluster."""
    return {name: value for name, value in meta.items() if name not in _IGNORED_FIELDS}


def kept(before: Mapping[str, object], after: Mapping[str, object]) -> Json:
    """The metadata that a client sends, with the system fields as they were."""
    ours = {name: before[name] for name in SYSTEM_FIELDS if name in before}
    return {**_own(after), **ours}


def _own(meta: Mapping[str, object]) -> Json:
    """The fields that a client may set."""
    return {n: value for n, value in meta.items() if n not in SYSTEM_FIELDS and n not in _IGNORED_FIELDS}


def without_duplicate_owners(body: Json) -> tuple[Json, list[str]]:
    """The object with equal owner references only once, and the UIDs of those that were repeated."""
    meta = body.get("metadata")
    if not isinstance(meta, dict):
        return body, []
    found = meta.get("ownerReferences")
    if not isinstance(found, list) or len(found) < 2:
        return body, []
    distinct: list[Json] = []
    repeated: list[str] = []
    for owner in found:
        if owner in distinct:
            repeated.append(str(owner.get("uid")) if isinstance(owner, dict) else str(owner))
        else:
            distinct.append(owner)
    return ({**body, "metadata": {**meta, "ownerReferences": distinct}} if repeated else body), repeated


def without_finalizer(body: Json, name: str) -> Json:
    """Remove a finalizer from an object, in place."""
    meta = body["metadata"]
    meta["finalizers"] = [one for one in meta.get("finalizers") or () if one != name]
    return body
