"""Columns of Services, their endpoints, Ingresses and NetworkPolicies."""

from reprieve.cluster.mini.rest.tables.cells import (
    AGE,
    NAME,
    NONE,
    TableColumn,
    at,
    items_at,
    joined,
    text,
    text_at,
)
from reprieve.model.json import Json


def _ports(body: Json, now: float) -> str:
    ports = items_at(body, "spec.ports")
    return ",".join(f"{text_at(p, 'port')}/{text_at(p, 'protocol', 'TCP')}" for p in ports) or NONE


SERVICE = (
    NAME,
    text("Type", "spec.type", "ClusterIP"),
    text("Cluster-IP", "spec.clusterIP"),
    TableColumn("Port(s)", _ports),
    AGE,
)


def _addresses(body: Json, now: float) -> str:
    found = [text_at(a, "ip") for subset in items_at(body, "subsets") for a in items_at(subset, "addresses")]
    return ",".join(found) or NONE


def _selector(body: Json, now: float) -> str:
    labels = at(body, "spec.podSelector.matchLabels")
    return ",".join(f"{k}={v}" for k, v in labels.items()) if isinstance(labels, dict) and labels else NONE


ENDPOINTS = (NAME, TableColumn("Endpoints", _addresses), AGE)
ENDPOINT_SLICE = (NAME, text("AddressType", "addressType"), joined("Ports", "ports", "port"), AGE)
INGRESS = (NAME, text("Class", "spec.ingressClassName"), joined("Hosts", "spec.rules", "host"), AGE)
INGRESS_CLASS = (NAME, text("Controller", "spec.controller"), AGE)
NETWORK_POLICY = (NAME, TableColumn("Pod-Selector", _selector), AGE)
