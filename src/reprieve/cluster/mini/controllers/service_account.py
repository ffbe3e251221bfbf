"""The ServiceAccount ``default`` that every namespace has."""

from collections.abc import Iterator

from reprieve.cluster.mini.controllers.api_writes import Create, Write
from reprieve.cluster.mini.controllers.controller_cache import (
    ACCOUNTS,
    NAMESPACES,
    ControllerCache,
    HasMetadata,
    NamespacedName,
    key_in,
)
from reprieve.cluster.mini.controllers.objects import NamespaceFacts, ServiceAccountFacts
from reprieve.cluster.mini.stored_objects import Key

ACCOUNT = "default"


def affected(cache: ControllerCache, thing: HasMetadata) -> Iterator[Key]:
    match thing:
        case NamespaceFacts():
            yield key_in(NAMESPACES, thing)
        case ServiceAccountFacts():
            yield Key(NAMESPACES, "", thing.metadata.namespace)


def reconcile(cache: ControllerCache, key: Key, now: float) -> Iterator[Write]:
    namespace = cache.namespaces.get(NamespacedName("", key.name))
    if namespace is None or namespace.metadata.deletion_timestamp is not None:
        return
    if cache.accounts.get(NamespacedName(key.name, ACCOUNT)) is None:
        meta = {"name": ACCOUNT, "namespace": key.name}
        yield Create(ACCOUNTS, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta})
