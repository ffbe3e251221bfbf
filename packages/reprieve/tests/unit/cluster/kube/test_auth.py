"""What goes with a request: tokens, certificates, and what happens when they are rotated."""

import asyncio
import base64
import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from reprieve.cluster.certificates import new_certificate
from reprieve.cluster.kube.auth import Access, Credential, proxy_for, run_plugin
from reprieve.cluster.kube.kubeconfig import (
    AccessError,
    EnvVar,
    ExecPlugin,
    Extension,
    KubeconfigCluster,
    KubeconfigUser,
    Login,
)
from reprieve.model.moment import Moment

PLAIN = KubeconfigCluster(server="http://api/")


class HandClock:
    """``ahead``: by how much the time of day is ahead of the clock for durations."""

    def __init__(self) -> None:
        self.now, self.ahead = 1000.0, 0.0

    def __call__(self) -> Moment:
        return Moment(self.now + self.ahead, self.now)


def headers(access: Access) -> list[tuple[str, str]]:
    return list(asyncio.run(access.grant()).headers)


def test_tokens_and_passwords() -> None:
    assert headers(Access(Login(PLAIN, KubeconfigUser(token="t")))) == [("Authorization", "Bearer t")]
    assert headers(Access(Login(PLAIN, KubeconfigUser(username="u", password="p")))) == [
        ("Authorization", "Basic dTpw")
    ]
    assert headers(Access(Login(PLAIN, KubeconfigUser()))) == []


def test_impersonation() -> None:
    user = KubeconfigUser(impersonate="jane", as_uid="7", as_groups=("a", "b"), as_user_extra={"a/b": ("x",)})
    assert headers(Access(Login(PLAIN, user))) == [
        ("Impersonate-User", "jane"),
        ("Impersonate-Uid", "7"),
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "b"),
        ("Impersonate-Extra-a%2Fb", "x"),
    ]


def test_a_token_file_is_read_again(tmp_path: Path) -> None:
    file, clock = tmp_path / "token", HandClock()
    file.write_text("first\n")
    access = Access(Login(PLAIN, KubeconfigUser(token="old", token_file=str(file))), now=clock)
    assert headers(access) == [("Authorization", "Bearer first")]
    file.write_text("second")
    assert headers(access) == [("Authorization", "Bearer first")]
    clock.now += 61
    assert headers(access) == [("Authorization", "Bearer second")]
    file.unlink()
    clock.now += 61
    assert headers(access) == [("Authorization", "Bearer second")]


def test_a_clock_that_is_put_back_delays_no_reading(tmp_path: Path) -> None:
    file, clock = tmp_path / "token", HandClock()
    file.write_text("first")
    access = Access(Login(PLAIN, KubeconfigUser(token_file=str(file))), now=clock)
    assert headers(access) == [("Authorization", "Bearer first")]
    file.write_text("second")
    clock.ahead, clock.now = -900.0, clock.now + 61
    assert headers(access) == [("Authorization", "Bearer second")]


def test_a_token_file_that_was_never_there() -> None:
    with pytest.raises(AccessError, match="tokenFile: /nowhere: cannot be read"):
        headers(Access(Login(PLAIN, KubeconfigUser(token_file="/nowhere"))))


def test_a_token_that_was_written_down_serves_while_there_is_no_file(tmp_path: Path) -> None:
    user = KubeconfigUser(token="old", token_file=str(tmp_path / "token"))
    assert headers(Access(Login(PLAIN, user))) == [("Authorization", "Bearer old")]


@pytest.mark.parametrize(
    "user",
    [KubeconfigUser(token="t"), KubeconfigUser(username="u"), KubeconfigUser(client_certificate_data="x")],
)
def test_static_credentials_win_over_a_plugin(user: KubeconfigUser) -> None:
    plugin = ExecPlugin(command="/no/such", api_version="client.authentication.k8s.io/v1")
    headers(Access(Login(PLAIN, msgspec.structs.replace(user, exec=plugin))))


