"""The ServiceAccount ``default`` that every namespace has."""

from collections.abc import Iterator

from reprieve_minicluster.controllers.api_writes import Create, Write
from reprieve_minicluster.controllers.controller_cache import ControllerCache, key_of
from reprieve_minicluster.controllers.objects import NamespaceFacts, ServiceAccountFacts, Thing
from reprieve_minicluster.store import Key

ACCOUNT = "default"


def affected(cache: ControllerCache, thing: Thing) -> Iterator[Key]:
    match thing:
        case NamespaceFacts():
            yield key_of(thing)
        case ServiceAccountFacts():
            yield Key(NamespaceFacts.resource, "", thing.metadata.namespace)


def reconcile(cache: ControllerCache, key: Key, now: float) -> Iterator[Write]:
    namespace = cache.find(NamespaceFacts, key)
    if namespace is None or namespace.metadata.deletion_timestamp is not None:
        return
    if cache.of(ServiceAccountFacts).get(key.name, ACCOUNT) is None:
        meta = {"name": ACCOUNT, "namespace": key.name}
        yield Create(
            ServiceAccountFacts.resource, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta}
        )
