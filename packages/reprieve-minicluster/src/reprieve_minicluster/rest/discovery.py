"""Discovery: the documents from which clients learn the served groups, versions and resources."""

from reprieve.model.json import Json
from reprieve_minicluster.kinds import ResourceKind
from reprieve_minicluster.rest.handlers import verbs_of
from reprieve_minicluster.rest.routes import Catalogue
from reprieve_minicluster.rest.subresources import SCALE_VERSION

# The release of Kubernetes that is served; clients adapt to it.
RELEASE = "1.37"

# Subresources with another kind than their resource.
_KINDS = {
    "scale": (SCALE_VERSION, "Scale"),
    "binding": ("v1", "Binding"),
    "eviction": ("policy/v1", "Eviction"),
    "exec": ("v1", "PodExecOptions"),
    "attach": ("v1", "PodAttachOptions"),
    "portforward": ("v1", "PodPortForwardOptions"),
    "proxy": ("v1", "PodProxyOptions"),
}


def version() -> Json:
    major, minor = RELEASE.split(".")
    return {
        "major": major,
        "minor": minor,
        "gitVersion": f"v{RELEASE}.0+reprieve",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "none",
        "compiler": "none",
        "platform": "python",
    }


def core_versions(catalogue: Catalogue) -> Json:
    return {"kind": "APIVersions", "versions": list(catalogue.groups[""]), "serverAddressByClientCIDRs": []}


def group_list(catalogue: Catalogue) -> Json:
    groups = [group(catalogue, name) for name in catalogue.groups if name]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def group(catalogue: Catalogue, name: str) -> Json:
    """The preferred version of a group is the first version of its first kind."""
    versions = [{"groupVersion": v, "version": v.rpartition("/")[2]} for v in catalogue.groups[name]]
    return {
        "kind": "APIGroup",
        "apiVersion": "v1",
        "name": name,
        "versions": versions,
        "preferredVersion": versions[0],
    }


def resource_list(catalogue: Catalogue, api_version: str) -> Json:
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": api_version,
        "resources": [
            entry
            for kind in catalogue.kinds[api_version].values()
            for entry in (_resource(kind), *(_part(kind, part) for part in kind.subresources))
        ],
    }


def _resource(kind: ResourceKind) -> Json:
    entry: Json = {
        "name": kind.plural,
        "singularName": kind.singular,
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": verbs_of(kind),
    }
    if kind.short:
        entry["shortNames"] = list(kind.short)
    if kind.categories:
        entry["categories"] = list(kind.categories)
    return entry


def _part(kind: ResourceKind, part: str) -> Json:
    entry: Json = {
        "name": f"{kind.plural}/{part}",
        "singularName": "",
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": verbs_of(kind, part),
    }
    if part in _KINDS:
        api_version, entry["kind"] = _KINDS[part]
        entry["group"], _, entry["version"] = api_version.rpartition("/")
    return entry


# --- aggregated discovery --------------------------------------------------------------------------


def aggregated(catalogue: Catalogue, discovery_version: str, *, core: bool) -> Json:
    """Every group with its resources in one document."""
    names = [name for name in catalogue.groups if bool(name) != core]
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": f"apidiscovery.k8s.io/{discovery_version}",
        "metadata": {},
        "items": [_discovered_group(catalogue, name) for name in names],
    }


def _discovered_group(catalogue: Catalogue, name: str) -> Json:
    versions = [
        {
            "version": api_version.rpartition("/")[2],
            "resources": [_discovered(api_version, kind) for kind in catalogue.kinds[api_version].values()],
            "freshness": "Current",
        }
        for api_version in catalogue.groups[name]
    ]
    return {"metadata": {"name": name} if name else {}, "versions": versions}


def _discovered(api_version: str, kind: ResourceKind) -> Json:
    entry: Json = {
        "resource": kind.plural,
        "responseKind": _kind_of(api_version, kind.kind),
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.singular,
        "verbs": verbs_of(kind),
    }
    if kind.short:
        entry["shortNames"] = list(kind.short)
    if kind.categories:
        entry["categories"] = list(kind.categories)
    if parts := kind.subresources:
        entry["subresources"] = [
            {
                "subresource": part,
                "responseKind": _kind_of(*_KINDS.get(part, (api_version, kind.kind))),
                "verbs": verbs_of(kind, part),
            }
            for part in parts
        ]
    return entry


def _kind_of(api_version: str, kind: str) -> Json:
    group_name, _, version_name = api_version.rpartition("/")
    return {"group": group_name, "version": version_name, "kind": kind}