def test_a_refused_token_is_read_at_once_but_not_all_the_time(tmp_path: Path) -> None:
    file, clock = tmp_path / "token", HandClock()
    file.write_text("first")
    access = Access(Login(PLAIN, KubeconfigUser(token_file=str(file))), now=clock)

    async def main() -> None:
        first = await access.grant()
        file.write_text("second")
        assert access.renew(first)
        second = await access.grant()
        assert second.headers == (("Authorization", "Bearer second"),)
        assert access.renew(first), "a concurrent request has renewed it"
        assert not access.renew(second)
        clock.now += 11
        assert access.renew(second)

    asyncio.run(main())


def test_a_token_that_cannot_change_is_not_tried_again() -> None:
    access = Access(Login(PLAIN, KubeconfigUser(token="t")))
    assert not access.renew(asyncio.run(access.grant()))


def counting_plugin(tmp_path: Path, **status: Any) -> ExecPlugin:
    """Its token is how often it was run."""
    counter = tmp_path / "runs"
    version = "client.authentication.k8s.io/v1"
    answer = {"kind": "ExecCredential", "apiVersion": version, "status": status}
    script = (
        f"import json; f = open({str(counter)!r}, 'a+'); f.write('x'); f.seek(0); n = len(f.read());"
        f"a = json.loads({json.dumps(answer)!r}); a['status']['token'] = str(n); print(json.dumps(a))"
    )
    return ExecPlugin(command=sys.executable, api_version=version, args=("-c", script))


def test_what_a_plugin_said_is_kept_until_it_expires_or_is_refused(tmp_path: Path) -> None:
    clock = HandClock()
    plugin = counting_plugin(tmp_path, expirationTimestamp="1970-01-01T01:00:00Z")
    access = Access(Login(PLAIN, KubeconfigUser(exec=plugin)), now=clock)

    async def tokens(count: int) -> set[str]:
        grants = await asyncio.gather(*(access.grant() for _ in range(count)))
        return {grant.headers[0][1] for grant in grants}

    async def main() -> None:
        assert await tokens(5) == {"Bearer 1"}
        clock.now += 100
        assert await tokens(1) == {"Bearer 1"}
        assert access.renew(await access.grant())
        assert await tokens(3) == {"Bearer 2"}
        clock.now = 3600
        assert await tokens(1) == {"Bearer 3"}

    asyncio.run(main())


def test_a_failing_plugin_is_not_run_for_every_request(tmp_path: Path) -> None:
    clock, counter = HandClock(), tmp_path / "runs"
    script = f"open({str(counter)!r}, 'a').write('x'); raise SystemExit('no')"
    version = "client.authentication.k8s.io/v1"
    plugin = ExecPlugin(command=sys.executable, api_version=version, args=("-c", script))
    access = Access(Login(PLAIN, KubeconfigUser(exec=plugin)), now=clock)

    async def main() -> None:
        for _ in range(3):
            with pytest.raises(AccessError, match="exited with code 1: no"):
                await access.grant()
        assert counter.read_text() == "x"
        clock.now += 11
        with pytest.raises(AccessError, match="exited with code 1"):
            await access.grant()
        assert counter.read_text() == "xx"

    asyncio.run(main())


# --- certificates --------------------------------------------------------------------------------

OURS, THEIRS = new_certificate(("localhost",)), new_certificate(("localhost",))


def data(pem: bytes) -> str:
    return base64.b64encode(pem).decode()


def test_the_same_certificates_give_the_same_context_and_others_another(tmp_path: Path) -> None:
    clock, authority = HandClock(), tmp_path / "ca.pem"
    authority.write_bytes(OURS.certificate)
    cluster = KubeconfigCluster(server="https://api", certificate_authority=str(authority))
    access = Access(Login(cluster, KubeconfigUser()), now=clock)

    async def main() -> None:
        first = (await access.grant()).tls
        clock.now += 61
        assert (await access.grant()).tls is first
        authority.write_bytes(THEIRS.certificate)
        clock.now += 61
        second = (await access.grant()).tls
        assert second is not first
        authority.write_bytes(b"half a certif")
        clock.now += 61
        assert (await access.grant()).tls is second

    asyncio.run(main())


