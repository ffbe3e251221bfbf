"""Which documents does a text of YAML or JSON hold, as plain values?

Parsed as Kubernetes parses them: a time is text and not a date, 12:30 is no number. A small text that expands
without bounds is rejected. This module must not know what the values mean.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from reprieve.cluster.api.block_yaml import block_value

_DEEPEST = 100
LARGEST = 50_000_000  # values and characters, with every alias written out
_START = re.compile(r"(?m)^---(?=\s|$)")
_DIRECTIVE = re.compile(r"(?m)^%.*$")

_FASTEST: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_FASTEST):  # type: ignore[misc]  # which of the two it is depends on how PyYAML was built
    yaml_implicit_resolvers = {
        first: [
            (tag, pattern) for tag, pattern in rules if tag.rpartition(":")[2] in ("bool", "merge", "null")
        ]
        for first, rules in _FASTEST.yaml_implicit_resolvers.items()
    }


_INTEGER = re.compile(r"[-+]?(0|0b[01_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|[1-9][0-9_]*)$")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9][0-9_]*\.[0-9_]*)([eE][-+]?[0-9]+)?$")
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", _INTEGER, list("-+0123456789"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT, list("-+.0123456789"))


@dataclass(frozen=True, slots=True)
class Unparsed:
    """A document that is neither YAML nor JSON, and a sentence that says why."""

    expected: str


class _TooLargeError(ValueError):
    pass


def documents(text: str, largest: int = LARGEST, most: int = LARGEST) -> Iterator[object | Unparsed]:
    """The documents that are not empty, in order. One that cannot be parsed does not affect the next.

    ``largest``: of a document in YAML, in values and characters; ``most``: in values as they are written.
    """
    if text.lstrip().startswith("{"):
        try:
            return iter(list(_json_stream(text)))
        except (ValueError, RecursionError):
            pass  # YAML has flow mappings too, and its parser gives better errors
    return _yaml_stream(text, largest, most)


def _json_stream(text: str) -> Iterator[object]:
    decoder = json.JSONDecoder()
    text = text.strip()
    end = 0
    while end < len(text):
        value, end = decoder.raw_decode(text, end)
        yield value
        while text[end : end + 1].isspace():
            end += 1


def _yaml_stream(text: str, largest: int, most: int) -> Iterator[object | Unparsed]:
    line = 0
    for part in _START.split(text):
        value = _yaml(_DIRECTIVE.sub("", part), line, largest, most)
        line += part.count("\n")
        if value is not None:
            yield value


def _yaml(text: str, first_line: int, largest: int, most: int) -> object | Unparsed:
    try:
        # Without aliases a text has no more values and characters than its length.
        if len(text) < min(largest, most) and (quick := block_value(text, _plain)) is not None:
            return quick
        _check_size(text, largest, most)
        value: object = yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        return Unparsed(_sentence(error, first_line))
    except (yaml.YAMLError, _TooLargeError) as error:
        return Unparsed(f"expected YAML or JSON: {str(error).splitlines()[0]}")
    except Exception:  # PyYAML raises any exception for a value that does not fit its tag
        return Unparsed("expected YAML or JSON: it has a value that cannot be read as what it is said to be")
    return value


def _plain(text: str) -> object:
    """The value of a scalar without quotes."""
    for _, pattern in _Loader.yaml_implicit_resolvers.get(text[0], ()):
        if pattern.match(text):
            value: object = yaml.load(text, Loader=_Loader)
            return value
    return text


def _sentence(error: yaml.MarkedYAMLError, first_line: int) -> str:
    what = ", ".join(part for part in (error.context, error.problem) if part)
    mark = error.problem_mark
    where = f" (line {first_line + mark.line + 1})" if mark is not None else ""
    return f"expected YAML or JSON: {what}{where}"


def _check_size(text: str, largest: int, most: int) -> None:
    """The loader recurses without a limit of its own, and aliases of aliases multiply."""
    sizes = [0]
    anchors: list[str | None] = []
    known: dict[str, int] = {}
    for number, event in enumerate(yaml.parse(text, Loader=_FASTEST)):
        if number > most:
            raise _TooLargeError(f"it has more than {most} values")
        match event:
            case yaml.CollectionStartEvent():
                sizes.append(1)
                anchors.append(event.anchor)
            case yaml.CollectionEndEvent():
                size = sizes.pop()
                sizes[-1] += size
                known[anchors.pop() or ""] = size
            case yaml.AliasEvent() if event.anchor in anchors:
                raise _TooLargeError(f"*{event.anchor} contains itself")
            case yaml.AliasEvent():
                sizes[-1] += known.get(event.anchor or "", 1)
            case yaml.ScalarEvent():
                sizes[-1] += 1 + len(event.value)
                known[event.anchor or ""] = 1 + len(event.value)
        if len(sizes) > _DEEPEST or sizes[-1] > largest:
            raise _TooLargeError("it has too many values or levels of nesting")


def repeated_keys(text: str) -> list[str]:
    """The paths of keys that occur twice in one mapping: parsers silently take the last one.

    For a text whose documents could be parsed.
    """
    known: set[int] = set()
    return [path for node in yaml.compose_all(text, Loader=_Loader) for path in _repeated(node, "", known)]


def _repeated(node: yaml.Node | None, path: str, known: set[int]) -> Iterator[str]:
    """``known``: nodes that were visited already, through an alias."""
    if node is None or id(node) in known:
        return
    known.add(id(node))
    match node:
        case yaml.MappingNode():
            seen: set[str] = set()
            for key, value in node.value:
                below = f"{path}.{key.value}" if path else str(key.value)
                if below in seen:
                    yield below
                seen.add(below)
                yield from _repeated(value, below, known)
        case yaml.SequenceNode():
            for i, item in enumerate(node.value):
                yield from _repeated(item, f"{path}[{i}]", known)
