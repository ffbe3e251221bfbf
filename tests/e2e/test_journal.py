"""What the scheduler of `reprieve up` wrote down is repeated by another process, whose hashes differ."""

import json
import os
import subprocess
from pathlib import Path

from reprieve.model.json import Json
from tests.e2e.up import REPRIEVE, Kubectl, cluster_killed, cluster_up, pod


def decisions(kubeconfig: Path) -> list[Json]:
    """As the running cluster serves them."""
    done = subprocess.run(
        [REPRIEVE, "decisions", "-o", "json", "--kubeconfig", str(kubeconfig)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    found: list[Json] = json.loads(done.stdout)["items"]
    return found


def replay(directory: Path, hash_seed: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [REPRIEVE, "replay", str(directory)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
    )


def test_a_run_and_one_that_was_killed_are_repeated(home: Path, tmp_path: Path) -> None:
    flags = ("--nodes", "1", "--data-dir", str(tmp_path))
    with cluster_up(*flags) as kubeconfig:
        kubectl = Kubectl(kubeconfig, home)
        kubectl.apply(pod("old", cpu="9"))
        kubectl("wait", "--for=condition=Ready", "pod/old", "--timeout=20s")
        kubectl.apply(pod("new", cpu="9", priorityClassName="system-cluster-critical"))
        kubectl("wait", "--for=condition=Ready", "pod/new", "--timeout=20s")
        (before,) = (one for one in decisions(kubeconfig) if one["outcome"] == "Preempts")
    with cluster_killed(*flags) as kubeconfig:
        kubectl = Kubectl(kubeconfig, home)
        kubectl.apply(pod("late"))
        kubectl("wait", "--for=condition=Ready", "pod/late", "--timeout=20s")
        (after,) = (one for one in decisions(kubeconfig) if one["outcome"] == "Preempts")
        assert (after["id"], after["preemption"]) == (before["id"], before["preemption"])
    for hash_seed in ("1", "2"):
        done = replay(tmp_path / "journal", hash_seed)
        assert done.stderr == ""
        first, second = done.stdout.splitlines()
        assert first.startswith("run 1: ")
        assert first.endswith("decisions: all the same")
        assert second.endswith("1 decision: all the same")
        assert done.returncode == 0


def test_a_journal_that_cannot_be_written_is_no_reason_to_stop(home: Path, tmp_path: Path) -> None:
    (tmp_path / "journal").write_text("in the way")
    with cluster_up("--nodes", "1", "--data-dir", str(tmp_path)) as kubeconfig:
        kubectl = Kubectl(kubeconfig, home)
        kubectl.apply(pod("p"))
        kubectl("wait", "--for=condition=Ready", "pod/p", "--timeout=20s")
