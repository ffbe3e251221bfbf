"""What is wrong in an object, and at which field? A cursor over plain JSON values that collects errors.

A cursor can be moved to a field that does not exist and to a value of the wrong type: nothing here raises. It
knows how Kubernetes writes field paths and words its causes; it must not know any kind of object.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from reprieve.cluster.api.decode_errors import described
from reprieve.cluster.api.names import TextForm
from reprieve.cluster.api.values import amount_of

_SHOWN = 80  # of a value, in a sentence
_MOST_COMPLAINTS = 100  # about one object: a longer list helps no reader


class ErrorType(Enum):
    """Why a field is rejected: the cause that a ``Status`` names, and the words that open its message."""

    INVALID = ("FieldValueInvalid", "Invalid value")
    REQUIRED = ("FieldValueRequired", "Required value")
    FORBIDDEN = ("FieldValueForbidden", "Forbidden")
    UNSUPPORTED = ("FieldValueNotSupported", "Unsupported value")
    DUPLICATE = ("FieldValueDuplicate", "Duplicate value")
    TOO_LONG = ("FieldValueTooLong", "Too long")
    TOO_MANY = ("FieldValueTooMany", "Too many")
    TYPE = ("FieldValueTypeInvalid", "Invalid value")

    @property
    def cause(self) -> str:
        return self.value[0]

    @property
    def words(self) -> str:
        return self.value[1]


_WITHOUT_VALUE = (
    ErrorType.REQUIRED,
    ErrorType.FORBIDDEN,
    ErrorType.TOO_LONG,
    ErrorType.TOO_MANY,
    ErrorType.TYPE,
)


@dataclass(frozen=True, slots=True)
class FieldError:
    """One error at one field. As text it reads like a cause in a ``Status``."""

    path: str
    reason: ErrorType
    value: object
    sentence: str

    @property
    def message(self) -> str:
        """Without the path, as ``Status.details.causes[].message`` has it."""
        shown = () if self.reason in _WITHOUT_VALUE else (shortly(self.value),)
        return ": ".join((self.reason.words, *shown, self.sentence))

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


def shortly(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            text = f'"{value}"'
        case dict() | list() | None:
            return described(value)
        case _:
            text = str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


@dataclass(slots=True)
class At:
    """A value at a path. Errors at it and at everything below it go into one list.

    ``known``: what was seen in the object so far, by whoever saw it, such as the names that are taken.
    """

    value: Any
    path: str = ""
    errors: list[FieldError] = field(default_factory=list)
    known: dict[object, set[Any]] = field(default_factory=dict)

    # --- moving ----------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> "At":
        """The field of that name; its value is None if there is none."""
        value = self.value.get(name) if isinstance(self.value, dict) else None
        return self._at(value, f"{self.path}.{name}" if self.path else name)

    def key(self, name: str) -> "At":
        """The entry of a mapping whose keys the user chooses."""
        value = self.value.get(name) if isinstance(self.value, dict) else None
        return self._at(value, f"{self.path}[{name}]")

    def items(self) -> Iterator["At"]:
        """The items of a list. Anything but a list is an error, and has none."""
        if self.is_list():
            for i, item in enumerate(self.value):
                yield self._at(item, f"{self.path}[{i}]")

    def entries(self) -> Iterator[tuple[str, "At"]]:
        """The entries of a mapping. Anything but a mapping is an error, and has none."""
        if self.is_object():
            for name in self.value:
                yield str(name), self.key(name)

    def showing(self, value: object) -> "At":
        """Move to a part of the value, but keep the path, for an error about that part alone."""
        return self._at(value, self.path)

    def _at(self, value: object, path: str) -> "At":
        return At(value, path, self.errors, self.known)

    # --- looking ---------------------------------------------------------------------------------

    @property
    def given(self) -> bool:
        return self.value is not None

    @property
    def empty(self) -> bool:
        """Whether the value is absent or empty. Zero and false are values."""
        return self.value is None or self.value in ("", [], {})

    def is_text(self) -> bool:
        return self._is(str)

    def is_integer(self) -> bool:
        return self._is(int) and not isinstance(self.value, bool)

    def is_list(self) -> bool:
        return self._is(list)

    def is_object(self) -> bool:
        return self._is(dict)

    def amount(self) -> int | None:
        """The quantity in thousandths, or None; a value that is no quantity is an error."""
        amount: int | None = amount_of(self.value)
        if amount is None and self.value is not None:
            self.invalid("must be a quantity such as 500m, 2 or 1Gi")
        return amount

    def text(self) -> str:
        """The text, or an empty one; a value that is no text is an error."""
        return self.value if self.is_text() else ""

    def integer(self) -> int | None:
        return self.value if self.is_integer() else None

    def flag(self) -> bool:
        return self.value is True if self._is(bool) else False

    def _is(self, kind: type) -> bool:
        if self.value is None:
            return False
        wrong = kind is int and isinstance(self.value, bool)
        if isinstance(self.value, kind) and not wrong:
            return True
        example: object = kind()
        self.refuse(ErrorType.TYPE, f"expected {described(example)}, got {described(self.value)}")
        return False

    @property
    def is_full(self) -> bool:
        """Whether there are so many errors that no more are listed."""
        return len(self.errors) >= _MOST_COMPLAINTS

    # --- complaining -----------------------------------------------------------------------------

    def refuse(self, reason: ErrorType, sentence: str) -> None:
        """Adds an error once, up to a limit for the whole object."""
        error = FieldError(self.path, reason, self.value, sentence)
        if not self.is_full and error not in self.errors:
            self.errors.append(error)

    def invalid(self, sentence: str) -> None:
        self.refuse(ErrorType.INVALID, sentence)

    def forbid(self, sentence: str) -> None:
        self.refuse(ErrorType.FORBIDDEN, sentence)

    def require(self, sentence: str = "must be given") -> bool:
        """Whether the value is given and not empty; if not, that is an error."""
        if self.empty:
            self.refuse(ErrorType.REQUIRED, sentence)
        return not self.empty

    def one_of(self, allowed: Collection[str]) -> None:
        """A text, if given, must be one of these."""
        text = self.value
        if self.is_text() and text not in allowed:
            choices = ", ".join(f'"{choice}"' for choice in sorted(allowed))
            self.refuse(ErrorType.UNSUPPORTED, f"supported values: {choices}")

    def must_be(self, *forms: TextForm) -> None:
        """A text, if given, must have these forms."""
        if self.is_text():
            for complaint in filter(None, (form(self.value) for form in forms)):
                self.invalid(complaint)

    def must_name(self, form: TextForm) -> None:
        """A text must be given, and have this form."""
        if self.require():
            self.must_be(form)

    def at_least(self, least: int) -> None:
        number = self.integer()
        if number is not None and number < least:
            self.invalid(f"must be at least {least}")

    def within(self, least: int, most: int) -> None:
        number = self.integer()
        if number is not None and not least <= number <= most:
            self.invalid(f"must be from {least} to {most}")

    def at_most_items(self, most: int) -> None:
        if isinstance(self.value, list | dict) and len(self.value) > most:
            self.refuse(ErrorType.TOO_MANY, f"must have at most {most} items, has {len(self.value)}")

    def once(self, kind: object, value: object, sentence: str = "must be there only once") -> None:
        """No other value of this kind in the object may equal this one."""
        seen = self.known.setdefault(kind, set())
        if value in seen:
            self.refuse(ErrorType.DUPLICATE, sentence)
        seen.add(value)

    def unchanged(self, old: object, sentence: str = "the field is immutable") -> None:
        if self.value != old:
            self.invalid(sentence)
