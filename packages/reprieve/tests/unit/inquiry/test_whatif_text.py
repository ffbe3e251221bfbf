"""What people read, compared with golden texts: could a reader that knows nothing of preemption act on it?"""

from pathlib import Path

import pytest
from tests.unit.inquiry.situations import GOLDEN, SITUATIONS, asked


@pytest.mark.parametrize("name", SITUATIONS)
def test_the_text_is_the_golden_one(name: str, tmp_path: Path) -> None:
    found = asked(name, tmp_path)
    assert found.output == (GOLDEN / f"{name}.txt").read_text()
    assert found.exit_code == SITUATIONS[name].exit_code


def test_every_golden_text_has_its_situation() -> None:
    assert {path.stem for path in GOLDEN.glob("*.txt")} == SITUATIONS.keys()
