"""The command line of `reprieve scheduler`: all flags of kube-scheduler 1.37, spelled as Go spells them."""

import ssl
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from click.testing import CliRunner, Result

from reprieve.assembly.daemon import DaemonError, DaemonOptions, assemble_daemon
from reprieve.assembly.endpoints import ReviewOptions
from reprieve.assembly.trust import CertificateFiles
from reprieve.cli.scheduler import configuration_document, scheduler, wanted_of
from reprieve.cli.scheduler_flags import ignored_flag_warnings, serving_flag_warnings
from reprieve.model.json import Json
from tests.architecture.source import ROOT

# Every flag of kube-scheduler 1.37 with a value that it takes, and whether that sets something here.
SETS, IDLE, REFUSED = "sets something", "has no effect", "is refused"
FLAGS = {
    "allow-metric-labels": ("m,l='v1,v2'", IDLE),
    "allow-metric-labels-manifest": ("/etc/labels.yaml", IDLE),
    "authentication-kubeconfig": ("/etc/kubernetes/scheduler.conf", SETS),
    "authentication-skip-lookup": ("true", SETS),
    "authentication-token-webhook-cache-ttl": ("10s", SETS),
    "authentication-tolerate-lookup-failure": ("false", SETS),
    "authorization-always-allow-paths": ("/healthz,/readyz,/livez,/metrics", SETS),
    "authorization-kubeconfig": ("/etc/kubernetes/scheduler.conf", SETS),
    "authorization-webhook-cache-authorized-ttl": ("1m30s", SETS),
    "authorization-webhook-cache-unauthorized-ttl": ("0", SETS),
    "bind-address": ("::1", SETS),
    "cert-dir": ("/var/run/kubernetes", SETS),
    "client-ca-file": ("/etc/kubernetes/pki/ca.crt", SETS),
    "config": ("/etc/kubernetes/config.yaml", SETS),
    "contention-profiling": ("true", IDLE),
    "disable-http2-serving": ("false", IDLE),
    "disabled-metrics": ("scheduler_pending_pods", IDLE),
    "emulated-version": ("kube=1.36", IDLE),
    "feature-gates": ("kube:GangScheduling=true,NodeSwap=false", SETS),
    "http2-max-streams-per-connection": ("1000", IDLE),
    "kube-api-burst": ("200", SETS),
    "kube-api-content-type": ("application/vnd.kubernetes.protobuf", IDLE),
    "kube-api-qps": ("100", SETS),
    "kubeconfig": ("/etc/kubernetes/scheduler.conf", SETS),
    "leader-elect": ("true", SETS),
    "leader-elect-lease-duration": ("15s", SETS),
    "leader-elect-renew-deadline": ("10s", SETS),
    "leader-elect-resource-lock": ("leases", SETS),
    "leader-elect-resource-name": ("kube-scheduler", SETS),
    "leader-elect-resource-namespace": ("kube-system", SETS),
    "leader-elect-retry-period": ("2s", SETS),
    "log-flush-frequency": ("5s", IDLE),
    "log-json-info-buffer-size": ("64Ki", IDLE),
    "log-json-split-stream": ("true", IDLE),
    "log-text-info-buffer-size": ("64Ki", IDLE),
    "log-text-split-stream": ("true", IDLE),
    "logging-format": ("text", IDLE),
    "master": ("https://10.0.0.1:6443", SETS),
    "min-compatibility-version": ("1.36", IDLE),
    "permit-address-sharing": ("false", IDLE),
    "permit-port-sharing": ("true", SETS),
    "pod-max-in-unschedulable-pods-duration": ("10m", IDLE),
    "profiling": ("true", IDLE),
    "requestheader-allowed-names": ("front-proxy-client", IDLE),
    "requestheader-client-ca-file": ("/etc/kubernetes/pki/front-proxy-ca.crt", IDLE),
    "requestheader-extra-headers-prefix": ("X-Remote-Extra-", IDLE),
    "requestheader-group-headers": ("X-Remote-Group", IDLE),
    "requestheader-uid-headers": ("X-Remote-Uid", IDLE),
    "requestheader-username-headers": ("X-Remote-User", IDLE),
    "secure-port": ("10259", SETS),
    "show-hidden-metrics-for-version": ("1.36", IDLE),
    "tls-cert-file": ("/tls.crt", SETS),
    "tls-cipher-suites": ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_AES_128_GCM_SHA256", SETS),
    "tls-curve-preferences": ("29", REFUSED),
    "tls-min-version": ("VersionTLS13", SETS),
    "tls-private-key-file": ("/tls.key", SETS),
    "tls-sni-cert-key": ("a.crt,a.key", REFUSED),
    "v": ("2", SETS),
    "version": ("false", SETS),
    "vmodule": ("queue=5", IDLE),
    "write-config-to": ("/config.yaml", SETS),
}
SWITCHES = {
    *("authentication-skip-lookup", "authentication-tolerate-lookup-failure", "leader-elect", "profiling"),
    *("contention-profiling", "disable-http2-serving", "permit-address-sharing", "permit-port-sharing"),
    *("log-json-split-stream", "log-text-split-stream"),
}


