"""What does a text in CEL say? It is parsed into a tree here; ``cel`` gives the tree a meaning.

Parsing takes time linear in the text, whose length and nesting are limited. Chains (``a + b + c``, ``a.b.c``,
``x ? 1 : y ? 2 : 3``) are flat in the tree, so that only brackets nest.
"""

import re
from dataclasses import dataclass
from typing import Any

from reprieve.cluster.admission.cel_values import LARGEST_INTEGER, LARGEST_UNSIGNED, Uint

_LONGEST = 10_240  # characters, as in kube-apiserver
_DEEPEST = 40  # levels: parser and evaluation recurse for each


class UnreadError(Exception):
    """A rule that is not understood."""


class RuleLimitError(UnreadError):
    """A rule beyond a limit of this parser: too long, too deeply nested, or with too large a number."""


# --- the tree --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Literal:
    value: Any


@dataclass(frozen=True, slots=True)
class Name:
    text: str


@dataclass(frozen=True, slots=True)
class FieldStep:
    """The link ``.name``, or ``.?name``."""

    name: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class ItemStep:
    """The link ``[key]``, or ``[?key]``."""

    key: "Expression"
    optional: bool = False


@dataclass(frozen=True, slots=True)
class CallStep:
    """The link ``.name(…)``; as the first part of a path a global function."""

    name: str
    arguments: tuple["Expression", ...]


PathStep = FieldStep | ItemStep | CallStep


@dataclass(frozen=True, slots=True)
class Path:
    """A value, and what is done with it step by step, as in ``a.b[0].size()``."""

    first: "Expression"
    links: tuple[PathStep, ...]


@dataclass(frozen=True, slots=True)
class ListLiteral:
    """``[a, ?b]``; an optional element that is none is left out."""

    items: tuple[tuple["Expression", bool], ...]


@dataclass(frozen=True, slots=True)
class MapLiteral:
    """``{k: v, ?k: v}``."""

    entries: tuple[tuple["Expression", "Expression", bool], ...]


@dataclass(frozen=True, slots=True)
class Signed:
    """``!`` and ``-`` before a value; the last one applies first."""

    signs: tuple[str, ...]
    of: "Expression"


@dataclass(frozen=True, slots=True)
class Chain:
    """Operators of equal rank, from left to right."""

    first: "Expression"
    rest: tuple[tuple[str, "Expression"], ...]


@dataclass(frozen=True, slots=True)
class AnyOrAll:
    """``||`` (``by`` is true) and ``&&``: an operand with that value decides."""

    operands: tuple["Expression", ...]
    by: bool


@dataclass(frozen=True, slots=True)
class Choice:
    """``test ? value : test ? value : otherwise``."""

    cases: tuple[tuple["Expression", "Expression"], ...]
    otherwise: "Expression"


Expression = Literal | Name | CallStep | Path | ListLiteral | MapLiteral | Signed | Chain | AnyOrAll | Choice


def dotted(first: Expression, links: tuple[PathStep, ...]) -> str:
    """The path as a qualified name, such as ``google.protobuf.Duration``; empty if it is none."""
    if not isinstance(first, Name):
        return ""
    steps = [first.text]
    for link in links:
        match link:
            case FieldStep(name, False) | CallStep(name):
                steps.append(name)
            case _:
                return ""
    return ".".join(steps)


# --- tokens ----------------------------------------------------------------------------------------

_GAP = r"(?:\s++|//[^\n]*+)*+"
_TOKEN = re.compile(
    _GAP
    + r"""(?:
    (?P<number>0[xX][0-9a-fA-F]+[uU]?|(?:\d+\.\d+|\.\d+)(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\d+[uU]?)
    |(?P<text>[rRbB]{0,2}(?:"{3}(?:[^\\]|\\.)*?"{3}|'{3}(?:[^\\]|\\.)*?'{3}
        |"(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)*+'))
    |(?P<quoted>`[^`\n]+`)
    |(?P<name>[A-Za-z_]\w*)
    |(?P<sign>&&|\|\||[=!<>]=|[-+*/%<>!?:.,(){}\[\]]))""",
    re.ASCII | re.VERBOSE | re.DOTALL,
)
_BLANK = re.compile(_GAP + r"\Z", re.ASCII)
# A raw text has no escapes: it ends at the first quote.
_RAW = re.compile(
    _GAP
    + r"""(?P<text>(?:[bB]?[rR]|[rR][bB])
    (?:"{3}.*?"{3}|'{3}.*?'{3}|"[^"\n]*"|'[^'\n]*'))""",
    re.ASCII | re.VERBOSE | re.DOTALL,
)


