"""Which objects are in the files that the command line names?

An object that cannot be decoded is reported, and the others are used. Objects get the defaults that an
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
    """The objects of one file, and a sentence for each that is malformed or of an unknown kind."""

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
    """The last of the objects with the same name, as if the files were applied in order."""
    return list({ref_of(thing): thing for thing in objects}.values())
