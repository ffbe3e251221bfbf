"""Which priority a group has as a victim, and what is said of a class that is ignored."""

from typing import Any

import msgspec
import pytest

from reprieve.model.objects import PodGroup, PriorityClass
from reprieve.preemption.preemption_priority import ANNOTATION, NONE_PERMITTED, PermittedClasses

PERMITTED = PermittedClasses(
    {"steady": frozenset({"train"}), "open": frozenset({"*"}), "gone": frozenset({"*"})}
)


def a_class(name: str, value: int) -> PriorityClass:
    return msgspec.convert({"metadata": {"name": name}, "value": value}, PriorityClass)


CLASSES = {name: a_class(name, value) for name, value in {"steady": 50, "open": 3, "vip": 99}.items()}


def a_group(named: str | None, namespace: str = "train", priority: int | None = 5) -> PodGroup:
    meta: dict[str, Any] = {"name": "g", "namespace": namespace}
    meta["annotations"] = {} if named is None else {ANNOTATION: named}
    return msgspec.convert({"metadata": meta, "spec": {"priority": priority}}, PodGroup)


@pytest.mark.parametrize(
    ("group", "priority", "fault"),
    [
        (a_group(None), 5, ""),
        (a_group("steady"), 50, ""),
        (a_group("open", "serve", 3), 3, ""),
        (a_group("open", "serve", None), 3, ""),
        (a_group("steady", "serve"), 5, 'namespace serve may not name the class "steady"'),
        (a_group("vip"), 5, 'namespace train may not name the class "vip"'),
        (a_group(""), 5, 'namespace train may not name the class ""'),
        (a_group("Steady"), 5, 'namespace train may not name the class "Steady"'),
        (a_group(" steady"), 5, 'namespace train may not name the class " steady"'),
        (a_group("*"), 5, 'namespace train may not name the class "*"'),
        (a_group("x" * 10_000), 5, f'may not name the class "{"x" * 80}…"'),
        (a_group("gone"), 5, "there is no PriorityClass gone"),
        (a_group("open"), 5, "the class open has value 3, below the group's own priority 5"),
    ],
)
def test_a_class_counts_if_it_may(group: PodGroup, priority: int, fault: str) -> None:
    assert PERMITTED.priority_of(group, CLASSES) == priority
    said = PERMITTED.fault(group, CLASSES)
    assert bool(said) is bool(fault)
    assert fault in said
    assert not said or said.startswith(f"annotation {ANNOTATION} is ignored: ")


def test_none_may_name_one_unless_the_configuration_says_so() -> None:
    assert NONE_PERMITTED.priority_of(a_group("steady"), CLASSES) == 5
    assert "see preemptionPriorityClasses" in NONE_PERMITTED.fault(a_group("steady"), CLASSES)
