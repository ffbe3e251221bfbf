"""`reprieve demo` with files of one's own."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from reprieve.cli.demo import demo

NODE = """
apiVersion: v1
kind: Node
metadata: {name: %s}
status: {allocatable: {cpu: %s, memory: 8Gi, pods: 110}}
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec: {%s containers: [{name: c, resources: {requests: {cpu: %s}}}]}
"""
BAD_POD = """
apiVersion: v1
kind: Pod
metadata: {name: bad}
spec: {containers: 3}
"""
BAD_QUANTITY = POD % ("odd", "", "lots")


def node(name: str, cpu: int = 4) -> str:
    return NODE % (name, cpu)


def pod(name: str, cpu: int = 1, extra: str = "") -> str:
    return POD % (name, extra, cpu)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place for files, which is where commands run."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(directory: Path, name: str, *documents: str) -> None:
    (directory / name).write_text("\n---\n".join(documents))


def run(*arguments: str, stdin: str = "") -> Result:
    return CliRunner().invoke(demo, arguments, input=stdin, prog_name="reprieve demo")


def headings(result: Result) -> list[str]:
    return [line.split()[1] for line in result.stdout.splitlines() if line.startswith("Pod ")]


def test_the_pods_of_ones_own_file_in_ones_own_cluster(files: Path) -> None:
    write(files, "cluster.yaml", node("a"), node("b"), pod("runs", 3, "nodeName: a,"))
    write(files, "pods.yaml", pod("one", 2), pod("two", 2))
    result = run("--cluster", "cluster.yaml", "-f", "pods.yaml")
    assert result.exit_code == 0
    assert result.stderr == ""
    assert headings(result) == ["default/one", "default/two"]
    assert "2 of 2 pods placed." in result.stdout


def test_each_pod_takes_the_room_that_it_gets(files: Path) -> None:
    write(files, "cluster.yaml", node("a"))
    write(files, "pods.yaml", pod("one", 3), pod("two", 3))
    result = run("--cluster", "cluster.yaml", "-f", "pods.yaml")
    assert result.exit_code == 20
    assert "1 of 2 pods placed." in result.stdout
    assert "has insufficient cpu left" in result.stdout


def test_what_limits_alone_were_given_for_is_asked_for_too(files: Path) -> None:
    write(files, "cluster.yaml", node("a"))
    result = run("--cluster", "cluster.yaml", "-f", "-", stdin=pod("big", 5).replace("requests", "limits"))
    assert result.exit_code == 20
    assert "Pod default/big requests cpu 5" in result.stdout


def test_without_pods_of_ones_own_those_that_wait_in_the_cluster_ask(files: Path) -> None:
    write(files, "cluster.yaml", node("a"), pod("runs", 1, "nodeName: a,"), pod("waits"))
    result = run("--cluster", "cluster.yaml")
    assert headings(result) == ["default/waits"]


def test_pods_of_ones_own_in_the_cluster_that_comes_along(files: Path) -> None:
    write(files, "pods.yaml", pod("mine"))
    result = run("-f", "pods.yaml")
    assert result.exit_code == 0
    assert headings(result) == ["default/mine"]
    assert "cpu-2" in result.stdout


def test_several_files_and_stdin(files: Path) -> None:
    write(files, "cluster.yaml", node("a"))
    write(files, "pods.yaml", pod("one"))
    result = run("--cluster", "cluster.yaml", "-f", "pods.yaml", "-f", "-", stdin=pod("two"))
    assert headings(result) == ["default/one", "default/two"]


def test_a_pod_given_again_is_asked_about_as_it_is_given(files: Path) -> None:
    write(files, "cluster.yaml", node("a"), pod("one", 4, "nodeName: a,"))
    write(files, "pods.yaml", pod("one", 2))
    result = run("--cluster", "cluster.yaml", "-f", "pods.yaml")
    assert result.exit_code == 0
    assert "Pod default/one requests cpu 2" in result.stdout


def test_a_list_as_kubectl_prints_it(files: Path) -> None:
    items = "".join(
        f"- {text.strip()}\n".replace("\n", "\n  ").rstrip() + "\n" for text in (node("a"), pod("p"))
    )
    write(files, "cluster.yaml", f"apiVersion: v1\nkind: List\nitems:\n{items}")
    assert headings(run("--cluster", "cluster.yaml")) == ["default/p"]


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        (
            BAD_POD,
            "pods.yaml: Pod default/bad: documents[0].spec.containers: expected a list, got an integer",
        ),
        (
            BAD_QUANTITY,
            "pods.yaml: Pod default/odd: spec.containers[0].resources.requests.cpu: expected a quantity",
        ),
        (
            "apiVersion: apps/v1\nkind: Deployment\n",
            "pods.yaml: Deployment: documents[0].kind: expected a kind",
        ),
        ("a: [", "pods.yaml: documents[0]: expected YAML or JSON"),
    ],
    ids=["malformed", "malformed quantity", "unknown kind", "not YAML"],
)
def test_what_cannot_be_read_is_named_and_the_rest_goes_on(files: Path, broken: str, sentence: str) -> None:
    write(files, "cluster.yaml", node("a"))
    write(files, "pods.yaml", broken)
    write(files, "more.yaml", pod("good"))
    result = run("--cluster", "cluster.yaml", "-f", "pods.yaml", "-f", "more.yaml")
    assert result.exit_code == 1
    assert result.stderr.startswith(f"Error: {sentence}")
    assert result.stderr.count("\n") == 1
    assert headings(result) == ["default/good"]
    assert "1 of 1 pod placed." in result.stdout


def test_other_kinds_in_a_cluster_do_not_matter(files: Path) -> None:
    config_map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"
    write(files, "cluster.yaml", node("a"), config_map, pod("waits"))
    result = run("--cluster", "cluster.yaml")
    assert (result.exit_code, result.stderr) == (0, "")


def test_a_file_that_is_not_there(files: Path) -> None:
    result = run("-f", "none.yaml")
    assert result.exit_code == 1
    assert result.stderr == "Error: none.yaml: cannot be read: no such file or directory\n"


def test_a_file_that_is_no_text(files: Path) -> None:
    (files / "pods.yaml").write_bytes(b"\xff\xfe\x00")
    result = run("-f", "pods.yaml")
    assert result.exit_code == 1
    assert result.stderr == "Error: pods.yaml: expected text in UTF-8\n"


def test_a_cluster_without_nodes(files: Path) -> None:
    write(files, "cluster.yaml", pod("waits"))
    result = run("--cluster", "cluster.yaml")
    assert result.exit_code == 1
    assert result.stderr == "Error: cluster.yaml: expected at least one node\n"


def test_a_file_without_pods_that_wait(files: Path) -> None:
    write(files, "pods.yaml", pod("runs", 1, "nodeName: cpu-1,"))
    result = run("-f", "pods.yaml")
    assert result.exit_code == 1
    assert result.stderr == "Error: pods.yaml: expected at least one pod without a node\n"


def test_a_cluster_without_pending_pods(files: Path) -> None:
    write(files, "cluster.yaml", node("a"))
    result = run("--cluster", "cluster.yaml")
    assert result.exit_code == 0
    assert "0 of 0 pods placed." in result.stdout


def test_wrong_usage() -> None:
    assert run("--no-such-option").exit_code == 2
    assert run("unexpected").exit_code == 2


@pytest.mark.parametrize(
    ("extra", "why"),
    [
        ("schedulingGates: [{name: quota}],", "its scheduling gate quota has not been removed"),
        ("resourceClaims: [{name: gpu}],", "it uses spec.resourceClaims, which Reprieve does not support"),
    ],
)
def test_a_pod_that_may_not_be_placed(files: Path, extra: str, why: str) -> None:
    write(files, "pods.yaml", pod("held", 1, extra))
    result = run("-f", "pods.yaml")
    assert result.exit_code == 20
    assert f"It has to wait: {why}." in result.stdout


@pytest.mark.parametrize(
    ("metadata", "spec", "complaint"),
    [
        ("{}", "{containers: [{name: c}]}", "Pod: documents[1].metadata.name: expected a non-empty string"),
        ("", "{containers: [{name: c}]}", "Pod: documents[1].metadata.name: expected a non-empty string"),
        ("{name: a}", "{}", "Pod default/a: documents[1].spec.containers: expected at least one container"),
        (
            "{name: a}",
            "{containers: []}",
            "Pod default/a: documents[1].spec.containers: expected at least one container",
        ),
    ],
)
def test_a_pod_without_a_name_or_containers_is_refused(
    files: Path, metadata: str, spec: str, complaint: str
) -> None:
    bad = f"apiVersion: v1\nkind: Pod\nmetadata: {metadata}\nspec: {spec}\n"
    write(files, "cluster.yaml", node("a"))
    write(files, "pods.yaml", pod("fine"), bad)
    result = run("--cluster", "cluster.yaml", "-f", "pods.yaml")
    assert f"pods.yaml: {complaint}" in result.stderr
    assert headings(result) == ["default/fine"]
    assert result.exit_code == 1


def test_a_file_whose_only_pod_is_refused_gives_one_sentence(files: Path) -> None:
    write(files, "pods.yaml", "apiVersion: v1\nkind: Pod\nspec: {containers: [{name: c}]}\n")
    result = run("-f", "pods.yaml")
    said = "Error: pods.yaml: Pod: documents[0].metadata.name: expected a non-empty string\n"
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", said)
