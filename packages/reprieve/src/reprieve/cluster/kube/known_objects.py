"""What was delivered of one kind, so that nothing is delivered twice and a relist finds what was deleted.

Lists and changes in, watch events out.
"""

from collections.abc import Iterator
from typing import NamedTuple

from reprieve.cluster.api.codec import Decoded, Unreadable
from reprieve.cluster.port import ClusterEvent
from reprieve.model.effects import Target
from reprieve.model.events import Gone, Seen, Unread
from reprieve.model.objects import Condition, GroupStatus, KubernetesObject, ObjectMeta, PodStatus

Result = Decoded[KubernetesObject] | Unreadable


class KnownObject(NamedTuple):
    """Only the parts of an object that are needed here: there are many, and the scheduler keeps the rest."""

    uid: str
    version: str
    generation: int = 0
    conditions: tuple[Condition, ...] = ()


class KnownObjects:
    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._known: dict[tuple[str, str], KnownObject] = {}
        self._missing: set[tuple[str, str]] = set()
        self._replaced: dict[tuple[str, str], tuple[ObjectMeta, Result]] = {}  # namesakes in the present list
        self._is_listing = False

    def find(self, target: Target) -> KnownObject | None:
        """What is known of an object from its latest event; None if another object has the name now."""
        known = self._known.get((target.namespace, target.name))
        return known if known is not None and known.uid == target.uid else None

    def begin_list(self) -> None:
        """Every existing object is shown from here to ``end_list``; the others were deleted meanwhile.

        Deletions come last, as the port demands.
        """
        self._missing, self._replaced, self._is_listing = set(self._known), {}, True

    def end_list(self) -> Iterator[ClusterEvent]:
        replaced, self._replaced, self._is_listing = list(self._replaced.values()), {}, False
        for meta, result in replaced:
            yield from self.show(meta, result)
        missing, self._missing = sorted(self._missing), set()
        for key in missing:
            yield self._forget(key)

    def show(self, meta: ObjectMeta, result: Result) -> Iterator[ClusterEvent]:
        """The present state of an object."""
        key = (meta.namespace, meta.name)
        known = self._known.get(key)
        is_namesake = known is not None and known.uid != meta.uid
        if is_namesake and self._is_listing:
            self._replaced[key] = (meta, result)
            return
        self._missing.discard(key)
        if is_namesake:
            yield self._forget(key)
        elif known is not None and known.version == meta.resource_version:
            return
        match result:
            case Decoded(object=thing, unserved=unserved):
                conditions = _conditions(thing)
                self._known[key] = KnownObject(meta.uid, meta.resource_version, meta.generation, conditions)
                yield Seen(thing, unserved)
            case Unreadable(problem=problem):
                self._known[key] = KnownObject(meta.uid, meta.resource_version)
                yield Unread(Target(self._kind, *key, meta.uid), problem)

    def remove(self, meta: ObjectMeta) -> Iterator[ClusterEvent]:
        key = (meta.namespace, meta.name)
        known = self._known.get(key)
        replaced = self._replaced.get(key)
        if replaced is not None and replaced[0].uid == meta.uid:
            del self._replaced[key]  # it was never delivered, and the object before it is still missing
        if known is not None and known.uid == meta.uid:
            self._missing.discard(key)
            yield self._forget(key, meta.resource_version)

    def _forget(self, key: tuple[str, str], version: str = "") -> Gone:
        """``version``: known only from a watch event. An object that a list lacks has none: the list may come
        from a server that is behind, on which the object does not exist yet."""
        return Gone(Target(self._kind, *key, self._known.pop(key).uid), version)


def _conditions(thing: KubernetesObject) -> tuple[Condition, ...]:
    match getattr(thing, "status", None):
        case PodStatus(conditions=conditions) | GroupStatus(conditions=conditions):
            return conditions
    return ()
