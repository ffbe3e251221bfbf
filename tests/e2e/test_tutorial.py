"""The tutorial, typed as it stands: every command works, and what the page claims happens."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.architecture.source import ROOT, code_blocks
from tests.e2e.up import REPRIEVE, Kubectl, cluster_up
from tests.processes import run_process

PAGE = ROOT / "docs" / "tutorial" / "first-preemption.md"


@pytest.fixture
def tutorial(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    (start,) = (line for line in typed() if " reprieve up" in f" {line.removeprefix('.venv/bin/')}")
    # A folder of this run only: the page's own may hold the cluster of an earlier reader.
    state = str(tmp_path_factory.mktemp("first-preemption"))
    flags = [state if flag.startswith("/tmp/") else flag for flag in start.split(" up ")[1].split()]
    with cluster_up(*flags, "--speed", "1") as kubeconfig:
        yield Kubectl(kubeconfig, home)


def typed() -> list[str]:
    lines = "\n".join(code_blocks(PAGE, "console")).splitlines()
    return [line.removeprefix("$ ").partition("    #")[0].strip() for line in lines if line.startswith("$ ")]


def test_the_tutorial(tutorial: Kubectl, tmp_path: Path) -> None:
    files = dict(zip(("sweep.yaml", "train.yaml"), code_blocks(PAGE, "yaml"), strict=True))
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    for command in typed():
        if command.startswith((".venv/bin/reprieve why", ".venv/bin/reprieve decisions")):
            assert " d-" in asked(tutorial, command.split()[1:]), command
            continue
        if not command.startswith("kubectl "):
            continue
        words = [str(tmp_path / word) if word in files else word for word in command.split()[1:]]
        output = tutorial(*words)
        if "sweep.yaml" in command:
            until(lambda: [pod["status"]["phase"] for pod in pods(tutorial)] == ["Running"] * 4)
        if "train.yaml" in command:
            until(lambda: len([pod for pod in pods(tutorial) if is_terminating(pod)]) == 2)
            until(lambda: running(tutorial) >= {"train-0", "train-1"})
        if "reason=Preempt" in command:
            assert "(decision d-" in output


def asked(kubectl: Kubectl, words: list[str]) -> str:
    """What `reprieve` prints; the page leaves the name of a victim to its reader."""
    events = kubectl.get("events", "--field-selector", "reason=Preempted")["items"]
    victim = (events[0].get("regarding") or events[0]["involvedObject"])["name"]
    args = [word.replace("VICTIM", victim) for word in words]
    command = [REPRIEVE, *args, "--kubeconfig", str(kubectl.kubeconfig)]
    done = run_process(command)
    assert done.returncode == 0, done.stderr
    return done.stdout.replace("`", " ")


def pods(kubectl: Kubectl) -> list[dict[str, dict[str, str]]]:
    items: list[dict[str, dict[str, str]]] = kubectl.get("pods")["items"]
    return items


def is_terminating(pod: dict[str, dict[str, str]]) -> bool:
    return "deletionTimestamp" in pod["metadata"]


def running(kubectl: Kubectl) -> set[str]:
    return {pod["metadata"]["name"] for pod in pods(kubectl) if pod["status"]["phase"] == "Running"}


def until(holds: Callable[[], bool], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.2)
