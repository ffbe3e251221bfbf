"""Whatever is wrong with a question: one sentence, the right exit code, no traceback."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.unit.inquiry.asking import ask, refusal, report, reports
from tests.unit.inquiry.objects import classes, deployment, node, pod, snapshot_file

from reprieve.cli.main import reprieve

CLUSTER = (node("n1"), pod("a", 4, on="n1", level="low"), pod("w", 8))


def with_text(folder: Path, text: str) -> Result:
    """The manifest has this text."""
    (folder / "new.yaml").write_text(text)
    cluster = snapshot_file(folder, [*classes(), *CLUSTER])
    return CliRunner().invoke(reprieve, ["whatif", "--from", cluster, "-f", str(folder / "new.yaml")])


@pytest.mark.parametrize(
    "text", ["a: [b", "", "just words", "[1, 2]", "- kind: Pod", "kind: Pod", "{", "\x00"]
)
def test_manifests_that_are_none(text: str, tmp_path: Path) -> None:
    found = with_text(tmp_path, text)
    assert found.exit_code == 1
    assert found.output.startswith("Error: ")
    assert found.output.count("\n") == 1


def changed(body: Any, *path: str, value: Any) -> Any:
    *above, last = path
    body = json.loads(json.dumps(body))
    inner = body
    for step in above:
        inner = inner[step]
    inner[last] = value
    return body


NEW = pod("new")


@pytest.mark.parametrize(
    ("manifest", "sentence"),
    [
        (changed(NEW, "spec", "containers", value=[]), "new.yaml: Pod new: spec.containers: Required value"),
        (changed(NEW, "spec", value={}), "new.yaml: Pod new: spec.containers: Required value"),
        (
            changed(NEW, "spec", "priorityClassName", value="none"),
            "new.yaml: Pod new: there is no PriorityClass with the name none; there are low, ",
        ),
        (changed(NEW, "metadata", value={}), "new.yaml: Pod: metadata.name: expected a name, got nothing"),
        (changed(NEW, "metadata", value=3), "new.yaml: Pod: metadata.name: expected a name, got nothing"),
        (changed(NEW, "apiVersion", value="v2"), "new.yaml: apiVersion: expected v1 for Pod, got v2"),
        (changed(NEW, "kind", value="Cow"), "new.yaml: kind: Cow of v1 is not known"),
        (
            changed(deployment("new", 1), "spec", "replicas", value="x"),
            "new.yaml: Deployment new: spec.replicas",
        ),
        (pod("a"), "new.yaml: Pod default/a exists already and runs on n1"),
        (pod("w"), "new.yaml: Pod default/w exists already and waits: ask about pod/w"),
        (
            changed(NEW, "spec", "nodeName", value="n1"),
            "new.yaml: Pod new: spec.nodeName is n1: then no scheduler decides about it",
        ),
    ],
)
def test_manifests_that_the_server_would_refuse(manifest: Any, sentence: str, tmp_path: Path) -> None:
    assert refusal(tmp_path, CLUSTER, [manifest]).startswith(sentence)


def test_a_problem_names_its_document(tmp_path: Path) -> None:
    wrong = changed(NEW, "spec", "containers", value=[])
    assert refusal(tmp_path, CLUSTER, [pod("fine"), wrong]).startswith("new.yaml, document 2: Pod new: ")


def test_a_pod_that_is_given_twice(tmp_path: Path) -> None:
    told = refusal(tmp_path, CLUSTER, [pod("new"), pod("new")])
    assert told == "new.yaml, document 2: Pod default/new is given twice"


def test_an_unknown_kind_beside_others_is_left_out_and_told(tmp_path: Path) -> None:
    cow = {"apiVersion": "farm/v1", "kind": "Cow", "metadata": {"name": "x"}}
    result = ask(tmp_path, CLUSTER, [cow, pod("new")])
    assert result.exit_code == 0
    assert (
        "Cow default/x is of farm/v1, a kind that is not known here, and has no pod template" in result.stderr
    )


@pytest.mark.parametrize(
    ("args", "code", "sentence"),
    [
        ((), 2, "nothing to ask about: expected -f FILE, --resize, --drain or pod/NAME"),
        (("-f", "/no/such/file"), 1, "/no/such/file: cannot be read: no such file or directory"),
        (("pod/a",), 1, "Pod default/a runs on n1: a what-if is for pods that wait"),
        (("pod/none",), 1, "there is no Pod none in namespace default"),
        (
            ("a/b/c",),
            2,
            "expected pod/NAME, podgroup/NAME, compositepodgroup/NAME or NAMESPACE/NAME, got 'a/b/c'",
        ),
        (("--resize", "a"), 2, "--resize: expected POD=cpu:4,memory:8Gi, got 'a'"),
        (("--resize", "a=cpu"), 2, "--resize: expected POD=cpu:4,memory:8Gi, got 'a=cpu'"),
        (("--resize", "none=cpu:4"), 1, "--resize: there is no Pod none in namespace default"),
        (("--resize", "w=cpu:4"), 1, "--resize: Pod default/w does not run yet"),
        (("--resize", "a:b=cpu:4"), 1, "--resize: Pod default/a has no container b; it has main"),
        (("--resize", "a=cpu:much"), 1, "must be a quantity such as 500m, 2 or 1Gi"),
        (("pod/w", "--cordon", "x"), 1, "--cordon x: there is no such node"),
        (("--drain", "x"), 1, "--drain x: there is no such node"),
        (("pod/w", "--remove", "x"), 1, "--remove: there is no Pod or PodGroup x in namespace default"),
        (("pod/w", "--add-node", "x"), 2, '--add-node: expected one of gpu8, cpu16, or a file, got "x"'),
        (("pod/w", "--add-node", "node/x"), 1, "--add-node node/x: there is no such node"),
        (("pod/w", "--set-priority", "x"), 1, "--set-priority: there is no PriorityClass with the name x"),
        (
            ("pod/w", "--policy", "x"),
            2,
            'PriorityCeiling, LeastDisturbance, or a file, got "x"',
        ),
        (("pod/w", "--compare", "x"), 2, "--compare: expected one of Reprieve, Upstream, PriorityCeiling, "),
        (
            ("pod/w", "--search", "x"),
            2,
            "--search: expected one of PriorityCeiling, Upstream, LeastDisturbance, got",
        ),
        (("pod/w", "--feature-gates", "X=true"), 2, "feature gate X: unknown"),
        (
            ("pod/w", "-o", "xml"),
            2,
            'expected one of text, json, yaml, markdown, digest, json=v1alpha1, yaml=v1alpha1, got "xml"',
        ),
    ],
)
def test_wrong_arguments(args: tuple[str, ...], code: int, sentence: str, tmp_path: Path) -> None:
    result = ask(tmp_path, CLUSTER, (), *args)
    assert result.exit_code == code, result.output
    assert sentence in result.output


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (("pod/far",), "there is no Pod far in namespace default; did you mean -n team-b?"),
        (("--resize", "far=cpu:4"), "there is no Pod far in namespace default; did you mean -n team-b?"),
        (("pod/ww",), "there is no Pod ww in namespace default; did you mean w?"),
        (("pod/both",), "namespace default; did you mean -n with one of team-a, team-b?"),
        (("pod/w", "--remove", "podgroup/far"), "--remove: there is no PodGroup far in namespace default\n"),
    ],
)
def test_the_name_may_be_in_another_namespace(args: tuple[str, ...], sentence: str, tmp_path: Path) -> None:
    elsewhere = (("far", "team-b"), ("both", "team-a"), ("both", "team-b"))
    cluster = (*CLUSTER, *(pod(name, 1, on="n1", namespace=namespace) for name, namespace in elsewhere))
    result = ask(tmp_path, cluster, (), *args)
    assert result.exit_code == 1, result.output
    assert sentence in result.output


def test_clusters_that_cannot_be_read(tmp_path: Path) -> None:
    good = snapshot_file(tmp_path, [*classes(), *CLUSTER])
    newer = Path(good).read_text().replace("v1alpha1", "v9", 1)
    for text in (newer, "", "not a cluster", Path(good).read_text()[:-40]):
        file = tmp_path / "bad.jsonl"
        file.write_text(text)
        result = CliRunner().invoke(reprieve, ["whatif", "--from", str(file), "pod/w"])
        assert result.exit_code == 1, result.output
        assert result.output.startswith("Error: ")


def test_a_cluster_that_contradicts_itself_is_counted_and_told(tmp_path: Path) -> None:
    result = ask(tmp_path, [*CLUSTER, pod("lost", 8, on="nowhere")], [pod("new", 2)], "-o", "json")
    assert result.exit_code == 0
    (found,) = reports(result)
    assert any("nowhere" in note for note in found["notes"])


def test_quotas_and_limit_ranges_apply_where_they_are_known(tmp_path: Path) -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "default"},
        "spec": {"hard": {"pods": "2"}},
        "status": {"hard": {"pods": "2"}, "used": {"pods": "1"}},
    }
    assert report(tmp_path, [*CLUSTER, quota], [pod("new")])["outcome"] == "Fits"
    told = refusal(tmp_path, [*CLUSTER, quota], [deployment("new", 2)])
    assert "exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2" in told
    least = {"type": "Container", "min": {"cpu": "2"}}
    limits = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "l", "namespace": "default"},
        "spec": {"limits": [least]},
    }
    assert "minimum cpu usage per Container is 2" in refusal(tmp_path, [*CLUSTER, limits], [pod("new")])


def test_a_namespace_must_exist_if_namespaces_are_known(tmp_path: Path) -> None:
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}
    assert ask(tmp_path, [*CLUSTER, space], [pod("new", namespace="team")]).exit_code == 0
    told = refusal(tmp_path, [*CLUSTER, space], [pod("new", namespace="none")])
    assert told == 'new.yaml: Pod new: namespaces "none" not found'
    made = {**space, "metadata": {"name": "none"}}
    assert ask(tmp_path, [*CLUSTER, space], [pod("new", namespace="none"), made]).exit_code == 0


def test_manifests_from_stdin(tmp_path: Path) -> None:
    result = ask(tmp_path, CLUSTER, (), "-f", "-", stdin=json.dumps(pod("new")))
    assert result.exit_code == 0, result.output
