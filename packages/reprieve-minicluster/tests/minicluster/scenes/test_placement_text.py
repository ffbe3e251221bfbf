"""What is said to a pod that has a place, and to one that has none."""

import re
from typing import Any

import numpy as np
import pytest
from tests.unit.report import node, pod, texts, view_of

from reprieve.model.objects import Node, Pod
from reprieve.model.snapshot import Snapshot
from reprieve.placement.demand import Ask
from reprieve.placement.place import Survey, survey
from reprieve.placement.profile import Preference
from reprieve.placement.rating import Ratings, rate
from reprieve.report.text_layout import LineStyle
from reprieve_minicluster.scenes.placement import fits, fits_nowhere, held_back, pod_heading


def told(*objects: Node | Pod) -> list[str]:
    """What the waiting pod called `new` is told."""
    view = view_of(*objects)
    ask = Ask(view, view.pods.rows["default", "new"])
    found = survey(ask)
    if not found.feasible.any():
        return texts(fits_nowhere(view, found))
    return texts(fits(view, found, rate(ask, found.feasible)))


def heading(view: Snapshot) -> list[str]:
    return texts(pod_heading(view, 0))


def test_the_heading_names_the_pod_and_its_requests() -> None:
    assert heading(view_of(pod("new", cpu="250m"))) == ["Pod default/new requests cpu 250m, memory 1Gi"]


def test_the_heading_quotes_the_description() -> None:
    described = pod("new", annotations={"kubernetes.io/description": "Just so."})
    assert heading(view_of(described))[1:] == ['  "Just so."']


def test_a_pod_that_asks_for_no_resources() -> None:
    assert heading(view_of(pod("new", containers=[{"name": "c"}]))) == [
        "Pod default/new requests no resources"
    ]


def test_the_only_node_needs_no_scores() -> None:
    assert told(node("a"), pod("new")) == ["  It fits on 1 of 1 node and goes to a."]


def rated(**totals: dict[Preference, int]) -> list[str]:
    """What a pod is told that fits on every node, if these are the nodes' scores."""
    view = view_of(*map(node, totals))
    parts = {
        preference: np.array([scores[preference] for scores in totals.values()])
        for preference in next(iter(totals.values()))
    }
    everywhere = Survey(np.ones(len(totals), np.bool_), ())
    return texts(fits(view, everywhere, Ratings(sum(parts.values(), np.zeros(len(totals), np.int64)), parts)))


def test_the_best_node_its_lead_and_the_scores_best_first() -> None:
    lines = rated(
        a={Preference.RESOURCES: 90, Preference.TAINTS: 0},
        b={Preference.RESOURCES: 70, Preference.TAINTS: 300},
        c={Preference.RESOURCES: 80, Preference.TAINTS: 300},
    )
    assert lines == [
        "  It fits on 3 of 3 nodes and goes to c.",
        "  It beats b by 10 points, above all for NodeResourcesFit.",
        "",
        "  SCORES              c    b   a",
        "  NodeResourcesFit   80   70  90  how full the node is",
        "  TaintToleration   300  300   0  untolerated PreferNoSchedule taints",
        "  total             380  370  90",
    ]


@pytest.mark.parametrize("preference", Preference)
def test_every_preference_is_explained(preference: Preference) -> None:
    row = rated(a={preference: 7}, b={preference: 5})[4]
    assert re.fullmatch(rf" *{preference} +7 +5  [a-z].+", row)


def test_of_equals_the_first_by_name_is_taken() -> None:
    lines = told(node("b"), node("a"), pod("new"))
    assert lines[:2] == [
        "  It fits on 2 of 2 nodes and goes to a.",
        "  b has the same score; the node whose name comes first wins.",
    ]


def test_only_the_best_few_are_shown() -> None:
    lines = told(*(node(f"n{i}") for i in range(9)), pod("new"))
    assert lines[3].split() == ["SCORES", "n0", "n1", "n2", "n3", "n4"]


def test_why_not_on_the_other_nodes() -> None:
    lines = told(node("a"), node("b", unschedulable=True), node("c", cpu="1"), pod("p", on="c"), pod("new"))
    assert lines[-4:] == [
        "  Why not on the other 2 nodes:",
        "  NODES  WHICH  PREEMPTION   WHY NOT",
        "      1  c      may help     has insufficient cpu left",
        "      1  b      cannot help  is marked unschedulable",
    ]


def test_eviction_might_help() -> None:
    assert told(node("a"), node("b", cpu="1"), pod("p", on="a", cpu="3"), pod("new", cpu="2")) == [
        "  It fits on none of the 2 nodes.",
        "  Preemption might help on a.",
        "",
        "  NODES  WHICH  PREEMPTION   WHY NOT",
        "      1  b      cannot help  is too small: the pod needs more cpu than its capacity",
        "      1  a      may help     has insufficient cpu left",
    ]


def test_eviction_does_not_help() -> None:
    lines = told(node("a"), node("b"), pod("new", cpu="64"))
    assert lines[:2] == ["  It fits on none of the 2 nodes.", "  Preemption cannot help."]


def test_the_only_node_will_not_do() -> None:
    assert told(node("a"), pod("new", cpu="64"))[0] == "  It does not fit on the only node."


def test_a_node_with_a_reason_beyond_cure_is_not_said_to_be_curable_by_another() -> None:
    small, roomy = node("a", cpu="1", memory="1Gi"), node("b", cpu="1")
    wish: dict[str, Any] = {"containers": [{"resources": {"requests": {"cpu": "1", "memory": "2Gi"}}}]}
    lines = told(small, roomy, pod("p", on="a"), pod("q", on="b"), pod("new", **wish))
    assert lines[4:] == [
        "      2  a, b   may help 1   has insufficient cpu left",
        "      1  a      cannot help  is too small: the pod needs more memory than its capacity",
    ]


def test_the_most_frequent_reason_comes_first() -> None:
    cordoned = [node(f"b{i}", unschedulable=True) for i in range(2)]
    lines = told(node("a", cpu="1"), *cordoned, pod("new", cpu="2"))
    assert [line.split()[0] for line in lines[4:]] == ["2", "1"]


def test_a_cluster_without_nodes() -> None:
    assert told(pod("new")) == ["  It is unschedulable: there is no node."]


def test_a_pod_that_is_held_back() -> None:
    (line,) = held_back(["example.com/quota"], ["spec.resourceClaims"])
    assert line.tone is LineStyle.BAD
    assert line.text == (
        "  It has to wait: its scheduling gate example.com/quota has not been removed; "
        "it uses spec.resourceClaims, which Reprieve does not support."
    )
