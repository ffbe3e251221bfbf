"""Field paths in the notation of FieldsV1: ``f:spec``, ``k:{"name":"main"}``, ``v:"x"``.

A manager owns a set of paths. In managedFields the set is a tree, in which a dot marks a path that ends at a
node with children.
"""

from collections.abc import Iterable
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
    """In the notation of error messages: ``.spec.containers[name="main"].image``."""
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
