"""Which objects are in the files that the command line names?

What cannot be read inside a file is reported, and everything else goes on. Objects get the defaults that an
API server would give them.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from reprieve.cli.text_files import text_of
from reprieve.cluster.api.codec import Decoded, UnknownKind, Unreadable, decode_documents
from reprieve.cluster.apiserver.defaults import default
from reprieve.cluster.apiserver.features import ALL_FEATURES
from reprieve.model.objects import KubernetesObject, ref_of


@dataclass(frozen=True, slots=True)
class Input:
    """What one file holds, and a sentence for each object in it that is malformed or of no known kind."""

    objects: tuple[KubernetesObject, ...]
    malformed: tuple[str, ...]
    strange: tuple[str, ...]


def read_input(filename: str) -> Input:
    results = decode_documents(text_of(filename), _filled)
    return Input(
        objects=tuple(r.object for r in results if isinstance(r, Decoded)),
        malformed=tuple(f"{filename}: {r.problem}" for r in results if isinstance(r, Unreadable)),
        strange=tuple(f"{filename}: {r.problem}" for r in results if isinstance(r, UnknownKind)),
    )


def _filled(body: object) -> object:
    """As an API server would store it: a container with limits alone requests the same amounts."""
    if isinstance(body, dict):
        default(body, str(body.get("apiVersion")).rpartition("/")[2], ALL_FEATURES)
    return body


def latest(objects: Iterable[KubernetesObject]) -> list[KubernetesObject]:
    """Of objects with one name the last, as if the files were applied in order."""
    return list({ref_of(thing): thing for thing in objects}.values())
