"""Who belongs to a controller: what its selector matches and nobody controls is adopted, the rest let go."""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

import msgspec

from reprieve.cluster.api.templates import ControllerOwner
from reprieve.cluster.mini.controllers.mirror import Described, key_in
from reprieve.cluster.mini.controllers.writes import Amend, Write
from reprieve.model.json import Json
from reprieve.model.objects import LabelSelector, Ref
from reprieve.model.resources import Problems
from reprieve.model.selectors import Selector, compile_selector


def settled(
    resource: str,
    selector: Json,
    owner: ControllerOwner,
    owned: Iterable[Described],
    free: Iterable[Described],
) -> Iterator[Write]:
    """``free``: those of the namespace that have no controller. Without a selector all stay as they are."""
    wanted = _compiled(msgspec.json.encode(selector))
    if wanted is None:
        return
    for thing in owned:
        if _can_move(thing) and not wanted.matches(thing.metadata.labels):
            yield _release(resource, thing, owner.uid)
    for thing in free:
        if _can_move(thing) and wanted.matches(thing.metadata.labels):
            yield _adopt(resource, thing, owner)


def matches(selector: Json, labels: Mapping[str, str]) -> bool:
    wanted = _compiled(msgspec.json.encode(selector))
    return wanted is not None and wanted.matches(labels)


@lru_cache(maxsize=1024)
def _compiled(raw: bytes) -> Selector | None:
    """None for a selector that is empty, or cannot be read."""
    nobody = Problems(Ref(kind="", namespace="", name=""))
    try:
        selector = msgspec.json.decode(raw, type=LabelSelector)
    except msgspec.ValidationError:
        return None
    compiled = compile_selector(selector, "", nobody)
    empty = not (selector.match_labels or selector.match_expressions)
    return None if nobody.found or empty else compiled


def _can_move(thing: Described) -> bool:
    return thing.metadata.deletion_timestamp is None


def _adopt(resource: str, thing: Described, owner: ControllerOwner) -> Write:
    def change(body: Json) -> None:
        meta = body["metadata"]
        meta["ownerReferences"] = [*(meta.get("ownerReferences") or ()), owner.reference()]

    return Amend(key_in(resource, thing), thing.metadata.uid, change)


def _release(resource: str, thing: Described, owner: str) -> Write:
    def change(body: Json) -> None:
        meta = body["metadata"]
        meta["ownerReferences"] = [r for r in meta.get("ownerReferences") or () if r.get("uid") != owner]

    return Amend(key_in(resource, thing), thing.metadata.uid, change)
