"""Nine recorded decisions about trees need load on n0 that the files do not have.

What is certain, what is an inference: see the README of ``observed_trees``.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from reprieve.model.whatif import without
from reprieve.placement.constraints import CONSTRAINTS
from reprieve.placement.demand import Ask
from reprieve.placement.place import survey
from tests.reference.observed_cases import read_case
from tests.reference.observed_runner import Agrees, Disagrees, judge
from tests.reference.recorded_files import INCOMPLETE, TREES


def with_inferred_load(path: Path, directory: Path) -> Path:
    """The case with one more pod on n0, which none of the newcomers may preempt."""
    case = json.loads(path.read_bytes())
    requests = {"cpu": "1", "memory": "4Gi"}
    pod: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "l", "namespace": "default"},
    }
    containers = [{"name": "c", "image": "pause", "resources": {"requests": requests}}]
    pod["spec"] = {"containers": containers, "priority": 2_000_000_000, "nodeName": "n0"}
    changed = directory / path.name
    changed.write_text(json.dumps({**case, "pods": [*case["pods"], pod]}))
    return changed


@pytest.mark.parametrize("path", INCOMPLETE, ids=lambda path: path.stem)
def test_a_decision_that_the_file_does_not_explain(path: Path, tmp_path: Path) -> None:
    assert isinstance(judge(read_case(path)), Disagrees)
    assert judge(read_case(with_inferred_load(path, tmp_path))) == Agrees()


def test_a_victim_that_no_order_of_reprieve_leaves() -> None:
    """As recorded, five of the seven victims could each have stayed: whatever the order in which
    kube-scheduler tries them, the first of the five that it tries is reprieved. None was."""
    case = read_case(TREES / "tree-victims-0066.json")
    (recorded,), (newcomer,) = case.observed, case.newcomers
    rows, n0 = case.view.pods.rows, case.view.nodes.rows["n0"]

    def could_stay(victim: str) -> bool:
        others = [rows["default", name] for name in recorded.victims if name != victim]
        return bool(survey(Ask(without(case.view, others), newcomer), CONSTRAINTS).feasible[n0])

    assert set(filter(could_stay, recorded.victims)) == {"s0", "s18", "s20", "s5", "t1-0-0"}
