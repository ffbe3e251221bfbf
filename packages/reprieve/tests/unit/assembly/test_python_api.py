"""The interface for Python: typed, lazily imported, and without surprises for a caller's own objects."""

import sys
from typing import Any

import pytest

import reprieve
from reprieve import Cluster, InquiryError, whatif, whatif_json
from tests.architecture.source import ROOT, code_blocks
from tests.processes import run_process

EXAMPLES = ROOT / "docs" / "examples"
PAGE = ROOT / "docs" / "reference" / "python.md"
NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n"},
    "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}},
}


def a_pod(name: str, cpu: str = "3", **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "x", "resources": {"requests": {"cpu": cpu}}}
    status = {"phase": "Running"} if "nodeName" in spec else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container], **spec},
        "status": status,
    }


def example() -> Cluster:
    return Cluster.from_files(EXAMPLES / "cluster.yaml")


def test_the_example_of_the_page_runs_and_prints_what_the_page_shows() -> None:
    source, shown = code_blocks(PAGE, "python", "text")[:2]
    assert source == (EXAMPLES / "report.py").read_text()
    command = [sys.executable, "-W", "error", "report.py"]
    done = run_process(command, cwd=EXAMPLES, check=True)
    assert done.stdout == shown


def test_the_page_names_everything_that_is_stable() -> None:
    page = PAGE.read_text()
    assert [name for name in reprieve.__all__ if f"`{name}" not in page] == []


def test_importing_the_package_imports_nothing_heavy() -> None:
    source = "import sys, reprieve; print([n for n in ('numpy', 'msgspec', 'aiohttp') if n in sys.modules])"
    done = run_process([sys.executable, "-c", source], check=True)
    assert done.stdout == "[]\n"


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="module 'reprieve' has no attribute 'nothing'"):
        _ = reprieve.nothing


def test_objects_as_dictionaries() -> None:
    cluster = Cluster.from_objects([NODE, a_pod("old", nodeName="n")])
    assert repr(cluster) == "<Cluster of 2 objects>"
    assert cluster.notes == ()
    small, large = a_pod("small", "1"), a_pod("large", "2")
    answer = whatif(cluster, small, large)
    outcomes = {report.demand.name: str(report.outcome) for report in answer.reports}
    assert outcomes == {"small": "Fits", "large": "Unschedulable"}
    assert small == a_pod("small", "1")


def test_questions_do_not_change_the_cluster() -> None:
    cluster = example()
    first = whatif(cluster, EXAMPLES / "inference.yaml")
    assert whatif(cluster, EXAMPLES / "inference.yaml") == first
    assert [victim.pod.name for victim in first.reports[0].victims] == ["sweep-1"]


def test_the_document_is_that_of_the_command() -> None:
    document = whatif_json(whatif(example(), EXAMPLES / "inference.yaml"))
    assert (document["kind"], document["outcome"]) == ("WhatIfReport", "Preempts")


def test_a_resize_and_a_pod_that_waits() -> None:
    waiting = a_pod("waits", "1")
    cluster = Cluster.from_objects([NODE, a_pod("old", nodeName="n"), waiting])
    (grown,) = whatif(cluster, resize={"old": {"cpu": "4"}}).reports
    assert (grown.resize, str(grown.outcome)) == (True, "Fits")
    (placed,) = whatif(cluster, pending=["default/waits"]).reports
    assert [node for _, node in placed.placements] == ["n"]


@pytest.mark.parametrize("policy", ["Upstream", str(EXAMPLES / "missing.yaml")])
def test_policies(policy: str) -> None:
    if policy == "Upstream":
        assert whatif(example(), a_pod("new"), policy=policy).policy == "Upstream"
    else:
        with pytest.raises(InquiryError, match=r"missing.yaml: cannot be read: No such file"):
            whatif(example(), a_pod("new"), policy=policy)


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ({"kind": "Pod"}, "manifest 1"),
        (a_pod("p", priorityClassName="nope"), "nope"),
        (str(EXAMPLES / "nothing.yaml"), "nothing.yaml: cannot be read"),
        ({"kind": object()}, "an object cannot be written as JSON"),
    ],
)
def test_a_question_that_cannot_be_answered(manifest: Any, message: str) -> None:
    with pytest.raises(InquiryError, match=message):
        whatif(example(), manifest)


def test_gates_that_do_not_exist() -> None:
    with pytest.raises(InquiryError, match="Nope"):
        whatif(example(), a_pod("p"), feature_gates="Nope=true")


def test_a_server_that_is_not_there() -> None:
    with pytest.raises(InquiryError, match="nowhere"):
        Cluster.from_server(kubeconfig="/nowhere/config")
