"""PodGroup protection: a deleted PodGroup stays until no unfinished pod refers to it.

Admission adds a finalizer to new groups; this controller removes it.
"""

from collections.abc import Iterator

from reprieve.cluster.admission.admission_plugins import PROTECTION
from reprieve.model.json import Json
from reprieve_minicluster.controllers.api_writes import Update, Write
from reprieve_minicluster.controllers.controller_cache import ControllerCache, key_of
from reprieve_minicluster.controllers.objects import CompositeGroupFacts, PodFacts, PodGroupFacts, Thing
from reprieve_minicluster.store import Key


def affected(cache: ControllerCache, thing: Thing) -> Iterator[Key]:
    match thing:
        case CompositeGroupFacts():
            return
        case PodGroupFacts():
            yield key_of(thing)
        case PodFacts() if name := _group_of(thing):
            yield Key(PodGroupFacts.resource, thing.metadata.namespace, name)


def _group_of(pod: PodFacts) -> str:
    group = pod.spec.scheduling_group
    return group.pod_group_name if group is not None else ""


def reconcile(cache: ControllerCache, key: Key, now: float) -> Iterator[Write]:
    group = cache.find(PodGroupFacts, key)
    if group is None or group.metadata.deletion_timestamp is None:
        return
    if PROTECTION in group.metadata.finalizers and not _is_used(cache, key):
        yield Update(key, group.metadata.uid, _release)


def _is_used(cache: ControllerCache, group: Key) -> bool:
    return any(
        _group_of(pod) == group.name and not pod.is_over for pod in cache.of(PodFacts).inside(group.namespace)
    )


def _release(body: Json) -> None:
    meta = body["metadata"]
    meta["finalizers"] = [name for name in meta.get("finalizers") or () if name != PROTECTION]
