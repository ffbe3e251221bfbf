"""Reprieve decides as kube-scheduler was seen to."""

import json
from pathlib import Path

import pytest

from tests.reference.observed_cases import read_case
from tests.reference.observed_runner import DEFAULT_DIR, Agrees, judge, run
from tests.reference.recorded_files import FILES, TREES


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_case(path: Path) -> None:
    assert judge(read_case(path)) == Agrees()


def test_the_counts(capsys: pytest.CaptureFixture[str]) -> None:
    """Every case is counted once."""
    assert run(DEFAULT_DIR) == 0
    assert capsys.readouterr().out == "206 of 206 agree\n"


def test_one_family(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(DEFAULT_DIR, "resize") == 0
    assert capsys.readouterr().out == "22 of 22 agree\n"


def test_trees(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(TREES) == 0
    assert capsys.readouterr().out == "88 of 88 agree\n"


def recorded_otherwise(directory: Path, name: str, *observed: dict[str, object]) -> Path:
    """A directory with one case, of which this was recorded."""
    case = json.loads((DEFAULT_DIR / f"{name}.json").read_bytes())
    (directory / f"{name}.json").write_text(json.dumps({**case, "observed": observed}))
    return directory


NOTHING: dict[str, object] = {"outcome": "nothing"}
PREEMPTS: dict[str, object] = {"outcome": "preempts", "nominated": {"new": "n1"}, "victims": ["s1", "s0"]}


def placed_on(node: str) -> dict[str, object]:
    return {"outcome": "placed", "placed": {"new": node}}


@pytest.mark.parametrize(
    ("name", "recorded", "complaint"),
    [
        ("pod-pods-0000", placed_on("n1"), "expected placed (new on n1), got placed (new on n4)"),
        ("pod-pods-0008", placed_on("n0"), "expected placed (new on n0), got placed (new on n1)"),
        ("pod-pods-0000", NOTHING, "expected nothing, got placed (new on n4)"),
        (
            "pod-pods-0000",
            PREEMPTS,
            "expected preempts (new nominated for n1; victims s0, s1), got placed (new on n4)",
        ),
        ("edge-0000", placed_on("n1"), "expected placed (new on n1), got nothing"),
        (
            "pod-pods-0004",
            placed_on("n1"),
            "expected placed (new on n1), got preempts (new nominated for n0; victims s15)",
        ),
        (
            "pod-pods-0004",
            PREEMPTS,
            "expected preempts (new nominated for n1; victims s0, s1), "
            "got preempts (new nominated for n0; victims s15)",
        ),
    ],
    ids=["worse node", "full node", "nothing", "needless victims", "too large", "no room", "other victims"],
)
def test_what_was_not_so_disagrees(
    name: str, recorded: dict[str, object], complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(recorded_otherwise(tmp_path, name, recorded)) == 1
    assert capsys.readouterr().out.splitlines() == [f"{name}: {complaint}", "0 of 1 agree"]


def test_a_node_of_equal_score_agrees(tmp_path: Path) -> None:
    assert run(recorded_otherwise(tmp_path, "pod-pods-0008", placed_on("n4"))) == 0


def test_a_choice_among_equals_may_decide_whether_all_find_room(tmp_path: Path) -> None:
    """On n0 the first would leave n1 to the second; it was recorded on n1, where there is room for one."""
    low, high = (bound_pod(name, node, at) for name, node, at in (("low", "n1", 0), ("high", "n0", 900)))
    first, second = member("new-0", "1"), member("new-1", "2", nodeSelector={"disk": "ssd"})
    group = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "new", "namespace": "default"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}, "priority": 500},
    }
    recorded = {"outcome": "preempts", "nominated": {"new-0": "n1", "new-1": "n1"}, "victims": ["low"]}
    case = {
        "family": "gang-pods",
        "nodes": [node("n0", "hdd"), node("n1", "ssd")],
        "pods": [low, high],
        "newPodGroups": [group],
        "newPods": [first, second],
        "observed": [recorded],
    }
    (tmp_path / "case.json").write_text(json.dumps(case))
    assert run(tmp_path) == 0


def node(name: str, disk: str) -> dict[str, object]:
    room = {"cpu": "3", "memory": "8Gi", "pods": "110"}
    metadata = {"name": name, "labels": {"disk": disk}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": {"allocatable": room}}


def pod(name: str, cpu: str, **spec: object) -> dict[str, object]:
    containers = [{"name": "c", "image": "pause", "resources": {"requests": {"cpu": cpu}}}]
    metadata = {"name": name, "namespace": "default"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": containers, **spec},
    }


def bound_pod(name: str, node: str, priority: int) -> dict[str, object]:
    return pod(name, "1", nodeName=node, priority=priority)


def member(name: str, cpu: str, **spec: object) -> dict[str, object]:
    return pod(name, cpu, priority=500, schedulingGroup={"podGroupName": "new"}, **spec)


def test_any_of_several_observations_agrees(tmp_path: Path) -> None:
    assert run(recorded_otherwise(tmp_path, "pod-pods-0000", NOTHING, placed_on("n4"))) == 0


def test_a_directory_without_cases(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path) == 2
    assert capsys.readouterr().err == f"There is no recorded case in {tmp_path}.\n"
    recorded_otherwise(tmp_path, "pod-pods-0000", NOTHING)
    assert run(tmp_path, "none-such") == 2
    assert capsys.readouterr().err == f"There is no recorded case of family none-such in {tmp_path}.\n"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "expected a recorded case"),
        ('{"family": "x", "nodes": [], "observed": []}', "`$.observed`"),
        ('{"family": "x", "nodes": [{"kind": "Node"}], "observed": [{"outcome": "nothing"}]}', "apiVersion"),
        (
            '{"family": "x", "nodes": [], "newPods": [{"apiVersion": "v1", "kind": "Node"}],'
            ' "observed": [{"outcome": "nothing"}]}',
            "newPods: expected pods that wait, got Node",
        ),
    ],
    ids=["not JSON", "nothing observed", "malformed object", "no pod"],
)
def test_a_case_that_cannot_be_read(
    text: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded_otherwise(tmp_path, "pod-pods-0000", placed_on("n4"))
    (tmp_path / "broken.json").write_text(text)
    assert run(tmp_path) == 2
    shown = capsys.readouterr()
    assert shown.err.startswith("broken.json: ")
    assert sentence in shown.err
    assert shown.err.count("\n") == 1
    assert shown.out == "1 of 1 agree\n"
