"""Services, their endpoints, Ingresses and NetworkPolicies; the mini cluster routes no traffic."""

from reprieve.model.json import Json
from reprieve_minicluster.kinds.cells import AGE, NAME, NONE, TableColumn, at, items_at, joined, text, text_at
from reprieve_minicluster.kinds.kind import APART, CONTENT, SPEC, ResourceKind, RoleAccess, SelectableField

_GROUP = "networking.k8s.io"


def _ports(body: Json, now: float) -> str:
    ports = items_at(body, "spec.ports")
    return ",".join(f"{text_at(p, 'port')}/{text_at(p, 'protocol', 'TCP')}" for p in ports) or NONE


def _external(body: Json, now: float) -> str:
    if text_at(body, "spec.type", "") == "ExternalName":
        return text_at(body, "spec.externalName")
    given = at(body, "spec.externalIPs")
    found = [str(address) for address in given] if isinstance(given, list) else []
    found += [text_at(one, "ip") for one in items_at(body, "status.loadBalancer.ingress")]
    waits = "<pending>" if text_at(body, "spec.type", "") == "LoadBalancer" else NONE
    return ",".join(found) or waits


def _service_selector(body: Json, now: float) -> str:
    return _labels(at(body, "spec.selector"))


def _addresses(body: Json, now: float) -> str:
    found = [text_at(a, "ip") for subset in items_at(body, "subsets") for a in items_at(subset, "addresses")]
    return ",".join(found) or NONE


def _selector(body: Json, now: float) -> str:
    return _labels(at(body, "spec.podSelector.matchLabels"))


def _labels(labels: object) -> str:
    return ",".join(f"{k}={v}" for k, v in labels.items()) if isinstance(labels, dict) and labels else NONE


def _endpoints(body: Json, now: float) -> str:
    lists = [one.get("addresses") for one in items_at(body, "endpoints")]
    return ",".join(str(a) for found in lists if isinstance(found, list) for a in found) or NONE


KINDS = (
    ResourceKind(
        "Service",
        "services",
        description="A name for the pods that it selects. The mini cluster routes no traffic.",
        short=("svc",),
        shown_in_all=True,
        status=APART,
        selectable=(SelectableField("spec.clusterIP"), SelectableField("spec.type")),
        upserts=True,
        access=RoleAccess.EDIT,
        merge_keys={"spec.ports": "port"},
        columns=(
            NAME,
            text("Type", "spec.type", "ClusterIP"),
            text("Cluster-IP", "spec.clusterIP"),
            TableColumn("External-IP", _external),
            TableColumn("Port(s)", _ports),
            AGE,
            TableColumn("Selector", _service_selector, wide=True),
        ),
    ),
    ResourceKind(
        "Endpoints",
        "endpoints",
        description="The addresses behind a Service. The mini cluster does not write them.",
        short=("ep",),
        upserts=True,
        access=RoleAccess.VIEW,
        columns=(NAME, TableColumn("Endpoints", _addresses), AGE),
    ),
    ResourceKind(
        "EndpointSlice",
        "endpointslices",
        "discovery.k8s.io",
        description="The addresses of the pods behind a Service, and which of them are ready.",
        generation=CONTENT,
        access=RoleAccess.VIEW,
        columns=(
            NAME,
            text("AddressType", "addressType"),
            joined("Ports", "ports", "port"),
            TableColumn("Endpoints", _endpoints),
            AGE,
        ),
    ),
    ResourceKind(
        "Ingress",
        "ingresses",
        _GROUP,
        description="Routes external requests to Services. The mini cluster routes no traffic.",
        short=("ing",),
        status=APART,
        generation=SPEC,
        access=RoleAccess.EDIT,
        columns=(NAME, text("Class", "spec.ingressClassName"), joined("Hosts", "spec.rules", "host"), AGE),
    ),
    ResourceKind(
        "IngressClass",
        "ingressclasses",
        _GROUP,
        description="The controller that implements an Ingress.",
        namespaced=False,
        generation=SPEC,
        columns=(NAME, text("Controller", "spec.controller"), AGE),
    ),
    ResourceKind(
        "NetworkPolicy",
        "networkpolicies",
        _GROUP,
        description="Which traffic is allowed between pods. The mini cluster routes no traffic.",
        short=("netpol",),
        generation=SPEC,
        access=RoleAccess.EDIT,
        columns=(NAME, TableColumn("Pod-Selector", _selector), AGE),
    ),
)
