"""A running cluster is saved in a file, and another one starts from that file."""

import json
import subprocess
from pathlib import Path

from reprieve.model.json import Json
from tests.e2e.up import PATIENCE, REPRIEVE, Kubectl, cluster_up

SECRET = "s3cr3t"
POD = f"""
apiVersion: v1
kind: Pod
metadata: {{name: train, labels: {{app: train}}}}
spec:
  containers:
    - name: main
      image: train
      env: [{{name: PASSWORD, value: {SECRET}}}]
      resources: {{requests: {{cpu: "2"}}}}
"""


def reprieve(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [REPRIEVE, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)


def contents(file: Path) -> Json:
    found: Json = json.loads(reprieve("snapshot", "show", str(file), "-o", "json").stdout)
    return found


def test_a_cluster_goes_through_a_file(tmp_path: Path) -> None:
    first, second = tmp_path / "first.jsonl.gz", tmp_path / "second.jsonl"
    with cluster_up("--nodes", "2") as kubeconfig:
        kubectl = Kubectl(kubeconfig, tmp_path)
        kubectl("apply", "-f", "-", stdin=POD)
        kubectl("wait", "--for=condition=Ready", "pod/train", f"--timeout={PATIENCE}s")
        saved = reprieve("snapshot", "save", str(first), "--kubeconfig", str(kubeconfig))
        assert (saved.returncode, saved.stderr) == (0, "")
    before = contents(first)
    assert (before["objects"]["Node"], before["objects"]["Pod"], before["notes"]) == (2, 1, [])
    with cluster_up("--from", str(first)) as kubeconfig:
        pod = json.loads(Kubectl(kubeconfig, tmp_path)("get", "pod", "train", "-o", "json"))
        assert (pod["status"]["phase"], pod["metadata"]["labels"]) == ("Running", {"app": "train"})
        assert SECRET not in json.dumps(pod)
        saved = reprieve("snapshot", "save", str(second), "--anonymise", "--kubeconfig", str(kubeconfig))
        assert saved.returncode == 0, saved.stderr
    assert contents(second)["objects"]["Pod"] == 1
    assert "train" not in second.read_text()


def test_a_truncated_snapshot_does_not_start(tmp_path: Path) -> None:
    file = tmp_path / "cut.jsonl"
    header = {"apiVersion": "reprieve.dev/v1alpha1", "kind": "ClusterSnapshot", "objectCount": 2}
    file.write_text(json.dumps(header) + "\n")
    done = reprieve("up", "--from", str(file))
    assert done.returncode == 1
    assert done.stderr == f"Error: {file}: the file is truncated: expected 2 lines after the header, got 0\n"
