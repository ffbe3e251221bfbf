"""`reprieve status` and `reprieve down`, and a cluster that begins with a snapshot."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.e2e.up import REPRIEVE, Kubectl, cluster_up, pod, process_of


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other clusters may be up beside this one."""
    monkeypatch.setenv("REPRIEVE_RUNTIME_DIR", str(tmp_path))


def reprieve(*args: str) -> "subprocess.CompletedProcess[str]":
    done = subprocess.run([REPRIEVE, *args], capture_output=True, text=True, check=False, timeout=60)
    assert "Traceback" not in done.stderr
    return done


def test_which_clusters_are_up(tmp_path: Path) -> None:
    assert reprieve("status").stdout == "No cluster is running: start one with `reprieve up`.\n"
    assert reprieve("down").stderr.startswith("Error: no local cluster is running")
    data = tmp_path / "data"
    with process_of("--data-dir", str(data)) as first, process_of("--nodes", "0") as second:
        for process in (first, second):
            assert process.stdout is not None
            assert process.stdout.readline().startswith("A cluster with ")
        up = json.loads(reprieve("status", "-o", "json").stdout)
        assert {entry["pid"]: entry["dataDir"] for entry in up} == {first.pid: str(data), second.pid: ""}
        assert "DATA" in reprieve("status").stdout
        several = reprieve("down")
        assert several.returncode == 2
        assert all(f"{process.pid}, " in several.stderr for process in (first, second))
        assert reprieve("down", "--data-dir", os.path.relpath(data)).stdout.startswith(
            "Stopped the cluster at "
        )
        assert first.wait(10) == 0
        assert reprieve("down").returncode == 0
        assert second.wait(10) == 0
    assert json.loads(reprieve("status", "-o", "json").stdout) == []


@pytest.mark.parametrize("command", ["status", "down", "up"])
def test_a_place_for_clusters_that_cannot_be(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPRIEVE_RUNTIME_DIR", "/dev/null")
    done = reprieve(command)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "Error: /dev/null/reprieve: cannot be used: not a directory\n"


def test_a_cluster_begins_as_another_one_was(home: Path, tmp_path: Path) -> None:
    snapshot = tmp_path / "snapshot.yaml"
    with cluster_up("--nodes", "2") as kubeconfig:
        kubectl = Kubectl(kubeconfig, home)
        kubectl.apply(pod("a"))
        kubectl("wait", "--for=condition=Ready", "pod/a", "--timeout=20s")
        before = kubectl.get("pod", "a")
        strange = "---\n{kind: Odd, metadata: {name: o}}\n"
        snapshot.write_text(kubectl("get", "nodes,pods", "-A", "-o", "yaml") + strange)
    with cluster_up("--from", str(snapshot)) as kubeconfig:
        kubectl = Kubectl(kubeconfig, home)
        assert len(kubectl.names("nodes")) == 2
        after = kubectl.get("pod", "a")
        assert (after["spec"], after["metadata"]["uid"]) == (before["spec"], before["metadata"]["uid"])
        kubectl.apply(pod("b"))
        kubectl("wait", "--for=condition=Ready", "pod/b", "--timeout=20s")


def test_a_snapshot_is_for_a_new_cluster(tmp_path: Path) -> None:
    file, data = tmp_path / "s.yaml", str(tmp_path / "data")
    file.write_text("{kind: Node, metadata: {name: n}}")
    with cluster_up("--from", str(file), "--data-dir", data):
        pass
    again = reprieve("up", "--from", str(file), "--data-dir", data)
    assert again.returncode == 1
    assert f"Error: --data-dir: {data}: already has a cluster" in again.stderr


@pytest.mark.parametrize(
    ("text", "sentence"), [("kind: [", "expected YAML or JSON"), ("x", "expected Kubernetes objects")]
)
def test_a_snapshot_that_is_none(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(text)
    done = reprieve("up", "--from", str(file))
    assert (done.returncode, done.stdout) == (1, "")
    assert f"Error: {file}: {sentence}" in done.stderr
