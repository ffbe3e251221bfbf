"""The import contracts hold for modules that do not exist yet: a tree that breaks each is refused."""

import sys
import tomllib
from pathlib import Path

import pytest

from tests.architecture.source import ROOT
from tests.processes import run_process

# One offence for each contract of a distribution.
OFFENCES = {
    "reprieve": {
        "reprieve/model/objects.py": "from reprieve.placement import place",
        "reprieve/cluster/kube/client.py": "from reprieve_minicluster import store",
        "reprieve/cluster/kube/requests.py": "from reprieve.cluster.admission import admission",
        "reprieve/cluster/port.py": "from reprieve.placement import place",
        "reprieve/preemption/toleration.py": "from reprieve.preemption import eviction_limit",
        "reprieve/scheduler/core.py": "from time import sleep",
        "reprieve/scheduler/ledger/assumed.py": "from reprieve.scheduler.mirror import world",
        "reprieve/report/why.py": "from reprieve.scheduler import core",
        "reprieve/cli/page.py": "from reprieve.cluster.kube import watch",
        "reprieve/runtime/loop.py": "from reprieve.config import gates",
        "reprieve/cli/why.py": "from reprieve.testing import contract",
    },
    "reprieve-minicluster": {
        "reprieve_minicluster/cluster.py": "from reprieve_minicluster.commands import up",
        "reprieve_minicluster/rest/server.py": "from reprieve.scheduler import core",
    },
    "reprieve-study": {
        "reprieve_study/cell.py": "from reprieve_minicluster import store",
    },
}
ALLOWED = {
    "reprieve": {
        "reprieve/assembly/daemon.py": "from reprieve.cluster.kube import watch",
        "reprieve/cluster/admission/admission.py": "from reprieve.cluster.api import codec",
        "reprieve/report/whatif.py": "from reprieve.scheduler.reporting import decision",
        "reprieve/cli/config.py": "from reprieve.config import gates",
    },
    "reprieve-minicluster": {
        "reprieve_minicluster/assembly/mini_cluster.py": "from reprieve.scheduler import core",
        "reprieve_minicluster/cluster.py": "from reprieve.cluster.admission import admission",
    },
    "reprieve-study": {
        "reprieve_study/studies.py": "from reprieve.scheduler import core",
    },
}


def lint(tree: Path, distribution: str, files: dict[str, str]) -> dict[str, bool]:
    """Which contracts are kept, by name, by packages whose modules are empty, or those of these files."""
    for package in ROOT.glob("packages/*/src"):
        for module in package.rglob("*.py"):
            path = tree / module.relative_to(package)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
    for name, text in files.items():
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    project = ROOT / "packages" / distribution / "pyproject.toml"
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache", "--config", str(project)]
    done = run_process(command, cwd=tree)
    contracts = tomllib.loads(project.read_text())["tool"]["importlinter"]["contracts"]
    names = [contract["name"] for contract in contracts]
    assert all(f"{name} KEPT" in done.stdout or f"{name} BROKEN" in done.stdout for name in names), (
        done.stdout
    )
    return {name: f"{name} KEPT" in done.stdout for name in names}


@pytest.mark.parametrize("distribution", OFFENCES)
def test_each_contract_can_be_broken(tmp_path: Path, distribution: str) -> None:
    found = lint(tmp_path, distribution, {**ALLOWED[distribution], **OFFENCES[distribution]})
    assert found == dict.fromkeys(found, False)


@pytest.mark.parametrize("distribution", OFFENCES)
def test_what_the_arrows_allow_is_allowed(tmp_path: Path, distribution: str) -> None:
    found = lint(tmp_path, distribution, ALLOWED[distribution])
    assert found == dict.fromkeys(found, True)
