"""Columns of roles and role bindings."""

from collections.abc import Callable

from reprieve.cluster.mini.rest.tables.cells import (
    AGE,
    NAME,
    TableColumn,
    items_at,
    size,
    text_at,
)
from reprieve.model.json import Json


def _role(body: Json, now: float) -> str:
    return f"{text_at(body, 'roleRef.kind', '')}/{text_at(body, 'roleRef.name', '')}"


def _bound(*kinds: str) -> Callable[[Json, float], str]:
    def names(body: Json, now: float) -> str:
        subjects = [s for s in items_at(body, "subjects") if text_at(s, "kind") in kinds]
        full = ((text_at(s, "namespace", ""), text_at(s, "name")) for s in subjects)
        return ", ".join("/".join(filter(None, name)) for name in full)

    return names


ROLE = (NAME, size("Rules", "rules"), AGE)
BINDING = (
    NAME,
    TableColumn("Role", _role),
    AGE,
    TableColumn("Users", _bound("User"), wide=True),
    TableColumn("Groups", _bound("Group"), wide=True),
    TableColumn("ServiceAccounts", _bound("ServiceAccount"), wide=True),
)
