"""Query parameters of a request. Errors name the parameter."""

import re
from collections.abc import Mapping
from enum import Enum

from reprieve_minicluster.errors import ApiError, Cause, bad_request

_TRUE, _FALSE = ("1", "t", "T", "true", "TRUE", "True"), ("0", "f", "F", "false", "FALSE", "False")
_LARGEST = 2**63 - 1
_DURATION = re.compile(r"\+?(0|((\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h))+)", re.ASCII)


class FieldValidation(Enum):
    """How a request with unknown or duplicate fields is treated."""

    STRICT = "Strict"
    WARN = "Warn"
    IGNORE = "Ignore"


class Query:
    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values

    def check_timeout(self) -> None:
        """A request takes as long as it takes: its timeout is validated, and otherwise ignored."""
        given = self.text("timeout")
        if given and _DURATION.fullmatch(given) is None:
            raise bad_request(
                f"invalid timeout specified in the request URL: expected a time such as 30s, got {given!r}"
            )

    def text(self, name: str) -> str:
        return self._values.get(name, "")

    def flag(self, name: str) -> bool:
        given = self.text(name)
        if given in _TRUE:
            return True
        if given and given not in _FALSE:
            raise bad_request(f"the parameter {name} must be true or false, not {given!r}")
        return False

    def number(self, name: str) -> int | None:
        given = self.text(name)
        if not given:
            return None
        digits = given.removeprefix("-")
        if not (digits.isascii() and digits.isdigit()) or len(digits) > 19 or int(digits) > _LARGEST:
            raise bad_request(f"the parameter {name} must be an integer, not {given!r}")
        return int(given)

    def version(self) -> int | None:
        """The resourceVersion, if one is given."""
        number = self.number("resourceVersion")
        if number is not None and number < 0:
            raise bad_request(f"the parameter resourceVersion must not be negative, and is {number}")
        return number

    def choice(self, name: str, allowed: tuple[str, ...]) -> str:
        given = self.text(name)
        if given and given not in allowed:
            raise unsupported(name, given, allowed)
        return given

    @property
    def is_dry_run(self) -> bool:
        return bool(self.choice("dryRun", ("All",)))

    @property
    def field_validation(self) -> FieldValidation:
        allowed = tuple(choice.value for choice in FieldValidation)
        return FieldValidation(self.choice("fieldValidation", allowed) or FieldValidation.WARN.value)


def unsupported(name: str, given: object, allowed: tuple[str, ...]) -> ApiError:
    choices = ", ".join(f'"{choice}"' for choice in allowed)
    sentence = f"Unsupported value: {given!r}: supported values: {choices}"
    cause = Cause("FieldValueNotSupported", sentence, name)
    return ApiError(422, "Invalid", f"the request is invalid: {name}: {sentence}", (cause,))


def forbidden_parameter(name: str, why: str) -> ApiError:
    cause = Cause("FieldValueForbidden", why, name)
    return ApiError(422, "Invalid", f"the request is invalid: {name}: Forbidden: {why}", (cause,))
