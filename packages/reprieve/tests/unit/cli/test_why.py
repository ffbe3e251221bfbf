"""`reprieve why`: from files and journals, and what it refuses."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.unit.cli.test_decisions import KUBECONFIG, journal
from tests.unit.inquiry.asking_why import decided
from tests.unit.inquiry.test_why import FULL, after_preemption

from reprieve.cli.main import reprieve
from reprieve.inquiry.decision_list import kept_document
from tests.scenarios.making import world_objects

__all__ = ["journal"]


def why(*arguments: str) -> Result:
    return CliRunner().invoke(reprieve, ["why", *arguments])


@pytest.fixture
def snapshot(tmp_path: Path) -> str:
    """A cluster after a preemption, with the decision."""
    header = {
        "apiVersion": "reprieve.dev/v1alpha1",
        "kind": "ClusterSnapshot",
        "takenAt": "2026-01-02T01:05:00Z",
    }
    world = after_preemption("web-7d-abcde")
    lines = [header, *world_objects(world, world.groups), kept_document(decided(FULL, "new"))]
    file = tmp_path / "cluster.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(file)


@pytest.fixture
def unreachable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kubeconfig whose server does not answer."""
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(KUBECONFIG)
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))


@pytest.mark.parametrize("name", ["pod/web-7d-abcde", "web-7d-abcde", "pod/default/web-7d-abcde"])
def test_a_victim_in_a_snapshot(snapshot: str, name: str) -> None:
    result = why(name, "--from", snapshot)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith(
        "Pod default/web-7d-abcde was preempted on n1 at 2026-01-02 01:00:00 UTC.\n"
    )
    assert "What would have protected it:" in result.stdout


@pytest.mark.parametrize("name", ["d-0123456789", "decision/d-0123456789"])
def test_a_decision_in_a_snapshot(snapshot: str, name: str) -> None:
    result = why(name, "--from", snapshot)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("Pod default/new (priority 1000): decision d-0123456789\n")


def test_json_and_yaml(snapshot: str) -> None:
    document = json.loads(why("pod/web-7d-abcde", "--from", snapshot, "-o", "json").stdout)
    assert (document["kind"], document["state"]) == ("WhyReport", "Preempted")
    assert "kind: WhyReport\n" in why("pod/web-7d-abcde", "--from", snapshot, "-o", "yaml").stdout


def test_a_pod_that_waits_in_a_file_of_objects(tmp_path: Path) -> None:
    file = tmp_path / "objects.jsonl"
    bodies = [*world_objects(FULL, FULL.groups)]
    file.write_text("".join(json.dumps(body) + "\n" for body in bodies))
    result = why("pod/new", "--from", str(file), "--policy", "Upstream")
    assert result.exit_code == 0, result.output
    assert "waits for a node: there is room on n1 once 1 pod is preempted" in result.stdout


def test_a_journal_is_enough_for_a_victim(
    journal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    monkeypatch.setenv("HOME", str(tmp_path))
    result = why("pod/old", "-n", "default", "--journal", journal)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("Pod default/old was preempted on n1")
    assert "only the journal is read" in result.stderr


@pytest.mark.parametrize(
    "arguments, code, sentence",
    [
        (("pod/nothing", "--from", "SNAPSHOT"), 1, "Pod default/nothing is not known"),
        (("podgroup/nothing", "--from", "SNAPSHOT"), 1, "PodGroup default/nothing is not known"),
        (("d-99", "--from", "SNAPSHOT"), 1, "decision d-99 is not known"),
        (("pod/a/b/c", "--from", "SNAPSHOT"), 2, "expected pod/NAME"),
        (("pod/x", "--journal", "a", "--server", "b"), 2, "exclude each other"),
        (("pod/x", "--from", "SNAPSHOT", "--policy", "Best"), 2, 'got "Best"'),
        (("pod/x",), 1, "127.0.0.1:9"),
        ((), 2, "DECISION-ID: required"),
    ],
)
@pytest.mark.usefixtures("unreachable")
def test_what_goes_wrong_is_a_sentence(
    snapshot: str, arguments: tuple[str, ...], code: int, sentence: str
) -> None:
    result = why(*(snapshot if one == "SNAPSHOT" else one for one in arguments))
    assert result.exit_code == code, result.output
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr
