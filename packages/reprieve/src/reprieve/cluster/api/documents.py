"""Which documents does a text of YAML or JSON hold, as plain values?

Parsed as Kubernetes parses them: a time is text and not a date, 12:30 is no number. A small text that expands
without bounds is rejected. YAML as `kubectl get -o yaml` writes it is read without PyYAML, which takes fifty
times as long as JSON.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

import yaml

_DEEPEST = 100
LARGEST = 50_000_000  # values and characters, with every alias written out
_MOST_VALUES = 1_000_000  # of a document that PyYAML reads: it takes a kilobyte for each
# How much larger than its text a document may be, with every alias written out.
_GROWTH, _GROWTH_OF_ANY = 10, 100_000
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


def documents(text: str, largest: int = LARGEST, most: int = _MOST_VALUES) -> Iterator[object | Unparsed]:
    """The documents that are not empty, in order. One that cannot be parsed does not affect the next.

    ``largest``: of a document in YAML, in values and characters; ``most``: in values as they are written, if
    PyYAML reads it. Aliases make it a few times as large as its text at most.
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
    for part in _parts(text):
        value = _yaml(_DIRECTIVE.sub("", part), line, largest, most)
        line += part.count("\n")
        if value is not None:
            yield value


def _parts(text: str) -> Iterator[str]:
    """What is between the marks that begin a document, one at a time: there may be millions."""
    end = 0
    for mark in _START.finditer(text):
        yield text[end : mark.start()]
        end = mark.end()
    yield text[end:]


def _yaml(text: str, first_line: int, largest: int, most: int) -> object | Unparsed:
    try:
        # Without aliases a text has no more values and characters than its length.
        if len(text) < largest and (quick := block_value(text, _plain)) is not None:
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
    largest = min(largest, _GROWTH * len(text) + _GROWTH_OF_ANY)
    sizes = [0]
    anchors: list[str | None] = []
    known: dict[str, int] = {}
    for number, event in enumerate(yaml.parse(text, Loader=_FASTEST)):
        if number > most:
            raise _TooLargeError(f"it has more than {most} values: write it as JSON")
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


# --- YAML in blocks --------------------------------------------------------------------------------

# PyYAML builds a token, an event and a node for every value. Lists of objects are regular: one key or item a
# line, the same lines again and again. So a line is read once, by a pattern, and a stack of open mappings and
# lists does the rest. Any line outside this subset ends the attempt: PyYAML reads the text then, and words
# the errors.
_LONGEST_KEY = 1000  # YAML ends a key at 1024 characters
# YAML rejects some of these characters, and breaks lines at others.
_UNUSUAL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
_QUOTED = r"'(?:[^']|'')*'|\"(?:[^\"\\]|\\[\"\\bfnrt])*\""
_PLAIN_KEY = r"[A-Za-z0-9_./$](?:[^\s:#]|:(?=\S)|(?<=\S)#)*"
_BLOCK_LINE = re.compile(rf"( *)((?:- +)*)(?:({_QUOTED}|{_PLAIN_KEY}):(?: +(\S.*?))? *|(-)|(\S.*?)) *")
# No colon before a space, no space before a number sign: those would end the scalar.
_PLAIN_SCALAR = re.compile(
    r"(?:[A-Za-z0-9_./$+(=^;~]|-[A-Za-z0-9_./-])(?:[^\s:#]|:(?=\S)|(?<=\S)#| +(?=[^\s#]))*"
)
_WHOLE_QUOTED = re.compile(_QUOTED)


class _Value(Enum):
    """What follows a key or a dash, unless it is a scalar."""

    BELOW = auto()  # on the next lines, or null
    BLOCK_CLIPPED = auto()
    BLOCK_STRIPPED = auto()
    MAPPING = auto()  # empty
    LIST = auto()  # empty


_SIGNS = {
    "|": _Value.BLOCK_CLIPPED,
    "|-": _Value.BLOCK_STRIPPED,
    "{}": _Value.MAPPING,
    "[]": _Value.LIST,
}


@dataclass(frozen=True, slots=True)
class _Line:
    """``dashes``: the columns of its list items. ``key``: None if it ends with an item of a list."""

    dashes: tuple[int, ...]
    column: int
    key: str | None
    value: object


