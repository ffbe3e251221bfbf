"""How does an error of the command line read? As every other one: where, and what was expected there.

click words its errors in its own way; they are reworded here. A text that is not known keeps its words.
"""

import re
from collections.abc import Sequence
from difflib import get_close_matches

import click
from click.exceptions import NoArgsIsHelpError, NoSuchCommand

from reprieve.cli.terminal import visible_lines

_ONE_OF = re.compile(r"'(.*)' is not one of (.*)")
# What click's types say about a value, and what is said instead.
_REWORDED = (
    (_ONE_OF, r'expected one of \2, got "\1"'),
    (re.compile(r"'(.*)' is not a valid integer.*"), r'expected a whole number, got "\1"'),
    (re.compile(r"'(.*)' is not a valid float.*"), r'expected a number, got "\1"'),
    (re.compile(r"'(.*)' is not a valid boolean.*"), r'expected true or false, got "\1"'),
    (re.compile(r"(.*) is not in the range (.*)"), r"expected a number in the range \2, got \1"),
)


def in_one_form(error: click.ClickException) -> click.ClickException:
    """The error with its text in the form `where: what was expected`, control characters spelled out.

    The text begins in lower case and ends without a full stop.
    """
    match error:
        case NoArgsIsHelpError():
            return error
        case click.UsageError():
            return click.UsageError(visible_lines(_sentence(error)), error.ctx)
    error.message = visible_lines(error.message)  # type: ignore[misc]  # its class has the exit code
    return error


def meant(possibilities: Sequence[str] | None) -> str:
    """A hint at the most similar name, for the end of a sentence."""
    return f' (did you mean "{possibilities[0]}"?)' if possibilities else ""


def _sentence(error: click.UsageError) -> str:
    match error:
        case click.NoSuchOption():
            return f"{error.option_name}: no such option{meant(error.possibilities)}"
        case NoSuchCommand():
            return f"{error.command_name}: no such command{meant(error.possibilities)}"
        case click.MissingParameter():
            return f"{_flags(error)}: required"
        case click.BadParameter():
            return f"{_flags(error)}: {_expected(_plain(error.message))}"
    return _plain(error.format_message())


def _flags(error: click.BadParameter) -> str:
    """The parameter that an error is about: all spellings of a flag, or the name of an argument."""
    if isinstance(error.param, click.Option):
        return ", ".join(error.param.opts)
    if error.param is not None:
        return error.param.make_metavar(error.ctx) if error.ctx is not None else str(error.param.name)
    return error.param_hint if isinstance(error.param_hint, str) else ", ".join(error.param_hint or ())


def _expected(message: str) -> str:
    for pattern, text in _REWORDED:
        if (found := pattern.fullmatch(message)) is not None:
            return found.expand(text).replace("'", "") + _nearest(found)
    return message


def _nearest(found: re.Match[str]) -> str:
    """For a value that is none of a list: the most similar one of them."""
    if found.re is not _ONE_OF:
        return ""
    known = [word.strip("' ") for word in found[2].split(",")]
    return meant(get_close_matches(found[1], known, n=1))


def _plain(message: str) -> str:
    return (message[:1].lower() + message[1:]).removesuffix(".")
