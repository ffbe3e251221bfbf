"""`reprieve scheduler` in real processes, with a cluster that has no scheduler of its own."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.daemon import HASTY, UNSERVED, Daemon, daemon, is_running, phase_of, refused, until
from tests.e2e.up import Kubectl, cluster_up, kubeconfig_in, pod, process_of

FLAGS = (*HASTY, *UNSERVED)
OURS = {"schedulerName": "reprieve"}
URGENT = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "urgent"},
    "value": 1000,
}


@pytest.fixture(scope="module")
def kubeconfig() -> Iterator[Path]:
    """One node with 16 cpus."""
    with cluster_up("--nodes", "1", "--scheduler", "none", "--user", "alice") as path:
        yield path


@pytest.fixture
def owner(kubectl: Kubectl) -> Iterator[Kubectl]:
    """Leaves the node as empty as it was."""
    kubectl.apply(URGENT)
    yield kubectl
    kubectl("delete", "pods", "--all", "--wait=true", "--now")


def holder(kubectl: Kubectl) -> str:
    return kubectl("-n", "kube-system", "get", "lease", "reprieve", "-o", "jsonpath={.spec.holderIdentity}")


def reasons(kubectl: Kubectl, name: str) -> list[str]:
    items = kubectl.get("events", "--field-selector", f"involvedObject.name={name}")["items"]
    return [item["reason"] for item in items]


def test_pods_are_bound_and_a_preemption_outlives_a_kill(owner: Kubectl, tmp_path: Path) -> None:
    with daemon(tmp_path / "first", owner.kubeconfig, *FLAGS) as first:
        first.begins()
        owner.apply(pod("humble", "10", **OURS))
        until(lambda: is_running(owner, "humble"))
        owner.apply(pod("urgent", "10", priorityClassName="urgent", **OURS))
        until(lambda: first.says(f"Pod {owner.namespace}/urgent: Preempts"))
        first.ends(signal.SIGKILL)
    with daemon(tmp_path / "second", owner.kubeconfig, *FLAGS) as second:
        second.begins()
        until(lambda: is_running(owner, "urgent"))
        assert phase_of(owner, "humble") == ""
        owner.apply(pod("late", "1", **OURS))
        until(lambda: is_running(owner, "late"))
        assert second.ends() == 0
        assert holder(owner) == "", "a graceful shutdown lets the next replica lead at once"


def test_another_replica_goes_on_when_the_leader_is_killed(owner: Kubectl, tmp_path: Path) -> None:
    with (
        daemon(tmp_path / "one", owner.kubeconfig, *FLAGS) as one,
        daemon(tmp_path / "two", owner.kubeconfig, *FLAGS) as two,
    ):
        until(lambda: one.says("scheduling begins") or two.says("scheduling begins"))
        leader, other = (one, two) if one.says("scheduling begins") else (two, one)
        assert not other.says("leads")
        leader.ends(signal.SIGKILL)
        owner.apply(pod("late", "1", **OURS))
        until(lambda: is_running(owner, "late"))
        assert other.says(f"Pod {owner.namespace}/late: Placed")


def test_a_leader_that_was_stopped_for_long_writes_nothing_more(owner: Kubectl, tmp_path: Path) -> None:
    with daemon(tmp_path / "one", owner.kubeconfig, *FLAGS) as one:
        one.begins()
        one.process.send_signal(signal.SIGSTOP)
        with daemon(tmp_path / "two", owner.kubeconfig, *FLAGS) as two:
            two.begins()
            one.process.send_signal(signal.SIGCONT)
            assert one.process.wait(30) == 1
            assert "another replica may lead now" in one.log.read_text()
            owner.apply(pod("late", "1", **OURS))
            until(lambda: is_running(owner, "late"))
            assert two.says("late: Placed")


def test_pods_of_other_schedulers_are_load_and_left_alone(owner: Kubectl, tmp_path: Path) -> None:
    with daemon(tmp_path / "log", owner.kubeconfig, *FLAGS) as running:
        running.begins()
        node = owner.names("nodes")[0]
        owner.apply(pod("theirs", "10", nodeName=node), pod("waits", "1"), pod("large", "10", **OURS))
        until(lambda: "FailedScheduling" in reasons(owner, "large"))
        owner.apply(pod("small", "5", **OURS))
        until(lambda: is_running(owner, "small"))
        assert phase_of(owner, "waits") == "Pending"
        assert reasons(owner, "waits") == []
        assert not running.says("/waits")


def test_several_profiles_are_several_names(owner: Kubectl, tmp_path: Path) -> None:
    written = tmp_path / "config.yaml"
    written.write_text(
        "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration, "
        "profiles: [{schedulerName: one}, {schedulerName: two}]}"
    )
    with daemon(tmp_path / "log", owner.kubeconfig, "--config", str(written), *FLAGS) as running:
        running.begins()
        names = {"a": "one", "b": "two", "c": "reprieve", "d": "default-scheduler"}
        owner.apply(*(pod(name, "1", schedulerName=scheduler) for name, scheduler in names.items()))
        until(lambda: is_running(owner, "a") and is_running(owner, "b"))
        assert [phase_of(owner, name) for name in "cd"] == ["Pending", "Pending"]


def test_it_ends_in_time_though_the_server_is_silent(home: Path, tmp_path: Path) -> None:
    with silenced(home, tmp_path) as running:
        began = time.monotonic()
        assert running.ends() == 0
        assert time.monotonic() - began < 10, "what is under way has five seconds, and the lease two"


def test_a_second_signal_exits_at_once(home: Path, tmp_path: Path) -> None:
    with silenced(home, tmp_path) as running:
        running.process.send_signal(signal.SIGTERM)
        time.sleep(1.2)
        assert running.ends() == 1


@contextmanager
def silenced(home: Path, tmp_path: Path) -> Iterator[Daemon]:
    """A scheduler whose server stops answering without closing the connection."""
    with process_of("--nodes", "1", "--scheduler", "none") as server:
        assert server.stdout is not None
        kubectl = Kubectl(kubeconfig_in(server.stdout), home)
        with daemon(tmp_path / "log", kubectl.kubeconfig, *UNSERVED) as running:
            running.begins()
            kubectl.apply(pod("a", "1", **OURS))
            until(lambda: running.says("default/a: Placed"))
            server.send_signal(signal.SIGSTOP)
            yield running


# --- what keeps it from its work -------------------------------------------------------------------


def test_every_error_of_a_configuration_is_reported(tmp_path: Path) -> None:
    written = tmp_path / "config.yaml"
    written.write_text(
        "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration, "
        "paralelism: 3, podMaxBackoffSeconds: many}"
    )
    done = refused("--config", str(written))
    assert done.returncode == 2
    assert f'{written}: paralelism: unknown field (did you mean "parallelism"?)' in done.stderr
    assert f"{written}: podMaxBackoffSeconds: expected a whole number" in done.stderr


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("--feature-gates", "Gangs=true"), "feature gate Gangs: unknown"),
        (("--leader-elect-lease-duration", "1s"), "leaderElection.leaseDuration: expected more than"),
        (("--tls-cert-file", "x"), "--tls-cert-file and --tls-private-key-file: expected both or none"),
        (("--config", "/nowhere"), "/nowhere: cannot be read: no such file or directory"),
        (("-v", "much"), '-v, --v: expected a whole number, got "much"'),
    ],
)
def test_wrong_usage_is_reported_in_a_sentence(flags: tuple[str, ...], told: str) -> None:
    done = refused(*flags)
    assert done.returncode in (1, 2)
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    nowhere = tmp_path / "kubeconfig"
    nowhere.write_text(
        "{current-context: c, contexts: [{name: c, context: {cluster: c}}], "
        "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]}"
    )
    done = refused("--kubeconfig", str(nowhere))
    assert done.returncode == 1
    assert "Error: http://127.0.0.1:1 cannot be reached" in done.stderr
    assert "Traceback" not in done.stderr


def test_missing_rights_are_named(owner: Kubectl, tmp_path: Path) -> None:
    hers = tmp_path / "kubeconfig"
    hers.write_text(owner("config", "view", "--raw", "--flatten"))
    Kubectl(hers, owner.home)("config", "use-context", "alice")
    done = refused(env={**os.environ, "KUBECONFIG": str(hers)})
    assert done.returncode == 1
    assert "Error: the server does not allow Reprieve to list pods, watch pods" in done.stderr
