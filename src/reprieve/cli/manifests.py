"""Objects from files on the command line; `-` is stdin.

A file that cannot be opened ends the command. An object that cannot be decoded is reported, and the others
are used.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from reprieve.cli.text_files import text_of
from reprieve.cluster.api.codec import Decoded, UnknownKind, Unreadable, decode_documents
from reprieve.cluster.apiserver.defaults import default
from reprieve.cluster.apiserver.features import ALL_FEATURES
from reprieve.model.objects import KubernetesObject, Pod, Problem, Ref, ref_of


@dataclass(frozen=True, slots=True)
class ManifestFile:
    """The objects of one file, and an error for each that is malformed or of an unknown kind."""

    objects: tuple[KubernetesObject, ...]
    malformed: tuple[str, ...]
    unknown: tuple[str, ...]


def read_manifest(filename: str) -> ManifestFile:
    results = decode_documents(text_of(filename), _filled, _missing)
    return ManifestFile(
        objects=tuple(r.object for r in results if isinstance(r, Decoded)),
        malformed=tuple(f"{filename}: {r.problem}" for r in results if isinstance(r, Unreadable)),
        unknown=tuple(f"{filename}: {r.problem}" for r in results if isinstance(r, UnknownKind)),
    )


def _filled(body: object) -> object:
    """With an API server's defaults: for example, requests default to limits."""
    if isinstance(body, dict):
        default(body, str(body.get("apiVersion")).rpartition("/")[2], ALL_FEATURES)
    return body


def _missing(thing: KubernetesObject) -> Problem | None:
    """What an object must have to be told from others and to need room; an API server rejects it, too."""
    if not thing.metadata.name:
        nameless = Ref(kind=ref_of(thing).kind, namespace="", name="")
        return Problem(ref=nameless, path="metadata.name", expected="expected a non-empty string")
    if isinstance(thing, Pod) and not thing.spec.containers:
        return Problem(ref=ref_of(thing), path="spec.containers", expected="expected at least one container")
    return None


def latest(objects: Iterable[KubernetesObject]) -> list[KubernetesObject]:
    """The last of the objects with the same name, as if the files were applied in order."""
    return list({ref_of(thing): thing for thing in objects}.values())
