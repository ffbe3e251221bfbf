"""The page of `reprieve up`, and the same cluster afterwards from its journal, over real HTTP."""

import json
import re
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.architecture.source import ROOT
from tests.e2e.up import PATIENCE, REPRIEVE, process_of
from tests.processes import started

ADDRESS = re.compile(r"page: (?P<url>http://127\.0\.0\.1:\d+/page/)#token=(?P<token>\S+)")
CLASS = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "high"},
    "value": 900,
}


@dataclass(frozen=True)
class Page:
    url: str
    token: str

    def ask(self, path: str, body: bytes | None = None) -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {self.token}"}
        request = urllib.request.Request(f"{self.url}api/{path}", body, headers)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read())

    def get(self, path: str, body: bytes | None = None) -> Any:
        status, document = self.ask(path, body)
        assert status == 200, document
        return document


@contextmanager
def ended(process: "subprocess.Popen[str]") -> Iterator[Page]:
    """The page that a process serves; afterwards it must end well."""
    assert process.stdout is not None
    found = next(filter(None, map(ADDRESS.match, process.stdout)))
    yield Page(found["url"], found["token"])
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, told
    assert "Traceback" not in told


@contextmanager
def page_of(*words: str) -> Iterator[Page]:
    with started([REPRIEVE, "page", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            with ended(process) as page:
                yield page
        finally:
            process.kill()


def manifests(*objects: dict[str, Any]) -> bytes:
    return "\n---\n".join(map(json.dumps, objects)).encode()


def a_pod(name: str, priority_class: str = "") -> dict[str, Any]:
    spec: dict[str, Any] = {
        "containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": "9"}}}],
        "terminationGracePeriodSeconds": 1,
    }
    if priority_class:
        spec["priorityClassName"] = priority_class
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def states(picture: Any) -> dict[str, int]:
    return {row[0]: row[6] for row in picture["pods"]}


def test_a_preemption_live_and_from_the_journal(tmp_path: Path) -> None:
    flags = ("--nodes", "1", "--data-dir", str(tmp_path))
    with process_of(*flags) as process, ended(process) as page:
        created = page.get("apply", manifests(CLASS, a_pod("old")))
        assert created == {"created": ["PriorityClass/high", "Pod/default/old"]}
        wait_for(lambda: states(page.get("picture")) == {"default/old": 1})
        new = manifests(a_pod("new", "high"))
        plan = page.get("whatif", new)
        assert plan["outcome"] == "Preempts"
        assert [one["pod"] for one in plan["overlay"]["placements"]] == ["default/new"]
        assert states(page.get("picture")) == {"default/old": 1}, "nothing was written"
        page.get("apply", new)
        wait_for(lambda: states(page.get("picture")) == {"default/new": 1})
        live = page.get("picture")
        (decision,) = live["decisions"]
        assert (decision["outcome"], decision["ended"]) == ("preempting", "RoomUsed")
        assert decision["victims"] == len(plan["overlay"]["victims"]) == 1
        for wrong, sentence in (
            (b"a: [", "expected YAML or JSON"),
            (b"hello", "expected a Kubernetes object"),
        ):
            status, answer = page.ask("whatif", wrong)
            assert (status, sentence in answer["message"]) == (400, True)
        status, answer = page.ask("apply", new)
        assert (status, answer["message"]) == (400, 'pods "new" already exists')
        assert "was preempted" in page.get("why?pod=default/old")["text"]
        assert "PREEMPTABLE FROM" in page.get("exposure?namespace=default")["text"]
        assert sum(count for _, count in page.get("history")["preemptions"]) == 1
        before = f"at={decision['time'] - 0.001}"
        assert states(page.get(f"picture?{before}"))["default/old"] == 1, "also while it runs"
        with page_of("--kubeconfig", str(tmp_path / "kubeconfig")) as read:
            with_credentials(read, decision["id"])
            page.get("apply", manifests(a_pod("later")))
            wait_for(lambda: states(read.get("picture")) == {"default/new": 1, "default/later": 0})
    with page_of(str(tmp_path)) as page:
        recorded = page.get("picture")
        assert (recorded["mode"], recorded["can"]["apply"], recorded["can"]["history"]) == (
            "offline",
            False,
            True,
        )
        assert states(recorded) == {"default/new": 1, "default/later": 0}
        assert [one["id"] for one in recorded["decisions"] if one["outcome"] == "preempting"] == [
            decision["id"]
        ]
        span = page.get("history")
        assert sum(count for _, count in span["preemptions"]) == 1
        before = f"at={decision['time'] - 0.001}"
        assert states(page.get(f"picture?{before}"))["default/old"] == 1
        assert page.get(f"whatif?{before}", manifests(a_pod("newer", "high")))["outcome"] == "Preempts"
        assert "was preempted" in page.get("why?pod=default/old")["text"]
        status, answer = page.ask("changes?after=0")
        assert (status, answer["message"]) == (404, "nothing changes here: this is a recording")


def with_credentials(read: Page, decision: str) -> None:
    """In the process of the caller, with its kubeconfig: the same picture, and nothing can be written."""
    picture = read.get("picture")
    assert (picture["mode"], picture["can"]["whatif"], picture["can"]["apply"]) == ("context", True, False)
    assert states(picture) == {"default/new": 1}
    assert [one["id"] for one in picture["decisions"]] == [decision]
    assert read.get("whatif", manifests(a_pod("newer", "high")))["outcome"] == "Unschedulable"
    status, answer = read.ask("apply", manifests(a_pod("newer")))
    assert (status, answer["message"]) == (404, "this page does not answer that question")


def test_a_snapshot() -> None:
    with page_of(str(ROOT / "docs" / "examples" / "cluster.yaml")) as page:
        picture = page.get("picture")
        assert picture["cluster"] == "cluster.yaml"
        assert picture["nodes"] and picture["pods"]
        assert page.get("exposure")["pods"]


def wait_for(holds: Any) -> None:
    until = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.1)
