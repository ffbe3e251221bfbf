"""The dashboard for Grafana names metrics that there are."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.unit.runtime.test_prometheus_rules import known_names, rules, selected

from tests.architecture.source import ROOT

DASHBOARD = ROOT / "deploy" / "grafana" / "reprieve.json"


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(DASHBOARD.read_text())["panels"]
    return found


def expressions(panel: dict[str, Any]) -> Iterator[str]:
    for target in panel["targets"]:
        yield target["expr"]


@pytest.mark.parametrize("panel", panels(), ids=lambda panel: panel["title"])
def test_a_panel_names_only_metrics_that_exist(panel: dict[str, Any]) -> None:
    recorded = {rule["record"] for rule in rules() if "record" in rule}
    for expression in expressions(panel):
        names = {name for name, _ in selected(expression)}
        assert names, f"a line about nothing: {expression}"
        assert names <= known_names() | recorded


def test_what_is_ours_is_shown() -> None:
    shown = {name for panel in panels() for expr in expressions(panel) for name, _ in selected(expr)}
    for name in ("spared_units", "wasted_evictions", "handovers_begun"):
        assert f"reprieve_{name}_total" in shown
    assert "reprieve_preemption_ceiling_bucket" in shown


def test_panels_do_not_lie_on_each_other() -> None:
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels()]
    assert len(set(places)) == len(places)
    assert len({panel["id"] for panel in panels()}) == len(places)
