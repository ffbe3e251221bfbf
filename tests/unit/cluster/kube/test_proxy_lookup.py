"""Which proxy, and for which hosts none."""

import pytest

from reprieve.cluster.kube.kubeconfig import AccessError
from reprieve.cluster.kube.proxy_lookup import proxy_for

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
