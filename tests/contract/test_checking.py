"""Can it be the scheduler of this cluster? What is found out about versions, kinds, gates and rights."""

from pathlib import Path

import pytest
import yaml

from reprieve.assembly.checking import Finding, Grade, Report, check
from reprieve.assembly.daemon import DaemonError
from reprieve.config.configuration import KIND
from reprieve.config.plugin_args import API_VERSION
from reprieve.runtime.virtual_time import clock, run
from tests.contract.http import TOKEN, living_cluster

NOTHING_WRITTEN = {"apiVersion": API_VERSION, "kind": KIND}
TREES = "TopologyAwareWorkloadScheduling=true,CompositePodGroup=true"


def report(tmp_path: Path, gates: str = "", token: str = TOKEN) -> Report:
    async def main() -> Report:
        async with living_cluster(clock) as operator:
            path = tmp_path / "kubeconfig"
            path.write_text(kubeconfig(operator.access.server, token))
            return await check(NOTHING_WRITTEN, gates, str(path), "here")

    return run(main())


def kubeconfig(server: str, token: str) -> str:
    return yaml.safe_dump(
        {
            "clusters": [{"name": "here", "cluster": {"server": server}}],
            "users": [{"name": "me", "user": {"token": token}}],
            "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
        }
    )


def test_the_owner_of_a_cluster_can(tmp_path: Path) -> None:
    found = report(tmp_path)
    assert found.can_schedule
    assert Finding("Version", Grade.GOOD, found.version) in found.findings
    assert Finding("Kind", Grade.GOOD, "PodGroup in scheduling.k8s.io/v1beta1") in found.findings
    assert Finding("Lease", Grade.GOOD, "lease kube-system/reprieve: free") in found.findings


def test_gates_that_are_of_no_use_are_told(tmp_path: Path) -> None:
    useless = Finding(
        "Gate", Grade.WARNING, "CompositePodGroup is on, and the server has no CompositePodGroup"
    )
    assert useless in report(tmp_path, TREES).findings
    assert [f for f in report(tmp_path).findings if f.code == "Gate"] == []


def test_whoever_is_not_let_in_is_told(tmp_path: Path) -> None:
    with pytest.raises(DaemonError, match="does not accept our credentials"):
        report(tmp_path, token="forged")


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(kubeconfig("http://127.0.0.1:1", "x"))
    with pytest.raises(DaemonError, match="cannot be reached"):
        run(check(NOTHING_WRITTEN, "", str(path), "here"))
