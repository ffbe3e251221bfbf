"""`reprieve decisions`: from a journal and from files, and what it refuses."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.unit.report.test_decisions import choosing
from tests.unit.scheduler.making import a_node, a_pod

from reprieve.assembly.journals import journal_in
from reprieve.cli.main import reprieve
from reprieve.config import Gates, default_configuration
from reprieve.inquiry.decision_list import kept_document
from reprieve.model.events import Seen, Synced
from reprieve.model.moment import on_one_clock
from reprieve.model.objects import KubernetesObject
from reprieve.runtime.journal import Journaled
from reprieve.runtime.recent_decisions import KeptDecision
from reprieve.scheduler.core import Scheduler


def decisions(*flags: str, stdin: str = "") -> Result:
    return CliRunner().invoke(reprieve, ["decisions", *flags], input=stdin)


@pytest.fixture
def journal(tmp_path: Path) -> str:
    """A pod that preempts another, and one that is too big for any node."""
    with journal_in(tmp_path / "journal", default_configuration(), Gates(), print) as written:
        assert written is not None
        machine = Journaled(Scheduler(), written)
        things: list[KubernetesObject] = [
            a_node("n1"),
            a_pod("old", cpu="3", on="n1"),
            a_pod("new", cpu="3", priority=9),
        ]
        machine.observe(
            [*map(Seen, things), Seen(a_pod("big", cpu="9", priority=8)), Synced()], on_one_clock(100.0)
        )
        for at in (100.0, 101.0):
            machine.decide(on_one_clock(at))
    return str(tmp_path / "journal")


def rows(result: Result) -> list[list[str]]:
    assert result.exit_code == 0, result.output
    return [line.split() for line in result.stdout.splitlines()]


def test_a_journal_as_a_table(journal: str) -> None:
    header, first, second = rows(decisions("--journal", journal))
    assert header == ["TIME", "ID", "PREEMPTOR", "OUTCOME", "VICTIMS", "NODE"]
    assert (first[0], first[2:]) == (
        "1970-01-01T00:01:40Z",
        ["Pod", "default/new", "preempts", "(nominated)", "default/old", "n1"],
    )
    assert second[2:] == ["Pod", "default/big", "unschedulable", "-", "-"]


@pytest.mark.parametrize(
    "flags, found",
    [
        (("--victim", "old"), ["new"]),
        (("--victim", "pod/default/old"), ["new"]),
        (("--victim", "uid-old"), ["new"]),
        (("--victim", "new"), []),
        (("--preemptor", "big"), ["big"]),
        (("--node", "n1"), ["new"]),
        (("--since", "1h"), []),
        ((), ["new", "big"]),
    ],
)
def test_filters(journal: str, flags: tuple[str, ...], found: list[str]) -> None:
    result = decisions("--journal", journal, "-o", "json", *flags)
    assert [item["demand"]["name"] for item in json.loads(result.stdout)["items"]] == found


def test_no_decision_is_a_note_and_no_error(journal: str) -> None:
    result = decisions("--journal", journal, "--victim", "new")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.startswith("No decisions found: ")


def test_names_and_no_headers(journal: str) -> None:
    names = decisions("--journal", journal, "-o", "name").stdout.splitlines()
    assert all(name.startswith("decision/d-") for name in names)
    assert len(rows(decisions("--journal", journal, "--no-headers"))) == 2
    assert rows(decisions("--journal", journal, "-o", "wide"))[0][-1] == "BECAUSE"


def test_a_list_that_is_printed_can_be_read_again(journal: str) -> None:
    for form in ("json", "yaml"):
        printed = decisions("--journal", journal, "-o", form).stdout
        assert decisions("--from", "-", stdin=printed).stdout == decisions("--journal", journal).stdout


def test_a_snapshot_has_decisions(tmp_path: Path) -> None:
    file = tmp_path / "cluster.jsonl"
    header = {
        "apiVersion": "reprieve.dev/v1alpha1",
        "kind": "ClusterSnapshot",
        "takenAt": "2026-01-01T00:00:00Z",
    }
    lines = [header, kept_document(KeptDecision(choosing()))]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert rows(decisions("--from", str(file)))[1][3] == "default/new"


@pytest.mark.parametrize(
    "flags, code, sentence",
    [
        (("--journal", "/nowhere"), 1, "/nowhere: expected a directory with a journal"),
        (("--from", "/nowhere"), 1, "/nowhere: cannot be read: no such file or directory"),
        (("--from", "x", "--journal", "y"), 2, "exclude each other"),
        (("--from", "x", "-w"), 2, "--watch needs a scheduler or a journal"),
        (("--since", "soon"), 2, "expected a duration"),
        (("--server", "http://127.0.0.1:1"), 1, "--server: expected an https URL"),
        (("--server", "https://127.0.0.1:1"), 1, "https://127.0.0.1:1 cannot be reached"),
        ((), 1, "127.0.0.1:9 cannot be reached"),
        (("--context", "other"), 1, 'context: expected one of c, got "other"'),
    ],
)
def test_what_goes_wrong_is_a_sentence(
    flags: tuple[str, ...], code: int, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(KUBECONFIG)
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    result = decisions(*flags)
    assert result.exit_code == code
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr


KUBECONFIG = """
clusters: [{name: c, cluster: {server: "https://127.0.0.1:9"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
current-context: c
"""
