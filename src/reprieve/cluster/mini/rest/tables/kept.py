"""How kinds are shown that are only kept for others."""

from reprieve.cluster.mini.rest.tables.cells import (
    AGE,
    NAME,
    NONE,
    Column,
    at,
    items_at,
    joined,
    number,
    text,
    text_at,
)
from reprieve.model.json import Json


def _reference(body: Json, now: float) -> str:
    return f"{text_at(body, 'spec.scaleTargetRef.kind')}/{text_at(body, 'spec.scaleTargetRef.name')}"


def _state(body: Json, now: float) -> str:
    if at(body, "metadata.deletionTimestamp"):
        return "deleted"
    if not at(body, "status.allocation"):
        return "pending"
    return "allocated,reserved" if at(body, "status.reservedFor") else "allocated"


def _addresses(body: Json, now: float) -> str:
    found = [text_at(a, "ip") for subset in items_at(body, "subsets") for a in items_at(subset, "addresses")]
    return ",".join(found) or NONE


def _selector(body: Json, now: float) -> str:
    labels = at(body, "spec.podSelector.matchLabels")
    return ",".join(f"{k}={v}" for k, v in labels.items()) if isinstance(labels, dict) and labels else NONE


ENDPOINTS = (NAME, Column("Endpoints", _addresses), AGE)
NETWORK_POLICY = (NAME, Column("Pod-Selector", _selector), AGE)
POD_TEMPLATE = (NAME, joined("Containers", "template.spec.containers", "name"), AGE)
AUTOSCALER = (
    NAME,
    Column("Reference", _reference),
    number("MinPods", "spec.minReplicas", 1),
    number("MaxPods", "spec.maxReplicas"),
    number("Replicas", "status.currentReplicas"),
    AGE,
)
INGRESS = (NAME, text("Class", "spec.ingressClassName"), joined("Hosts", "spec.rules", "host"), AGE)
INGRESS_CLASS = (NAME, text("Controller", "spec.controller"), AGE)
ENDPOINT_SLICE = (NAME, text("AddressType", "addressType"), joined("Ports", "ports", "port"), AGE)
RESOURCE_CLAIM = (NAME, Column("State", _state), AGE)
RESOURCE_SLICE = (
    NAME,
    text("Node", "spec.nodeName"),
    text("Driver", "spec.driver"),
    text("Pool", "spec.pool.name"),
    AGE,
)
ATTRIBUTES_CLASS = (NAME, text("DriverName", "driverName"), AGE)
