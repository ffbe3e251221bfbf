"""`reprieve up`: its output and exit codes."""

import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from tests.e2e.install_kubectl import HERE
from tests.e2e.up import PATIENCE, REPRIEVE, Kubectl, cluster_up, kubeconfig_in, pod, process_of

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


def typed(commands: list[str], home: Path) -> list[str]:
    """The output of commands that are typed one after the other into one shell, after `cluster_up`."""
    paths = [str(Path(REPRIEVE).parent), str(HERE.parent), os.environ["PATH"]]
    environment = {**os.environ, "HOME": str(home), "PATH": os.pathsep.join(paths)}
    marked = [f"{command}\necho ==" for command in commands]
    done = subprocess.run(
        ["sh"],
        input="\n".join(marked),
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        timeout=PATIENCE,
    )
    assert not done.stderr, done.stderr
    return done.stdout.split("==\n")


def test_the_example_works_as_it_is_typed(home: Path) -> None:
    with process_of("--nodes", "2", "-v") as process:
        assert process.stdout is not None
        printed = [next(process.stdout) for _ in range(9)]
        commands = [line.strip() for line in printed if line.startswith("  ")]
        export, nodes, preempt, explain = commands
        ready = "kubectl wait --for=condition=Ready pod/urgent --timeout=20s > /dev/null"
        outputs = typed([export, nodes, preempt, ready, explain, "kubectl get --raw /metrics"], home)
        process.send_signal(signal.SIGINT)
        _, log = process.communicate(timeout=PATIENCE)
    assert "cpu-1" in outputs[1]
    assert "pod/urgent created" in outputs[2]
    assert outputs[4].startswith("Pod default/batch was preempted on cpu-0 at ")
    assert "Preemptor    Pod default/urgent. Its priority is 1000, the victim's is 0." in outputs[4]
    assert "scheduler_preemption_victims_count 1.0" in outputs[5]
    assert "Pod default/urgent: Preempts decision=d-" in log
    assert "victims=Pod/default/batch" in log


def test_a_cluster_that_is_killed_leaves_no_token_behind() -> None:
    with process_of("--nodes", "0") as process:
        assert process.stdout is not None
        kubeconfig = kubeconfig_in(process.stdout)
        assert kubeconfig.exists()
        process.kill()
        process.wait(PATIENCE)
    until = time.monotonic() + PATIENCE
    while kubeconfig.parent.exists():
        assert time.monotonic() < until
        time.sleep(0.1)


def test_a_configuration_for_its_scheduler(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    file.write_text(f"{head}profiles: [{{schedulerName: mine}}]\n")
    with process_of("--nodes", "1", "--config", str(file)) as process:
        assert process.stdout is not None
        kubectl = Kubectl(kubeconfig_in(process.stdout), home)
        kubectl.apply(pod("other"), pod("own", schedulerName="mine"))
        kubectl("wait", "--for=condition=Ready", "pod/own", "--timeout=20s")
        assert kubectl("get", "pod", "other", "-o", "jsonpath={.spec.nodeName}") == ""
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=PATIENCE)
    assert told.startswith(f"Warning: {file}: no profile is for default-scheduler: pods ")
    file.write_text(f"{head}profile: []\n")
    assert refused("--config", str(file)).stderr.startswith(f"Error: {file}: profile: ")
