"""Objects from files that somebody names on the command line, `-` being stdin.

A file that cannot be opened ends the command with a sentence. What cannot be read inside one is reported,
and everything else goes on.
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
    """What one file holds, and a sentence for each object in it that is malformed or of no known kind."""

    objects: tuple[KubernetesObject, ...]
    malformed: tuple[str, ...]
    strange: tuple[str, ...]


def read_manifest(filename: str) -> Manifest:
    results = decode_documents(text_of(filename), _filled)
    return Manifest(
        objects=tuple(r.object for r in results if isinstance(r, Decoded)),
        malformed=tuple(f"{filename}: {r.problem}" for r in results if isinstance(r, Unreadable)),
        strange=tuple(f"{filename}: {r.problem}" for r in results if isinstance(r, UnknownKind)),
    )


def _filled(body: object) -> object:
    """As a server would keep it: what limits alone were given for is asked for, too."""
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
    """Of objects with one name the last, as if the files were applied in order."""
    return list({ref_of(thing): thing for thing in objects}.values())
