"""What becomes of an object, and of who owns what in it, when somebody applies or updates it."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final, Literal

from reprieve.cluster.api.merge_shapes import MergeShape
from reprieve.cluster.mini.errors import ApiError, Cause
from reprieve.cluster.mini.rest.managed_fields.paths import Path, owned, shown
from reprieve.cluster.mini.rest.managed_fields.values import Difference, difference, merged, without
from reprieve.cluster.mini.rest.managed_fields.writers import (
    UPDATE,
    Share,
    Shares,
    Writer,
    bounded,
    taken_from_others,
    with_share,
)
from reprieve.model.json import Json

_NOT_SHARED = (
    *("name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"),
    *("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"),
)
_HEAD_AND_STATUS = ("apiVersion", "kind", "metadata", "status")
_METADATA = "f:metadata"


def shared_part(body: Json, *, status: bool | None) -> Json:
    """What of an object can have owners.

    ``status``: whether it is the status that is written, or all but that; None if the two are not apart.
    """
    if status:
        return {"status": body["status"]} if "status" in body else {}
    apart = ("apiVersion", "kind", "metadata") if status is None else _HEAD_AND_STATUS
    meta = body.get("metadata")
    own = {n: v for n, v in meta.items() if n not in _NOT_SHARED} if isinstance(meta, dict) else {}
    rest = {name: value for name, value in body.items() if name not in apart}
    return {"metadata": own, **rest} if own else rest


class Everything(Enum):
    EVERYTHING = "whoever owns it"


EVERYTHING: Final = Everything.EVERYTHING
Free = frozenset[Path] | Literal[Everything.EVERYTHING]


@dataclass(frozen=True, slots=True)
class Applied:
    body: Json
    shares: dict[Writer, Share]


@dataclass(frozen=True, slots=True)
class Sharing:
    """Who owns what so far of an object of some shape. Bodies are those parts of it that can have owners."""

    shares: Shares
    shape: MergeShape
    now: str

    def updated(self, writer: Writer, old: Json, new: Json) -> dict[Writer, Share]:
        """Who updates an object owns what he changes, and nobody else does any more."""
        change = difference(old, new, self.shape)
        if not change:
            return dict(self.shares)
        others = taken_from_others(self.shares, writer, change.written | change.removed)
        mine = others[writer].paths if writer in others else frozenset()
        return bounded(with_share(others, writer, (mine | change.written) - change.removed, self.now))

    def applied(self, writer: Writer, there: Json, wanted: Json, free: Free) -> Applied:
        """An ApiError 409 if others own what would become different, and it is not free to be taken."""
        mine = frozenset(owned(wanted, self.shape)) if wanted else frozenset()
        after = with_share(self.shares, writer, mine, self.now)
        new = merged(there, wanted, self.shape)
        if writer in self.shares:
            held = _with_parents(path for share in after.values() for path in share.paths)
            new = without(new, _with_parents(self.shares[writer].paths) - held, self.shape)
        change = difference(there, new, self.shape)
        if free is not EVERYTHING:
            _check(after, writer, change, free)
        return Applied(new, taken_from_others(after, writer, change.written | change.removed))


def _with_parents(paths: Iterable[Path]) -> set[Path]:
    """With the fields that they are below. Among labels and annotations may be some that nobody owns."""
    found = set(paths)
    for path in list(found):
        if path[0] == _METADATA:
            continue
        found.update(path[:end] for end in range(1, len(path)) if path[end - 1].startswith("f:"))
    return found


# --- conflicts -------------------------------------------------------------------------------------


def _check(shares: Shares, writer: Writer, change: Difference, free: frozenset[Path]) -> None:
    wanted = (change.written | change.removed) - free
    conflicts = [
        (other, path)
        for other, share in shares.items()
        if other != writer
        for path in sorted(share.paths & wanted)
    ]
    if conflicts:
        raise _conflict(shares, conflicts)


def _conflict(shares: Shares, conflicts: list[tuple[Writer, Path]]) -> ApiError:
    causes = tuple(
        Cause("FieldManagerConflict", f"conflict with {_named(other, shares[other])}", shown(path))
        for other, path in conflicts
    )
    if len(causes) == 1:
        told = f"Apply failed with 1 conflict: {causes[0].message}: {causes[0].field}"
        return ApiError(409, "Conflict", told, causes)
    lines: dict[str, list[str]] = {}
    for cause in causes:
        lines.setdefault(cause.message.replace("conflict with", "conflicts with"), []).append(
            f"- {cause.field}"
        )
    listed = "\n".join(f"{who}:\n" + "\n".join(fields) for who, fields in sorted(lines.items()))
    return ApiError(409, "Conflict", f"Apply failed with {len(causes)} conflicts: {listed}", causes)


def _named(writer: Writer, share: Share) -> str:
    part = f' with subresource "{writer.part}"' if writer.part else ""
    if writer.operation != UPDATE:
        return f'"{writer.name}"{part}'
    since = f" at {share.since}" if share.since else ""
    return f'"{writer.name}"{part} using {writer.api_version}{since}'
