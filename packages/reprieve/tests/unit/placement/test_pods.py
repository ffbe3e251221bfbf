"""Pod affinity and anti-affinity, required and preferred."""

from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest

from reprieve.model.json import Json
from reprieve.model.objects import Namespace, Node, Pod
from reprieve.model.owners import Namespaces
from reprieve.model.snapshot import Snapshot, build
from reprieve.model.whatif import with_pod, without
from reprieve.placement.constraints.pods import pod_affinity
from reprieve.placement.demand import Ask
from reprieve.placement.profile import DEFAULT_PROFILE, Profile
from reprieve.placement.rejection_codes import Code
from reprieve.placement.scoring import pod_affinity_score as score

# A host without any label, and two zones of two hosts each.
TOPOLOGY = {
    "bare": {},
    "a1": {"zone": "a", "host": "a1"},
    "a2": {"zone": "a", "host": "a2"},
    "b1": {"zone": "b", "host": "b1"},
    "b2": {"zone": "b", "host": "b2"},
}
FAR, FOE, SHUNNED = Code.POD_AFFINITY, Code.POD_ANTI_AFFINITY, Code.EXISTING_ANTI_AFFINITY


def term(key: str, app: str = "web", **more: Any) -> Json:
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}, **more}


def pod(name: str, on: str = "", namespace: str = "default", **more: Any) -> Pod:
    """``near`` and ``apart`` are required terms, ``likes`` and ``dislikes`` are (weight, term)."""
    affinity = {
        "podAffinity": _terms("near", "likes", more),
        "podAntiAffinity": _terms("apart", "dislikes", more),
    }
    spec = {"nodeName": on, "affinity": affinity}
    metadata = {"name": name, "namespace": namespace, "labels": more}
    return msgspec.convert({"metadata": metadata, "spec": spec}, Pod)


def _terms(required: str, preferred: str, more: Json) -> Json:
    wishes = [{"weight": weight, "podAffinityTerm": term} for weight, term in more.pop(preferred, ())]
    return {
        "requiredDuringSchedulingIgnoredDuringExecution": more.pop(required, []),
        "preferredDuringSchedulingIgnoredDuringExecution": wishes,
    }


def node(name: str, labels: dict[str, str]) -> Node:
    return msgspec.convert({"metadata": {"name": name, "labels": labels}}, Node)


def view_of(*things: Pod | Namespace) -> Snapshot:
    nodes = [node(name, labels) for name, labels in TOPOLOGY.items()]
    return build([*nodes, *things]).snapshot


def ask_for(newcomer: Pod, *things: Pod | Namespace, profile: Profile = DEFAULT_PROFILE) -> Ask:
    """The question for the first pod, the others being there already."""
    return Ask(view_of(newcomer, *things), 0, profile)


def refusals(ask: Ask) -> dict[str, Code]:
    found: dict[str, Code] = {}
    for rejection in pod_affinity(ask):
        code = rejection.reason.code
        assert rejection.curable == (code is not FAR)
        names = {ask.view.nodes.names[row] for row in np.flatnonzero(rejection.rows)}
        assert not names & found.keys(), "a node has one reason"
        found.update(dict.fromkeys(names, code))
    return found


def scores(ask: Ask, *feasible: str) -> dict[str, int] | None:
    names = feasible or tuple(TOPOLOGY)
    mask = np.array([name in names for name in TOPOLOGY])
    found = score(ask, mask)
    return None if found is None else {n: int(found[ask.view.nodes.rows[n]]) for n in names}


# --- being with others ---------------------------------------------------------------------------


def test_a_pod_goes_only_where_the_company_is_that_it_requires() -> None:
    newcomer = pod("new", near=[term("zone")])
    assert refusals(ask_for(newcomer, pod("web", "a1", app="web"))) == {"b1": FAR, "b2": FAR, "bare": FAR}


def test_pods_that_wait_are_no_company() -> None:
    assert len(refusals(ask_for(pod("new", near=[term("zone")]), pod("web", app="web")))) == len(TOPOLOGY)


def test_each_pod_of_the_company_must_match_all_terms() -> None:
    newcomer = pod("new", near=[term("zone"), term("zone", "db")])
    ask = ask_for(newcomer, pod("web", "a1", app="web"), pod("db", "a1", app="db"))
    assert set(refusals(ask)) == set(TOPOLOGY)


def test_different_pods_may_be_near_by_different_topologies() -> None:
    nodes = [
        node("in-zone", {"zone": "a"}),
        node("in-rack", {"rack": "r"}),
        node("in-both", {"zone": "a", "rack": "r"}),
    ]
    newcomer = pod("new", near=[term("zone"), term("rack")])
    company = pod("one", "in-zone", app="web"), pod("two", "in-rack", app="web")
    view = build([*nodes, newcomer, *company]).snapshot
    assert refusals(Ask(view, 0)) == {"in-zone": FAR, "in-rack": FAR}


