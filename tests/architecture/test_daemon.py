"""The daemon loads what it runs: no mini cluster, and none of the rules that its API server applies.

The import contract reads the source. This starts an interpreter, which also loads what is imported by name.
"""

import sys

import pytest

from tests.processes import run_process

COMMAND = "reprieve.cli.scheduler"
MODULES = "reprieve.assembly.daemon, reprieve.assembly.endpoints, reprieve.assembly.trust"
ELSEWHERE = ("reprieve_minicluster", "reprieve.cluster.admission")


def loaded_by(imports: str) -> list[str]:
    """The modules of this package that an interpreter has loaded after these imports."""
    told = f"import sys, {imports}\nprint(*(name for name in sys.modules if name.startswith('reprieve')))"
    done = run_process([sys.executable, "-c", told], check=True)
    return done.stdout.split()


def outside(modules: list[str]) -> list[str]:
    return [name for name in modules if name.startswith(ELSEWHERE)]


@pytest.mark.parametrize("imports", [COMMAND, MODULES])
def test_the_daemon_loads_no_other_side(imports: str) -> None:
    loaded = loaded_by(imports)
    assert "reprieve.cluster.kube.cluster" in loaded
    assert outside(loaded) == []


@pytest.mark.parametrize("imports", [COMMAND, MODULES])
def test_the_daemon_loads_no_solver_before_it_needs_one(imports: str) -> None:
    told = f"import sys, {imports}\nprint('highspy' in sys.modules)"
    done = run_process([sys.executable, "-c", told], check=True)
    assert done.stdout == "False\n"


def test_a_module_of_another_side_is_found() -> None:
    loaded = outside(loaded_by("reprieve_minicluster.assembly.mini_cluster"))
    assert {"reprieve_minicluster.cluster", "reprieve.cluster.admission.admission"} <= set(loaded)
