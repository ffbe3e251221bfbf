"""A pod that does not fit now and fits after a change waits for a change of that kind: no wake-up is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reprieve.model.events import Change
from reprieve.model.shape import Shape
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.placement.demand import Ask
from reprieve.placement.place import survey
from reprieve.scheduler.demands.queueing_hints import helpful
from tests.properties.mirrored import mirrored
from tests.properties.worlds import FEATURES

# The pod itself, its requests and its node: if these change, it is decided again anyway.
Asker = tuple[str, Shape, str]

FAMILIES = [
    FEATURES,
    *(frozenset({name}) for name in ("resources", "node", "ports", "pods", "spread", "volumes")),
]


def refused(view: Snapshot) -> dict[Asker, frozenset[Change]]:
    """All pods that find no node, or no other node, and the changes that they wait for."""
    found = {}
    for row in view.pods.rows.values():
        survey_of = survey(Ask(view, row))
        if not survey_of.feasible.any():
            found[_asker(view, row)] = helpful(rejection.reason.code for rejection in survey_of.rejections)
    return found


def _asker(view: Snapshot, row: int) -> Asker:
    pod, node = view.pods.compiled[row], int(view.where[row])
    return pod.pod.metadata.uid, pod.shape, "" if node == NOWHERE else view.nodes.names[node]


def everybody(view: Snapshot) -> set[Asker]:
    return {_asker(view, row) for row in view.pods.rows.values()}


@pytest.mark.parametrize("features", FAMILIES, ids=lambda features: ",".join(sorted(features)))
@given(st.integers(0, 2**32 - 1), st.lists(st.integers(0, 2**32 - 1), max_size=20))
def test_no_pod_sleeps_through_a_change_that_helps(
    features: frozenset[str], seed: int, steps: list[int]
) -> None:
    now = mirrored(seed, features)
    now.fickle = False
    before = refused(now.mirror.snapshot())
    for step in steps:
        now.changes.clear()
        now.go_through([step])
        view = now.mirror.snapshot()
        after = refused(view)
        for asker in before.keys() & everybody(view) - after.keys():
            assert before[asker] & now.changes
        before = after
