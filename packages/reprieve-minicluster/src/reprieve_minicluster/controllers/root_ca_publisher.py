"""The ConfigMap ``kube-root-ca.crt`` that every namespace has: the certificate that the server uses.

The one in kube-system has the content, and is written where the server is started; the others are copies. How
certificates are made is not known here.
"""

from collections.abc import Callable, Iterator

from reprieve.model.json import Json
from reprieve_minicluster.controllers.api_writes import Create, Update, Write
from reprieve_minicluster.controllers.controller_cache import ControllerCache, key_of
from reprieve_minicluster.controllers.objects import ConfigMapFacts, NamespaceFacts, Thing
from reprieve_minicluster.store import Key

CONFIG_MAP = "kube-root-ca.crt"
SOURCE = "kube-system"


def root_ca(certificate: str, namespace: str = SOURCE) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": CONFIG_MAP, "namespace": namespace},
        "data": {"ca.crt": certificate},
    }


def affected(cache: ControllerCache, thing: Thing) -> Iterator[Key]:
    match thing:
        case NamespaceFacts():
            yield key_of(thing)
        case ConfigMapFacts(metadata=meta) if meta.name == CONFIG_MAP:
            if meta.namespace == SOURCE:
                yield from (key_of(namespace) for namespace in cache.of(NamespaceFacts))
            else:
                yield Key(NamespaceFacts.resource, "", meta.namespace)


def reconcile(cache: ControllerCache, key: Key, now: float) -> Iterator[Write]:
    namespace = cache.find(NamespaceFacts, key)
    source = cache.of(ConfigMapFacts).get(SOURCE, CONFIG_MAP)
    if source is None or namespace is None or namespace.metadata.deletion_timestamp is not None:
        return
    found = cache.of(ConfigMapFacts).get(key.name, CONFIG_MAP)
    if found is None:
        yield Create(ConfigMapFacts.resource, root_ca(source.data.get("ca.crt", ""), key.name))
    elif found.data != source.data:
        yield Update.of(found, _with_data(source.data))


def _with_data(data: dict[str, str]) -> Callable[[Json], None]:
    def change(body: Json) -> None:
        body["data"] = dict(data)

    return change
