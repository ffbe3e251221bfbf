"""`reprieve config`; and for all commands: a configuration file, its errors, and the flags that override it.

What a valid configuration looks like is for ``config`` to know.
"""

from collections.abc import Iterable

import click
import yaml

from reprieve.cli.input_files import text_of
from reprieve.cli.terminal import note, say
from reprieve.cluster.api.documents import Unparsed, documents, repeated_keys
from reprieve.config import (
    Configuration,
    InvalidConfigurationError,
    InvalidFeatureGatesError,
    default_configuration,
    parse_configuration,
)
from reprieve.config.parsing import as_document
from reprieve.model.json import Json

# --- configuration files -------------------------------------------------------------------------


_INVALID = 2  # exit code: a restart would fail the same way
_DEFAULTS = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


class InvalidConfigFileError(click.ClickException):
    """The message has one error on each line."""

    exit_code = _INVALID

    def format_message(self) -> str:
        return "\nError: ".join(self.message.split("\n"))


def document_in(filename: str | None) -> object:
    """The document of the file; without a file, one with only defaults."""
    if filename is None:
        return _DEFAULTS
    text = text_of(filename)
    found = list(documents(text))
    if not found:
        raise InvalidConfigFileError(f"{filename}: expected a KubeSchedulerConfiguration, got an empty file")
    if len(found) != 1:
        expected = f"expected one KubeSchedulerConfiguration, got {len(found)} documents"
        raise InvalidConfigFileError(f"{filename}: {expected}")
    if isinstance(found[0], Unparsed):
        raise InvalidConfigFileError(f"{filename}: {found[0].expected}")
    if repeated := repeated_keys(text):
        duplicates = [f"{path}: duplicate key" for path in repeated]
        raise InvalidConfigFileError(_lines(filename, [*duplicates, *_other_errors(found[0])]))
    return found[0]


def with_flags(document: object, section: str, flags: Json) -> object:
    """Flags override the fields of that section."""
    given = {key: value for key, value in flags.items() if value is not None}
    if not given or not isinstance(document, dict):
        return document
    written = document.get(section)
    return {**document, section: {**(written if isinstance(written, dict) else {}), **given}}


def config_error(filename: str | None, error: InvalidConfigurationError) -> InvalidConfigFileError:
    """Each error on a line of its own. Feature gates come from a flag, not from the file."""
    where = None if isinstance(error, InvalidFeatureGatesError) else filename
    return InvalidConfigFileError(_lines(where, map(str, error.errors)))


def show_warnings(filename: str, configured: Configuration) -> None:
    for warning in configured.warnings:
        note(f"Warning: {filename}: {warning}")


def _lines(filename: str | None, errors: Iterable[str]) -> str:
    where = f"{filename}: " if filename else ""
    return "\n".join(f"{where}{error}" for error in errors)


def _other_errors(document: object) -> list[str]:
    """The errors of a document that is invalid anyway: all are reported at once."""
    try:
        parse_configuration(document)
    except InvalidConfigurationError as error:
        return [str(one) for one in error.errors]
    return []


# --- the command ---------------------------------------------------------------------------------


@click.group()
def config() -> None:
    """Print the default configuration, or validate a file."""


@config.command()
def defaults() -> None:
    """Print the default configuration as YAML, to edit and pass to --config."""
    say(yaml.safe_dump(as_document(default_configuration()), sort_keys=False).removesuffix("\n"))


@config.command()
@click.argument("file")
def validate(file: str) -> None:
    """Report every error in FILE, with its path; `-` for stdin.

    Exit codes: 0 if the file is valid, perhaps with warnings; 2 if it is not.
    """
    try:
        configured = parse_configuration(document_in(file))
    except InvalidConfigurationError as error:
        raise config_error(file, error) from error
    show_warnings(file, configured)
    names = ", ".join(profile.scheduler_name for profile in configured.profiles)
    say(f"{file} is valid. It schedules pods with schedulerName {names}.")