def _tokens(rule: str) -> list[tuple[str, str]]:
    tokens: list[tuple[str, str]] = []
    position = 0
    while not _BLANK.match(rule, position):
        found = _RAW.match(rule, position) or _TOKEN.match(rule, position)
        if found is None or found.lastgroup is None:
            raise UnreadError(f"{rule[position : position + 10].strip()} is not understood")
        tokens.append((found.lastgroup, found[found.lastgroup]))
        position = found.end()
    return tokens


_ESCAPE = re.compile(
    r"\\(?:([abfnrtv\\'\"`?])|[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.?))",
    re.DOTALL,
)
_SHORT = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def _text(token: str) -> str | bytes:
    """The value of a text, or of bytes: what an escape in bytes says is one byte."""
    prefix = token[: min(token.index(quote) for quote in "'\"" if quote in token)].lower()
    body = token[len(prefix) :]
    quotes = 3 if len(body) >= 6 and body[:3] in ("'''", '"""') else 1
    body = body[quotes:-quotes].replace("\r\n", "\n").replace("\r", "\n")
    is_bytes = "b" in prefix
    if "r" in prefix:
        return body.encode() if is_bytes else body
    if is_bytes:
        return b"".join(_byte_pieces(body))
    return _ESCAPE.sub(_unescaped, body)


def _unescaped(found: re.Match[str]) -> str:
    short, *codes, unknown = found.groups()
    if short is not None:
        return _SHORT.get(short, short)
    if unknown is not None:
        raise UnreadError(f"the escape \\{unknown} is not known")
    *hexadecimal, octal = codes
    number = int(octal, 8) if octal else int(next(filter(None, hexadecimal)), 16)
    if number > 0x10FFFF or 0xD800 <= number < 0xE000:
        raise UnreadError(f"{found[0]} is no character")
    return chr(number)


def _byte_pieces(body: str) -> list[bytes]:
    pieces, position = [], 0
    for found in _ESCAPE.finditer(body):
        pieces.append(body[position : found.start()].encode())
        one = _unescaped(found)
        pieces.append(bytes((ord(one),)) if found[2] or found[5] else one.encode())
        position = found.end()
    return [*pieces, body[position:].encode()]


def _number(token: str, sign: str = "") -> int | float:
    is_hex = token[:2] in ("0x", "0X")
    if not is_hex and any(mark in token for mark in ".eE"):
        return float(sign + token)
    unsigned = token[-1] in "uU"
    digits = token.rstrip("uU")
    if len(digits) > 20:
        raise RuleLimitError(f"{token[:20]}… is no integer of 64 bits")
    value = int(sign + digits, 16 if is_hex else 10)
    if unsigned and not sign and value <= LARGEST_UNSIGNED:
        return Uint(value)
    if unsigned or not -LARGEST_INTEGER - 1 <= value <= LARGEST_INTEGER:
        raise RuleLimitError(f"{token[:20]}… is no integer of 64 bits")
    return value


# --- parsing ---------------------------------------------------------------------------------------

_WORDS = {"true": True, "false": False, "null": None}
# From the weakest binding to the strongest.
_RANKS = (("==", "!=", "<", "<=", ">", ">=", "in"), ("+", "-"), ("*", "/", "%"))


def parse(rule: str) -> Expression:
    """Raises UnreadError if the rule cannot be parsed."""
    if len(rule) > _LONGEST:
        raise RuleLimitError(f"it is longer than {_LONGEST} characters")
    reader = _Reader(_tokens(rule))
    found = reader.expression()
    if reader.next is not None:
        raise UnreadError(f"{reader.next[1]} was not expected")
    return found


