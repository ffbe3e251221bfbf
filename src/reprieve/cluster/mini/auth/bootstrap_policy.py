"""The bootstrap policy: the default roles and bindings of Kubernetes, for the resources served here."""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from reprieve.cluster.mini.auth.authentication import AUTHENTICATED, MASTERS
from reprieve.cluster.mini.auth.policy_rules import EVERYTHING, PolicyRule
from reprieve.cluster.mini.auth.roles import GROUP
from reprieve.model.json import Json

AGGREGATE = f"{GROUP}/aggregate-to-"
_READ = "get list watch"
_WRITE = "create delete deletecollection patch update"
_BOTH = f"{_READ} {_WRITE}"
_VERSION = f"{GROUP}/v1"
_LABELS = {"kubernetes.io/bootstrapping": "rbac-defaults"}


def _rule(groups: str, resources: str, verbs: str, names: str = "") -> PolicyRule:
    """The core group is written ``core``."""
    named = tuple("" if group == "core" else group for group in groups.split())
    return PolicyRule(tuple(verbs.split()), named, tuple(resources.split()), tuple(names.split()))


_CORE = "configmaps persistentvolumeclaims pods replicationcontrollers serviceaccounts services"
_APPS = (
    "daemonsets deployments deployments/scale replicasets replicasets/scale statefulsets statefulsets/scale"
)
_GROUPS = "podgroups workloads compositepodgroups"
_NETWORKS = "ingresses networkpolicies"
_CLAIMS = "resourceclaims resourceclaimtemplates"
_REPORTED = {
    "core": "persistentvolumeclaims/status pods/status replicationcontrollers/status services/status",
    "apps": "daemonsets/status deployments/status replicasets/status statefulsets/status",
    "batch": "cronjobs/status jobs/status",
    "policy": "poddisruptionbudgets/status",
    "scheduling.k8s.io": "podgroups/status compositepodgroups/status",
    "autoscaling": "horizontalpodautoscalers/status",
    "networking.k8s.io": "ingresses/status",
    "resource.k8s.io": "resourceclaims/status",
}

_VIEW = (
    _rule("core", f"{_CORE} replicationcontrollers/scale pods/log namespaces namespaces/status", _READ),
    _rule("core", "limitranges resourcequotas resourcequotas/status", _READ),
    _rule("core events.k8s.io", "events", _READ),
    _rule("apps", f"controllerrevisions {_APPS}", _READ),
    _rule("batch", "cronjobs jobs", _READ),
    _rule("policy", "poddisruptionbudgets", _READ),
    _rule("scheduling.k8s.io", _GROUPS, _READ),
    _rule("core", "endpoints", _READ),
    _rule("autoscaling", "horizontalpodautoscalers", _READ),
    _rule("discovery.k8s.io", "endpointslices", _READ),
    _rule("networking.k8s.io", _NETWORKS, _READ),
    _rule("resource.k8s.io", _CLAIMS, _READ),
    *(_rule(group, resources, _READ) for group, resources in _REPORTED.items()),
)
_EDIT = (
    _rule("core", "secrets pods/attach pods/exec pods/portforward pods/proxy", _READ),
    _rule("core", "serviceaccounts", "impersonate"),
    _rule("core", f"{_CORE} secrets replicationcontrollers/scale", _WRITE),
    _rule("core", "pods/attach pods/exec pods/portforward pods/proxy", _WRITE),
    _rule("core", "pods/eviction serviceaccounts/token", "create"),
    _rule("core events.k8s.io", "events", _WRITE),
    _rule("apps", _APPS, _WRITE),
    _rule("batch", "cronjobs jobs", _WRITE),
    _rule("policy", "poddisruptionbudgets", _WRITE),
    _rule("scheduling.k8s.io", _GROUPS, _WRITE),
    _rule("autoscaling", "horizontalpodautoscalers", _WRITE),
    _rule("networking.k8s.io", _NETWORKS, _WRITE),
    _rule("resource.k8s.io", _CLAIMS, _WRITE),
    _rule("coordination.k8s.io", "leases", _BOTH),
)
_ADMIN = (
    _rule("authorization.k8s.io", "localsubjectaccessreviews", "create"),
    _rule(GROUP, "roles rolebindings", _BOTH),
)
_SCHEDULER = (
    _rule("core events.k8s.io", "events", "create patch update"),
    _rule("coordination.k8s.io", "leases", "create"),
    _rule("coordination.k8s.io", "leases", "get list update watch", "kube-scheduler"),
    _rule("core", "nodes namespaces replicationcontrollers services persistentvolumes", _READ),
    _rule("core", "persistentvolumeclaims", _READ),
    _rule("core", "pods", f"delete {_READ}"),
    _rule("core", "bindings pods/binding", "create"),
    _rule("core", "pods/status", "patch update"),
    _rule("apps", "replicasets statefulsets", _READ),
    _rule("policy", "poddisruptionbudgets", _READ),
    _rule(
        "storage.k8s.io", "csinodes csidrivers csistoragecapacities volumeattachments storageclasses", _READ
    ),
    _rule("scheduling.k8s.io", "podgroups compositepodgroups", _READ),
    _rule("scheduling.k8s.io", "podgroups/status compositepodgroups/status", "patch update"),
    _rule("resource.k8s.io", "deviceclasses resourceslices devicetaintrules", _READ),
    _rule("resource.k8s.io", "resourceclaims resourceclaims/status", f"{_READ} patch update"),
    _rule("resource.k8s.io", "resourceclaims", "create delete"),
    _rule("authentication.k8s.io", "tokenreviews", "create"),
    _rule("authorization.k8s.io", "subjectaccessreviews", "create"),
)
_VOLUMES = (
    _rule("core", "persistentvolumes persistentvolumeclaims", f"{_READ} patch update"),
    _rule("storage.k8s.io", "storageclasses", _READ),
)
_BASIC = (
    _rule("authorization.k8s.io", "selfsubjectaccessreviews selfsubjectrulesreviews", "create"),
    _rule("authentication.k8s.io", "selfsubjectreviews", "create"),
)
_HEALTH = ("/healthz", "/livez", "/readyz", "/version", "/version/")
_PAGES = ("/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*", *_HEALTH)

