"""Which kinds, in which namespaces, must a reader be allowed to get to see names in a picture or a change?

How a reader's rights are found out is not known here, and neither is how a name is hidden.
"""

from collections.abc import Callable, Iterable, Iterator

from reprieve.page.change_ring import ChangeBatch
from reprieve.page.picture import GroupGone, Picture, PictureChange
from reprieve.page.rows import GroupRow, PodRow, namespace_of
from reprieve.page.sources import ReaderSight
from reprieve.report.hidden_names import MayGet, Named, may_get_all, named_in
from reprieve.runtime.recent_decisions import KeptDecision


async def may_get_shown(sight: ReaderSight, shown: Callable[[], Iterable[Named]]) -> MayGet:
    """Kinds are collected only for a reader that may not get all of them."""
    everything = await sight.of(())
    return everything if everything is may_get_all else await sight.of(frozenset(shown()))


def kinds_in_picture(picture: Picture) -> Iterator[Named]:
    for pod in picture.pods():
        yield from _kinds_in_change(pod)
    for group in picture.groups():
        yield from _kinds_in_change(group)
    for kept in picture.decisions.all():
        yield from named_in(kept.decision)


def kinds_in_changes(batch: ChangeBatch) -> Iterator[Named]:
    for change in batch.changes:
        yield from _kinds_in_change(change)


def _kinds_in_change(change: PictureChange) -> Iterator[Named]:
    match change:
        case PodRow(key=key, group=group):
            yield "Pod", namespace_of(key)
            if group:
                yield "PodGroup", namespace_of(group)
        case GroupRow(key=key) | GroupGone(key=key):
            yield "PodGroup", namespace_of(key)
            yield "CompositePodGroup", namespace_of(key)
        case KeptDecision(decision=decision):
            yield from named_in(decision)
