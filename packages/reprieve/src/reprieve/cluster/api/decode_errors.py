"""Which field of an object could not be decoded, and why, in a sentence? Made from the decoder's error.

It knows how msgspec words its errors and how Kubernetes writes field paths; it must not know any kind of
object.
"""

import re
from typing import NamedTuple

import msgspec

# Everything that decoding can raise: msgspec's errors and bad UTF-8 are ValueErrors; depth is the other.
UNDECODABLE = (ValueError, RecursionError)

_LOCATED = re.compile(r"(?s)(?P<what>.*) - at (?P<key>`key` in )?`\$(?P<path>[^`]*)`")
_EXPECTED = re.compile(r"(?s)Expected `(?P<types>[^`]*)`(?:, got `(?P<got>[^`]*)`)?(?P<rest>.*)")
_MISSING = re.compile(r"Object missing required field `(?P<field>[^`]*)`")
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+)\]")
_SOME_KEY = "[...]"

_WORDS = {
    "str": "a string",
    "int": "an integer",
    "float": "a number",
    "bool": "true or false",
    "object": "an object",
    "array": "a list",
    "null": "null",
    "datetime": "a time",
}
_RESTS = {
    " >= ": " of at least ",
    " <= ": " of at most ",
    " of length >= ": " no shorter than ",
    " of length <= ": " no longer than ",
    " with a timezone component": " with a time zone, such as 2006-01-02T15:04:05Z",
}
_SENTENCES = {
    "Invalid RFC3339 encoded datetime": "expected a time such as 2006-01-02T15:04:05Z",
    "Integer value out of range": "expected a smaller number",
    "Number out of range": "expected a smaller number",
}


class DecodeFault(NamedTuple):
    path: str
    expected: str


def fault_of(error: Exception, value: object = None) -> DecodeFault:
    """``value``: the parsed value, if known; it tells which key of a mapping the error is about."""
    match error:
        case RecursionError():
            return DecodeFault("", "expected fewer levels of nesting")
        case UnicodeDecodeError():
            return DecodeFault("", "expected JSON in UTF-8")
        case msgspec.ValidationError():
            return _invalid(str(error), value)
    reason = str(error).removeprefix("JSON is malformed: ")
    return DecodeFault("", f"expected JSON, got something else: {reason[:1].lower()}{reason[1:]}")


def _invalid(message: str, value: object) -> DecodeFault:
    located = _LOCATED.fullmatch(message)
    if located is None:
        return _complaint("", message)
    path = located["path"].removeprefix(".")
    if located["key"]:
        return DecodeFault(path, "expected only strings as keys")
    fault = _complaint(path, located["what"])
    if not fault.path.endswith(_SOME_KEY):
        return fault
    return fault._replace(path=_named(fault.path.removesuffix(_SOME_KEY), located["what"], value))


def _complaint(path: str, what: str) -> DecodeFault:
    if (missing := _MISSING.fullmatch(what)) is not None:
        return DecodeFault(
            f"{path}.{missing['field']}".removeprefix("."), "expected a value, because it is required"
        )
    if (expected := _EXPECTED.fullmatch(what)) is not None:
        return DecodeFault(path, _sentence(expected["types"].split(" | "), expected["got"], expected["rest"]))
    return DecodeFault(path, _SENTENCES.get(what, what))


def _sentence(types: list[str], got: str | None, rest: str) -> str:
    if types == ["null"]:
        return "expected no such field in this version of the API"
    # Null counts as absent, and an integer is a number: the sentence names neither.
    words = [_WORDS.get(t, t) for t in types if t != "null" and not (t == "int" and "float" in types)]
    for sign, meaning in _RESTS.items():
        if rest.startswith(sign):
            rest = meaning + rest.removeprefix(sign)
            break
    received = f", got {_WORDS.get(got, got)}" if got else ""
    return f"expected {' or '.join(words)}{rest}{received}"


def _named(path: str, what: str, value: object) -> str:
    """The path of the mapping's first entry that has the wrong type."""
    expected = _EXPECTED.fullmatch(what)
    mapping = _at(value, path)
    if expected is None or not isinstance(mapping, dict):
        return path
    for key, entry in mapping.items():
        if _type_name(entry) == expected["got"]:
            return f"{path}[{key}]"
    return path


def _at(value: object, path: str) -> object:
    for name, index in _STEP.findall(f".{path}"):
        if isinstance(value, dict):
            value = value.get(name)
        elif isinstance(value, list | tuple) and index and int(index) < len(value):
            value = value[int(index)]
    return value


def described(value: object) -> str:
    """The type of a value, in words."""
    name = _type_name(value)
    return _WORDS.get(name, name)


def _type_name(value: object) -> str:
    match value:
        case None:
            return "null"
        case dict():
            return "object"
        case list() | tuple():
            return "array"
    return type(value).__name__
