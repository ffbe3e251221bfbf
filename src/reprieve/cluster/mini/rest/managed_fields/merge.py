"""Merging an applied value into an object, removing fields, and comparing two values."""

from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

from reprieve.cluster.api.merge_shapes import GranularMap, KeyedList, MergeShape, ValueSet
from reprieve.cluster.mini.rest.managed_fields.field_paths import Path, owned, step_of
from reprieve.model.json import Json


def merged(there: Any, applied: Any, shape: MergeShape) -> Any:
    match shape, there, applied:
        case GranularMap(), dict(), dict():
            new = {name: merged(there.get(name), one, shape.below(name)) for name, one in applied.items()}
            return {**there, **new}
        case KeyedList() | ValueSet(), list(), list():
            return _merged_list(there, applied, shape)
    return applied


def _merged_list(there: list[Any], applied: list[Any], shape: KeyedList | ValueSet) -> list[Any]:
    """In the order of the applied list; other items stay before the items that they preceded."""
    before = _by_step(there, shape)
    new = _by_step(applied, shape)
    result: list[Any] = []
    left = deque(there)
    for step, item in new.items():
        if step in before:
            while left and step_of(shape, left[0]) != step:
                passed = left.popleft()
                if step_of(shape, passed) not in new:
                    result.append(passed)
            if left:
                left.popleft()
            result.append(merged(before[step], item, shape.item) if isinstance(shape, KeyedList) else item)
        else:
            result.append(item)
    return [*result, *(item for item in left if step_of(shape, item) not in new)]


def _by_step(items: list[Any], shape: KeyedList | ValueSet) -> dict[str, Any]:
    """Items by path element; of duplicates, the first."""
    found: dict[str, Any] = {}
    for item in items:
        found.setdefault(step_of(shape, item), item)
    return found


# --- removing --------------------------------------------------------------------------------------


def without(value: Any, gone: Collection[Path], shape: MergeShape) -> Any:
    """The value without these paths; containers that become empty are removed as well."""
    tree: Json = {}
    for path in gone:
        at = tree
        for step in path:
            at = at.setdefault(step, {})
        at[""] = {}  # a path ends here: remove everything below
    return _left(value, tree, shape)


def _left(value: Any, tree: Json, shape: MergeShape) -> Any:
    match shape, value:
        case GranularMap(), dict():
            kept = {
                name: _below(one, tree.get(f"f:{name}"), shape.below(name)) for name, one in value.items()
            }
            return {name: one for name, one in kept.items() if one is not _NOTHING}
        case KeyedList() | ValueSet(), list():
            item = shape.item if isinstance(shape, KeyedList) else shape
            kept_items = (_below(one, tree.get(step_of(shape, one)), item) for one in value)
            return [one for one in kept_items if one is not _NOTHING]
    return value


_NOTHING = object()


def _below(value: Any, tree: Json | None, shape: MergeShape) -> Any:
    if tree is None:
        return value
    if "" in tree:
        return _NOTHING
    left = _left(value, tree, shape)
    return _NOTHING if not left and value else left


# --- comparing -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FieldComparison:
    """``written``: paths that are new or have another value; ``removed``: paths that are gone."""

    written: set[Path] = field(default_factory=set)
    removed: set[Path] = field(default_factory=set)

    def __bool__(self) -> bool:
        return bool(self.written or self.removed)


def compare(old: Any, new: Any, shape: MergeShape) -> FieldComparison:
    found = FieldComparison()
    _compare(old, new, shape, (), found)
    return found


def _compare(old: Any, new: Any, shape: MergeShape, at: Path, found: FieldComparison) -> None:
    if old == new:
        return
    match shape, old, new:
        case GranularMap(), dict(), dict():
            pairs = _pairs(
                {f"f:{name}": (one, shape.below(name)) for name, one in old.items()},
                {f"f:{name}": (one, shape.below(name)) for name, one in new.items()},
            )
        case KeyedList(item=item), list(), list():
            pairs = _pairs(
                {step: (one, item) for step, one in _by_step(old, shape).items()},
                {step: (one, item) for step, one in _by_step(new, shape).items()},
            )
        case ValueSet(), list(), list():
            before, after = owned(old, shape, at), owned(new, shape, at)
            found.written.update(after - before)
            found.removed.update(before - after)
            return
        case _:
            found.written.add(at)
            return
    for step, one, other in pairs:
        _compare_part(one, other, (*at, step), found)


_Part = tuple[Any, MergeShape]


def _pairs(old: dict[str, _Part], new: dict[str, _Part]) -> Iterator[tuple[str, _Part | None, _Part | None]]:
    for step in {**old, **new}:
        yield step, old.get(step), new.get(step)


def _compare_part(before: _Part | None, after: _Part | None, at: Path, found: FieldComparison) -> None:
    is_item = not at[-1].startswith("f:")
    match before, after:
        case (old, _), (new, shape):
            _compare(old, new, shape, at, found)
        case None, (new, shape):
            found.written.update(owned(new, shape, at), [at] if is_item else ())
        case (old, shape), None:
            found.removed.update(owned(old, shape, at), [at] if is_item else ())
