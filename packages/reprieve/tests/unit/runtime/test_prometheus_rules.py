"""The rules for Prometheus name metrics, labels and values that there are."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from reprieve.runtime.telemetry import FAILED, Telemetry
from tests.architecture.source import ROOT

RULES = ROOT / "deploy" / "prometheus" / "rules.yaml"

SELECTOR = re.compile(
    r"\b(?P<name>(?:reprieve|scheduler|leader_election)[a-z0-9_:]+)(?:\{(?P<labels>[^}]*)\})?"
)


def rules() -> list[dict[str, Any]]:
    (group,) = yaml.safe_load(RULES.read_text())["groups"]
    found: list[dict[str, Any]] = group["rules"]
    return found


def selected(expression: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The metrics that an expression names, with what it wants of their labels."""
    for match in SELECTOR.finditer(expression):
        yield match["name"], dict(re.findall(r'(\w+)="([^"]*)"', match["labels"] or ""))


def known_names() -> set[str]:
    families = list(text_string_to_metric_families(Telemetry().text().decode()))
    totals = {f"{family.name}_total" for family in families if family.type == "counter"}
    parts = {
        f"{f.name}_{part}" for f in families if f.type == "histogram" for part in ("bucket", "sum", "count")
    }
    return totals | parts | {family.name for family in families if family.type == "gauge"}


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.get("alert") or rule["record"])
def test_a_rule_names_only_metrics_that_exist(rule: dict[str, Any]) -> None:
    names = {name for name, _ in selected(rule["expr"])}
    recorded = {other["record"] for other in rules() if "record" in other}
    assert names, "a rule about nothing"
    assert names - recorded <= known_names()


def test_the_objective_counts_failures_as_they_are_counted() -> None:
    wanted = [
        labels
        for rule in rules()
        for name, labels in selected(rule["expr"])
        if name == "reprieve_handovers_abandoned_total"
    ]
    assert wanted == [{"reason": FAILED}]


def test_the_objective_is_one_in_a_hundred() -> None:
    (alert,) = (rule for rule in rules() if rule.get("alert") == "ReprieveHandoversFail")
    assert alert["expr"] == "reprieve:handovers_failed:ratio_rate1h > 0.01"


def test_a_name_that_does_not_exist_is_found() -> None:
    ((name, labels),) = selected('sum(rate(reprieve_handovers_lost_total{reason="x"}[1h]))')
    assert (name, labels) == ("reprieve_handovers_lost_total", {"reason": "x"})
    assert name not in known_names()