def parsed(*args: str) -> click.Context:
    return scheduler.make_context("scheduler", list(args))


def wanted(*args: str) -> DaemonOptions:
    return wanted_of(parsed(*args).params)


def document(*args: str) -> Json:
    found = configuration_document(parsed(*args).params)
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(("name", "value", "meaning"), [(name, *about) for name, about in FLAGS.items()])
def test_every_flag_of_kube_scheduler(name: str, value: str, meaning: str) -> None:
    if meaning == REFUSED:
        with pytest.raises(click.UsageError, match=f"--{name}: not supported: "):
            parsed(f"--{name}={value}")
        return
    told = ignored_flag_warnings(parsed(f"--{name}={value}"))
    assert [sentence.partition(":")[0] for sentence in told] == (
        [f"--{name} has no effect"] if meaning == IDLE else []
    )
    assert ignored_flag_warnings(parsed(f"--{name}", value)) == told or name in SWITCHES
    assert ignored_flag_warnings(parsed(f"--{name.replace('-', '_')}={value}")) == told


@pytest.mark.parametrize("name", sorted(SWITCHES))
def test_switches_may_stand_alone(name: str) -> None:
    assert parsed(f"--{name}", "--kubeconfig=x").params["kubeconfig"] == "x"


def test_every_flag_is_on_the_page() -> None:
    page = (ROOT / "docs" / "reference" / "real-cluster.md").read_text()
    spelled = {option for param in scheduler.params for option in param.opts if option.startswith("--")}
    assert sorted(option for option in spelled - {"--v"} if f"`{option}`" not in page) == []


# --- command lines that are in use -----------------------------------------------------------------

KUBEADM = (
    "--authentication-kubeconfig=/etc/kubernetes/scheduler.conf",
    "--authorization-kubeconfig=/etc/kubernetes/scheduler.conf",
    "--bind-address=127.0.0.1",
    "--kubeconfig=/etc/kubernetes/scheduler.conf",
    "--leader-elect=true",
)
K3S = (
    "--authentication-kubeconfig=/var/lib/rancher/k3s/server/cred/scheduler.kubeconfig",
    "--authorization-kubeconfig=/var/lib/rancher/k3s/server/cred/scheduler.kubeconfig",
    "--bind-address=127.0.0.1",
    "--kubeconfig=/var/lib/rancher/k3s/server/cred/scheduler.kubeconfig",
    "--leader-elect=false",
    "--profiling=false",
    "--secure-port=10259",
    "--tls-cert-file=/var/lib/rancher/k3s/server/tls/kube-scheduler/kube-scheduler.crt",
    "--tls-private-key-file=/var/lib/rancher/k3s/server/tls/kube-scheduler/kube-scheduler.key",
)
KOPS = (
    "--authentication-kubeconfig=/var/lib/kube-scheduler/kubeconfig",
    "--authorization-kubeconfig=/var/lib/kube-scheduler/kubeconfig",
    "--config=-",
    "--feature-gates=InPlacePodVerticalScaling=true,NodeSwap=true",
    "--leader-elect=true",
    "--tls-cert-file=/srv/kubernetes/kube-scheduler/server.crt",
    "--tls-private-key-file=/srv/kubernetes/kube-scheduler/server.key",
    "--v=2",
)


@pytest.mark.parametrize("line", [KUBEADM, K3S, KOPS], ids=["kubeadm", "k3s", "kops"])
def test_command_lines_of_others_are_good_as_they_are(line: tuple[str, ...]) -> None:
    found = wanted(*line)
    assert found.authentication_kubeconfig == found.authorization_kubeconfig != ""
    assert found.endpoint is not None
    assert ignored_flag_warnings(parsed(*line)) == []