def test_the_first_of_its_kind_may_start_where_the_topology_exists() -> None:
    newcomer = pod("new", app="web", near=[term("zone"), term("host")])
    assert refusals(ask_for(newcomer)) == {"bare": FAR}


def test_it_is_not_the_first_if_one_of_its_kind_is_somewhere() -> None:
    newcomer = pod("new", app="web", near=[term("zone")])
    assert refusals(ask_for(newcomer, pod("web", "a1", app="web"))).keys() == {"b1", "b2", "bare"}


def test_one_of_its_kind_outside_every_topology_does_not_count() -> None:
    newcomer = pod("new", app="web", near=[term("zone")])
    assert refusals(ask_for(newcomer, pod("web", "bare", app="web"))) == {"bare": FAR}


def test_a_pod_that_is_not_of_the_kind_it_requires_cannot_be_the_first() -> None:
    assert len(refusals(ask_for(pod("new", app="db", near=[term("zone")])))) == len(TOPOLOGY)


# --- being apart ---------------------------------------------------------------------------------


def test_a_pod_keeps_away_from_those_it_must_be_apart_from() -> None:
    newcomer = pod("new", apart=[term("host"), term("zone", "db")])
    ask = ask_for(newcomer, pod("web", "a1", app="web"), pod("db", "b1", app="db"))
    assert refusals(ask) == {"a1": FOE, "b1": FOE, "b2": FOE}


def test_a_pod_keeps_away_from_those_that_must_be_apart_from_it() -> None:
    shunning = pod("shunning", "a1", apart=[term("zone"), term("zone", "db")])
    other = pod("other", "b2", apart=[term("host")])
    ask = ask_for(pod("new", app="web"), shunning, other)
    assert refusals(ask) == {"a1": SHUNNED, "a2": SHUNNED, "b2": SHUNNED}
    assert refusals(ask_for(pod("new", app="batch"), shunning, other)) == {}


def test_pending_pods_and_nodes_without_the_topology_repel_no_pod() -> None:
    waiting = pod("waiting", app="web", apart=[term("zone")])
    elsewhere = pod("elsewhere", "bare", app="web", apart=[term("zone")])
    assert refusals(ask_for(pod("new", app="web", apart=[term("zone")]), waiting, elsewhere)) == {}


def test_a_pod_never_stands_in_its_own_way() -> None:
    view = view_of(pod("new", "a1", app="web", apart=[term("zone")]))
    assert refusals(Ask(view, 0)) == {}


def test_a_node_is_refused_for_the_first_reason_only() -> None:
    newcomer = pod("new", app="web", near=[term("zone", "db")], apart=[term("host")])
    others = (pod("db", "a1", app="db"), pod("web", "a1", app="web", apart=[term("zone")]))
    assert refusals(ask_for(newcomer, *others)) == {
        "a1": FOE,
        "a2": SHUNNED,
        "b1": FAR,
        "b2": FAR,
        "bare": FAR,
    }


def test_moving_pods_moves_what_they_refuse() -> None:
    view = view_of(pod("new", app="web"), pod("shunning", "a1", apart=[term("host")]))
    assert refusals(Ask(view, 0)).keys() == {"a1"}
    assert refusals(Ask(without(view, [1]), 0)) == {}
    assert refusals(Ask(with_pod(view, 1, view.nodes.rows["b1"]), 0)).keys() == {"b1"}


# --- which pods a term matches ------------------------------------------------------------------

SPACES = [
    msgspec.convert({"metadata": {"name": name, "labels": {"team": team}}}, Namespace)
    for name, team in {"blue": "x", "green": "y"}.items()
]


@pytest.mark.parametrize(
    ("scope", "meant"),
    [
        ({}, {"default"}),
        ({"namespaces": ["blue"]}, {"blue"}),
        ({"namespaceSelector": {"matchLabels": {"team": "y"}}}, {"green"}),
        ({"namespaces": ["blue"], "namespaceSelector": {"matchLabels": {"team": "y"}}}, {"blue", "green"}),
        ({"namespaceSelector": {}}, {"default", "blue", "green"}),
        (
            {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}},
            {"default"},  # no such object was shown, but every namespace has this label
        ),
    ],
)
@pytest.mark.parametrize("namespace", ["default", "blue", "green"])
def test_a_term_looks_into_its_namespaces_from_both_sides(
    scope: Json, meant: set[str], namespace: str
) -> None:
    web, keeper = pod("web", namespace=namespace, app="web"), pod("keeper", apart=[term("host", **scope)])
    view = view_of(web, keeper, *SPACES)
    expected = {"a1"} if namespace in meant else set()
    a1 = view.nodes.rows["a1"]
    assert refusals(Ask(with_pod(view, 1, a1), 0)).keys() == expected
    assert refusals(Ask(with_pod(view, 0, a1), 1)).keys() == expected


