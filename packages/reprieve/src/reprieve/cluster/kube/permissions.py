"""Which RBAC permissions the scheduler needs, and whether it has them.

The role in ``deploy/`` grants exactly these. Nothing is sent here.
"""

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass

import msgspec

from reprieve.cluster.kube import access_reviews
from reprieve.cluster.kube.requests import KubeRequest, KubeResponse
from reprieve.cluster.kube.rest_mapping import EVENT, RestMapping

_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_SELF_REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


@dataclass(frozen=True, slots=True, order=True)
class Permission:
    """``resource`` may include a subresource, as in pods/status; without a namespace, in all."""

    verb: str
    group: str
    resource: str
    namespace: str = ""
    name: str = ""

    def __str__(self) -> str:
        kind, _, part = self.resource.partition("/")
        what = f"{kind}.{self.group}" if self.group else kind
        named = f" {self.name}" if self.name else ""
        where = f" in {self.namespace}" if self.namespace else ""
        return f"{self.verb} {what}{'/' if part else ''}{part}{named}{where}"


# Beyond list and watch: the writes of each effect, and the reads before or after them.
_WRITES = {
    "": {
        "pods": "get delete",
        "pods/binding": "create",
        "pods/status": "patch",
        "persistentvolumes": "get patch",
        "persistentvolumeclaims": "get patch",
    },
    EVENT.api_version.partition("/")[0]: {EVENT.plural: "create patch"},
}


def scheduling_permissions(mappings: Iterable[RestMapping]) -> Iterator[Permission]:
    """What scheduling needs in a cluster that has these kinds."""
    for mapping in mappings:
        group = _group(mapping)
        yield Permission("list", group, mapping.plural)
        yield Permission("watch", group, mapping.plural)
        if mapping.kind == "PodGroup":
            yield Permission("get", group, mapping.plural)
            yield Permission("patch", group, f"{mapping.plural}/status")
    for group, resources in _WRITES.items():
        for resource, verbs in resources.items():
            yield from (Permission(verb, group, resource) for verb in verbs.split())


def election_permissions(namespace: str, name: str) -> Iterator[Permission]:
    """What holding a Lease needs. RBAC cannot restrict ``create`` by name."""
    group = "coordination.k8s.io"
    yield Permission("create", group, "leases", namespace)
    yield Permission("get", group, "leases", namespace, name)
    yield Permission("update", group, "leases", namespace, name)


def eviction_limit_permissions() -> Iterator[Permission]:
    """What an eviction limit needs, to count the evictions before the start of a replica."""
    yield Permission("list", EVENT.api_version.partition("/")[0], EVENT.plural)


def review_permissions() -> Iterator[Permission]:
    """What authenticating and authorizing requests for our own pages needs, such as /metrics."""
    yield Permission("create", "authentication.k8s.io", "tokenreviews")
    yield Permission("create", "authorization.k8s.io", "subjectaccessreviews")


def client_ca_permissions() -> Iterator[Permission]:
    """What reading the CA for client certificates needs."""
    yield Permission("get", "", "configmaps", *access_reviews.CLIENT_CA)


def self_access_review(right: Permission) -> Generator[KubeRequest, KubeResponse, bool | None]:
    """Whether we have a permission; None if the server does not say."""
    resource, _, part = right.resource.partition("/")
    wanted = {"verb": right.verb, "group": right.group, "resource": resource, "subresource": part}
    where = {"namespace": right.namespace, "name": right.name}
    attributes = {key: value for key, value in (wanted | where).items() if value}
    head = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"}
    body = msgspec.json.encode({**head, "spec": {"resourceAttributes": attributes}})
    response = yield KubeRequest("POST", _REVIEWS, (), body)
    if not response.is_success:
        return None
    status = response.object.get("status")
    return isinstance(status, dict) and status.get("allowed") is True


def self_subject_review() -> Generator[KubeRequest, KubeResponse, str]:
    """The user name that the server has authenticated us as; empty if it does not say."""
    body = msgspec.json.encode({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"})
    response = yield KubeRequest("POST", _SELF_REVIEWS, (), body)
    status = response.object.get("status") if response.is_success else None
    user = status.get("userInfo") if isinstance(status, dict) else None
    return str(user.get("username") or "") if isinstance(user, dict) else ""


def _group(mapping: RestMapping) -> str:
    return mapping.api_version.rpartition("/")[0]
