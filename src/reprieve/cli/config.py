"""`reprieve config`: what can be configured, and whether a file is right."""

import click
import yaml

from reprieve.assembly import settings_of
from reprieve.cli.config_files import config_error, document_in
from reprieve.cli.terminal import note
from reprieve.config import InvalidConfigurationError, default_configuration, parse_configuration
from reprieve.config.encoding import as_document


@click.group()
def config() -> None:
    """The configuration of the scheduler: its defaults, and whether a file is right."""


@config.command()
def defaults() -> None:
    """Print what holds when nothing is written, as YAML that can be changed and used."""
    click.echo(yaml.safe_dump(as_document(default_configuration()), sort_keys=False), nl=False)


@config.command()
@click.argument("file")
def validate(file: str) -> None:
    """Say every mistake in FILE, each with its path; `-` is stdin.

    Exit codes: 0 if there is none, 2 if there is. What is left out and does no harm is a warning.
    """
    try:
        configured = parse_configuration(document_in(file))
        settings_of(configured)
    except InvalidConfigurationError as error:
        raise config_error(file, error) from error
    for warning in configured.warnings:
        note(f"Warning: {file}: {warning}")
    names = ", ".join(profile.scheduler_name for profile in configured.profiles)
    click.echo(f"{file} is right. It schedules the pods of {names}.")
