"""A plan's life is one table, and people read the same one."""

import re

import pytest

from reprieve.scheduler.plans.handover import LIFE, Stage, Turn
from tests.architecture.source import ROOT

ENDS = (Stage.READY, Stage.ABANDONED)


def test_the_page_has_the_same_table() -> None:
    page = (ROOT / "docs" / "concepts" / "handover.md").read_text()
    (block,) = re.findall(r"```life\n(.*?)```", page, re.DOTALL)
    rows = [re.split(r" +-> | {2,}", re.sub(r" +->", " ->", line)) for line in block.splitlines()]
    told = {(before, turn): after for before, after, turn in rows}
    names = {turn: turn.name.lower().replace("_", " ") for turn in Turn}
    assert told == {(stage.value, names[turn]): after.value for (stage, turn), after in LIFE.items()}


@pytest.mark.parametrize("stage", [stage for stage in Stage if stage not in ENDS])
def test_every_stage_can_be_called_off_and_has_one_other_way(stage: Stage) -> None:
    ways = {turn: after for (before, turn), after in LIFE.items() if before is stage}
    assert ways.pop(Turn.CALLED_OFF) is Stage.ABANDONED
    assert len(ways) == 1


@pytest.mark.parametrize("stage", ENDS)
def test_an_end_is_an_end(stage: Stage) -> None:
    assert not [turn for before, turn in LIFE if before is stage]
