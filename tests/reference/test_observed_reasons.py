"""Why there was no room: what was short, and on how many nodes, as kube-scheduler reported it."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from reprieve.placement.place import Unplaceable, place, pod_demand
from reprieve.placement.rejection_codes import Code
from tests.reference.demands import gang_demand
from tests.reference.observed_cases import Case, Observation, read_case
from tests.reference.observed_deciders import as_recorded
from tests.reference.observed_runner import DEFAULT_DIR

SHORT = (Code.INSUFFICIENT_RESOURCE, Code.EXCEEDS_CAPACITY)
FILES = [path for path in sorted(DEFAULT_DIR.glob("*.json")) if "nodes are available" in path.read_text()]


def shortages_told(path: Path) -> Iterator[Counter[str]]:
    """Of `0/3 nodes are available: 3 Insufficient cpu, 1 …. preemption: …`, for each message of that kind."""
    for observation in json.loads(path.read_bytes())["observed"]:
        for message in observation["messages"]:
            _, found, reasons = message.partition("nodes are available: ")
            if found:
                told = reasons.split(". preemption")[0].removesuffix(".").split(", ")
                counts = (part.split(" Insufficient ") for part in told if " Insufficient " in part)
                yield Counter({resource: int(nodes) for nodes, resource in counts})


def shortages_found(case: Case, recorded: Observation) -> Counter[str]:
    """For a gang, those of the first pod that has no room."""
    view, pods = case.view, case.newcomers
    demand = gang_demand(view, pods, everybody=True) if case.is_gang else pod_demand(view, pods[0])
    found = place(demand, view, choose=as_recorded(recorded))
    assert isinstance(found, Unplaceable)
    reasons = (found.survey.reasons_of(node) for node in range(len(view.nodes)))
    return Counter(reason.detail for several in reasons for reason in several if reason.code in SHORT)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_same_is_short_on_as_many_nodes(path: Path) -> None:
    case = read_case(path)
    told = list(shortages_told(path))
    assert any(shortages_found(case, recorded) in told for recorded in case.observed)


def test_something_was_told() -> None:
    told = [counts for path in FILES for counts in shortages_told(path)]
    assert len(told) > 100
    assert sum(map(bool, told)) > 0.9 * len(told)
