"""Kubeconfig files: which count, what they say, and what is wrong with them."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from reprieve.cluster.kube.auth import Access
from reprieve.cluster.kube.kubeconfig import AccessError, KubeconfigUser, Login, find_login, in_cluster
from reprieve.model.json import Json


def config(name: str, *, current: str = "", user: Any = None, **cluster: Any) -> Json:
    """One cluster, one user and one context, all of the same name."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": f"https://{name}:6443", **cluster}}],
        "users": [{"name": name, "user": {"token": f"token-of-{name}"} if user is None else user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": current,
    }


def write(path: Path, body: Json) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(body))
    return path


def find(*files: Path, context: str = "", **environ: str) -> Login:
    return find_login("", context, {"KUBECONFIG": ":".join(map(str, files)), **environ})


def test_a_file_that_is_named(tmp_path: Path) -> None:
    file = write(tmp_path / "one", config("one", current="one"))
    login = find_login(str(file), "", {"KUBECONFIG": "/nowhere"})
    assert (login.cluster.server, login.user.token) == ("https://one:6443", "token-of-one")
    assert login.namespace == "default"


def test_several_files_are_one_and_the_first_counts(tmp_path: Path) -> None:
    second = config("one", current="two", user={"token": "hidden"})
    second["contexts"].append({"name": "mix", "context": {"cluster": "one", "user": "two", "namespace": "n"}})
    second["users"].append({"name": "two", "user": {"token": "second"}})
    files = [
        tmp_path / "missing",
        write(tmp_path / "a", config("one")),
        write(tmp_path / "b", second),
        write(tmp_path / "c", config("three", current="three")),
    ]
    assert find(*files, context="one").user.token == "token-of-one"
    mixed = find(*files, context="mix")
    assert (mixed.cluster.server, mixed.user.token, mixed.namespace) == ("https://one:6443", "second", "n")
    with pytest.raises(AccessError, match='expected one of one, mix, three, got "two"'):
        find(*files)


def test_the_file_at_home(tmp_path: Path) -> None:
    write(tmp_path / ".kube" / "config", config("home", current="home"))
    assert find_login("", "", {"HOME": str(tmp_path)}).cluster.server == "https://home:6443"


def test_paths_are_meant_from_the_file(tmp_path: Path) -> None:
    user = {
        "client-certificate": "c.pem",
        "client-key": "/abs/k.pem",
        "tokenFile": "t",
        "exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "./plugin"},
    }
    body = config("x", current="x", user=user, **{"certificate-authority": "../ca.pem"})
    login = find(write(tmp_path / "d" / "config", body))
    assert login.cluster.certificate_authority == str(tmp_path / "d" / "../ca.pem")
    assert login.user.client_certificate == str(tmp_path / "d" / "c.pem")
    assert login.user.client_key == "/abs/k.pem"
    assert login.user.token_file == str(tmp_path / "d" / "t")
    assert login.user.exec is not None
    assert login.user.exec.command == str(tmp_path / "d" / "plugin")


def test_a_command_without_a_path_is_left_alone(tmp_path: Path) -> None:
    plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": "aws", "args": None, "env": None}
    user = {"exec": plugin}
    login = find(write(tmp_path / "config", config("x", current="x", user=user)))
    assert login.user.exec is not None
    assert login.user.exec.command == "aws"


def test_what_is_null_is_not_there(tmp_path: Path) -> None:
    body = config(
        "x", current="x", user={"token": "t", "exec": None, "as-groups": None}, **{"proxy-url": None}
    )
    body["contexts"][0]["context"]["namespace"] = None
    body["users"].append({"name": "other", "user": None})
    login = find(write(tmp_path / "config", body))
    assert (login.user.token, login.user.exec, login.namespace) == ("t", None, "default")


@pytest.mark.parametrize("server", ["https://[fd00::1]:6443", "https://rancher.example/k8s/clusters/c-1"])
def test_addresses_of_servers(tmp_path: Path, server: str) -> None:
    login = find(write(tmp_path / "config", config("x", current="x", server=server)))
    assert Access(login).server == server


def test_no_secrets_over_plain_http(tmp_path: Path) -> None:
    user = {"token": "t", "client-certificate": "c", "client-key": "k", "username": "", "as": "jane"}
    login = find(write(tmp_path / "config", config("x", current="x", user=user, server="http://x")))
    assert login.user == KubeconfigUser(impersonate="jane")


def test_a_path_below_a_file(tmp_path: Path) -> None:
    there = write(tmp_path / "config", config("x", current="x"))
    with pytest.raises(AccessError, match="inside: cannot be read: not a directory"):
        find(there / "inside", there)


BROKEN: list[tuple[Json, str]] = [
    (config("x"), "config: current-context: required, unless --context names a context"),
    (config("x", current="y"), 'config: context: expected one of x, got "y"'),
    ({**config("x", current="x"), "clusters": []}, 'config: context "x": cluster: there is no cluster "x"'),
    ({**config("x", current="x"), "users": None}, 'config: context "x": user: there is no user "x"'),
    (
        config("x", current="x", server="x:6443"),
        'server: expected an http or https URL, got "x:6443"',
    ),
    (config("x", current="x", server="https://x:y"), "server: expected an http"),
    (config("x", current="x", server="https://[::1"), "server: expected an http"),
    (config("x", current="x", user={"token": "t", "password": "p"}), "token and username/password exclude"),
    (config("x", current="x", user={"as-groups": ["g"]}), "as-uid, as-groups and as-user-extra need as"),
    (
        config("x", current="x", server=7),
        r"clusters\[0\]\.cluster\.server: expected a string, got an integer",
    ),
    (
        config("x", current="x", **{"insecure-skip-tls-verify": True, "certificate-authority": "ca"}),
        "insecure-skip-tls-verify and certificate-authority exclude",
    ),
    (config("x", current="x", user={"auth-provider": {"name": "oidc"}}), "auth-provider: not supported"),
]


@pytest.mark.parametrize(("body", "sentence"), BROKEN)
def test_errors_name_the_field(tmp_path: Path, body: Json, sentence: str) -> None:
    with pytest.raises(AccessError, match=sentence):
        find_login(str(write(tmp_path / "config", body)), "", {})


def test_files_that_are_no_kubeconfig(tmp_path: Path) -> None:
    with pytest.raises(AccessError, match="missing: cannot be read: no such file"):
        find_login(str(tmp_path / "missing"), "", {})
    (tmp_path / "text").write_text("a: [")
    with pytest.raises(AccessError, match=r"text: expected YAML or JSON: .* \(line \d\)"):
        find_login(str(tmp_path / "text"), "", {})
    (tmp_path / "words").write_text("just words")
    with pytest.raises(AccessError, match=r"words: expected a kubeconfig, which is a mapping"):
        find_login(str(tmp_path / "words"), "", {})
    with pytest.raises(AccessError, match="this is not a pod"):
        find_login("", "", {"HOME": str(tmp_path)})


def test_in_a_pod(tmp_path: Path) -> None:
    environ = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    assert in_cluster(environ, tmp_path) is None
    for name in ("token", "ca.crt", "namespace"):
        (tmp_path / name).write_text(name)
    login = in_cluster(environ, tmp_path)
    assert login is not None
    assert (login.cluster.server, login.namespace) == ("https://[fd00::1]:443", "namespace")
    assert login.user.token_file == str(tmp_path / "token")
    assert login.cluster.certificate_authority == str(tmp_path / "ca.crt")
    assert in_cluster({}, tmp_path) is None
