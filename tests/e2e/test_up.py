"""`reprieve up`: its output and exit codes."""

import socket
import subprocess
from pathlib import Path

import pytest

from tests.e2e.up import REPRIEVE, Kubectl, cluster_up, pod

NODE = """
kind: Node
metadata: {name: tiny, labels: {size: small}}
status:
  allocatable: {cpu: "2", memory: 4Gi, pods: "10"}
"""


def refused(*flags: str) -> "subprocess.CompletedProcess[str]":
    done = subprocess.run([REPRIEVE, "up", *flags], capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode
    assert "Traceback" not in done.stderr
    return done


def test_it_leaves_nothing_behind(home: Path) -> None:
    with cluster_up("--nodes", "1") as kubeconfig:
        assert kubeconfig.exists()
        assert Kubectl(kubeconfig, home).names("nodes") == ["cpu-0"]
    assert not kubeconfig.parent.exists()


def test_nodes_after_a_file(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "node.yaml"
    file.write_text(NODE)
    with cluster_up("--nodes", "2", "--shape", str(file)) as kubeconfig:
        kubectl = Kubectl(kubeconfig, home)
        assert kubectl.names("nodes", "-l", "size=small") == ["tiny-0", "tiny-1"]
        kubectl.apply(pod("large", cpu="3"), pod("small"))
        kubectl("wait", "--for=condition=Ready", "pod/small", "--timeout=20s")
        kubectl("wait", "--for=condition=PodScheduled=False", "pod/large", "--timeout=20s")


def test_without_a_scheduler_pods_wait(home: Path) -> None:
    with cluster_up("--nodes", "1", "--scheduler", "none") as kubeconfig:
        kubectl = Kubectl(kubeconfig, home)
        kubectl.apply(pod("a"))
        assert kubectl.run("wait", "--for=condition=Ready", "pod/a", "--timeout=1s").returncode
        assert kubectl("get", "pod", "a", "-o", "jsonpath={.spec.nodeName}") == ""
        trusted = kubectl.get("configmap/extension-apiserver-authentication", "-n", "kube-system")["data"]
        assert "BEGIN CERTIFICATE" in trusted["requestheader-client-ca-file"], "kube-scheduler asks for it"


def test_a_port_that_is_in_use() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = refused("--port", port)
    assert done.returncode == 1
    assert done.stderr == f"Error: --port: {port} of 127.0.0.1 is in use: choose another\n"
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--data-dir", "/dev/null"), "--data-dir"),
        (("--from", "no-such-file"), "no-such-file: cannot be read: no such file"),
        (("--shape", "huge"), 'expected one of gpu8, cpu16, or a file, got "huge"'),
        (("--speed", "0"), "--speed"),
        (("--nodes", "many"), "--nodes"),
    ],
)
def test_flags_that_cannot_be(flags: tuple[str, ...], sentence: str) -> None:
    assert sentence in refused(*flags).stderr


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("kind: Pod", "kind: expected Node"),
        ("a: [", "expected YAML or JSON"),
        ("kind: Node\nmetadata: {labels: {a: 7}}", "metadata.labels"),
    ],
)
def test_a_file_that_is_no_node(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "node.yaml"
    file.write_text(text)
    done = refused("--shape", str(file))
    assert done.returncode == 1
    assert sentence in done.stderr
