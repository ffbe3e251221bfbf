"""What does a regular expression in Go's syntax (RE2) say? A tree of character sets and operators.

The syntax has neither backreferences nor look-around, so every pattern can be matched in linear time. Not
read: Unicode scripts (``\\p{Greek}``). This module must not know how a pattern is matched.
"""

import unicodedata
from dataclasses import dataclass
from enum import Enum

_DEEPEST = 50  # groups in groups: the parser recurses
_MOST_REPEATED = 1000  # RE2's limit


class PatternError(ValueError):
    """A text that is no such regular expression; the sentence says why."""


@dataclass(frozen=True, slots=True)
class CharSet:
    """The characters in any of the ranges, sets or Unicode categories; with ``negated``, all others.

    ``folds``: whether upper and lower case count as equal.
    """

    ranges: tuple[tuple[str, str], ...] = ()
    sets: tuple["CharSet", ...] = ()
    category: str = ""
    negated: bool = False
    folds: bool = False

    def has(self, char: str) -> bool:
        forms = _cases(char) if self.folds else (char,)
        return any(self._lists(form) for form in forms) is not self.negated

    def _lists(self, char: str) -> bool:
        if any(low <= char <= high for low, high in self.ranges) or any(s.has(char) for s in self.sets):
            return True
        return bool(self.category) and unicodedata.category(char).startswith(self.category)

    @property
    def size(self) -> int:
        return 1 + len(self.ranges) + sum(one.size for one in self.sets)


class Assertion(Enum):
    """A position in the text that matches without a character."""

    TEXT_BEGIN = "\\A"
    TEXT_END = "\\z"
    LINE_BEGIN = "(?m)^"
    LINE_END = "(?m)$"
    WORD_BOUNDARY = "\\b"
    NO_WORD_BOUNDARY = "\\B"


@dataclass(frozen=True, slots=True)
class Concatenation:
    parts: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Alternation:
    options: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Repetition:
    """``most``: None for any number."""

    what: "Node"
    least: int
    most: int | None


Node = CharSet | Assertion | Concatenation | Alternation | Repetition

_DIGITS = CharSet((("0", "9"),))
WORD_CHARS = CharSet((("0", "9"), ("A", "Z"), ("_", "_"), ("a", "z")))
_SPACES = CharSet((("\t", "\n"), ("\f", "\r"), (" ", " ")))
_PERL = {"d": _DIGITS, "w": WORD_CHARS, "s": _SPACES}
_CONTROLS = {"a": "\a", "f": "\f", "t": "\t", "n": "\n", "r": "\r", "v": "\v"}
_POSIX = {
    "alnum": CharSet((("0", "9"), ("A", "Z"), ("a", "z"))),
    "alpha": CharSet((("A", "Z"), ("a", "z"))),
    "ascii": CharSet((("\x00", "\x7f"),)),
    "blank": CharSet((("\t", "\t"), (" ", " "))),
    "cntrl": CharSet((("\x00", "\x1f"), ("\x7f", "\x7f"))),
    "digit": _DIGITS,
    "graph": CharSet((("!", "~"),)),
    "lower": CharSet((("a", "z"),)),
    "print": CharSet(((" ", "~"),)),
    "punct": CharSet((("!", "/"), (":", "@"), ("[", "`"), ("{", "~"))),
    "space": CharSet((("\t", "\r"), (" ", " "))),
    "upper": CharSet((("A", "Z"),)),
    "word": WORD_CHARS,
    "xdigit": CharSet((("0", "9"), ("A", "F"), ("a", "f"))),
}
_CATEGORIES = frozenset(
    group + part
    for group, parts in {
        "C": "cfos",
        "L": "lmotu",
        "M": "cen",
        "N": "dlo",
        "P": "cdefios",
        "S": "ckmo",
        "Z": "lps",
    }.items()
    for part in ("", *parts)
)
_ASSERTIONS = {
    "A": Assertion.TEXT_BEGIN,
    "z": Assertion.TEXT_END,
    "b": Assertion.WORD_BOUNDARY,
    "B": Assertion.NO_WORD_BOUNDARY,
}


def parse(pattern: str) -> Node:
    """Raises PatternError."""
    parser = _Parser(pattern)
    found = parser.alternation("")
    if parser.rest:
        raise PatternError("unexpected )")
    return found


