"""The same cluster in two processes ends in the same bytes, whatever order their hashes have."""

import os
import subprocess
import sys

from tests.architecture.source import ROOT
from tests.simulation.arrivals import PODS


def filled(hash_seed: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.simulation.arrivals"]
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed)}
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)


def test_ten_thousand_pods_end_in_the_same_bytes() -> None:
    with filled(1) as one, filled(2) as other:
        first, _ = one.communicate()
        second, _ = other.communicate()
    assert first.startswith(f"{PODS} pods ran or run\n")
    assert first == second
