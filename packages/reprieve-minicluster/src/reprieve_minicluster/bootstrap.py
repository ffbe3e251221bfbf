"""The initial content of a cluster: namespaces, priority classes, roles, nodes, and objects of a snapshot.

The cluster that a snapshot is from has admitted its objects, so they are not admitted again.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import msgspec
from msgspec.structs import replace

from reprieve.cluster.admission.admission_plugins import DEFAULT_CLASS
from reprieve.cluster.admission.features import ALL_FEATURES, Features
from reprieve.cluster.admission.priority_classes import SYSTEM_CLASSES
from reprieve.cluster.api import snapshot_header
from reprieve.cluster.api.decode_errors import UNDECODABLE
from reprieve.cluster.api.documents import Unparsed, documents
from reprieve.model.json import Json
from reprieve_minicluster.auth.authentication import AUTHENTICATED, MASTERS, UserInfo
from reprieve_minicluster.auth.authorizer import GROUP
from reprieve_minicluster.auth.policy_rules import EVERYTHING, PolicyRule
from reprieve_minicluster.controllers.content_deletion import SYSTEM_NAMESPACES
from reprieve_minicluster.controllers.selection import ALL_CONTROLLERS
from reprieve_minicluster.errors import ApiError
from reprieve_minicluster.kinds import BY_NAME, KINDS, RoleAccess, peek, section
from reprieve_minicluster.kinds.conversion import to_storage_version
from reprieve_minicluster.store import Store
from reprieve_minicluster.store.metadata import key_of_body

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


LOOPBACK = "127.0.0.1"
# Clients that validate responses require all of these fields.
_NODE_INFO = {
    "architecture": "amd64",
    "bootID": "",
    "containerRuntimeVersion": "simulated://1",
    "kernelVersion": "simulated",
    "kubeProxyVersion": "",
    "kubeletVersion": "v1.37.0-simulated",
    "machineID": "",
    "operatingSystem": "linux",
    "osImage": "simulated",
    "systemUUID": "",
}
_NAME_LABEL = "kubernetes.io/metadata.name"


@dataclass(frozen=True, slots=True)
class LocalCluster:
    """How to start a cluster. Nodes use ``templates`` round-robin. Port 0 means any free port.

    ``snapshot``: the text of a snapshot to restore. ``users``: users that get tokens besides the admin.
    ``job_seconds``: how long pods of Jobs run that do not say; None for ever.
    ``features``: what its API server serves. ``controllers``: the names of the controllers that run.
    ``progress``: called with how many objects of the snapshot are restored, and how many there are.
    ``data_dir``: where its state is stored. A cluster that exists there continues, with the nodes that it
    has.
    """

    templates: Sequence[Json]
    nodes: int
    kubeconfig: Path
    host: str = LOOPBACK
    port: int = 0
    speed: float = 1.0
    data_dir: Path | None = None
    snapshot: str = ""
    users: Sequence[UserInfo] = ()
    features: Features = ALL_FEATURES
    job_seconds: float | None = None
    controllers: frozenset[str] = ALL_CONTROLLERS
    progress: Callable[[int, int], None] = lambda _done, _all: None


def standard_objects() -> list[Json]:
    namespaces: list[Json] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {_NAME_LABEL: name}}}
        for name in SYSTEM_NAMESPACES
    ]
    return [*namespaces, *_system_classes(), *default_roles()]


def default_storage_class() -> Json:
    """The class of claims that name none: the volume is made where the scheduler places the pod."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "standard", "annotations": {DEFAULT_CLASS: "true"}},
        "provisioner": "reprieve.dev/simulated",
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def known_authorities(clients: str, for_proxies: str) -> Json:
    """The ConfigMap from which servers such as a scheduler learn which CAs to trust, as PEM.

    ``for_proxies``: a client with a certificate of this CA can act as any user, so pass a CA that has signed
    none.
    """
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "extension-apiserver-authentication", "namespace": "kube-system"},
        "data": {
            "client-ca-file": clients,
            "requestheader-client-ca-file": for_proxies,
            "requestheader-allowed-names": "[]",
            "requestheader-username-headers": '["X-Remote-User"]',
            "requestheader-group-headers": '["X-Remote-Group"]',
            "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
        },
    }


