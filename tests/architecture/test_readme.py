"""Every command in the READMEs works as it is written there."""

import os
import sys
from pathlib import Path

import pytest

from reprieve.model.effects import Target
from reprieve.scheduler.reporting.preemption_notes import AnnouncedPreemptor, AnnouncedVictims, preempting
from tests.architecture.source import ROOT, code_blocks
from tests.processes import run_process

WHATIF = "reprieve whatif --from docs/examples/cluster.yaml -f docs/examples/inference.yaml"
UP = (
    "told=$(mktemp); reprieve up > $told & "
    "until grep -q 'get nodes' $told || ! kill -0 $!; do sleep 0.1; done; "
)
OWN = "export REPRIEVE_RUNTIME_DIR=$(mktemp -d); "
# What a target of make does is run here without make: the environment is the one the tests have.
INSTEAD = {
    WHATIF: f"{WHATIF}; test $? = 10",  # it preempts
    "make test": "make --dry-run test",
    "make demo": "make --dry-run demo && reprieve demo --no-input",
    ".venv/bin/reprieve up": f"{UP}kill $!; wait $!",
    "reprieve up": f"{UP}kill $!; wait $!",
    # They are typed while a cluster runs: the one that is started here, and no other.
    "reprieve status": f"{OWN}{UP}reprieve status | grep https://; found=$?; kill $!; wait $!; exit $found",
    "reprieve down": f"{OWN}{UP}reprieve down || kill $!; wait $!",
}
MINI_CLUSTER = ROOT / "packages" / "reprieve-minicluster" / "README.md"


def commands(page: Path = ROOT / "README.md") -> list[str]:
    """The commands of a README, without prompts and remarks."""
    lines = "\n".join(code_blocks(page, "sh")).splitlines()
    typed = "\n".join(code_blocks(page, "console")).splitlines()  # among what is printed
    lines += [line.removeprefix("$ ") for line in typed if line.startswith("$ ")]
    written = (line.partition(" #")[0].strip() for line in lines)
    return [command for command in written if command]


def test_the_readme_opens_with_the_two_commands() -> None:
    assert commands()[:2] == ["make demo", "make test"]


def test_the_event_in_the_readme_reads_as_events_do() -> None:
    victims = tuple(Target("Pod", "default", name, name) for name in ("sweep-0", "sweep-1"))
    gang = AnnouncedPreemptor(Target("PodGroup", "default", "train", "uid"), 1000, "d-c20385109b")
    event = preempting(gang, AnnouncedVictims(victims, dict.fromkeys(victims, "gpu-0"), {}, ()))
    assert event is not None
    assert f"podgroup/train   {event.note}\n" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("command", [*commands(), *commands(MINI_CLUSTER)])
def test_a_command_of_the_readme_works(command: str) -> None:
    tools = str(Path(sys.executable).parent)
    run = INSTEAD.get(command, command).replace(".venv/bin/", "")
    environment = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    done = run_process(run, shell=True, cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stderr
