"""ControllerRevisions: the templates that a StatefulSet or DaemonSet had, for rollbacks.

A revision is named after the hash of its template. The one with the highest number is current: a rollback to
an earlier template gives its revision a new number.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from reprieve.cluster.api.templates import ControllerOwner
from reprieve.model.json import Json
from reprieve_minicluster.controllers.api_writes import Create, Delete, Update, Write
from reprieve_minicluster.controllers.controller_cache import ControllerCache
from reprieve_minicluster.controllers.objects import RevisionFacts
from reprieve_minicluster.controllers.owners import template_hash
from reprieve_minicluster.kinds import peek

HASH_LABEL = "controller-revision-hash"


@dataclass(frozen=True, slots=True)
class Version:
    """A template and the name of its revision."""

    name: str
    hash: str
    template: Json


@dataclass(frozen=True, slots=True)
class Versions:
    """The revisions of a set: ``known`` in order of their numbers, ``update`` its current template."""

    owner: ControllerOwner
    known: Sequence[RevisionFacts]
    update: Version

    def find(self, name: str) -> Version:
        """The version of that name; the current template if there is no such revision."""
        found = next((r for r in self.known if r.metadata.name == name), None)
        if found is None:
            return self.update
        template = {k: v for k, v in peek(peek(found.data, "spec"), "template").items() if k != "$patch"}
        return Version(name, found.metadata.labels.get(HASH_LABEL, ""), template)


def versions_of(cache: ControllerCache, owner: ControllerOwner, template: Json) -> Versions:
    known = sorted(cache.of(RevisionFacts).owned_by(owner.uid), key=lambda r: (r.revision, r.metadata.name))
    name = template_hash(template)
    return Versions(owner, known, Version(f"{owner.name}-{name}", name, template))


def recorded(versions: Versions) -> Iterator[Write]:
    """Make the current template the latest revision."""
    known, update = versions.known, versions.update
    number = 1 + max((r.revision for r in known), default=0)
    if not any(r.metadata.name == update.name for r in known):
        yield Create(RevisionFacts.resource, _revision(versions, number))
    elif known[-1].metadata.name != update.name:
        again = next(r for r in known if r.metadata.name == update.name)
        yield Update.of(again, lambda body: body.update(revision=number))


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
        "data": {"spec": {"template": _as_upstream(update.template)}},
        "revision": number,
    }


def _as_upstream(template: Json) -> Json:
    """Byte for byte as kube-controller-manager writes it, which compares bytes: with keys in order."""
    spec = peek(template, "spec")
    lists = {
        name: spec[name] for name in ("containers", "initContainers") if isinstance(spec.get(name), list)
    }
    filled = {name: [_with_resources(one) for one in listed] for name, listed in lists.items()}
    whole: Json = {**template, "spec": {**spec, **filled}, "$patch": "replace"}
    ordered: Json = msgspec.json.decode(msgspec.json.encode(whole, order="sorted"))
    return ordered


def _with_resources(container: object) -> object:
    return {"resources": {}, **container} if isinstance(container, dict) else container


def history_cleanup(versions: Versions, in_use: Collection[str], limit: int) -> Iterable[Write]:
    """Delete the oldest revisions that are not in use, beyond the history limit."""
    idle = [r for r in versions.known if r.metadata.name not in in_use]
    surplus = idle[: max(0, len(idle) - limit)]
    return [Delete.of(r) for r in surplus]
