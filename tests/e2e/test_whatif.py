"""`reprieve whatif` about a cluster that is up: said first, then seen."""

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.e2e.up import REPRIEVE, Kubectl, cluster_up, pod


def whatif(kubeconfig: Path, *args: str) -> "subprocess.CompletedProcess[str]":
    command = [REPRIEVE, "whatif", "--kubeconfig", str(kubeconfig), "-o", "json", *args]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_what_was_said_is_seen(home: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.json"
    new.write_text(json.dumps(pod("second")))
    with cluster_up("--nodes", "2") as kubeconfig:
        kubectl = Kubectl(kubeconfig, home)
        kubectl.apply(pod("first"))
        kubectl("wait", "--for=condition=Ready", "pod/first", "--timeout=30s")
        asked = whatif(kubeconfig, "-f", str(new))
        assert asked.returncode == 0, asked.stderr
        said: Any = json.loads(asked.stdout)
        assert (said["outcome"], said["snapshot"]["pods"]) == ("Fits", 1)
        kubectl.apply(pod("second"))
        kubectl("wait", "--for=condition=Ready", "pod/second", "--timeout=30s")
        (place,) = said["placements"]
        assert place["pod"]["name"] == "second"
        assert place["node"] == kubectl.get("pod", "second")["spec"]["nodeName"]
        again = whatif(kubeconfig, "-f", str(new))
        assert again.returncode == 1
        assert "Pod default/second exists already and runs on " in again.stderr
