"""The reference of the commands names every field that they print, and no other."""

import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, get_args, get_type_hints

import pytest
from click.testing import CliRunner
from msgspec.structs import fields

from reprieve.cli.main import reprieve
from reprieve.runtime.recent_decisions import PlanCourse
from reprieve.scheduler.reporting.decision import Decision, DecisionPart
from tests.architecture.source import ROOT

PAGE = ROOT / "docs" / "reference" / "cli.md"
EXAMPLES = ROOT / "docs" / "examples"
ONLY_WITH_A_CLASS = {"schedulingPriority", "preemptionPriorityClass"}  # for preemption, of its group
FROM = ("--from", str(EXAMPLES / "cluster.yaml"))


def printed(*words: str) -> dict[str, Any]:
    done = CliRunner().invoke(reprieve, [*words, "-o", "json"])
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def documented(section: str, table: str) -> set[str]:
    """The fields in the first column of a table, by the words of its head."""
    return documented_rows(PAGE.read_text().split(f"\n## {section}\n")[1].split("\n## ")[0], table)


@cache
def whatif() -> dict[str, Any]:
    return printed("whatif", *FROM, "-f", str(EXAMPLES / "inference.yaml"))


@cache
def exposure() -> dict[str, Any]:
    return printed("exposure", *FROM, "-A")


@cache
def why() -> dict[str, Any]:
    return printed("why", "pod/finetune", "-n", "team-a", *FROM, "--from", str(EXAMPLES / "waiting.yaml"))


@pytest.mark.parametrize(
    ("section", "table", "fields"),
    [
        ("whatif", "Field of WhatIfReport", lambda: {*whatif()} - {"apiVersion", "kind"}),
        ("why and decisions", "Field of WhyReport", lambda: {*why()} - {"apiVersion", "kind"}),
        ("exposure", "Field of ExposureReport", lambda: {*exposure()} - {"apiVersion", "kind"}),
        ("exposure", "Field of a pod", lambda: {*exposure()["pods"][0]} | ONLY_WITH_A_CLASS),
    ],
)
def test_the_fields_are_documented(section: str, table: str, fields: Callable[[], set[str]]) -> None:
    assert documented(section, table) == fields()


@pytest.mark.parametrize(
    "entry",
    [
        lambda: whatif()["demand"],
        lambda: whatif()["placements"][0]["pod"],
        lambda: whatif()["snapshot"],
        lambda: exposure()["priorityClasses"][0],
        lambda: why()["statements"][0],
        lambda: why()["remedies"][0],
    ],
)
def test_the_fields_of_entries_are_documented(entry: Callable[[], dict[str, Any]]) -> None:
    page = PAGE.read_text()
    assert [name for name in entry() if f"`{name}`" not in page] == []


def parts_of(kind: type[DecisionPart]) -> Iterator[type[DecisionPart]]:
    """A record, and the records that its fields have."""
    yield kind
    hints = [*get_type_hints(kind).values()]
    while hints:
        hint = hints.pop()
        hints += get_args(hint)
        if isinstance(hint, type) and issubclass(hint, DecisionPart):
            yield from parts_of(hint)


def test_every_field_of_a_decision_is_documented() -> None:
    page = (PAGE.parent / "decisions.md").read_text()
    kinds = {*parts_of(Decision), *parts_of(PlanCourse)}
    assert len(kinds) > 10
    names = {field.encode_name for kind in kinds for field in fields(kind)} | {"choice", "attempts", "text"}
    assert sorted(name for name in names if f"`{name}`" not in page) == []
    shown = documented_rows(page, "Field of a Decision") - {"apiVersion", "kind", "attempts", "plan"}
    assert {field.encode_name for field in fields(Decision)} <= shown


def documented_rows(page: str, table: str) -> set[str]:
    rows = page.split(f"| {table} |")[1].split("\n\n", maxsplit=1)[0].splitlines()[2:]
    return {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])}
