"""The ConfigMap ``kube-root-ca.crt`` that every namespace has: the certificate that the server uses.

The one in kube-system has the content, and is written where the server is started; the others are copies. How
certificates are made is not known here.
"""

from collections.abc import Callable, Iterator

from reprieve.cluster.mini.controllers.api_writes import Create, Update, Write
from reprieve.cluster.mini.controllers.controller_cache import (
    CONFIG_MAPS,
    NAMESPACES,
    ControllerCache,
    HasMetadata,
    NamespacedName,
    key_in,
)
from reprieve.cluster.mini.controllers.objects import ConfigMapFacts, NamespaceFacts
from reprieve.cluster.mini.stored_objects import Key
from reprieve.model.json import Json

CONFIG_MAP = "kube-root-ca.crt"
SOURCE = "kube-system"


def root_ca(certificate: str, namespace: str = SOURCE) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": CONFIG_MAP, "namespace": namespace},
        "data": {"ca.crt": certificate},
    }


def affected(cache: ControllerCache, thing: HasMetadata) -> Iterator[Key]:
    match thing:
        case NamespaceFacts():
            yield key_in(NAMESPACES, thing)
        case ConfigMapFacts(metadata=meta) if meta.name == CONFIG_MAP:
            if meta.namespace == SOURCE:
                yield from (key_in(NAMESPACES, namespace) for namespace in cache.namespaces)
            else:
                yield Key(NAMESPACES, "", meta.namespace)


def reconcile(cache: ControllerCache, key: Key, now: float) -> Iterator[Write]:
    namespace = cache.namespaces.get(NamespacedName("", key.name))
    source = cache.config_maps.get(NamespacedName(SOURCE, CONFIG_MAP))
    if source is None or namespace is None or namespace.metadata.deletion_timestamp is not None:
        return
    found = cache.config_maps.get(NamespacedName(key.name, CONFIG_MAP))
    if found is None:
        yield Create(CONFIG_MAPS, root_ca(source.data.get("ca.crt", ""), key.name))
    elif found.data != source.data:
        yield Update(key_in(CONFIG_MAPS, found), found.metadata.uid, _with_data(source.data))


def _with_data(data: dict[str, str]) -> Callable[[Json], None]:
    def change(body: Json) -> None:
        body["data"] = dict(data)

    return change
