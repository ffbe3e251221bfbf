"""`reprieve up` in a process of its own, and kubectl to talk to it."""

import json
import os
import resource
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from reprieve.model.json import Json
from tests.e2e.install_kubectl import HERE, OLDEST, version_of
from tests.processes import started

REPRIEVE = str(Path(sys.executable).with_name("reprieve"))
PATIENCE = 30


@contextmanager
def cluster_up(*flags: str) -> Iterator[Path]:
    """The kubeconfig of a cluster that lives as long as the context; it must end well."""
    with process_of(*flags) as process:
        assert process.stdout is not None
        try:
            yield kubeconfig_in(process.stdout)
        finally:
            process.send_signal(signal.SIGINT)
            _, told = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, told
        assert "Traceback" not in told


@contextmanager
def cluster_killed(*flags: str) -> Iterator[Path]:
    """The same, for a cluster that does not end well."""
    with process_of(*flags) as process:
        assert process.stdout is not None
        yield kubeconfig_in(process.stdout)


@contextmanager
def process_of(*flags: str, room: int = 0) -> "Iterator[subprocess.Popen[str]]":
    """However it ends, nothing stays. ``room``: bytes that a file may have, if the disk is full."""
    command = [REPRIEVE, "up", "--shape", "cpu16", "--speed", "30", "--job-seconds", "3600", *flags]
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room or soft, hard))  # the process inherits it
    with started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        try:
            yield process
        finally:
            process.kill()


def kubeconfig_in(lines: Iterable[str]) -> Path:
    for line in lines:
        if line.strip().startswith("export KUBECONFIG="):
            return Path(shlex.split(line)[1].partition("=")[2])
    raise AssertionError("reprieve up ended before it said where its kubeconfig is")


class KubectlError(AssertionError):
    pass


@dataclass(frozen=True)
class Kubectl:
    """The real one. There must be one: see `make test`."""

    kubeconfig: Path
    home: Path
    namespace: str = "default"

    def __call__(self, *args: str, stdin: str = "") -> str:
        done = self.run(*args, stdin=stdin)
        if done.returncode:
            raise KubectlError(f"kubectl {' '.join(args)}: {done.stderr}")
        return done.stdout

    def run(self, *args: str, stdin: str = "", **environment: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            self.command(*args),
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            env={**self.environment, **environment},
            timeout=PATIENCE,
        )

    def command(self, *args: str) -> list[str]:
        return [str(HERE), "--kubeconfig", str(self.kubeconfig), "--namespace", self.namespace, *args]

    @property
    def environment(self) -> dict[str, str]:
        """A home of its own: kubectl remembers what a server told it."""
        return {**os.environ, "HOME": str(self.home)}

    def apply(self, *objects: Json) -> str:
        return self("apply", "-f", "-", stdin=yaml.safe_dump_all(objects))

    def get(self, *args: str) -> Json:
        found: Json = json.loads(self("get", *args, "-o", "json"))
        return found

    def names(self, *args: str) -> list[str]:
        return [item["metadata"]["name"] for item in self.get(*args)["items"]]


def checked_kubectl() -> None:
    """Nothing is passed over in silence: without a kubectl the tests fail."""
    version = version_of(HERE)
    assert version is not None, f"there is no kubectl at {HERE}: `make test` puts one there"
    assert version >= OLDEST, f"kubectl at {HERE} is of version {version}, and {OLDEST} is needed"


# --- things ------------------------------------------------------------------------------------------


def pod(name: str, cpu: str = "1", **more: Any) -> Json:
    main = {"name": "main", "image": "example/app:1", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {"containers": [main], **more},
    }


def deployment(name: str, replicas: int = 2, image: str = "example/app:1") -> Json:
    labels = {"app": name}
    container = {"name": "main", "image": image, "resources": {"requests": {"cpu": "1"}}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }
