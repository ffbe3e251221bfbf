"""The overview of commands is cheap, and speaks as it was spoken to."""

import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from reprieve.cli.main import COMMANDS, LazyGroup, called_as, reprieve
from reprieve.preemption.policy import BudgetCounting
from reprieve.preemption.searches import SEARCHES
from tests.processes import run_process, started

BIN = Path(sys.executable).parent
QUESTIONS = ("whatif", "plan", "why", "decisions", "exposure", "snapshot")


def call(*arguments: str) -> subprocess.CompletedProcess[str]:
    return run_process([BIN / arguments[0], *arguments[1:]])


def imported_by_help(*command: str) -> list[str]:
    source = (
        "import sys\n"
        "from reprieve.cli.main import reprieve\n"
        f"reprieve({[*command, '--help']}, standalone_mode=False)\n"
        "print(*(name for name in ('numpy', 'aiohttp', 'msgspec', 'yaml') if name in sys.modules))\n"
    )
    done = run_process([sys.executable, "-c", source], check=True)
    return done.stdout.splitlines()[-1].split()


def test_help_imports_nothing_heavy() -> None:
    assert imported_by_help() == []


@pytest.mark.parametrize("command", [name for name in COMMANDS if name in QUESTIONS])
def test_the_help_of_a_question_imports_neither_numpy_nor_aiohttp(command: str) -> None:
    """Their help is read more often than they run, and completion loads them at every key."""
    assert not {"numpy", "aiohttp"} & set(imported_by_help(command))


def test_help_lists_every_command() -> None:
    shown = call("reprieve", "--help").stdout
    width = max(map(len, COMMANDS))
    assert all(f"  {name:{width}}  {line}" in shown for name, line in COMMANDS.items())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_where_the_overview_says(name: str) -> None:
    assert isinstance(reprieve, LazyGroup)
    command = reprieve.get_command(reprieve.make_context("reprieve", [name]), name)
    assert command is not None
    assert command.name == name


@pytest.mark.parametrize(
    ("script", "words"), [("reprieve", "reprieve"), ("kubectl-reprieve", "kubectl reprieve")]
)
def test_help_uses_the_name_it_was_called_by(script: str, words: str) -> None:
    assert call(script, "--help").stdout.startswith(f"Usage: {words} ")
    assert call(script, "demo", "--help").stdout.startswith(f"Usage: {words} demo ")


def test_a_path_before_the_name_makes_no_difference() -> None:
    assert called_as("/usr/local/bin/kubectl-reprieve") == "kubectl reprieve"
    assert called_as("/opt/kubectl-reprieve/bin/reprieve") == "reprieve"


def test_version() -> None:
    assert call("reprieve", "--version").stdout == f"reprieve {version('reprieve')}\n"


def test_an_unknown_command_is_wrong_usage() -> None:
    done = call("reprieve", "dmeo")
    assert done.returncode == 2
    assert "dmeo" in done.stderr
    assert done.stdout == ""


def test_a_mistyped_command_gets_a_suggestion() -> None:
    done = call("reprieve", "stauts")
    assert (done.returncode, done.stdout) == (2, "")
    assert 'Error: stauts: no such command (did you mean "status"?)' in done.stderr


@pytest.mark.parametrize("lines", [1, 12], ids=["at once", "in the middle of a scene"])
def test_a_reader_that_is_gone_ends_a_command_quietly(lines: int) -> None:
    command = [str(BIN / "reprieve"), "demo", "--no-input", "--scene", "gang"]
    with started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        for _ in range(lines):
            process.stdout.readline()
        process.stdout.close()
        complaint = process.stderr.read()
    assert (process.returncode, complaint) == (1, "")


def test_the_help_of_whatif_names_every_search_and_every_way_to_count_budgets() -> None:
    words = set(re.findall(r"\w+", call("reprieve", "whatif", "--help").stdout))
    assert {*SEARCHES, *map(str, BudgetCounting)} <= words
