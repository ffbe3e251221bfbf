"""The best node by what is cached for pods of one kind: for which pods that is worth it."""

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.model.things import a_node, a_pod

from reprieve.model.json import Json
from reprieve.model.score_cache import ScoreCache, Touches
from reprieve.model.snapshot import CachedScores, Snapshot, build
from reprieve.placement.constraints import CONSTRAINTS
from reprieve.placement.demand import Ask
from reprieve.placement.merits import best_node
from reprieve.placement.place import Placement, place, pod_demand

HOSTNAME = "kubernetes.io/hostname"
NODES = [a_node(name, {HOSTNAME: name, "disk": "ssd"}) for name in ("n0", "n1")]


def remembering(**spec: Any) -> Snapshot:
    """A view of a pod and of nodes, with a cache."""
    view = build([*NODES, a_pod(**spec)]).snapshot
    return replace(view, cached_scores=CachedScores(ScoreCache(), len(view.nodes), Touches()))


def requiring(term: Json) -> Json:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    return {"affinity": {"nodeAffinity": required}}


def requirement(key: str, value: str) -> list[Json]:
    return [{"key": key, "operator": "In", "values": [value]}]


@pytest.mark.parametrize(
    "spec",
    [
        requiring({"matchFields": requirement("metadata.name", "n1")}),
        requiring({"matchExpressions": requirement(HOSTNAME, "n1")}),
        {"nodeSelector": {HOSTNAME: "n1"}},
    ],
    ids=["field", "label", "selector"],
)
def test_nothing_is_cached_for_a_pod_that_names_its_node(spec: Json) -> None:
    view = remembering(**spec)
    assert best_node(Ask(view, 0), CONSTRAINTS, None) is None
    assert place(pod_demand(view, 0), view) == Placement((1,))