def test_what_they_set() -> None:
    found = wanted(*K3S)
    assert found.kubeconfig == "/var/lib/rancher/k3s/server/cred/scheduler.kubeconfig"
    assert found.endpoint is not None
    assert (found.endpoint.host, found.endpoint.port) == ("127.0.0.1", 10259)
    assert found.endpoint.files.own is not None
    assert document(*K3S)["leaderElection"] == {"leaderElect": False}
    assert parsed(*KOPS).params["verbosity"] == 2


# --- how values are spelled ------------------------------------------------------------------------


@pytest.mark.parametrize("spelled", [["-v=2"], ["-v", "2"], ["-v2"], ["--v=2"], ["--v", "2"]])
def test_verbosity(spelled: list[str]) -> None:
    assert parsed(*spelled).params["verbosity"] == 2


@pytest.mark.parametrize(
    ("spelled", "value"),
    [
        ("", True),
        ("=true", True),
        ("=T", True),
        ("=1", True),
        ("=false", False),
        ("=False", False),
        ("=0", False),
    ],
)
def test_truth(spelled: str, value: bool) -> None:
    assert document(f"--leader-elect{spelled}")["leaderElection"] == {"leaderElect": value}


def test_what_is_given_several_times() -> None:
    assert wanted("--feature-gates=A=true", "--feature-gates", "kube:B=false").feature_gates == (
        "A=true,kube:B=false"
    )
    assert document("--kube-api-qps=5", "--kube-api-qps=7.5")["clientConnection"] == {"qps": 7.5}


def test_how_long_answers_count() -> None:
    flags = (
        "--authentication-token-webhook-cache-ttl=2m",
        "--authorization-webhook-cache-authorized-ttl=500ms",
        "--authorization-webhook-cache-unauthorized-ttl=0",
    )
    assert wanted(*flags).review_options == ReviewOptions(120.0, 0.5, 0.0)


def test_files_that_are_empty_are_none() -> None:
    found = wanted("--tls-cert-file=", "--tls-private-key-file=", "--client-ca-file=", "--config=")
    assert found.endpoint is not None
    assert found.endpoint.files == CertificateFiles()


