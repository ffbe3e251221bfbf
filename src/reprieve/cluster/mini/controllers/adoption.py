"""Adoption by selector: an owner adopts matching objects without a controller, and releases the others."""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from reprieve.cluster.api.templates import ControllerOwner
from reprieve.cluster.mini.controllers.api_writes import Update, Write
from reprieve.cluster.mini.controllers.controller_cache import HasMetadata, key_in
from reprieve.model.json import Json
from reprieve.model.objects import LabelSelector, Ref
from reprieve.model.resources import Problems
from reprieve.model.selectors import Selector, compile_selector
from reprieve.model.sized_cache import cached_by_text


def adopt_and_release(
    resource: str,
    selector: Json,
    owner: ControllerOwner,
    owned: Iterable[HasMetadata],
    free: Iterable[HasMetadata],
) -> Iterator[Write]:
    """``free``: objects of the namespace without a controller. An empty selector changes nothing."""
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


@cached_by_text(entries=1024, size=1 << 24)
def _compiled(raw: bytes) -> Selector | None:
    """None for a selector that is empty or malformed."""
    problems = Problems(Ref(kind="", namespace="", name=""))
    try:
        selector = msgspec.json.decode(raw, type=LabelSelector)
    except msgspec.ValidationError:
        return None
    compiled = compile_selector(selector, "", problems)
    empty = not (selector.match_labels or selector.match_expressions)
    return None if problems.found or empty else compiled


def _can_move(thing: HasMetadata) -> bool:
    return thing.metadata.deletion_timestamp is None


def _adopt(resource: str, thing: HasMetadata, owner: ControllerOwner) -> Write:
    def change(body: Json) -> None:
        meta = body["metadata"]
        meta["ownerReferences"] = [*(meta.get("ownerReferences") or ()), owner.reference()]

    return Update(key_in(resource, thing), thing.metadata.uid, change)


def _release(resource: str, thing: HasMetadata, owner: str) -> Write:
    def change(body: Json) -> None:
        meta = body["metadata"]
        meta["ownerReferences"] = [r for r in meta.get("ownerReferences") or () if r.get("uid") != owner]

    return Update(key_in(resource, thing), thing.metadata.uid, change)
