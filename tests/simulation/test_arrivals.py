"""The same cluster in two processes ends in the same bytes, whatever order their hashes have."""

import os
import subprocess
import sys
from contextlib import AbstractContextManager

from tests.architecture.source import ROOT
from tests.processes import started
from tests.simulation.arrivals import PODS

PATIENCE = 300.0  # seconds, on two busy cores


def filled(hash_seed: int) -> "AbstractContextManager[subprocess.Popen[str]]":
    command = [sys.executable, "-m", "tests.simulation.arrivals"]
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed)}
    return started(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE)


def test_ten_thousand_pods_end_in_the_same_bytes() -> None:
    with filled(1) as one, filled(2) as other:
        first, _ = one.communicate(timeout=PATIENCE)
        second, _ = other.communicate(timeout=PATIENCE)
    assert first.startswith(f"{PODS} pods ran or run\n")
    assert first == second
