"""`reprieve config`: what can be configured, and whether a file is right."""

import click
import yaml

from reprieve.assembly.scheduler_settings import settings_of
from reprieve.cli.configuring import document_in, wrong
from reprieve.cli.screen import note
from reprieve.config import InvalidConfigurationError, default_configuration, parse_configuration
from reprieve.config.writing import written


@click.group()
def config() -> None:
    """The configuration of the scheduler: its defaults, and whether a file is right."""


@config.command()
def defaults() -> None:
    """Print what holds when nothing is written, as YAML that can be changed and used."""
    click.echo(yaml.safe_dump(written(default_configuration()), sort_keys=False), nl=False)


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
        raise wrong(file, error) from error
    for warning in configured.warnings:
        note(f"Warning: {file}: {warning}")
    names = ", ".join(profile.scheduler_name for profile in configured.profiles)
    click.echo(f"{file} is right. It schedules the pods of {names}.")
