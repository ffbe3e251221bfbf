"""How an object is changed by a patch: three kinds, each a pure function from JSON values to JSON values.

The fourth, to apply, depends on who else has written the object and is not here.
"""

from collections.abc import Callable, Mapping

from reprieve.cluster.mini.kinds import Kind
from reprieve.cluster.mini.rest.bodies import as_object, from_json, unsupported_media
from reprieve.cluster.mini.rest.depth import check_depth
from reprieve.cluster.mini.rest.patches.json_patch import apply_operations
from reprieve.cluster.mini.rest.patches.merge_patch import merge
from reprieve.cluster.mini.rest.patches.strategic import merge_strategically
from reprieve.model.json import Json

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"

Change = Callable[[Json], Json]
__all__ = ["APPLY", "JSON_PATCH", "MERGE_PATCH", "PATCHES", "STRATEGIC", "Change", "change_of"]


def change_of(kind: Kind, media: str, body: bytes) -> Change:
    """What a patch does to an object; an ApiError for a patch that cannot be read.

    Nobody knows how strategic merges go for a kind that somebody has defined.
    """
    served = [one for one in PATCHES if one != STRATEGIC or kind.custom is None]
    if media not in served:
        raise unsupported_media(media, *served, APPLY)
    change = PATCHES[media](kind, from_json(body))

    def checked(old: Json) -> Json:
        new = change(old)
        check_depth(new)
        return new

    return checked


def _by_operations(kind: Kind, patch: object) -> Change:
    return lambda old: as_object(apply_operations(old, patch))


def _by_merging(kind: Kind, patch: object) -> Change:
    given = as_object(patch)
    return lambda old: as_object(merge(old, given))


def _strategically(kind: Kind, patch: object) -> Change:
    given = as_object(patch)
    return lambda old: merge_strategically(kind, old, given)


PATCHES: Mapping[str, Callable[[Kind, object], Change]] = {
    JSON_PATCH: _by_operations,
    MERGE_PATCH: _by_merging,
    STRATEGIC: _strategically,
}
