"""The templates that a set had, each kept as a ControllerRevision, by which people find the way back.

A revision is named after its template. The one with the highest number is in force: who goes back to an
earlier template gives that one a new number.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from reprieve.cluster.api.templates import ControllerOwner
from reprieve.cluster.mini.controllers.mirror import REVISIONS, Mirror, key_in
from reprieve.cluster.mini.controllers.objects import Revision
from reprieve.cluster.mini.controllers.templates import template_hash
from reprieve.cluster.mini.controllers.writes import Amend, Create, Remove, Write
from reprieve.cluster.mini.kinds import peek
from reprieve.model.json import Json

HASH_LABEL = "controller-revision-hash"


@dataclass(frozen=True, slots=True)
class Version:
    """A template under the name of its revision."""

    name: str
    hash: str
    template: Json


@dataclass(frozen=True, slots=True)
class Versions:
    """What a set had and has: ``known`` in the order of their numbers, ``update`` what it wants now."""

    owner: ControllerOwner
    known: Sequence[Revision]
    update: Version

    def find(self, name: str) -> Version:
        """The version of that name, or the one that is wanted, where nothing is known of it."""
        found = next((r for r in self.known if r.metadata.name == name), None)
        if found is None:
            return self.update
        template = {k: v for k, v in peek(peek(found.data, "spec"), "template").items() if k != "$patch"}
        return Version(name, found.metadata.labels.get(HASH_LABEL, ""), template)


def versions_of(mirror: Mirror, owner: ControllerOwner, template: Json) -> Versions:
    known = sorted(mirror.revisions.owned_by(owner.uid), key=lambda r: (r.revision, r.metadata.name))
    name = template_hash(template)
    return Versions(owner, known, Version(f"{owner.name}-{name}", name, template))


def recorded(versions: Versions) -> Iterator[Write]:
    """The wanted template is the latest revision."""
    known, update = versions.known, versions.update
    number = 1 + max((r.revision for r in known), default=0)
    if not any(r.metadata.name == update.name for r in known):
        yield Create(REVISIONS, _revision(versions, number))
    elif known[-1].metadata.name != update.name:
        again = next(r for r in known if r.metadata.name == update.name)
        yield Amend(key_in(REVISIONS, again), again.metadata.uid, lambda body: body.update(revision=number))


def _revision(versions: Versions, number: int) -> Json:
    owner, update = versions.owner, versions.update
    labels = {**peek(peek(update.template, "metadata"), "labels"), HASH_LABEL: update.hash}
    return {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {
            "name": update.name,
            "namespace": owner.namespace,
            "labels": labels,
            "ownerReferences": [owner.reference()],
        },
        "data": {"spec": {"template": {**update.template, "$patch": "replace"}}},
        "revision": number,
    }


def forgotten(versions: Versions, in_use: Collection[str], limit: int) -> Iterable[Write]:
    """The oldest of those that nobody needs, beyond as many as are to be kept."""
    idle = [r for r in versions.known if r.metadata.name not in in_use]
    surplus = idle[: max(0, len(idle) - limit)]
    return [Remove(key_in(REVISIONS, r), r.metadata.uid) for r in surplus]
