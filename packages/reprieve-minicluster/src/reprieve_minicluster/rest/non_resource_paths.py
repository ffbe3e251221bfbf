"""Paths that are not resources: health checks, version, discovery, OpenAPI, pages of other components."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from reprieve.supervision.supervisor import HealthCheck, probe
from reprieve_minicluster.rest import discovery, openapi
from reprieve_minicluster.rest.http_messages import ApiRequest, ApiResponse, answer
from reprieve_minicluster.rest.negotiation import wants_aggregated
from reprieve_minicluster.rest.routes import HEALTH, Catalogue, NonResourcePath, path_not_found

# Served without authentication, as in Kubernetes.
PUBLIC = (*HEALTH, "version")


# By the first step of their path.
Probes = Mapping[str, Callable[[], Iterable[HealthCheck]]]
NO_PROBES: Probes = {}


@dataclass(frozen=True, slots=True)
class Page:
    """A page of another component. ``content``: by the parameters of the query, and by which kinds the client
    may get in which namespaces. A ValueError says what is wrong with the query."""

    content: Callable[[Mapping[str, str], Callable[[str, str], bool]], bytes]
    content_type: str = "application/json"


Pages = Mapping[str, Page]
NO_PAGES: Pages = {}


@dataclass(frozen=True, slots=True)
class OwnPages:
    """What a server shows of itself and of other components."""

    probes: Probes = field(default_factory=dict)
    pages: Pages = field(default_factory=dict)


NO_OWN_PAGES = OwnPages()


def respond(
    asked: NonResourcePath, request: ApiRequest, catalogue: Catalogue, probes: Probes = NO_PROBES
) -> ApiResponse:
    match asked.steps:
        case ():
            return answer({"paths": _paths(catalogue)})
        case (name, *checks) if name in HEALTH:
            return _health(name, checks, probes, verbose="verbose" in request.query)
        case ("version",):
            return answer(discovery.version())
        case ("api" | "apis" as root,):
            return _root(root, request, catalogue)
        case ("api", version) if version in catalogue.kinds:
            return answer(discovery.resource_list(catalogue, version))
        case ("apis", group) if group in catalogue.groups:
            return answer(discovery.group(catalogue, group))
        case ("apis", group, version) if f"{group}/{version}" in catalogue.kinds:
            return answer(discovery.resource_list(catalogue, f"{group}/{version}"))
        case ("openapi", "v2"):
            return _older_openapi(request)
        case ("openapi", "v3", *rest):
            return _openapi(rest, catalogue)
    raise path_not_found()


def _health(name: str, only: Sequence[str], probes: Probes, *, verbose: bool) -> ApiResponse:
    """``only``: the check that the path names, as in /livez/ping."""
    checks = probes[name]() if name in probes else ()
    passes, text = probe(name, [c for c in checks if not only or c[0] == only[0]], verbose=verbose)
    return ApiResponse(200 if passes else 500, text.encode(), content_type="text/plain")


def _root(root: str, request: ApiRequest, catalogue: Catalogue) -> ApiResponse:
    discovery_version = wants_aggregated(request.accept)
    if discovery_version:
        media = f"application/json;g=apidiscovery.k8s.io;v={discovery_version};as=APIGroupDiscoveryList"
        body = answer(discovery.aggregated(catalogue, discovery_version, core=root == "api")).body
        return ApiResponse(200, body, content_type=media)
    listed = discovery.core_versions if root == "api" else discovery.group_list
    return answer(listed(catalogue))


def _openapi(steps: list[str], catalogue: Catalogue) -> ApiResponse:
    match steps:
        case []:
            return answer(openapi.paths(catalogue))
        case ["api", version] if version in catalogue.kinds:
            return answer(openapi.document(catalogue, version))
        case ["apis", group, version] if f"{group}/{version}" in catalogue.kinds:
            return answer(openapi.document(catalogue, f"{group}/{version}"))
    raise path_not_found()


def _older_openapi(request: ApiRequest) -> ApiResponse:
    if openapi.OLDER_ASKED in request.accept:
        return ApiResponse(200, openapi.older_document_in_protobuf(), content_type=openapi.OLDER_GIVEN)
    return answer(openapi.older_document())


def _paths(catalogue: Catalogue) -> list[str]:
    groups = [f"/apis/{group}" for group in catalogue.groups if group]
    versions = [f"/apis/{v}" if "/" in v else f"/api/{v}" for v in catalogue.kinds]
    return ["/api", "/apis", *sorted([*groups, *versions]), "/openapi/v3", *(f"/{name}" for name in PUBLIC)]
