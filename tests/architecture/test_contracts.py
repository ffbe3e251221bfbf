"""The import contracts hold for modules that do not exist yet: a tree that breaks each is refused."""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.architecture.source import ROOT

# One offence for each contract, and the empty modules that they reach for.
OFFENCES = {
    "model/objects.py": "from reprieve.placement import place",
    "cluster/kube/client.py": "from reprieve.cluster.mini import store",
    "cluster/kube/requests.py": "from reprieve.cluster.apiserver import admission",
    "cluster/port.py": "from reprieve.placement import place",
    "preemption/toleration.py": "from reprieve.preemption import units",
    "scheduler/core.py": "from time import sleep",
    "scheduler/ledger/assumed.py": "from reprieve.scheduler import world",
    "report/why.py": "from reprieve.scheduler import core",
    "cli/up.py": "from reprieve.cluster.mini import store",
    "runtime/loop.py": "from reprieve.config import gates",
}
ALLOWED = {
    "assembly/mini_cluster.py": "from reprieve.cluster.mini import store\nfrom reprieve.config import gates",
    "cluster/mini/cluster.py": "from reprieve.cluster.apiserver import admission",
    "cluster/apiserver/admission.py": "from reprieve.cluster.api import codec",
    "report/whatif.py": "from reprieve.scheduler import decision",
    "cli/config.py": "from reprieve.config import gates",
}
EMPTY = [
    "assembly/daemon.py",
    "cli/scheduler.py",
    "cluster/api/codec.py",
    "cluster/mini/store.py",
    "config/gates.py",
    "placement/place.py",
    "preemption/resize.py",
    "preemption/units.py",
    "scheduler/decision.py",
    "scheduler/handover.py",
    "scheduler/plans.py",
    "scheduler/state.py",
    "scheduler/world.py",
]


def lint(tree: Path, files: dict[str, str]) -> dict[str, bool]:
    """Which contracts are kept, by name, in a package made of these files."""
    for name, text in {**dict.fromkeys(EMPTY, ""), **files}.items():
        path = tree / "reprieve" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        for folder in path.relative_to(tree).parents[:-1]:
            (tree / folder / "__init__.py").touch()
    shutil.copy(ROOT / "pyproject.toml", tree)
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
    return {name: f"{name} KEPT" in done.stdout for name in contract_names()}


def contract_names() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return [contract["name"] for contract in project["tool"]["importlinter"]["contracts"]]


def test_each_contract_can_be_broken(tmp_path: Path) -> None:
    assert lint(tmp_path, {**OFFENCES, **ALLOWED}) == dict.fromkeys(contract_names(), False)


def test_what_the_arrows_allow_is_allowed(tmp_path: Path) -> None:
    innocent = dict.fromkeys(OFFENCES, "")
    assert lint(tmp_path, {**innocent, **ALLOWED}) == dict.fromkeys(contract_names(), True)
