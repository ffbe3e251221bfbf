"""Reprieve decides as kube-scheduler was seen to, as far as it can decide yet."""

import json
import re
from pathlib import Path

import pytest

from tests.reference.observed_cases import read_case
from tests.reference.observed_runner import DEFAULT_DIR, Agrees, judge, run

CASES = sorted(DEFAULT_DIR.glob("*.json"))


def asks_for_one_place(path: Path) -> bool:
    """A pod, no gang and no resize, that needed nobody evicted or could not be helped."""
    case = json.loads(path.read_bytes())
    asks_otherwise = case["newPodGroups"] or case.get("resize")
    return not asks_otherwise and case["observed"][0]["outcome"] in ("placed", "nothing")


PLACED_OR_NOTHING = [path for path in CASES if asks_for_one_place(path)]


@pytest.mark.parametrize("path", PLACED_OR_NOTHING, ids=lambda path: path.stem)
def test_a_pod_that_fits_or_cannot_be_helped(path: Path) -> None:
    assert judge(read_case(path)) == Agrees()


def test_the_counts(capsys: pytest.CaptureFixture[str]) -> None:
    """Every case is counted once: as agreeing, or as beyond what is built."""
    assert run(DEFAULT_DIR) == 0
    assert capsys.readouterr().out.splitlines() == [
        "135 need capabilities not built yet: preemption 56, gangs 57, resize 22",
        "71 of 206 agree",
    ]


def test_one_family(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(DEFAULT_DIR, "resize") == 0
    assert capsys.readouterr().out.splitlines() == [
        "22 need capabilities not built yet: preemption 0, gangs 0, resize 22",
        "0 of 22 agree",
    ]


def falsified(tmp_path: Path, name: str, observed: dict[str, object]) -> Path:
    """A directory with one case, of which something else was recorded."""
    case = json.loads((DEFAULT_DIR / f"{name}.json").read_bytes())
    case["observed"] = [{"victims": [], "nominated": {}, "placed": {}, **observed}]
    (tmp_path / f"{name}.json").write_text(json.dumps(case))
    return tmp_path
