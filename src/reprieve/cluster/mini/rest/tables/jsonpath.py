"""JSONPath of printer columns: ``.spec.items[?(@.name=="a")].size``."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from reprieve.model.sized_cache import cached_by_text

_STEP = re.compile(
    r"\.(?P<field>(?:[^.\[\]\\'\"]|\\.)+)"
    r"|\[['\"](?P<quoted>[^'\"]+)['\"]\]"
    r"|\[(?P<index>-?\d{1,6}|\*)\]"
    r"|\[\?\(\s*@\.(?P<name>[\w.-]+)\s*==\s*(?P<value>\"[^\"]*\"|'[^']*'|[\w.-]+)\s*\)\]"
)
Step = Callable[[Any], Iterator[Any]]


@cached_by_text(entries=256, size=1 << 20)
def steps_of(path: str) -> tuple[Step, ...] | None:
    """None for a path that is not supported."""
    steps: list[Step] = []
    position = 0
    while position < len(path):
        found = _STEP.match(path, position)
        if found is None:
            return None
        steps.append(_step(found))
        position = found.end()
    return tuple(steps) if steps else None


def _step(found: re.Match[str]) -> Step:
    if (index := found["index"]) is not None:
        return lambda value: _indexed(value, index)
    if (name := found["name"]) is not None:
        wanted = found["value"].strip("'\"")
        return lambda value: _matching(value, name, wanted)
    field = found["quoted"] or re.sub(r"\\(.)", r"\1", found["field"])
    return lambda value: _field(value, field)


def _field(value: Any, name: str) -> Iterator[Any]:
    if isinstance(value, dict) and name in value:
        yield value[name]


def _indexed(value: Any, index: str) -> Iterator[Any]:
    if not isinstance(value, list):
        return
    if index == "*":
        yield from value
    elif -len(value) <= int(index) < len(value):
        yield value[int(index)]


def _matching(value: Any, name: str, wanted: str) -> Iterator[Any]:
    for item in value if isinstance(value, list) else ():
        found: Any = item
        for step in name.split("."):
            found = found.get(step) if isinstance(found, dict) else None
        if found is not None and str(found) == wanted:
            yield item


def first_at(body: Any, path: str) -> Any:
    """The first value at a path; None if there is none."""
    found = [body]
    for step in steps_of(path) or ():
        found = [below for value in found for below in step(value)]
    return found[0] if found else None