_Container = dict[str, object] | list[object]


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a value on the next lines belongs, and from which column on it is a list, a mapping."""

    container: _Container
    key: str | None
    list_from: int
    mapping_from: int


class _UnusualError(Exception):
    """The text has something outside the subset."""


def block_value(text: str, plain: Callable[[str], object]) -> object | None:
    """The value of one document; None if it is not within the subset.

    ``plain``: the value of a scalar without quotes, as in `yes` or `12`.
    """
    if _UNUSUAL.search(text):
        return None
    try:
        return _BlockReader(text.split("\n"), plain).read()
    except _UnusualError:
        return None


class _BlockReader:
    def __init__(self, lines: list[str], plain: Callable[[str], object]) -> None:
        self._lines = lines
        self._plain = plain
        self._open: list[tuple[int, _Container]] = []
        self._root: list[object] = [None]
        self._place: _Place | None = _Place(self._root, "", 0, 0)

    def read(self) -> object | None:
        number, count = 0, len(self._lines)
        known: dict[str, _Line | None] = {}
        while number < count:
            text = self._lines[number]
            number += 1
            line = known.get(text)
            if line is None and text not in known:
                line = known[text] = _line_of(text, self._plain)
            if line is None:
                continue  # blank, or a comment
            for column in line.dashes:
                self._list_at(column)
            container = self._open[-1][1] if line.key is None else self._mapping_at(line.column)
            if type(line.value) is not _Value:
                _set(container, line.key, line.value)
                self._place = None
            else:
                number = self._unusual_value(container, line, line.value, number)
        return self._root[0]

    def _unusual_value(self, container: _Container, line: _Line, value: _Value, number: int) -> int:
        """What is not a scalar of one line. Returns the number of the line that comes next."""
        self._place = None
        parent = line.column if line.key is not None else line.dashes[-1]
        match value:
            case _Value.MAPPING:
                _set(container, line.key, {})
            case _Value.LIST:
                _set(container, line.key, [])
            case _Value.BELOW:
                _set(container, line.key, None)
                # A list may stand in the column of its key.
                list_from = parent if line.key is not None else parent + 1
                self._place = _Place(container, line.key, list_from, parent + 1)
            case _Value.BLOCK_CLIPPED | _Value.BLOCK_STRIPPED:
                end = self._end_of_block(number, parent)
                indent = len(self._lines[number]) - len(self._lines[number].lstrip(" "))
                text = "\n".join(content[indent:] for content in self._lines[number:end]).rstrip("\n")
                _set(container, line.key, text + "\n" * (value is _Value.BLOCK_CLIPPED))
                return end
        return number

    def _list_at(self, column: int) -> None:
        """Opens the next item of the list in this column."""
        place = self._place
        if place is None or column < place.list_from:
            while self._open and self._open[-1][0] > column:
                self._open.pop()
            if not self._open or self._open[-1][0] != column:
                raise _UnusualError
            items = self._open[-1][1]
            if not isinstance(items, list):
                raise _UnusualError
        else:
            items = []
            self._fill(place, items, column)
        items.append(None)
        self._place = _Place(items, None, column + 1, column + 1)

    def _mapping_at(self, column: int) -> _Container:
        place = self._place
        if place is not None and column >= place.mapping_from:
            entries: dict[str, object] = {}
            self._fill(place, entries, column)
            return entries
        open_ = self._open
        while open_ and (open_[-1][0] > column or (open_[-1][0] == column and type(open_[-1][1]) is list)):
            open_.pop()
        if not open_ or open_[-1][0] != column:
            raise _UnusualError
        return open_[-1][1]

    def _fill(self, place: _Place, value: _Container, column: int) -> None:
        if len(self._open) > _DEEPEST - 3:
            raise _UnusualError
        _set(place.container, place.key, value)
        self._open.append((column, value))

    def _end_of_block(self, start: int, parent: int) -> int:
        """The number of the line after the text below `key: |`."""
        first = self._lines[start] if start < len(self._lines) else ""
        indent = len(first) - len(first.lstrip(" "))
        if indent <= parent or indent == len(first):
            raise _UnusualError
        end = start
        while end < len(self._lines) and not self._lines[end][:indent].strip(" "):
            end += 1
        if end == len(self._lines) and self._lines[-1]:
            raise _UnusualError  # the text ends without a line break
        return end


def _set(container: _Container, key: str | None, value: object) -> None:
    """``key``: None for the last item of a list."""
    if isinstance(container, list):
        container[-1] = value
    elif key is not None:
        container[key] = value


def _line_of(text: str, plain: Callable[[str], object]) -> _Line | None:
    """None for a blank line or a comment."""
    bare = text.lstrip(" ")
    if not bare or bare[0] == "#":
        return None
    found = _BLOCK_LINE.fullmatch(text)
    if found is None:
        raise _UnusualError
    spaces, items, key, value, dash, item = found.groups()
    dashes = [len(spaces) + n for n, sign in enumerate(items) if sign == "-"]
    column = len(spaces) + len(items)
    if key is not None:
        name = _scalar(key, plain)
        if not isinstance(name, str) or len(key) > _LONGEST_KEY:
            raise _UnusualError
        return _Line(tuple(dashes), column, name, _value(value, plain))
    if dash is not None:
        return _Line((*dashes, column), column, None, _Value.BELOW)
    if not dashes:
        raise _UnusualError  # a scalar on its own, or the rest of one
    return _Line(tuple(dashes), column, None, _value(item, plain))


def _value(text: str | None, plain: Callable[[str], object]) -> object:
    if text is None:
        return _Value.BELOW
    sign = _SIGNS.get(text)
    return sign if sign is not None else _scalar(text, plain)


def _scalar(text: str, plain: Callable[[str], object]) -> object:
    if text[0] in "'\"":
        if not _WHOLE_QUOTED.fullmatch(text):
            raise _UnusualError
        return text[1:-1].replace("''", "'") if text[0] == "'" else json.loads(text)
    if not _PLAIN_SCALAR.fullmatch(text):
        raise _UnusualError
    return plain(text)
