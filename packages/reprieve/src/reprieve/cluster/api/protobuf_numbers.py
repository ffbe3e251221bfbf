"""Which number does each field have in protobuf, by the list in ``protobuf_numbers.txt``?"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_NOTHING: Mapping[int, "Numbered"] = {}


@dataclass(frozen=True, slots=True)
class Numbered:
    """``means_empty``: whether an empty value has a meaning of its own; otherwise it counts as absent.

    ``within``: the message that holds further fields of the object around it; ``name`` is empty then.
    """

    name: str
    means_empty: bool = False
    within: str = ""


def numbers_of(name: str) -> Mapping[int, Numbered]:
    """The fields of a type by their numbers; none for a type that is not sent as protobuf."""
    return _messages().get(name, _NOTHING)


@cache
def _messages() -> Mapping[str, Mapping[int, Numbered]]:
    return {name.strip(): dict(_numbered(fields.split())) for name, _, fields in _entries()}


def _entries() -> Iterator[tuple[str, str, str]]:
    """One entry for each type, which may span several lines."""
    text = files("reprieve.cluster.api").joinpath("protobuf_numbers.txt").read_text()
    lines = (line for line in text.splitlines() if line and not line.startswith("#"))
    return (entry.partition(":") for entry in "\n".join(lines).replace("\n    ", " ").splitlines())


def _numbered(words: list[str]) -> Iterator[tuple[int, Numbered]]:
    number = 1
    for word in words:
        if word.isdigit():
            number = int(word)
            continue
        yield number, _field(word)
        number += 1


def _field(word: str) -> Numbered:
    if word.startswith("="):
        return Numbered("", within=word[1:])
    return Numbered(word.removesuffix("*"), means_empty=word.endswith("*"))