def test_new_labels_of_a_namespace_change_which_pods_a_term_matches() -> None:
    shunning = pod("shunning", "a1", apart=[term("host", namespaceSelector={"matchLabels": {"team": "x"}})])
    view = view_of(pod("new", namespace="blue", app="web"), shunning, *SPACES)
    assert refusals(Ask(view, 0)) == {"a1": SHUNNED}
    handed_over = Namespaces({**view.namespaces.labels, "blue": {"team": "y"}})
    assert refusals(Ask(replace(view, namespaces=handed_over), 0)) == {}


def test_a_term_without_selector_matches_no_pod_and_an_empty_selector_all() -> None:
    bare, empty = {"topologyKey": "host"}, {"topologyKey": "host", "labelSelector": {}}
    assert refusals(ask_for(pod("new", apart=[bare]), pod("other", "a1"))) == {}
    assert refusals(ask_for(pod("new", apart=[empty]), pod("other", "a1"))) == {"a1": FOE}


def test_label_keys_compare_with_the_labels_of_the_carrier() -> None:
    same = pod("same", apart=[term("host", matchLabelKeys=["rev"])], app="web", rev="1")
    other = pod("other", apart=[term("host", mismatchLabelKeys=["rev"])], app="web", rev="1")
    old, new = pod("old", "a1", app="web", rev="1"), pod("new", "b1", app="web", rev="2")
    assert refusals(ask_for(same, old, new)).keys() == {"a1"}
    assert refusals(ask_for(other, old, new)).keys() == {"b1"}


def test_labels_that_no_term_uses_are_ignored() -> None:
    replicas = [pod(f"web-{i}", app="web", index=str(i)) for i in range(3)]
    view = view_of(*replicas, pod("shunning", "a1", apart=[term("host")]))
    assert view.terms_matching(0) is view.terms_matching(2)
    assert view.terms_matching(0) is not view.terms_matching(3)


# --- preferences ---------------------------------------------------------------------------------


def test_without_any_wish_there_is_no_preference() -> None:
    assert scores(ask_for(pod("new", app="web"), pod("web", "a1", app="web"))) is None


def test_liked_pods_attract_and_disliked_ones_repel() -> None:
    newcomer = pod("new", likes=[(30, term("zone")), (10, term("host"))], dislikes=[(10, term("host", "db"))])
    ask = ask_for(newcomer, pod("web", "a1", app="web"), pod("db", "b1", app="db"))
    # 30 + 10, 30, -10 and twice 0, stretched over 0 to 100.
    assert scores(ask) == {"a1": 100, "a2": 80, "b1": 0, "b2": 20, "bare": 20}


def test_every_liked_pod_counts() -> None:
    newcomer = pod("new", likes=[(1, term("host"))])
    running = [pod(f"web{i}", node, app="web") for i, node in enumerate(("a1", "a1", "a1", "b1"))]
    assert scores(ask_for(newcomer, *running)) == {"a1": 100, "a2": 0, "b1": 33, "b2": 0, "bare": 0}


def test_wishes_of_others_count_as_much_as_own_ones() -> None:
    fan = pod("fan", "a1", likes=[(7, term("zone"))])
    loner = pod("loner", "b1", dislikes=[(7, term("host")), (99, term("host", "db"))])
    assert scores(ask_for(pod("new", app="web"), fan, loner)) == {
        "a1": 100,
        "a2": 100,
        "b1": 0,
        "b2": 50,
        "bare": 50,
    }


@pytest.mark.parametrize(("hard", "expected"), [(1, 10), (10, 100), (0, 0)])
def test_pods_that_require_the_incoming_pod_attract_it_by_the_hard_weight(hard: int, expected: int) -> None:
    dependent = pod("dependent", "a1", near=[term("host")])
    fan = pod("fan", "b1", likes=[(10, term("host"))])
    ask = ask_for(pod("new", app="web"), dependent, fan, profile=Profile(hard_pod_affinity_weight=hard))
    assert scores(ask) == {"a1": expected, "a2": 0, "b1": 100, "b2": 0, "bare": 0}


def test_wishes_of_others_can_be_ignored_unless_the_newcomer_has_its_own() -> None:
    profile = Profile(ignore_preferences_of_existing_pods=True)
    fan = pod("fan", "a1", app="db", likes=[(10, term("host"))])
    assert scores(ask_for(pod("new", app="web"), fan, profile=profile)) is None
    newcomer = pod("new", app="web", likes=[(20, term("zone", "db"))])
    assert scores(ask_for(newcomer, fan, profile=profile), "a1", "a2", "b1") == {"a1": 100, "a2": 66, "b1": 0}


def test_only_feasible_nodes_set_the_scale() -> None:
    ask = ask_for(pod("new", likes=[(3, term("zone")), (1, term("host"))]), pod("web", "a1", app="web"))
    assert scores(ask, "a2", "b1") == {"a2": 100, "b1": 0}
    assert scores(ask, "b1", "b2") == {"b1": 0, "b2": 0}
