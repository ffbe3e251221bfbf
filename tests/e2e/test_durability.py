"""What was acknowledged is there again, whenever the process was killed, and on a full disk, too."""

import json
import random
import resource
import signal
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import settings

from reprieve.model.json import Json
from reprieve_minicluster.store import SqliteBackend, Store, parsed
from tests.e2e.up import Kubectl, cluster_killed, cluster_up, deployment, kubeconfig_in, process_of
from tests.processes import started

# Each directory sees a few deaths, one after the other.
DIRECTORIES = range(10 if settings().derandomize else 200)
DEATHS = 5
SMALL = 400_000  # bytes that a file may have in a directory whose disk is full


def killed(directory: Path, seed: int, room: int) -> list[str]:
    """What the writer had said when it was killed, some writes after its start."""
    command = [sys.executable, "-m", "tests.e2e.writer", str(directory), str(seed), str(room)]
    with started(command, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        said = list(islice(writer.stdout, random.Random(seed).randrange(1, 150)))
        writer.kill()
        said += writer.stdout
    return [line.rstrip("\n") for line in said if line.endswith("\n")]


def held(directory: Path) -> tuple[int, dict[str, str]]:
    backend = SqliteBackend(directory)
    store = Store(time.time, backend=backend)
    there = [parsed(item) for item in store.list(("configmaps",)).items]
    backend.close()
    return store.version, {body["metadata"]["name"]: body["data"]["number"] for body in there}


@pytest.mark.parametrize("number", DIRECTORIES)
def test_nothing_that_was_acknowledged_is_missing(number: int, tmp_path: Path) -> None:
    expected: dict[str, str] = {}
    room = SMALL if number % 3 == 0 else 0
    refused = 0
    for death in range(DEATHS):
        before = held(tmp_path)[0]
        last = before
        for line in killed(tmp_path, number * DEATHS + death, room):
            version, name, *value = line.split(" ")
            if name == "refused":
                refused += 1
                continue
            last = int(version)
            expected[name] = value[0]
        version_now, there = held(tmp_path)
        assert version_now in (last, last + 1)  # one more may have been made, and not said
        if version_now == last:
            assert there == {name: value for name, value in expected.items() if value}
        expected = there
        assert version_now >= before
    assert bool(refused) == bool(room)


def raw_pods(kubectl: Kubectl) -> Json:
    found: Json = json.loads(kubectl("get", "--raw", "/api/v1/namespaces/default/pods"))
    return found


def uids(listed: Json) -> list[str]:
    return [item["metadata"]["uid"] for item in listed["items"]]


def test_a_cluster_goes_on_after_its_death(home: Path, tmp_path: Path) -> None:
    """With the same address, token and certificate: existing kubeconfigs keep working."""
    data = tmp_path / "data"
    with cluster_killed("--nodes", "2", "--data-dir", str(data)) as kubeconfig:
        kubectl = Kubectl(kubeconfig, home)
        kubectl.apply(deployment("web"))
        kubectl("rollout", "status", "deployment/web", "--timeout=20s")
        access = kubeconfig.read_text()
        before = raw_pods(kubectl)
    with cluster_up("--nodes", "7", "--data-dir", str(data)) as again:
        assert again == kubeconfig
        assert again.read_text() == access
        after = raw_pods(kubectl)
        assert [p["metadata"]["uid"] for p in after["items"]] == [
            p["metadata"]["uid"] for p in before["items"]
        ]
        assert int(after["metadata"]["resourceVersion"]) >= int(before["metadata"]["resourceVersion"])
        assert len(kubectl.names("nodes")) == 2  # it goes on with what it has
        kubectl("scale", "deployment/web", "--replicas=3")
        kubectl("rollout", "status", "deployment/web", "--timeout=20s")
    assert {path.name for path in data.iterdir()} >= {"cluster.db", "kubeconfig"}


def test_a_cluster_starts_on_a_full_disk_and_goes_on_when_there_is_room(home: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    with cluster_killed("--nodes", "1", "--data-dir", str(data)) as kubeconfig:
        Kubectl(kubeconfig, home)("create", "configmap", "before")
    room = max(file.stat().st_size for file in data.iterdir())
    with process_of("--nodes", "1", "--data-dir", str(data), room=room) as process:
        assert process.stdout is not None
        kubectl = Kubectl(kubeconfig_in(process.stdout), home)
        assert "before" in kubectl.names("configmaps")
        ballast = f"--from-literal=x={'z' * 100_000}"
        assert "could not be stored" in kubectl.run("create", "configmap", "large", ballast).stderr
        assert "[-]storage failed" in kubectl.run("get", "--raw", "/readyz").stderr
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert kubectl("get", "--raw", "/readyz") == "ok"
        kubectl("create", "configmap", "large", ballast)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=30)
    assert process.returncode == 0, told
    assert "the cluster is read-only" in told
    assert "can be written again" in told
