"""Columns of namespaces, configuration, quotas, leases, events and CustomResourceDefinitions."""

from collections.abc import Callable

from reprieve.cluster.mini.rest.tables.cells import (
    AGE,
    NAME,
    UNKNOWN,
    TableColumn,
    age,
    at,
    since,
    size,
    text,
    text_at,
)
from reprieve.model.json import Json

NAMESPACE = (NAME, text("Status", "status.phase", UNKNOWN), AGE)
CONFIG_MAP = (NAME, size("Data", "data", "binaryData"), AGE)
SECRET = (NAME, text("Type", "type", "Opaque"), size("Data", "data"), AGE)
SERVICE_ACCOUNT = (NAME, size("Secrets", "secrets"), AGE)
LEASE = (NAME, text("Holder", "spec.holderIdentity"), AGE)
DEFINITION = (NAME, text("Kind", "spec.names.kind"), text("Scope", "spec.scope"), AGE)
LIMIT_RANGE = (NAME, text("Created At", "metadata.creationTimestamp"))


def _quota(limits: bool) -> Callable[[Json, float], str]:
    def read(body: Json, now: float) -> str:
        hard, used = at(body, "status.hard"), at(body, "status.used")
        if not isinstance(hard, dict) or not isinstance(used, dict):
            return ""
        names = sorted(name for name in hard if name.startswith("limits.") == limits)
        return ", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in names)

    return read


QUOTA = (NAME, TableColumn("Request", _quota(False)), TableColumn("Limit", _quota(True)), AGE)


def _last_seen(body: Json, now: float) -> str:
    paths = ("series.lastObservedTime", "lastTimestamp", "eventTime", "metadata.creationTimestamp")
    return next((age(at(body, p), now) for p in paths if at(body, p)), UNKNOWN)


def _object(body: Json, now: float) -> str:
    kind, name = text_at(body, "involvedObject.kind"), text_at(body, "involvedObject.name")
    return f"{kind.lower()}/{name}"


EVENT = (
    TableColumn("Last Seen", _last_seen),
    text("Type", "type"),
    text("Reason", "reason"),
    TableColumn("Object", _object),
    text("Message", "message", ""),
    text("Source", "reportingComponent", wide=True),
    since("First Seen", "metadata.creationTimestamp", wide=True),
    TableColumn("Name", NAME.read, wide=True, format="name"),
)