class _Parser:
    """``flags``: i, m and s, as they hold at the current position; U only says what is preferred."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._position = 0
        self._depth = 0

    @property
    def rest(self) -> bool:
        return self._position < len(self._pattern)

    def _peek(self, length: int = 1) -> str:
        return self._pattern[self._position : self._position + length]

    def _take(self, text: str) -> bool:
        taken = self._pattern.startswith(text, self._position)
        self._position += len(text) if taken else 0
        return taken

    def _next(self) -> str:
        if not self.rest:
            raise PatternError("it ends too early")
        self._position += 1
        return self._pattern[self._position - 1]

    def _until(self, end: str, what: str) -> str:
        at = self._pattern.find(end, self._position)
        if at < 0:
            raise PatternError(f"missing {end} after {what}")
        found, self._position = self._pattern[self._position : at], at + len(end)
        return found

    # --- operators -------------------------------------------------------------------------------

    def alternation(self, flags: str) -> Node:
        """Up to the end of the pattern or of its group. Flags that are set in it hold to its end."""
        options: list[Node] = []
        parts: list[Node] = []
        while self.rest and self._peek() != ")":
            if self._take("|"):
                options.append(_joined(parts))
                parts = []
            elif (changed := self._flags_alone(flags)) is not None:
                flags = changed
            elif self._take("\\Q"):
                parts += [_literal(char, flags) for char in self._quoted()] or [Concatenation(())]
                parts.append(self._repeated(parts.pop()))
            else:
                parts.append(self._repeated(self._atom(flags)))
        options.append(_joined(parts))
        return options[0] if len(options) == 1 else Alternation(tuple(options))

    def _quoted(self) -> str:
        at = self._pattern.find("\\E", self._position)
        end = len(self._pattern) if at < 0 else at
        found, self._position = self._pattern[self._position : end], end + 2
        return found

    def _flags_alone(self, flags: str) -> str | None:
        """The flags after ``(?flags)``; None if anything else comes next."""
        start = self._position
        if self._take("(?") and self._peek() not in ("P", "<", ":"):
            changed = self._flags(flags)
            if self._take(")"):
                return changed
        self._position = start
        return None

    def _flags(self, flags: str) -> str:
        on, given = True, set(flags)
        while (char := self._peek()) and char in "imsU-":
            self._position += 1
            if char == "-":
                if not on or self._peek() not in ("i", "m", "s", "U"):
                    raise PatternError("invalid group flags")
                on = False
            elif on:
                given.add(char)
            else:
                given.discard(char)
        return "".join(sorted(given))

    def _repeated(self, what: Node) -> Node:
        start = self._position
        counts = self._counts()
        if counts is None:
            return what
        self._take("?")
        operator = self._pattern[start : self._position]
        if self._peek() in ("*", "+", "?") or self._has_counts():
            raise PatternError(f"invalid nested repetition operator after {operator}")
        return Repetition(what, *counts)

    def _has_counts(self) -> bool:
        start = self._position
        found = self._counts() is not None
        self._position = start
        return found

    def _counts(self) -> tuple[int, int | None] | None:
        """Takes ``*``, ``+``, ``?`` or ``{2,3}``; None if none of them comes next."""
        for sign, counts in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._take(sign):
                return counts
        end = self._pattern.find("}", self._position, self._position + 20)
        if self._peek() != "{" or end < 0:
            return None
        least, comma, most = self._pattern[self._position + 1 : end].partition(",")
        if not _is_number(least) or (most and not _is_number(most)):
            return None  # the brace is a literal
        low, high = int(least), int(most) if most else None if comma else int(least)
        if low > _MOST_REPEATED or (high is not None and not low <= high <= _MOST_REPEATED):
            raise PatternError(f"invalid repeat count {self._pattern[self._position : end + 1]}")
        self._position = end + 1
        return low, high

    # --- atoms -----------------------------------------------------------------------------------

    def _atom(self, flags: str) -> Node:
        char = self._next()
        match char:
            case "(":
                return self._group(flags)
            case "[":
                return self._class(flags)
            case ".":
                return CharSet(negated=True) if "s" in flags else CharSet((("\n", "\n"),), negated=True)
            case "^":
                return Assertion.LINE_BEGIN if "m" in flags else Assertion.TEXT_BEGIN
            case "$":
                return Assertion.LINE_END if "m" in flags else Assertion.TEXT_END
            case "*" | "+" | "?":
                raise PatternError(f"missing argument to repetition operator {char}")
            case "\\":
                return self._escape(flags)
        return _literal(char, flags)

    def _group(self, flags: str) -> Node:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise PatternError(f"groups are nested deeper than {_DEEPEST} levels")
        if self._take("?P<") or self._take("?<"):
            name = self._until(">", "the name of a group")
            if not (name.isidentifier() and name.isascii()):
                raise PatternError(f"invalid group name {name[:20]}")
        elif self._take("?"):
            flags = self._flags(flags)
            if not self._take(":"):
                raise PatternError("invalid or unsupported syntax after (?")
        found = self.alternation(flags)
        if not self._take(")"):
            raise PatternError("missing )")
        self._depth -= 1
        return found

    def _escape(self, flags: str) -> Node:
        char = self._next()
        if char in _ASSERTIONS:
            return _ASSERTIONS[char]
        return self._escaped_set(char) or _literal(self._escaped_char(char), flags)

    def _escaped_set(self, char: str) -> CharSet | None:
        if char.lower() in _PERL:
            known = _PERL[char.lower()]
            return CharSet(known.ranges, negated=char.isupper())
        if char not in ("p", "P"):
            return None
        name = self._until("}", "\\p{") if self._take("{") else self._next()
        negated = char == "P"
        if name.startswith("^"):
            name, negated = name[1:], not negated
        if name == "Any":
            return CharSet(negated=not negated)
        if name not in _CATEGORIES:
            raise PatternError(f"unknown or unsupported character class \\p{{{name[:20]}}}")
        return CharSet(category=name, negated=negated)

    def _escaped_char(self, char: str) -> str:
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char == "x":
            return self._code(
                self._until("}", "\\x{") if self._take("{") else self._next() + self._next(), 16
            )
        if char in "01234567":
            digits = char
            while len(digits) < 3 and self._peek() and self._peek() in "01234567":
                digits += self._next()
            if char == "0" or len(digits) > 1:
                return self._code(digits, 8)
        if char.isascii() and not char.isalnum() and char != "_":
            return char
        raise PatternError(f"invalid escape sequence \\{char}")

    def _code(self, digits: str, base: int) -> str:
        try:
            return chr(int(digits, base) if len(digits) < 9 else -1)
        except ValueError:
            raise PatternError("invalid character code") from None

    # --- classes ---------------------------------------------------------------------------------

    def _class(self, flags: str) -> CharSet:
        negated = self._take("^")
        ranges: list[tuple[str, str]] = []
        sets: list[CharSet] = []
        first = True
        while first or not self._take("]"):
            first = False
            found = self._class_set()
            if found is not None:
                sets.append(found)
                continue
            low = self._class_char()
            high = low
            if self._peek() == "-" and self._peek(2) != "-]":
                self._position += 1
                high = self._class_char()
                if high < low:
                    raise PatternError(f"invalid character class range {low}-{high}")
            ranges.append((low, high))
        return CharSet(tuple(ranges), tuple(sets), negated=negated, folds="i" in flags)

    def _class_set(self) -> CharSet | None:
        if self._take("[:"):
            name = self._until(":]", "[:")
            known = _POSIX.get(name.removeprefix("^"))
            if known is None:
                raise PatternError(f"invalid character class [:{name[:20]}:]")
            return CharSet(known.ranges, negated=name.startswith("^"))
        start = self._position
        if self._take("\\") and (found := self._escaped_set(self._next())) is not None:
            return found
        self._position = start
        return None

    def _class_char(self) -> str:
        if not self.rest:
            raise PatternError("missing closing ]")
        char = self._next()
        return self._escaped_char(self._next()) if char == "\\" else char


def _joined(parts: list[Node]) -> Node:
    return parts[0] if len(parts) == 1 else Concatenation(tuple(parts))


def _literal(char: str, flags: str) -> CharSet:
    return CharSet(((char, char),), folds="i" in flags)


def _cases(char: str) -> set[str]:
    forms = {char, char.lower(), char.upper(), char.lower().upper()}
    return {form for form in forms if len(form) == 1}


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()
