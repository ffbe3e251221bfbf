"""`reprieve config`: prints the default configuration, and validates files."""

import click
import yaml

from reprieve.cli.config_files import config_error, document_in, show_warnings
from reprieve.cli.terminal import say
from reprieve.config import InvalidConfigurationError, default_configuration, parse_configuration
from reprieve.config.encoding import as_document


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
