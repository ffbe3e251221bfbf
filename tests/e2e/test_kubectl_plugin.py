"""`kubectl reprieve`: the context and the namespace are kubectl's, and kubectl completes its words."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import yaml

from reprieve import Cluster, whatif
from tests.e2e.daemon import is_running, until
from tests.e2e.install_kubectl import HERE
from tests.e2e.up import Kubectl, cluster_up, pod
from tests.processes import run_process

TOOLS = Path(sys.executable).parent


@pytest.fixture(scope="module")
def cluster(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    """Its kubeconfig has a second context, `of-team`, whose namespace is `team`."""
    with cluster_up("--nodes", "1") as kubeconfig:
        copy = tmp_path_factory.mktemp("plugin") / "config"
        copy.write_text(kubeconfig.read_text())
        copy.chmod(0o600)
        owner = Kubectl(copy, home)
        (context,) = yaml.safe_load(copy.read_text())["contexts"]
        known = context["context"]
        owner("config", "set-context", "of-team", "--namespace=team", *_parts(known))
        owner.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}})
        for namespace, name in (("default", "ours"), ("team", "theirs")):
            there = Kubectl(copy, home, namespace)
            there.apply(pod(name))
            until(partial(is_running, there, name))
        yield owner


def _parts(context: dict[str, str]) -> list[str]:
    return [f"--{key}={context[key]}" for key in ("cluster", "user")]


def kubectl(cluster: Kubectl, *words: str, tools: str = "") -> "subprocess.CompletedProcess[str]":
    """As typed at a prompt, with KUBECONFIG set."""
    path = os.pathsep.join(filter(None, (tools, str(TOOLS), os.environ["PATH"])))
    environment = {**cluster.environment, "KUBECONFIG": str(cluster.kubeconfig), "PATH": path}
    command = [str(HERE), *words]
    return run_process(command, env=environment)


def test_the_namespace_is_that_of_the_current_context(cluster: Kubectl) -> None:
    assert kubectl(cluster, "reprieve", "exposure", "-o", "name").stdout == "pod/ours\n"
    cluster("config", "use-context", "of-team")
    try:
        assert kubectl(cluster, "reprieve", "exposure", "-o", "name").stdout == "pod/theirs\n"
    finally:
        cluster("config", "use-context", "reprieve")


def test_flags_stand_behind_the_name_of_the_plugin(cluster: Kubectl) -> None:
    done = kubectl(cluster, "reprieve", "exposure", "--context", "of-team", "-o", "name")
    assert done.stdout == "pod/theirs\n"
    assert kubectl(cluster, "reprieve", "exposure", "-n", "team", "-o", "name").stdout == "pod/theirs\n"
    refused = kubectl(cluster, "--context", "of-team", "reprieve", "exposure")
    assert refused.returncode == 1
    assert "flags cannot be placed before plugin name: --context" in refused.stderr


def test_whatif_of_a_manifest_uses_the_namespace(cluster: Kubectl, tmp_path: Path) -> None:
    manifest = tmp_path / "new.yaml"
    manifest.write_text(yaml.safe_dump(pod("new")))
    done = kubectl(cluster, "reprieve", "whatif", "--context", "of-team", "-f", str(manifest), "-o", "json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["outcome"], report["demand"]["namespace"]) == ("Fits", "team")
    assert cluster.names("pods", "-n", "team") == ["theirs"]


def test_kubectl_completes_the_words_of_the_plugin(cluster: Kubectl, tmp_path: Path) -> None:
    script = tmp_path / "kubectl_complete-reprieve"  # what is installed with the wheel, for this Python
    script.write_text(f"#!{sys.executable}\nfrom reprieve.cli.kubectl_completion import main\nmain()\n")
    script.chmod(0o755)
    done = kubectl(cluster, "__complete", "reprieve", "expo", tools=str(tmp_path))
    assert done.stdout.splitlines()[0].split("\t")[0] == "exposure"
    done = kubectl(cluster, "__complete", "reprieve", "exposure", "--at", tools=str(tmp_path))
    assert done.stdout.splitlines()[0].split("\t")[0] == "--at-priority"


def test_a_python_program_reads_the_same_cluster(cluster: Kubectl) -> None:
    read = Cluster.from_server(context="of-team", kubeconfig=str(cluster.kubeconfig))
    assert read.notes == ()
    (report,) = whatif(read, pod("new"), namespace="team").reports
    assert str(report.outcome) == "Fits"
