"""Controllers of a few lines each: defaults of namespaces, aggregated ClusterRoles, protected PodGroups."""

from collections.abc import Iterator

from reprieve.cluster.admission.admission_plugins import PROTECTION
from reprieve.model.json import Json
from reprieve.model.objects import LabelSelector, Ref
from reprieve.model.resources import Problems
from reprieve.model.selectors import compile_selector
from reprieve_minicluster.controllers.api_writes import Create, Update, Write
from reprieve_minicluster.controllers.controller_cache import ControllerCache, key_of
from reprieve_minicluster.controllers.objects import (
    ClusterRoleFacts,
    CompositeGroupFacts,
    ConfigMapFacts,
    NamespaceFacts,
    PodFacts,
    PodGroupFacts,
    ServiceAccountFacts,
    Thing,
)
from reprieve_minicluster.store import Key
from reprieve_minicluster.store.metadata import without_finalizer

# --- the ServiceAccount ``default`` that every namespace has ---------------------------------------


ACCOUNT = "default"


def namespaces_for_account(cache: ControllerCache, thing: Thing) -> Iterator[Key]:
    match thing:
        case NamespaceFacts():
            yield key_of(thing)
        case ServiceAccountFacts():
            yield Key(NamespaceFacts.resource, "", thing.metadata.namespace)


def create_default_account(cache: ControllerCache, key: Key, now: float) -> Iterator[Write]:
    namespace = cache.find(NamespaceFacts, key)
    if namespace is None or namespace.is_leaving:
        return
    if cache.of(ServiceAccountFacts).get(key.name, ACCOUNT) is None:
        meta = {"name": ACCOUNT, "namespace": key.name}
        yield Create(
            ServiceAccountFacts.resource, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta}
        )


# --- the ConfigMap with the server's certificate that every namespace has --------------------------


CONFIG_MAP = "kube-root-ca.crt"
SOURCE = "kube-system"  # the one there is written where the server is started; the others are copies


def root_ca(certificate: str, namespace: str = SOURCE) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": CONFIG_MAP, "namespace": namespace},
        "data": {"ca.crt": certificate},
    }


def namespaces_for_root_ca(cache: ControllerCache, thing: Thing) -> Iterator[Key]:
    match thing:
        case NamespaceFacts():
            yield key_of(thing)
        case ConfigMapFacts(metadata=meta) if meta.name == CONFIG_MAP:
            if meta.namespace == SOURCE:
                yield from (key_of(namespace) for namespace in cache.of(NamespaceFacts))
            else:
                yield Key(NamespaceFacts.resource, "", meta.namespace)


def publish_root_ca(cache: ControllerCache, key: Key, now: float) -> Iterator[Write]:
    namespace = cache.find(NamespaceFacts, key)
    source = cache.of(ConfigMapFacts).get(SOURCE, CONFIG_MAP)
    if source is None or namespace is None or namespace.is_leaving:
        return
    found = cache.of(ConfigMapFacts).get(key.name, CONFIG_MAP)
    if found is None:
        yield Create(ConfigMapFacts.resource, root_ca(source.data.get("ca.crt", ""), key.name))
    elif found.data != source.data:
        yield Update.of(found, lambda body: body.update(data=dict(source.data)))


# --- ClusterRoles whose rules come from the roles that their aggregationRule selects ---------------


_ROLE = Ref(kind="ClusterRole", namespace="", name="")


def aggregated_roles(cache: ControllerCache, thing: Thing) -> Iterator[Key]:
    """Any change of a role may affect every aggregated role; aggregated roles may be parts of others."""
    if isinstance(thing, ClusterRoleFacts):
        yield from (key_of(role) for role in cache.of(ClusterRoleFacts) if role.aggregation_rule)


def aggregate_rules(cache: ControllerCache, key: Key, now: float) -> Iterator[Write]:
    role = cache.find(ClusterRoleFacts, key)
    if role is None or role.aggregation_rule is None:
        return
    wanted: list[Json] = []
    for part in sorted(cache.of(ClusterRoleFacts), key=lambda part: part.metadata.name):
        if part is not role and _selects(role.aggregation_rule.cluster_role_selectors, part):
            wanted += [rule for rule in part.rules or () if rule not in wanted]
    if wanted != (role.rules or []):
        yield Update.of(role, lambda body: body.update(rules=wanted))


def _selects(selectors: tuple[LabelSelector, ...], part: ClusterRoleFacts) -> bool:
    compiled = (compile_selector(s, "clusterRoleSelectors", Problems(_ROLE)) for s in selectors)
    return any(selector.matches(part.metadata.labels) for selector in compiled)


# --- deleted PodGroups, which stay until no unfinished pod refers to them --------------------------


def protected_groups(cache: ControllerCache, thing: Thing) -> Iterator[Key]:
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


def release_unused_group(cache: ControllerCache, key: Key, now: float) -> Iterator[Write]:
    """Remove the finalizer that admission adds to new groups."""
    group = cache.find(PodGroupFacts, key)
    if group is None or not group.is_leaving or PROTECTION not in group.metadata.finalizers:
        return
    pods = (pod for pod in cache.of(PodFacts).inside(key.namespace) if _group_of(pod) == key.name)
    if all(pod.is_over for pod in pods):
        yield Update.of(group, lambda body: without_finalizer(body, PROTECTION))
