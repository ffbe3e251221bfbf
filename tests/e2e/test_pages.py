"""Pages of `reprieve scheduler`: with its role's permissions it reviews the access of clients."""

import re
import socket
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.daemon import HASTY, daemon, is_running, refused, until
from tests.e2e.test_deploy import account_kubeconfig, applied
from tests.e2e.up import PATIENCE, REPRIEVE, Kubectl, cluster_up, pod


@dataclass(frozen=True)
class Site:
    owner: Kubectl
    port: int

    def get(self, path: str, token: str = "") -> tuple[int, str]:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        request = urllib.request.Request(f"https://127.0.0.1:{self.port}{path}", headers=headers)
        trusting = ssl._create_unverified_context()  # it vouches for itself
        try:
            with urllib.request.urlopen(request, context=trusting, timeout=10) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def token(self, account: str) -> str:
        return self.owner("create", "token", account).strip()


@pytest.fixture(scope="module")
def site(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("pages")
    with cluster_up("--nodes", "1", "--scheduler", "none") as kubeconfig:
        owner = Kubectl(kubeconfig, home)
        applied(owner, "base")
        port = free_port()
        ours = account_kubeconfig(owner, folder)
        with daemon(folder / "log", ours, *HASTY, *as_kubeadm_does(ours), f"--secure-port={port}") as running:
            running.begins()
            yield Site(owner, port)
            assert [line for line in running.lines if line["level"] != "info"] == []
            assert running.ends() == 0


def as_kubeadm_does(kubeconfig: Path) -> list[str]:
    """The flags with which it starts kube-scheduler, beside the kubeconfig."""
    judges = [f"--{whose}-kubeconfig={kubeconfig}" for whose in ("authentication", "authorization")]
    return [*judges, "--bind-address=127.0.0.1", "--leader-elect=true"]


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def test_probes_need_no_token(site: Site) -> None:
    assert [site.get(path) for path in ("/livez", "/healthz", "/readyz")] == [(200, "ok")] * 3


def test_prometheus_gets_in_by_the_role_for_it(site: Site) -> None:
    site.owner("create", "serviceaccount", "prometheus")
    site.owner("create", "serviceaccount", "curious")
    bound = ("--clusterrole", "reprieve-metrics-reader", "--serviceaccount", "default:prometheus")
    site.owner("create", "clusterrolebinding", "prometheus", *bound)
    site.owner.apply(pod("a", "1", schedulerName="reprieve"))
    until(lambda: is_running(site.owner, "a"))
    status, text = site.get("/metrics", site.token("prometheus"))
    assert status == 200
    assert 'scheduler_schedule_attempts_total{profile="reprieve",result="scheduled"} 1.0' in text
    assert 'leader_election_master_status{name="reprieve"} 1.0' in text
    assert re.search(r'rest_client_requests_total\{code="201",host="[\d.:]+",method="POST"\} \d', text)
    assert "process_resident_memory_bytes" in text
    refusal = 'forbidden: User "system:serviceaccount:default:curious" cannot get path "/metrics"\n'
    assert site.get("/metrics", site.token("curious")) == (403, refusal)
    assert site.get("/configz", site.token("prometheus"))[0] == 403
    assert site.get("/metrics")[0] == 403
    assert site.get("/metrics", "forged")[0] == 401


def test_decisions_are_read_with_the_role_for_it(site: Site) -> None:
    """By the command, with the credentials of the kubeconfig; names only where the reader may get pods."""
    site.owner.apply(pod("low", "9", schedulerName="reprieve"))
    until(lambda: is_running(site.owner, "low"))
    site.owner("create", "priorityclass", "above", "--value=1000")
    site.owner.apply(pod("high", "9", schedulerName="reprieve", priorityClassName="above"))
    until(lambda: is_running(site.owner, "high"))
    server = ("--server", f"https://127.0.0.1:{site.port}", "--kubeconfig", str(site.owner.kubeconfig))
    untrusted = reprieve("decisions", *server)
    assert untrusted.returncode == 1
    assert "pass --certificate-authority FILE or --insecure-skip-tls-verify" in untrusted.stderr
    listed = reprieve("decisions", *server, "--insecure-skip-tls-verify", "--victim", "low")
    assert listed.returncode == 0, listed.stderr
    assert "Pod default/high  preempts" in listed.stdout
    why = reprieve("why", "pod/low", *server, "--insecure-skip-tls-verify")
    assert "Pod default/high. Its priority is 1000, the victim's is 0. [decision]" in why.stdout
    site.owner("create", "serviceaccount", "asker")
    bound = ("--clusterrole", "reprieve-decisions-reader", "--serviceaccount", "default:asker")
    site.owner("create", "clusterrolebinding", "asker", *bound)
    status, text = site.get("/debug/decisions", site.token("asker"))
    assert status == 200
    assert '"name":"low"' not in text
    assert '"priority":1000' in text


def reprieve(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [REPRIEVE, *arguments], capture_output=True, text=True, check=False, timeout=PATIENCE
    )


def test_a_port_that_is_taken(site: Site) -> None:
    taken = ("--secure-port", str(site.port), "--bind-address", "127.0.0.1")
    done = refused(*taken, "--kubeconfig", str(site.owner.kubeconfig))
    assert done.returncode == 1
    assert f"Error: --secure-port: {site.port} of 127.0.0.1 is in use: choose another" in done.stderr
