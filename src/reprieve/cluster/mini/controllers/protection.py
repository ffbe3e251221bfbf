"""A PodGroup that is being deleted stays until no unfinished pod refers to it.

Admission has put a finalizer on it when it was made; this takes it off again.
"""

from collections.abc import Iterator

from reprieve.cluster.apiserver.admission_plugins import PROTECTION
from reprieve.cluster.mini.controllers.mirror import GROUPS, Described, Mirror, Name, key_in
from reprieve.cluster.mini.controllers.objects import Composite, Group, PodFacts
from reprieve.cluster.mini.controllers.writes import Amend, Write
from reprieve.cluster.mini.history import Key
from reprieve.model.json import Json


def concerned(mirror: Mirror, thing: Described) -> Iterator[Key]:
    match thing:
        case Composite():
            return
        case Group():
            yield key_in(GROUPS, thing)
        case PodFacts() if name := _group_of(thing):
            yield Key(GROUPS, thing.metadata.namespace, name)


def _group_of(pod: PodFacts) -> str:
    group = pod.spec.scheduling_group
    return group.pod_group_name if group is not None else ""


def reconcile(mirror: Mirror, key: Key, now: float) -> Iterator[Write]:
    group = mirror.groups.get(Name(key.namespace, key.name))
    if group is None or group.metadata.deletion_timestamp is None:
        return
    if PROTECTION in group.metadata.finalizers and not _is_used(mirror, key):
        yield Amend(key, group.metadata.uid, _release)


def _is_used(mirror: Mirror, group: Key) -> bool:
    return any(
        _group_of(pod) == group.name and not pod.is_over for pod in mirror.pods.inside(group.namespace)
    )


def _release(body: Json) -> None:
    meta = body["metadata"]
    meta["finalizers"] = [name for name in meta.get("finalizers") or () if name != PROTECTION]
