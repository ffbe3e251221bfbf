"""`reprieve snapshot` from the command line: what it saves, what it shows, and how it fails."""

import gzip
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from reprieve.cli.cluster_flags import ClusterFlags, cluster_of, namespace_of
from reprieve.cli.main import reprieve
from reprieve.model.json import Json

NODE: Json = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "gpu-1", "uid": "u-1"}}
POD: Json = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "train", "namespace": "team", "uid": "u-2"},
    "spec": {"nodeName": "gpu-1", "containers": [{"name": "c", "env": [{"name": "A", "value": "hidden"}]}]},
}
NEW: Json = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p"},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}
GATEWAY: Json = {"apiVersion": "g/v1", "kind": "Gateway", "metadata": {"name": "g"}}


def call(*arguments: str, stdin: bytes = b"") -> Result:
    return CliRunner().invoke(reprieve, ["snapshot", *arguments], input=stdin)


def dump(folder: Path, *bodies: Json, name: str = "dump.json") -> str:
    file = folder / name
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(bodies)}))
    return str(file)


def test_a_dump_does_not_say_when_it_was_taken(tmp_path: Path) -> None:
    """Neither does a snapshot that is made of it, nor an answer; only the server's clock would know."""
    file, dumped = str(tmp_path / "s.jsonl"), dump(tmp_path, NODE, POD)
    assert call("save", file, "--from", dumped).exit_code == 0
    for name in (dumped, file):
        assert call("show", name).stdout.startswith("Nothing in it says when it was taken.\n")
        assert json.loads(call("show", name, "-o", "json").stdout)["takenAt"] is None
        asked = ["whatif", "--from", name, "-f", "-", "-o", "json"]
        answer = CliRunner().invoke(reprieve, asked, input=json.dumps(NEW)).stdout
        assert json.loads(answer)["snapshot"]["takenAt"] is None


@pytest.mark.parametrize("name", ["s.jsonl", "s.jsonl.gz"])
def test_a_dump_becomes_a_snapshot(tmp_path: Path, name: str) -> None:
    file = str(tmp_path / name)
    done = call("save", file, "--from", dump(tmp_path, NODE, POD, GATEWAY))
    assert done.exit_code == 0, done.output
    assert done.stdout == f"Saved 2 objects in {file}.\n"
    assert (
        done.stderr == "Note: left out objects of kinds that Reprieve does not read: Gateway of g/v1 (1).\n"
    )
    data = Path(file).read_bytes()
    lines = (gzip.decompress(data) if name.endswith(".gz") else data).splitlines()
    assert [json.loads(line)["kind"] for line in lines] == ["ClusterSnapshot", "Node", "Pod"]
    assert b"hidden" not in b"".join(lines)
    shown = json.loads(call("show", file, "-o", "json").stdout)
    assert shown["objects"] == {"Node": 1, "Pod": 1}
    assert shown["notes"] == ["left out objects of kinds that Reprieve does not read: Gateway of g/v1 (1)"]
    assert "Pod         1" in call("show", file).stdout
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith(".")] == []


def test_a_snapshot_can_be_piped(tmp_path: Path) -> None:
    saved = call("save", "-", "--from", dump(tmp_path, NODE, POD)).stdout_bytes
    shown = call("show", "-", "-o", "json", stdin=saved)
    assert json.loads(shown.stdout)["objects"] == {"Node": 1, "Pod": 1}


def test_names_are_replaced(tmp_path: Path) -> None:
    file = str(tmp_path / "s.jsonl")
    assert call("save", file, "--anonymise", "--from", dump(tmp_path, NODE, POD)).exit_code == 0
    text = Path(file).read_text()
    assert not any(name in text for name in ("gpu-1", "train", "team", "u-1", "u-2"))


def test_a_configuration_can_be_saved_too(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{schedulerName: mine}]\n"
    )
    file = str(tmp_path / "s.jsonl")
    assert call("save", file, "--config", str(config), "--from", dump(tmp_path, NODE)).exit_code == 0
    assert json.loads(call("show", file, "-o", "json").stdout)["schedulers"] == ["mine"]
    config.write_text("kind: Nonsense\n")
    assert call("save", file, "--config", str(config), "--from", dump(tmp_path, NODE)).exit_code == 2


def test_a_directory_is_all_its_files(tmp_path: Path) -> None:
    folder = tmp_path / "dumps"
    folder.mkdir()
    dump(folder, NODE, name="a.json")
    dump(folder, POD, name="b.json")
    (folder / "README.md").write_text("not an object")
    found = cluster_of(ClusterFlags(files=(str(folder),)))
    assert [thing.kind for thing in found.objects] == ["Node", "Pod"]
    assert namespace_of(ClusterFlags(files=("x",))) == "default"
    assert namespace_of(ClusterFlags(namespace="team")) == "team"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"kind: [", "Error: FILE: document 1: expected YAML or JSON: "),
        (
            b'{"apiVersion": "reprieve.dev/v9", "kind": "ClusterSnapshot"}',
            "Error: FILE: it is a ClusterSnapshot",
        ),
        (b'{"apiVersion": "v1", "kind": "Po', "Error: FILE: the file is truncated: "),
        (gzip.compress(b"{}", mtime=0)[:-9], "Error: FILE: the file is truncated: "),
        (b"", "Error: FILE: expected Kubernetes objects, got none"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_sentence(tmp_path: Path, content: bytes, sentence: str) -> None:
    file = tmp_path / "f"
    file.write_bytes(content)
    done = call("show", str(file))
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith(sentence.replace("FILE", str(file)))
    assert done.stderr.count("\n") == 1


def test_what_cannot_be_reached_is_one_sentence(tmp_path: Path) -> None:
    config = {
        "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "c"}}],
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
    }
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(json.dumps(config))
    file = str(tmp_path / "s.jsonl")
    for arguments, sentence in (
        (
            ("show", str(tmp_path / "none")),
            f"Error: {tmp_path / 'none'}: cannot be read: no such file or directory",
        ),
        (("save", file, "--kubeconfig", str(tmp_path / "none")), "Error: "),
        (("save", file, "--kubeconfig", str(kubeconfig)), "Error: the cluster cannot be read: "),
        (
            ("save", str(tmp_path / "no" / "s"), "--from", dump(tmp_path, NODE)),
            f"Error: {tmp_path / 'no' / 's'}: cannot be written: ",
        ),
    ):
        done = call(*arguments)
        assert done.exit_code == 1, done.output
        assert done.stderr.startswith(sentence), done.stderr
        assert done.stderr.count("\n") == 1
    assert not Path(file).exists()


def test_files_and_a_server_are_wrong_usage(tmp_path: Path) -> None:
    assert call("save", "f", "--from", dump(tmp_path, NODE), "--context", "x").exit_code == 2
