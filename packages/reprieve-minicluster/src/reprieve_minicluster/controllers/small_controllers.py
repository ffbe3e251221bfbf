"""Controllers of a few lines each: defaults of namespaces, aggregated ClusterRoles, protected groups."""

from collections.abc import Iterator

from reprieve.cluster.admission.admission_plugins import PROTECTION, protect
from reprieve.model.groups import DEEPEST
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


# --- deleted groups, which stay until no unfinished pod is in them ---------------------------------

# Kubernetes 1.37 protects no CompositePodGroup: what one says of running pods would end without a word.
COMPOSITE_PROTECTION = "reprieve.dev/compositepodgroup-protection"


def protected_groups(cache: ControllerCache, thing: Thing) -> Iterator[Key]:
    match thing:
        case PodGroupFacts():
            yield from (key_of(thing), *_around(cache, thing))
        case PodFacts():
            yield from _groups_of(cache, thing)


def _groups_of(cache: ControllerCache, pod: PodFacts) -> Iterator[Key]:
    """The group of a pod, and those around it."""
    if pod.spec.scheduling_group is None:
        return
    key = Key(PodGroupFacts.resource, pod.metadata.namespace, pod.spec.scheduling_group.pod_group_name)
    yield key
    group = cache.find(PodGroupFacts, key)
    if group is not None:
        yield from _around(cache, group)


def _around(cache: ControllerCache, group: PodGroupFacts) -> Iterator[Key]:
    around: PodGroupFacts | None = group
    for _ in range(DEEPEST - 1):
        parent = around.spec.get("parentCompositePodGroupName") if around is not None else None
        if not parent:
            return
        key = Key(CompositeGroupFacts.resource, group.metadata.namespace, str(parent))
        yield key
        around = cache.find(CompositeGroupFacts, key)


def protect_used_group(cache: ControllerCache, key: Key, now: float) -> Iterator[Write]:
    """Admission has added the finalizer to a new PodGroup. Without pods, a group need not stay."""
    is_composite = key.resource == CompositeGroupFacts.resource
    group = cache.find(CompositeGroupFacts if is_composite else PodGroupFacts, key)
    finalizer = COMPOSITE_PROTECTION if is_composite else PROTECTION
    if group is None:
        return
    if not group.is_leaving:
        if is_composite and finalizer not in group.metadata.finalizers:
            yield Update.of(group, lambda body: protect(body, finalizer))
        return
    pods = (pod for pod in cache.of(PodFacts).inside(key.namespace) if not pod.is_over)
    if finalizer in group.metadata.finalizers and not any(key in _groups_of(cache, pod) for pod in pods):
        yield Update.of(group, lambda body: without_finalizer(body, finalizer))