class _Reader:
    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self._tokens = tokens
        self._position = 0
        self._depth = 0

    @property
    def next(self) -> tuple[str, str] | None:
        return self._tokens[self._position] if self._position < len(self._tokens) else None

    def _take(self, *signs: str) -> str:
        """Takes one of these signs, if it comes next."""
        if self.next is None or self.next[0] not in ("sign", "name") or self.next[1] not in signs:
            return ""
        self._position += 1
        return self._tokens[self._position - 1][1]

    def _expect(self, sign: str) -> None:
        if not self._take(sign):
            raise UnreadError(f"{sign} is missing")

    def expression(self) -> Expression:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise RuleLimitError(f"it is nested deeper than {_DEEPEST} levels")
        cases: list[tuple[Expression, Expression]] = []
        while True:
            found = self._any()
            if not self._take("?"):
                break
            value = self.expression()
            self._expect(":")
            cases.append((found, value))
        self._depth -= 1
        return Choice(tuple(cases), found) if cases else found

    def _any(self) -> Expression:
        operands = [self._all()]
        while self._take("||"):
            operands.append(self._all())
        return AnyOrAll(tuple(operands), by=True) if len(operands) > 1 else operands[0]

    def _all(self) -> Expression:
        operands = [self._ranked(0)]
        while self._take("&&"):
            operands.append(self._ranked(0))
        return AnyOrAll(tuple(operands), by=False) if len(operands) > 1 else operands[0]

    def _ranked(self, rank: int) -> Expression:
        if rank == len(_RANKS):
            return self._signed()
        first = self._ranked(rank + 1)
        rest: list[tuple[str, Expression]] = []
        while sign := self._take(*_RANKS[rank]):
            rest.append((sign, self._ranked(rank + 1)))
        return Chain(first, tuple(rest)) if rest else first

    def _signed(self) -> Expression:
        signs: list[str] = []
        while sign := self._take("!", "-"):
            signs.append(sign)
        if signs and signs[-1] == "-" and self.next is not None and self.next[0] == "number":
            signs.pop()
            self._position += 1
            found: Expression = Literal(_number(self._tokens[self._position - 1][1], "-"))
            links = self._links()
            found = Path(found, links) if links else found
        else:
            found = self._path()
        return Signed(tuple(signs), found) if signs else found

    def _path(self) -> Expression:
        first, links = self._primary(), self._links()
        return Path(first, links) if links else first

    def _links(self) -> tuple[PathStep, ...]:
        links: list[PathStep] = []
        while sign := self._take(".", "["):
            optional = bool(self._take("?"))
            if sign == "[":
                links.append(ItemStep(self.expression(), optional))
                self._expect("]")
                continue
            name = self._name()
            if not optional and self._take("("):
                links.append(CallStep(name, self._arguments()))
            else:
                links.append(FieldStep(name, optional))
        return tuple(links)

    def _name(self) -> str:
        if self.next is None or self.next[0] not in ("name", "quoted"):
            raise UnreadError("a name is missing")
        self._position += 1
        return self._tokens[self._position - 1][1].strip("`")

    def _arguments(self) -> tuple[Expression, ...]:
        found: list[Expression] = []
        while not self._take(")"):
            if found:
                self._expect(",")
            found.append(self.expression())
        return tuple(found)

    def _primary(self) -> Expression:
        if self._take("("):
            found = self.expression()
            self._expect(")")
            return found
        if self._take("["):
            return ListLiteral(tuple(self._items()))
        if self._take("{"):
            return MapLiteral(tuple(self._entries()))
        self._take(".")  # before a name of the outermost scope
        if self.next is None:
            raise UnreadError("it ends too early")
        kind, text = self.next
        self._position += 1
        match kind:
            case "number":
                return Literal(_number(text))
            case "text":
                return Literal(_text(text))
            case "name" if text in _WORDS:
                return Literal(_WORDS[text])
            case "name" if self._take("("):
                return CallStep(text, self._arguments())
            case "name" if text != "in":
                return Name(text)
        raise UnreadError(f"{text} was not expected")

    def _items(self) -> list[tuple[Expression, bool]]:
        found: list[tuple[Expression, bool]] = []
        while not self._take("]"):
            if found:
                self._expect(",")
                if self._take("]"):
                    break
            optional = bool(self._take("?"))
            found.append((self.expression(), optional))
        return found

    def _entries(self) -> list[tuple[Expression, Expression, bool]]:
        found: list[tuple[Expression, Expression, bool]] = []
        while not self._take("}"):
            if found:
                self._expect(",")
                if self._take("}"):
                    break
            optional = bool(self._take("?"))
            key = self.expression()
            self._expect(":")
            found.append((key, self.expression(), optional))
        return found
