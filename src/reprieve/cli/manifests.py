"""Objects from files on the command line; `-` is stdin.

A file that cannot be opened ends the command. An object that cannot be decoded is reported, and the others
are used.
"""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import click

from reprieve.cluster.api.codec import Decoded, UnknownKind, Unreadable, decode_documents
from reprieve.cluster.api.defaults import default
from reprieve.cluster.api.features import ALL_FEATURES
from reprieve.model.objects import KubernetesObject, ref_of

STDIN = "-"


@dataclass(frozen=True, slots=True)
class Manifest:
    """The objects of one file, and an error for each that is malformed or of an unknown kind."""

    objects: tuple[KubernetesObject, ...]
    malformed: tuple[str, ...]
    unknown: tuple[str, ...]


def read_manifest(filename: str) -> Manifest:
    results = decode_documents(text_of(filename), _filled)
    return Manifest(
        objects=tuple(r.object for r in results if isinstance(r, Decoded)),
        malformed=tuple(f"{filename}: {r.problem}" for r in results if isinstance(r, Unreadable)),
        unknown=tuple(f"{filename}: {r.problem}" for r in results if isinstance(r, UnknownKind)),
    )


def _filled(body: object) -> object:
    """With an API server's defaults: for example, requests default to limits."""
    if isinstance(body, dict):
        default(body, str(body.get("apiVersion")).rpartition("/")[2], ALL_FEATURES)
    return body


def text_of(filename: str) -> str:
    try:
        if filename == STDIN:
            return sys.stdin.buffer.read().decode() if sys.stdin is not None else ""
        return Path(filename).read_text(encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"{filename}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise click.ClickException(f"{filename}: expected text in UTF-8") from error


def latest(objects: Iterable[KubernetesObject]) -> list[KubernetesObject]:
    """The last of the objects with the same name, as if the files were applied in order."""
    return list({ref_of(thing): thing for thing in objects}.values())
