"""Every command in the READMEs works as it is written there."""

import os
import sys
from pathlib import Path

import pytest

from tests.architecture.source import ROOT, code_blocks
from tests.processes import run_process

WHATIF = ".venv/bin/reprieve whatif --from docs/examples/cluster.yaml -f docs/examples/inference.yaml"
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


def test_the_readme_is_two_screens_and_ends_with_three_doors() -> None:
    lines = (ROOT / "README.md").read_text().splitlines()
    assert len(lines) <= 65
    assert [line for line in lines if line.startswith("## ")] == ["## Try it", "## Ask it", "## Run it"]
    assert not any(line.startswith(("- ", "* ")) for line in lines), "features are a table in why-reprieve.md"
    picture = next(i for i, line in enumerate(lines) if line.startswith("!["))
    assert picture < next(i for i, line in enumerate(lines) if line.startswith("|"))


Comparison = dict[str, dict[str, str]]


def comparison() -> Comparison:
    """By feature and project, what the page about other projects says."""
    page = (ROOT / "docs" / "concepts" / "why-reprieve.md").read_text()
    lines = [line for line in page.splitlines() if line.startswith("|")]
    (header, _, *rows) = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {row[0]: dict(zip(header[1:], row[1:], strict=True)) for row in rows}


@pytest.mark.parametrize(
    ("feature", "project", "said"),
    [
        ("A gang preempts", "kube-scheduler", "off by default"),
        ("A group is preempted whole", "kube-scheduler", "the same gate"),
        ("A gang preempts", "Kueue", "by quota"),
        ("A victim is protected from preemptors", "Kueue", "`maxPriorityThreshold`"),
        ("Eviction calls", "Volcano", "yes"),
        ("Pods above the minimum", "Reprieve", "yes, then the others"),
        ("A decision can be replayed", "Reprieve", "not after the first of its eight files is removed"),
        ("Nodes that are compared", "kube-scheduler", "all for a gang"),
        ("Devices", "kube-scheduler", "no pod is evicted for a device"),
        ("A delay before it preempts", "KAI", "**yes**"),
        ("Integrations", "Kueue", "**yes**"),
        ("Quotas", "Reprieve", "no"),
    ],
)
def test_others_are_compared_as_they_are(feature: str, project: str, said: str) -> None:
    """What a reader who knows the others found wrong."""
    (row,) = (cells for name, cells in comparison().items() if name.startswith(feature))
    assert said in row[project]


@pytest.mark.parametrize("command", [*commands(), *commands(MINI_CLUSTER)])
def test_a_command_of_the_readme_works(command: str) -> None:
    tools = str(Path(sys.executable).parent)
    run = INSTEAD.get(command, command).replace(".venv/bin/", "")
    environment = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    done = run_process(run, shell=True, cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stderr
