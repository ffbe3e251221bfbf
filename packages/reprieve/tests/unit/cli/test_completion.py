"""Shells complete commands and flags, and import no command for a list of names."""

import sys
import tomllib
from pkgutil import resolve_name

import pytest

from reprieve.cli.kubectl_completion import completion_lines
from reprieve.cli.main import COMMANDS
from tests.architecture.source import ROOT
from tests.processes import run_process


def completed_by_bash(*words: str) -> list[str]:
    environment = {"_REPRIEVE_COMPLETE": "bash_complete", "COMP_WORDS": " ".join(words)}
    environment["COMP_CWORD"] = str(len(words) - 1)
    return asked_of_click(environment).splitlines()


def asked_of_click(environment: dict[str, str]) -> str:
    source = "from reprieve.cli.main import main; import sys; sys.argv[0] = 'reprieve'; main()"
    command, path = [sys.executable, "-c", source], {"PYTHONPATH": ":".join(sys.path)}
    done = run_process(command, env={**environment, **path})
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_there_is_a_script_for_every_shell(shell: str) -> None:
    # click runs bash itself to see how old it is
    script = asked_of_click({"_REPRIEVE_COMPLETE": f"{shell}_source", "PATH": "/usr/bin:/bin"})
    assert "_REPRIEVE_COMPLETE=" in script


def test_bash_completes_a_command() -> None:
    assert completed_by_bash("reprieve", "expo") == ["plain,exposure"]


def test_bash_completes_a_flag() -> None:
    assert completed_by_bash("reprieve", "exposure", "--at-p") == ["plain,--at-priority"]


def test_bash_completes_nothing_after_a_command_that_is_mistyped() -> None:
    assert completed_by_bash("reprieve", "expsoure", "--at-p") == [""]


def test_names_of_commands_need_no_import_of_commands() -> None:
    source = (
        "import sys\n"
        "from reprieve.cli.kubectl_completion import completion_lines\n"
        "completion_lines([''])\n"
        "print([name for name in ('numpy', 'aiohttp', 'msgspec', 'yaml') if name in sys.modules])\n"
    )
    done = run_process([sys.executable, "-c", source], check=True)
    assert done.stdout == "[]\n"


def test_kubectl_gets_every_command_with_its_line() -> None:
    lines = completion_lines([""])
    assert lines == [*(f"{name}\t{line}" for name, line in COMMANDS.items()), ":4"]


def test_kubectl_gets_a_choice() -> None:
    assert completion_lines(["exposure", "-o", "w"]) == ["wide", ":4"]


def test_kubectl_completes_files_by_itself() -> None:
    assert completion_lines(["exposure", "--from", "clus"]) == [":0"]


def test_the_wheel_installs_what_kubectl_looks_for() -> None:
    scripts = tomllib.loads((ROOT / "packages/reprieve/pyproject.toml").read_text())["project"]["scripts"]
    assert {"reprieve", "kubectl-reprieve", "kubectl_complete-reprieve"} == scripts.keys()
    assert all(callable(resolve_name(target)) for target in scripts.values())
