"""Which configuration does the command line name, and what do flags change in it?

This module must not know whether the configuration is valid.
"""

import click

from reprieve.cli.text_files import text_of
from reprieve.cluster.api.documents import Unparsed, documents, repeated_keys
from reprieve.model.json import Json

WRONG = 2  # exit code: a restart would end the same way
_NOTHING_WRITTEN = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


class WrongConfigurationError(click.ClickException):
    exit_code = WRONG


def document_in(filename: str | None) -> object:
    """One document; without a file, an empty configuration, which has all defaults."""
    if filename is None:
        return _NOTHING_WRITTEN
    text = text_of(filename)
    found = list(documents(text))
    if len(found) != 1:
        told = f"expected one KubeSchedulerConfiguration, got {len(found)} documents"
        raise WrongConfigurationError(f"{filename}: {told}")
    if isinstance(found[0], Unparsed):
        raise WrongConfigurationError(f"{filename}: {found[0].expected}")
    if repeated := repeated_keys(text):
        raise WrongConfigurationError(
            "\n".join(f"{filename}: {path}: expected once, stands there twice" for path in repeated)
        )
    return found[0]


def with_flags(document: object, section: str, flags: Json) -> object:
    """Flags override the keys of that section."""
    given = {key: value for key, value in flags.items() if value is not None}
    if not given or not isinstance(document, dict):
        return document
    written = document.get(section)
    return {**document, section: {**(written if isinstance(written, dict) else {}), **given}}


def wrong(filename: str | None, error: Exception) -> WrongConfigurationError:
    """Every error on a line of its own."""
    where = f"{filename}: " if filename else ""
    return WrongConfigurationError("\n".join(f"{where}{line}" for line in str(error).splitlines()))