def api_server_service(port: int) -> Json:
    """The Service by which pods reach the API server; clients learn its address family from it."""
    address = "10.96.0.1"
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "type": "ClusterIP",
            "clusterIP": address,
            "clusterIPs": [address],
            "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
            "internalTrafficPolicy": "Cluster",
            "sessionAffinity": "None",
            "ports": [{"name": "https", "protocol": "TCP", "port": 443, "targetPort": port}],
        },
    }


def _system_classes() -> list[Json]:
    return [
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": found.name},
            "value": found.value,
            "preemptionPolicy": "PreemptLowerPriority",
            "description": "Used for system critical pods that must run in the cluster.",
        }
        for found in SYSTEM_CLASSES.values()
    ]


def nodes_of(templates: Sequence[Json], count: int) -> list[Json]:
    """Nodes that use the templates round-robin, named after them."""
    return [_node(templates[n % len(templates)], n // len(templates)) for n in range(count)]


def _node(template: Json, number: int) -> Json:
    node = deepcopy(template)
    meta = section(node, "metadata")
    name = f"{meta.get('name') or 'node'}-{number}"
    meta["name"] = name
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    section(meta, "labels").update(labels)
    status = section(node, "status")
    status["nodeInfo"] = {**_NODE_INFO, **peek(status, "nodeInfo")}
    return node


class SnapshotError(ValueError):
    """The snapshot cannot be read: one sentence that says why."""


def restore(
    store: Store, text: str, progress: Callable[[int, int], None] = lambda _done, _all: None
) -> Counter[str]:
    """Store every object of YAML or JSON documents and lists; returns how many were skipped, by kind.

    Objects of kinds that are not served are skipped. A SnapshotError, with nothing stored, if the text is
    malformed. ``progress`` gets how many are stored, and of how many.
    """
    objects = list(_objects(_lines(text) if _is_saved(text) else documents(text)))
    served = [_addressed(body) for body in objects if body["kind"] in BY_NAME]
    for number, (resource, body) in enumerate(served, start=1):
        store.adopt(resource, body)
        progress(number, len(served))
    return Counter(body["kind"] for body in objects if body["kind"] not in BY_NAME)


def _is_saved(text: str) -> bool:
    """Whether it is a file of `reprieve snapshot save`: a header, and one object a line."""
    try:
        header = msgspec.json.decode(text.partition("\n")[0])
    except UNDECODABLE:
        return False
    return isinstance(header, dict) and header.get("kind") == snapshot_header.KIND


def _lines(text: str) -> Iterator[object]:
    """The values of its lines; a SnapshotError if it has fewer than its header says."""
    number, expected = -1, 0
    for number, line in enumerate(line for line in StringIO(text, newline="\n") if line.strip()):
        try:
            value = msgspec.json.decode(line)
        except UNDECODABLE as error:
            raise SnapshotError(f"the file is truncated or damaged: line {number + 1} is not JSON") from error
        if number == 0:
            expected = snapshot_header.lines_after(value)
        yield value
    if number < expected:
        raise SnapshotError(
            f"the file is truncated: expected {expected} lines after the header, got {number}"
        )


def _addressed(body: Json) -> tuple[str, Json]:
    kind = BY_NAME[body["kind"]]
    try:
        key_of_body(kind, body)
    except ApiError as error:
        raise SnapshotError(error.message) from error
    return kind.resource, to_storage_version(kind, str(body.get("apiVersion")), body)


def _objects(found: Iterable[object]) -> Iterator[Json]:
    """Decisions tell of the other cluster's past, and are skipped."""
    for document in found:
        match document:
            case Unparsed(expected):
                raise SnapshotError(expected)
            case {"kind": str(kind), "items": list(items)} if kind.endswith("List"):
                yield from _objects(items)
            case dict() if document.get("kind") == snapshot_header.KIND:
                if wrong := snapshot_header.version_refusal(document):
                    raise SnapshotError(wrong)
                objects = document.get("objects")
                yield from _objects(objects if isinstance(objects, list) else ())
            case {"kind": kind, "apiVersion": version} if snapshot_header.is_decision(kind, version):
                pass
            case dict() if isinstance(document.get("kind"), str) and isinstance(
                document.get("metadata"), dict
            ):
                yield document
            case _:
                raise SnapshotError(
                    "expected Kubernetes objects, or lists of them, each with a kind and metadata"
                )
