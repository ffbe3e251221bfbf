"""`reprieve scheduler` with `search: LeastDisturbance`: plans are improved in a process of its own."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from reprieve.model.json import Json
from tests.e2e.daemon import HASTY, UNSERVED, Daemon, daemon, is_running, phase_of, until
from tests.e2e.up import Kubectl, cluster_up, pod

CONFIGURATION = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- pluginConfig:
  - {name: Reprieve, args: {search: LeastDisturbance, planningPatience: 20s}}
"""
OURS = {"schedulerName": "reprieve"}


@pytest.fixture(scope="module")
def kubeconfig() -> Iterator[Path]:
    """Two nodes with 16 cpus each."""
    with cluster_up("--nodes", "2", "--scheduler", "none") as path:
        yield path


def gang(name: str) -> list[Json]:
    """Two members on each node, or three and one: counting each node by itself does not prove the plan."""
    group = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": {"priorityClassName": "urgent", "schedulingPolicy": {"gang": {"minCount": 4}}},
    }
    links = {"schedulingGroup": {"podGroupName": name}, "priorityClassName": "urgent"}
    return [group, *(pod(f"{name}-{i}", "5", **links, **OURS) for i in range(4))]


def workers(running: Daemon) -> list[int]:
    """The processes in which the daemon has plans improved."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((process / "stat").read_text().rpartition(")")[2].split()[1])
            command = (process / "cmdline").read_bytes()
        except OSError:
            continue  # it has just ended
        if parent == running.process.pid and b"solver_program" in command:
            found.append(int(process.name))
    return found


def test_a_plan_is_improved_by_a_worker_that_ends_with_the_daemon(kubectl: Kubectl, tmp_path: Path) -> None:
    urgent = {"kind": "PriorityClass", "metadata": {"name": "urgent"}, "value": 1000}
    kubectl.apply({"apiVersion": "scheduling.k8s.io/v1", **urgent})
    written = tmp_path / "config.yaml"
    written.write_text(CONFIGURATION)
    flags = ("--config", str(written), *HASTY, *UNSERVED)
    with daemon(tmp_path / "log", kubectl.kubeconfig, *flags) as running:
        running.begins()
        kubectl.apply(*(pod(f"humble-{i}", "4", **OURS) for i in range(8)))
        until(lambda: all(is_running(kubectl, f"humble-{i}") for i in range(8)))
        assert workers(running) == []
        kubectl.apply(*gang("train"))
        until(lambda: running.says(f"PodGroup {kubectl.namespace}/train: ImprovesPlan"))
        until(lambda: all(is_running(kubectl, f"train-{i}") for i in range(4)))
        assert [phase_of(kubectl, f"humble-{i}") for i in range(8)].count("") == 6
        (worker,) = workers(running)
        assert running.ends(signal.SIGTERM) == 0
    until(lambda: not Path(f"/proc/{worker}").exists())