@pytest.mark.parametrize(
    ("cluster", "user", "sentence"),
    [
        ({"certificate_authority_data": "%"}, {}, "certificate-authority-data: expected base64"),
        (
            {"certificate_authority_data": data(b"x")},
            {},
            "certificate-authority: expected certificates as PEM",
        ),
        (
            {"certificate_authority": "/nowhere"},
            {},
            "certificate-authority: /nowhere: cannot be read: no such file",
        ),
        ({}, {"client_certificate_data": data(OURS.certificate)}, "expected both or none"),
        (
            {},
            {"client_certificate_data": data(OURS.certificate), "client_key_data": data(THEIRS.key)},
            "expected a certificate and its key",
        ),
    ],
)
def test_certificates_that_are_none(cluster: dict[str, Any], user: dict[str, Any], sentence: str) -> None:
    access = Access(Login(KubeconfigCluster(server="https://api", **cluster), KubeconfigUser(**user)))
    with pytest.raises(AccessError, match=sentence):
        asyncio.run(access.grant())


# --- proxies ---------------------------------------------------------------------------------------


PROXIES = {"HTTPS_PROXY": "http://secure:3128", "http_proxy": "plain:8080"}


def test_by_scheme_and_in_either_case() -> None:
    assert proxy_for("https://api.example:6443", "", PROXIES) == "http://secure:3128"
    assert proxy_for("http://api.example", "", PROXIES) == "http://plain:8080"
    assert proxy_for("https://api.example", "", {}) == ""


def test_what_is_configured_counts_first() -> None:
    environ = {**PROXIES, "NO_PROXY": "*"}
    assert proxy_for("https://api.example", "https://own:1", environ) == "https://own:1"


@pytest.mark.parametrize("server", ["https://127.0.0.1:6443", "https://localhost", "https://[::1]:6443"])
def test_no_proxy_for_localhost(server: str) -> None:
    assert proxy_for(server, "", PROXIES) == ""


@pytest.mark.parametrize(
    ("excepted", "server"),
    [
        ("*", "https://api.example"),
        ("other, api.example", "https://api.example"),
        ("example", "https://api.example"),
        (".example", "https://api.example"),
        ("*.example", "https://api.example"),
        ("api.example:6443", "https://api.example:6443"),
        ("api.example:443", "https://api.example"),
        ("10.0.0.0/8", "https://10.1.2.3:6443"),
        ("10.1.2.3", "https://10.1.2.3:6443"),
        ("fd00::/8", "https://[fd00::5]:6443"),
        ("fd00::5", "https://[fd00::5]"),
        ("[fd00::5]:6443", "https://[fd00::5]:6443"),
        ("api.example:6443", "https://api.example:6443/k8s/clusters/c-1"),
        ("EXAMPLE", "https://api.example"),
    ],
)
def test_exceptions(excepted: str, server: str) -> None:
    assert proxy_for(server, "", {**PROXIES, "NO_PROXY": excepted}) == ""
    assert proxy_for(server, "", {**PROXIES, "no_proxy": excepted}) == ""


@pytest.mark.parametrize(
    ("excepted", "server"),
    [
        ("ample", "https://api.example"),
        (".api.example", "https://api.example"),
        ("api.example:443", "https://api.example:6443"),
        ("10.0.0.0/8", "https://11.1.2.3"),
        ("10.0.0.0/8", "https://api.example"),
        ("nonsense/8", "https://api.example"),
        ("10.1.2", "https://10.1.2.3"),
        ("10.1.2.3:443", "https://10.1.2.3:6443"),
        ("*pi.example", "https://api.example"),
        ("::ffff", "https://[fd00::5]"),
        (" , ", "https://api.example"),
    ],
)
def test_no_exceptions(excepted: str, server: str) -> None:
    assert proxy_for(server, "", {**PROXIES, "NO_PROXY": excepted}) == "http://secure:3128"


def test_other_kinds_of_proxy_are_refused() -> None:
    with pytest.raises(AccessError, match="proxy-url: expected the http or https URL of a proxy"):
        proxy_for("https://api.example", "socks5://p:1", {})
    with pytest.raises(AccessError, match="proxy-url"):
        proxy_for("https://api.example", "http://p:port", {})
    with pytest.raises(AccessError, match="HTTPS_PROXY"):
        proxy_for("https://api.example", "", {"HTTPS_PROXY": "socks5://p:1"})


# --- exec plugins ----------------------------------------------------------------------------------


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
