"""No escape sequence in the text of an object reaches a terminal or a log as it is, in any command."""

import ast
import io
import json
import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.unit.scheduler.making import a_node, a_pod

from reprieve.assembly.checking import CheckReport, CheckResult, Grade
from reprieve.assembly.journals import journal_in
from reprieve.cli.main import reprieve
from reprieve.config import Gates, default_configuration
from reprieve.model.events import Seen, Synced
from reprieve.model.formatting import visible
from reprieve.model.json import Json
from reprieve.model.moment import on_one_clock
from reprieve.runtime.journal import Journaled
from reprieve.runtime.logs import JsonLines, TextLines
from reprieve.scheduler.core import Scheduler
from reprieve_minicluster.assembly.running_clusters import RunningCluster, entered
from tests.architecture.source import modules
from tests.processes import run_process

# Set the title, clear the screen, forge a line; the one-byte CSI; write from right to left; a surrogate.
HOSTILE = "p\x1b]0;owned\x07\x1b[2J\x9b31mred\u202egnp\u2066\x00\x7f"
QUOTED = json.dumps(HOSTILE)
FILE = HOSTILE.replace("\0", "")


def run(*arguments: str, stdin: str = "") -> str:
    """Everything that the command writes; fails if anything in it is not a printable character."""
    done = CliRunner().invoke(reprieve, arguments, input=stdin)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert_harmless(done.output)
    return done.output


def manifest(kind: str, **parts: Json) -> str:
    return json.dumps({"apiVersion": "v1", "kind": kind, "metadata": {"name": HOSTILE}, **parts})


def assert_harmless(written: str) -> None:
    assert [c for c in written if not c.isprintable() and c != "\n"] == []


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """`up` and `scheduler` set the handlers of the root logger."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REPRIEVE_RUNTIME_DIR", str(tmp_path / "runtime"))
    handlers, level = logging.root.handlers[:], logging.root.level
    yield
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, and naïve: ü 日本 😀", "plain, and naïve: ü 日本 😀"),
        ("\x1b[31m", r"\x1b[31m"),
        ("\x9b", r"\x9b"),
        ("a\nb\tc\r", r"a\nb\tc\r"),
        ("\u202e\u2066\u2028", r"\u202e\u2066\u2028"),
        ("\ud800", r"\ud800"),
        ("\U000e0001", r"\U000e0001"),
    ],
)
def test_control_characters_are_spelled_out(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_demo() -> None:
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    Path("cluster.json").write_text(manifest("Node", status={"allocatable": allocatable}))
    pods = [manifest("Pod", spec={"containers": []}), manifest("Pod", spec={"containers": HOSTILE})]
    Path("pods.json").write_text("\n---\n".join([*pods, manifest(HOSTILE)]))
    written = run("demo", "--cluster", "cluster.json", "-f", "pods.json")
    assert r"p\x1b]0;owned\x07" in written
    assert r"\u202e" in run("demo", "-f", FILE)


def test_replay() -> None:
    with journal_in(Path("journal"), default_configuration(), Gates(), print) as journal:
        assert journal is not None
        machine = Journaled(Scheduler(), journal)
        machine.observe([Seen(a_node("n1", cpu="100")), Synced(), Seen(a_pod(HOSTILE))], on_one_clock(0.0))
        machine.decide(on_one_clock(0.0))
    path = Path("journal/00000001.jsonl")
    path.write_bytes(path.read_bytes().replace(b'"uid":"uid-p', b'"uid":"other', 1))
    assert "differs" in run("replay", "journal")
    assert r"\u202e" in run("replay", FILE)


def test_status() -> None:
    with entered(RunningCluster(os.getpid(), f"https://{HOSTILE}", HOSTILE, HOSTILE, 0.0)):
        assert r"\x1b]0;owned" in run("status")
        assert json.loads(run("status", "-o", "json"))[0]["kubeconfig"] == HOSTILE


def test_check(monkeypatch: pytest.MonkeyPatch) -> None:
    async def checked(*_: object) -> CheckReport:
        return CheckReport(HOSTILE, HOSTILE, (CheckResult("x", Grade.BAD, HOSTILE),))

    monkeypatch.setattr("reprieve.cli.check.checked", checked)
    assert r"\x1b]0;owned" in run("check")
    assert json.loads(run("check", "-o", "json"))["version"] == HOSTILE


def test_config() -> None:
    head = '{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"'
    Path("wrong.json").write_text(f'{head}, {QUOTED}: 1, "profiles": {QUOTED}}}')
    assert r"\x1b]0;owned" in run("config", "validate", "wrong.json")
    Path("right.json").write_text(f'{head}, "profiles": [{{"schedulerName": {QUOTED}}}]}}')
    assert r"\x1b]0;owned" in run("config", "validate", "right.json")
    run("config", "defaults")


def test_up() -> None:
    Path("snapshot.json").write_text(f'{{"kind": {QUOTED}, "metadata": 7}}')
    assert "Error: " in run("up", "--from", "snapshot.json")
    Path("node.json").write_text(f'{{"kind": "Node", "metadata": {{"name": {QUOTED}}}}}')
    assert r"\x1b]0;owned" in run("up", "--shape", "node.json", "--nodes", "1")
    assert r"\x1b]0;owned" in run("up", "--shape", FILE)


def test_an_error_that_is_not_expected() -> None:
    source = (
        "import sys\n"
        "from reprieve.cli import main\n"
        f"def fail(**_): raise RuntimeError({HOSTILE!r})\n"
        "main.reprieve = fail\n"
        "main.main()\n"
    )
    done = run_process([sys.executable, "-c", source])
    assert done.returncode == 1
    assert r"RuntimeError: p\x1b]0;owned\x07" in done.stderr
    assert_harmless(done.stderr)


@pytest.mark.parametrize("formatter", [JsonLines(), TextLines()])
def test_the_log(formatter: logging.Formatter) -> None:
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(formatter)
    log = logging.Logger("x")
    log.addHandler(handler)
    try:
        raise ValueError(HOSTILE)
    except ValueError:
        log.exception("it is %s\nError: forged", HOSTILE, extra={"nodes": (HOSTILE,)})
    assert_harmless(written.getvalue())
    assert not any(line.startswith("Error: forged") for line in written.getvalue().splitlines())


def test_commands_write_in_one_place() -> None:
    """The functions there spell control characters out."""
    writers = {
        str(path)
        for path, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and getattr(node.func, "attr", getattr(node.func, "id", "")) in ("echo", "secho", "print")
    }
    assert writers == {"cli/terminal.py"}
