"""Exec plugins: real commands, run as kubectl runs them."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from reprieve.cluster.kube.exec_credentials import Credential, run_plugin
from reprieve.cluster.kube.kubeconfig import AccessError, EnvVar, ExecPlugin, Extension, KubeconfigCluster

V1 = "client.authentication.k8s.io/v1"
CLUSTER = KubeconfigCluster(
    server="https://api:6443",
    extensions=(Extension(name="client.authentication.k8s.io/exec", extension={"audience": "us"}),),
)


def plugin(script: str, **more: Any) -> ExecPlugin:
    return ExecPlugin(command=sys.executable, api_version=V1, args=("-c", script), **more)


def says(api_version: str = V1, **status: Any) -> str:
    answer = {"kind": "ExecCredential", "apiVersion": api_version, "status": status}
    return f"print({json.dumps(json.dumps(answer))})"


def ask(asked: ExecPlugin) -> Credential:
    return asyncio.run(run_plugin(asked, CLUSTER, {"PATH": "/usr/bin:/bin"}))


def test_a_token_and_how_long_it_is_good() -> None:
    credential = ask(plugin(says(token="t", expirationTimestamp="2026-01-01T00:00:00Z")))
    assert (credential.token, credential.expires) == ("t", 1_767_225_600.0)
    assert credential.is_valid(1_767_225_599.0)
    assert not credential.is_valid(1_767_225_600.0)


def test_a_certificate() -> None:
    credential = ask(plugin(says(clientCertificateData="C", clientKeyData="K")))
    assert credential == Credential(certificate=b"C", key=b"K")
    assert credential.is_valid(1e12)


def test_the_plugin_receives_its_environment(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    script = (
        f"import os; open({str(seen)!r}, 'w').write(os.environ['KUBERNETES_EXEC_INFO'] + os.environ['A']);"
    )
    ask(plugin(script + says(token="t"), env=(EnvVar("A", "B"),), provide_cluster_info=True))
    text = seen.read_text()
    assert text.endswith("B")
    info = json.loads(text[:-1])
    assert (info["kind"], info["apiVersion"]) == ("ExecCredential", V1)
    assert info["spec"]["interactive"] is False
    assert info["spec"]["cluster"] == {"server": "https://api:6443", "config": {"audience": "us"}}


def test_the_plugin_receives_the_ca_from_a_file(tmp_path: Path) -> None:
    seen, authority = tmp_path / "seen", tmp_path / "ca.crt"
    authority.write_text("PEM")
    script = f"import os; open({str(seen)!r}, 'w').write(os.environ['KUBERNETES_EXEC_INFO']);"
    cluster = KubeconfigCluster(
        server="https://api",
        certificate_authority=str(authority),
        disable_compression=True,
        proxy_url="http://p",
    )
    asked = plugin(script + says(token="t"), provide_cluster_info=True)
    asyncio.run(run_plugin(asked, cluster, {}))
    assert json.loads(seen.read_text())["spec"]["cluster"] == {
        "server": "https://api",
        "certificate-authority-data": "UEVN",
        "proxy-url": "http://p",
        "disable-compression": True,
    }


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (plugin("import sys; sys.exit('log in first')"), "exited with code 1: log in first"),
        (plugin("import sys; sys.exit('\\x1b[31mno')"), r"code 1: \?\[31mno"),
        (plugin("print('hello')"), "expected an ExecCredential as JSON"),
        (plugin(says()), "expected a token, or a client certificate"),
        (plugin(says(clientCertificateData="C")), "expected a token, or a client certificate"),
        (plugin(says(token="t", clientKeyData="K")), "clientCertificateData and clientKeyData together"),
        (plugin(says("client.authentication.k8s.io/v1beta1", token="t")), "expected an ExecCredential of"),
        (
            ExecPlugin(command="/no/such", api_version=V1, install_hint="get it"),
            "cannot be run: No such .*: get it",
        ),
        (
            ExecPlugin(command="x", api_version="client.authentication.k8s.io/v1alpha1"),
            "apiVersion: expected",
        ),
        (ExecPlugin(command="x", api_version=V1, interactive_mode="Maybe"), "interactiveMode: expected"),
        (ExecPlugin(command="x", api_version=V1, interactive_mode="Always"), "there is no terminal"),
    ],
)
def test_what_can_go_wrong(asked: ExecPlugin, sentence: str) -> None:
    with pytest.raises(AccessError, match=sentence):
        ask(asked)
