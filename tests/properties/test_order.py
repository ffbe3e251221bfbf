"""The answer is about the cluster, not about the order in which it was told, nor about one process."""

import os
import sys

from hypothesis import given
from hypothesis import strategies as st

from tests.processes import run_process
from tests.properties.answers import answers, shuffled
from tests.properties.worlds import World, built, worlds

WORLDS_PER_PROCESS = "40"


@given(worlds(), st.integers(0, 2**32 - 1))
def test_the_order_of_rows_never_shows(world: World, seed: int) -> None:
    assert answers(built(shuffled(world, seed))[0]) == answers(built(world)[0])


def test_the_hash_seed_never_shows() -> None:
    assert _digest_in_process("1") == _digest_in_process("2")


def _digest_in_process(hash_seed: str) -> str:
    command = [sys.executable, "-m", "tests.properties.digest", WORLDS_PER_PROCESS]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = run_process(command, env=environment, check=True)
    assert done.stdout.strip()
    return done.stdout
