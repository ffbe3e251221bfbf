"""The bootstrap policy: the default roles and bindings of Kubernetes, for the resources served here."""

from collections.abc import Iterable, Iterator, Mapping

import msgspec
from msgspec.structs import replace

from reprieve.model.json import Json
from reprieve_minicluster.auth.authentication import AUTHENTICATED, MASTERS
from reprieve_minicluster.auth.authorizer import GROUP
from reprieve_minicluster.auth.policy_rules import EVERYTHING, PolicyRule
from reprieve_minicluster.kinds import KINDS, RoleAccess

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


def _of_kinds(verbs: str, *granted: RoleAccess, status: bool = False) -> tuple[PolicyRule, ...]:
    """A rule for each API group: its kinds with such access, and their scales; or else their status."""
    found: dict[str, list[str]] = {}
    for kind in KINDS:
        if kind.access in granted:
            plain = (kind.plural, *(f"{kind.plural}/scale" for part in kind.parts if part == "scale"))
            apart = (f"{kind.plural}/status",) if "status" in kind.subresources else ()
            for version in kind.served:
                found.setdefault(version.rpartition("/")[0], []).extend(apart if status else plain)
    return tuple(
        PolicyRule(tuple(verbs.split()), (group,), tuple(dict.fromkeys(resources)))
        for group, resources in found.items()
        if resources
    )


_CONNECTED = "pods/attach pods/exec pods/portforward pods/proxy"
_VIEW = (
    *_of_kinds(_READ, RoleAccess.VIEW, RoleAccess.EDIT),
    *_of_kinds(_READ, RoleAccess.VIEW, RoleAccess.EDIT, status=True),
    _rule("core", "pods/log", _READ),
)
_EDIT = (
    *_of_kinds(_READ, RoleAccess.EDITORS_ONLY),
    *_of_kinds(_WRITE, RoleAccess.EDIT, RoleAccess.EDITORS_ONLY),
    _rule("core", _CONNECTED, _BOTH),
    _rule("core", "pods/eviction serviceaccounts/token", "create"),
    _rule("core", "serviceaccounts", "impersonate"),
)
_ADMIN = tuple(
    replace(rule, verbs=("create",)) if rule.api_groups == ("authorization.k8s.io",) else rule
    for rule in _of_kinds(_BOTH, RoleAccess.ADMINS_ONLY)
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
_BASIC = _of_kinds("create", RoleAccess.EVERYBODY)
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