_ROLES: Mapping[str, tuple[PolicyRule, ...]] = {
    "cluster-admin": EVERYTHING,
    "system:aggregate-to-view": _VIEW,
    "system:aggregate-to-edit": _EDIT,
    "system:aggregate-to-admin": _ADMIN,
    "system:kube-scheduler": _SCHEDULER,
    "system:volume-scheduler": _VOLUMES,
    "system:basic-user": _BASIC,
    "system:discovery": (PolicyRule(("get",), non_resource_urls=_PAGES),),
    "system:public-info-viewer": (PolicyRule(("get",), non_resource_urls=_HEALTH),),
}
# Aggregation: each role includes the rules of the one before it.
_AGGREGATED = {"view": "edit", "edit": "admin", "admin": ""}
_BOUND = {
    "cluster-admin": (("Group", MASTERS),),
    "system:basic-user": (("Group", AUTHENTICATED),),
    "system:discovery": (("Group", AUTHENTICATED),),
    "system:public-info-viewer": (("Group", AUTHENTICATED),),
    "system:kube-scheduler": (("User", "system:kube-scheduler"),),
    "system:volume-scheduler": (("User", "system:kube-scheduler"),),
}


# Servers such as the scheduler read there which client CAs to trust.
_READER = "extension-apiserver-authentication-reader"
_READ_AUTHENTICATION = _rule("core", "configmaps", _READ, "extension-apiserver-authentication")


def default_roles() -> list[Json]:
    bindings = (_binding(name, subjects) for name, subjects in _BOUND.items())
    return [*_roles(), *_aggregated(), *bindings, *_reader()]


def _reader() -> Iterator[Json]:
    where = {"namespace": "kube-system", "labels": _LABELS}
    yield {
        "apiVersion": _VERSION,
        "kind": "Role",
        "metadata": {"name": _READER, **where},
        "rules": [msgspec.to_builtins(_READ_AUTHENTICATION)],
    }
    yield {
        "apiVersion": _VERSION,
        "kind": "RoleBinding",
        "metadata": {"name": f"system::{_READER}", **where},
        "roleRef": {"apiGroup": GROUP, "kind": "Role", "name": _READER},
        "subjects": [{"apiGroup": GROUP, "kind": "User", "name": "system:kube-scheduler"}],
    }


def _roles() -> Iterator[Json]:
    for name, rules in _ROLES.items():
        step = name.removeprefix("system:aggregate-to-")
        labels = {f"{AGGREGATE}{step}": "true"} if step != name else {}
        yield _role(name, labels, rules=msgspec.to_builtins(rules))


def _aggregated() -> Iterator[Json]:
    """Roles without rules of their own: a controller aggregates those of the roles that they select."""
    for name, above in _AGGREGATED.items():
        labels = {f"{AGGREGATE}{above}": "true"} if above else {}
        selector = {"matchLabels": {f"{AGGREGATE}{name}": "true"}}
        yield _role(name, labels, aggregationRule={"clusterRoleSelectors": [selector]}, rules=[])


def _role(name: str, labels: Mapping[str, str], **content: object) -> Json:
    meta = {"name": name, "labels": {**_LABELS, **labels}}
    return {"apiVersion": _VERSION, "kind": "ClusterRole", "metadata": meta, **content}


def _binding(role: str, subjects: Iterable[tuple[str, str]]) -> Json:
    return {
        "apiVersion": _VERSION,
        "kind": "ClusterRoleBinding",
        "metadata": {"name": role, "labels": _LABELS},
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": GROUP, "kind": kind, "name": name} for kind, name in subjects],
    }
