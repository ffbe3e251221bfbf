"""Patches: JSON patch, merge patch and strategic merge patch, each a pure function of JSON values.

The apply patch depends on field ownership and is in `server_side_apply`.
"""

from collections.abc import Callable, Mapping

from reprieve.model.json import Json
from reprieve_minicluster.kinds import ResourceKind
from reprieve_minicluster.rest.nesting_limit import check_depth, too_deep
from reprieve_minicluster.rest.patches.json_patch import apply_operations
from reprieve_minicluster.rest.patches.strategic_merge import merge_strategically
from reprieve_minicluster.rest.request_bodies import as_object, from_json, unsupported_media

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"

Change = Callable[[Json], Json]
__all__ = ["APPLY", "JSON_PATCH", "MERGE_PATCH", "PATCHES", "STRATEGIC", "Change", "change_of"]


def change_of(kind: ResourceKind, media: str, body: bytes) -> Change:
    """A patch as a function of an object; an ApiError for a malformed patch.

    Strategic merge patches need merge keys, which custom kinds do not have.
    """
    served = [one for one in PATCHES if one != STRATEGIC or kind.custom is None]
    if media not in served:
        raise unsupported_media(media, *served, APPLY)
    change = PATCHES[media](kind, from_json(body))

    def checked(old: Json) -> Json:
        try:
            new = change(old)
        except RecursionError as error:  # operations can nest values deeper than any body may be
            raise too_deep() from error
        check_depth(new)
        return new

    return checked


def _by_operations(kind: ResourceKind, patch: object) -> Change:
    return lambda old: as_object(apply_operations(old, patch))


def _by_merging(kind: ResourceKind, patch: object) -> Change:
    given = as_object(patch)
    return lambda old: as_object(merge(old, given))


def _strategically(kind: ResourceKind, patch: object) -> Change:
    given = as_object(patch)
    return lambda old: merge_strategically(kind, old, given)


PATCHES: Mapping[str, Callable[[ResourceKind, object], Change]] = {
    JSON_PATCH: _by_operations,
    MERGE_PATCH: _by_merging,
    STRATEGIC: _strategically,
}


def merge(old: object, patch: object) -> object:
    if not isinstance(patch, dict):
        return patch
    merged = dict(old) if isinstance(old, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge(merged.get(name), value)
    return merged