# --- TLS -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("suites", "minimum", "ciphers"),
    [
        ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLSv1_2", ["ECDHE-RSA-AES128-GCM-SHA256"]),
        ("TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "TLSv1_2", ["ECDHE-ECDSA-AES256-GCM-SHA384"]),
        ("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "TLSv1_2", ["ECDHE-RSA-CHACHA20-POLY1305"]),
        ("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "TLSv1_2", ["ECDHE-RSA-CHACHA20-POLY1305"]),
        ("TLS_RSA_WITH_AES_128_CBC_SHA", "TLSv1_2", ["AES128-SHA"]),
        ("TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256", "TLSv1_2", ["ECDHE-RSA-AES128-SHA256"]),
        ("TLS_AES_128_GCM_SHA256", "TLSv1_3", None),
    ],
)
def test_suites_by_their_names_in_go(suites: str, minimum: str, ciphers: list[str] | None) -> None:
    endpoint = wanted("--tls-cipher-suites", suites).endpoint
    assert endpoint is not None
    assert endpoint.tls.minimum is ssl.TLSVersion[minimum]
    assert endpoint.tls.ciphers == (tuple(ciphers) if ciphers is not None else None)


def test_nothing_older_than_1_2_is_spoken() -> None:
    flags = parsed("--tls-min-version=VersionTLS10").params
    assert list(serving_flag_warnings(flags)) == ["--tls-min-version: the minimum is TLS 1.2"]
    endpoint = wanted_of(flags).endpoint
    assert endpoint is not None
    assert endpoint.tls.minimum is ssl.TLSVersion.TLSv1_2


def test_a_folder_with_certificates(tmp_path: Path) -> None:
    flags = parsed("--cert-dir", str(tmp_path)).params
    (told,) = serving_flag_warnings(flags)
    assert "has no kube-scheduler.crt and kube-scheduler.key" in told
    for name in ("kube-scheduler.crt", "kube-scheduler.key"):
        (tmp_path / name).touch()
    endpoint = wanted_of(flags).endpoint
    assert endpoint is not None
    assert endpoint.files.own == (tmp_path / "kube-scheduler.crt", tmp_path / "kube-scheduler.key")
    assert list(serving_flag_warnings(flags)) == []


# --- what counts more ------------------------------------------------------------------------------

WRITTEN = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {qps: 3, kubeconfig: /nowhere/written}
leaderElection: {leaderElect: false, resourceName: written}
"""


def test_of_a_file_flags_change_the_election_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(WRITTEN)
    found = document(f"--config={file}", "--leader-elect", "--kube-api-qps=50", "--kubeconfig=/nowhere/flag")
    assert found["leaderElection"] == {"leaderElect": True, "resourceName": "written"}
    assert found["clientConnection"] == {"qps": 3, "kubeconfig": "/nowhere/written"}


def run(*args: str, **more: Any) -> Result:
    return CliRunner().invoke(scheduler, list(args), **more)


def test_the_kubeconfig_of_a_file_counts_before_the_flag(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(WRITTEN)
    done = run(f"--config={file}", "--kubeconfig=/nowhere/flag")
    assert (done.exit_code, done.stderr) == (
        1,
        "Error: /nowhere/written: cannot be read: no such file or directory\n",
    )
    file.write_text(WRITTEN.replace(", kubeconfig: /nowhere/written", ""))
    assert (
        "Error: /nowhere/flag: cannot be read" in run(f"--config={file}", "--kubeconfig=/nowhere/flag").stderr
    )


def test_separate_kubeconfigs_for_authentication_and_authorization(tmp_path: Path) -> None:
    for name in ("ours", "who", "may"):
        cluster = {"name": name, "cluster": {"server": f"https://{name}:6443"}}
        context = {"name": name, "context": {"cluster": name}}
        body = {"clusters": [cluster], "contexts": [context], "current-context": name}
        (tmp_path / name).write_text(yaml.safe_dump(body))
    ours = f"--kubeconfig={tmp_path / 'ours'}"
    who, may = (f"--{what}-kubeconfig={tmp_path}/" for what in ("authentication", "authorization"))

    def servers(*args: str) -> list[str]:
        found = assemble_daemon(document(*args), wanted(*args))
        return [
            access.server
            for access in (found.access, found.reviews.token_reviews, found.reviews.access_reviews)
        ]

    assert servers(ours, f"{who}who", f"{may}may") == [
        f"https://{name}:6443" for name in ("ours", "who", "may")
    ]
    assert servers(ours) == ["https://ours:6443"] * 3
    assert servers(ours, "--master=https://x")[0] == "https://x"
    assert servers(ours, f"{who}nowhere", "--secure-port=0") == ["https://ours:6443"] * 3
    with pytest.raises(DaemonError, match="nowhere: cannot be read"):
        servers(ours, f"{who}nowhere")


def test_the_configuration_is_written_down(tmp_path: Path) -> None:
    file = tmp_path / "written.yaml"
    done = run("--leader-elect=false", "--kube-api-burst=7", f"--write-config-to={file}")
    assert (done.exit_code, done.output) == (0, "")
    found = yaml.safe_load(file.read_text())
    assert found["leaderElection"]["leaderElect"] is False
    assert found["clientConnection"]["burst"] == 7
    assert run("--write-config-to", str(tmp_path)).exit_code == 1


@pytest.mark.parametrize(
    ("flag", "told"),
    [
        ("--secure-port=many", "--secure-port"),
        ("--bind-address=localhost", 'expected an IP address, got "localhost"'),
        ("--tls-min-version=VersionSSL30", "--tls-min-version"),
        (
            "--tls-cipher-suites=TLS_ROT13",
            '--tls-cipher-suites: expected suites that OpenSSL has, got "TLS_ROT13"',
        ),
        ("--tls-cert-file=x", "expected both or none"),
        (
            "--authentication-token-webhook-cache-ttl=soon",
            'expected a duration such as 10s or 1m30s, got "soon"',
        ),
        (
            "--authentication-token-webhook-cache-ttl=600000h",
            'expected a duration such as 10s or 1m30s of at most 2147483647s, got "600000h"',
        ),
        ("--master=10.0.0.1", '--master: expected an http or https URL, got "10.0.0.1"'),
        ("--feature-gates=AllAlpha=true", "feature gate AllAlpha: cannot be true: list the gates"),
        ("--feature-gates=Gangs=true", "feature gate Gangs: unknown"),
        ("--port=10251", "No such option"),
    ],
)
def test_mistakes(flag: str, told: str) -> None:
    done = run(flag)
    assert done.exit_code in (1, 2)
    assert told in done.stderr
    assert "Traceback" not in done.output


@pytest.mark.parametrize("flag", ["--version", "--version=raw", "--version=true"])
def test_the_version(flag: str) -> None:
    assert run(flag).output.startswith("reprieve ")
