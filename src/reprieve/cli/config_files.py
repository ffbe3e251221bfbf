"""The configuration that somebody names on the command line, and what flags change in it.

Whether it is right is not known here.
"""

from typing import Any

import click

from reprieve.cli.manifests import text_of
from reprieve.cluster.api.documents import Unparsed, documents, repeated_keys

Json = dict[str, Any]

WRONG = 2  # exit code: another start would end the same
_NOTHING_WRITTEN = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


class InvalidConfigFileError(click.ClickException):
    exit_code = WRONG


def document_in(filename: str | None) -> object:
    """One document; what holds when nothing is written, if there is no file."""
    if filename is None:
        return _NOTHING_WRITTEN
    text = text_of(filename)
    found = list(documents(text))
    if len(found) != 1:
        told = f"expected one KubeSchedulerConfiguration, got {len(found)} documents"
        raise InvalidConfigFileError(f"{filename}: {told}")
    if isinstance(found[0], Unparsed):
        raise InvalidConfigFileError(f"{filename}: {found[0].expected}")
    if repeated := repeated_keys(text):
        raise InvalidConfigFileError(
            "\n".join(f"{filename}: {path}: expected once, stands there twice" for path in repeated)
        )
    return found[0]


def with_flags(document: object, section: str, flags: Json) -> object:
    """Flags that were given count more than what is written in that section."""
    given = {key: value for key, value in flags.items() if value is not None}
    if not given or not isinstance(document, dict):
        return document
    written = document.get(section)
    return {**document, section: {**(written if isinstance(written, dict) else {}), **given}}


def config_error(filename: str | None, error: Exception) -> InvalidConfigFileError:
    """Every mistake on a line of its own."""
    where = f"{filename}: " if filename else ""
    return InvalidConfigFileError("\n".join(f"{where}{line}" for line in str(error).splitlines()))
