"""Field paths in the notation of FieldsV1: ``f:spec``, ``k:{"name":"main"}``, ``v:"x"``.

A manager owns a set of paths. In managedFields the set is a tree, in which a dot marks a path that ends at a
node with children.
"""

from collections import deque
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from reprieve.cluster.api.merge_shapes import GranularMap, KeyedList, MergeShape, ValueSet
from reprieve.model.json import Json

Path = tuple[str, ...]
_HERE = "."
_encode = msgspec.json.Encoder(order="sorted").encode


def owned(value: object, shape: MergeShape, at: Path = ()) -> set[Path]:
    """Every path that a value sets."""
    found: set[Path] = set()
    _collect(value, shape, at, found)
    return found - {()}


def _collect(value: object, shape: MergeShape, at: Path, found: set[Path]) -> None:
    match shape, value:
        case GranularMap(), dict() if value:
            for name, one in value.items():
                _collect(one, shape.below(name), (*at, f"f:{name}"), found)
        case KeyedList(), list() if value:
            for item in value:
                here = (*at, step_of(shape, item))
                found.add(here)
                _collect(item, shape.item, here, found)
        case ValueSet(), list() if value:
            found.update((*at, step_of(shape, item)) for item in value)
        case _:
            found.add(at)


def step_of(shape: KeyedList | ValueSet, item: Any) -> str:
    """The path element that identifies an item of a list. Missing keys have their defaults."""
    match shape:
        case ValueSet():
            return f"v:{_encode(item).decode()}"
        case KeyedList(keys):
            there = item if isinstance(item, dict) else {}
            said = {key: there.get(key, default) for key, default in keys}
            return f"k:{_encode(said).decode()}"


def shown(path: Path) -> str:
    """A path in the notation of error messages: ``.spec.containers[name="main"].image``."""
    return "".join(map(_shown_step, path))


def _shown_step(step: str) -> str:
    name = step[2:]
    match step[:1]:
        case "f":
            return f".{name}"
        case "v":
            return f"[={name}]"
    keys = msgspec.json.decode(name)
    return f"[{','.join(f'{key}={_encode(value).decode()}' for key, value in keys.items())}]"


# --- as trees --------------------------------------------------------------------------------------


def tree_of(paths: Iterable[Path]) -> Json:
    tree: Json = {}
    for path in sorted(paths):
        at = tree
        for step in path[:-1]:
            at = at.setdefault(step, {})
        at.setdefault(path[-1], {})
    return _dotted(tree, frozenset(paths), ())


def _dotted(tree: Json, paths: frozenset[Path], at: Path) -> Json:
    dot: Json = {_HERE: {}} if at in paths and tree else {}
    return dot | {step: _dotted(below, paths, (*at, step)) for step, below in tree.items()}


def paths_in(tree: object, at: Path = ()) -> set[Path]:
    """A ValueError for a malformed tree."""
    if not isinstance(tree, dict):
        raise ValueError(f"expected an object at {shown(at) or 'the top'}")
    if not tree:
        return {at} if at else set()
    found: set[Path] = set()
    for step, below in tree.items():
        if step == _HERE:
            found.update([at] if at else ())
        elif step[:2] in ("f:", "k:", "v:", "i:"):
            _check(step)
            found |= paths_in(below, (*at, step))
        else:
            raise ValueError(f"expected a field, a key or a value, got {step!r}")
    return found


def _check(step: str) -> None:
    if step.startswith("f:"):
        return
    try:
        value = msgspec.json.decode(step[2:])
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise ValueError(f"expected JSON after the colon, got {step!r}") from error
    if step.startswith("k:") and not isinstance(value, dict):
        raise ValueError(f"expected an object after the colon, got {step!r}")


# --- merging --------------------------------------------------------------------------------------


def merged(there: Any, applied: Any, shape: MergeShape) -> Any:
    match shape, there, applied:
        case GranularMap(), dict(), dict():
            new = {name: merged(there.get(name), one, shape.below(name)) for name, one in applied.items()}
            return {**there, **new}
        case KeyedList() | ValueSet(), list(), list():
            return _merged_list(there, applied, shape)
    return applied


def _merged_list(there: list[Any], applied: list[Any], shape: KeyedList | ValueSet) -> list[Any]:
    """Items in the order of the applied list; others stay before the items that they preceded."""
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
