"""Columns of the objects of dynamic resource allocation."""

from reprieve.cluster.mini.rest.tables.cells import (
    AGE,
    NAME,
    TableColumn,
    at,
    text,
)
from reprieve.model.json import Json


def _state(body: Json, now: float) -> str:
    if at(body, "metadata.deletionTimestamp"):
        return "deleted"
    if not at(body, "status.allocation"):
        return "pending"
    return "allocated,reserved" if at(body, "status.reservedFor") else "allocated"


RESOURCE_CLAIM = (NAME, TableColumn("State", _state), AGE)
RESOURCE_SLICE = (
    NAME,
    text("Node", "spec.nodeName"),
    text("Driver", "spec.driver"),
    text("Pool", "spec.pool.name"),
    AGE,
)
