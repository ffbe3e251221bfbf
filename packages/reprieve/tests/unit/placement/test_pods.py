"""Pod affinity and anti-affinity, required and preferred."""

from typing import Any

import msgspec
import numpy as np

from reprieve.model.json import Json
from reprieve.model.objects import Node, Pod
from reprieve.model.snapshot import build
from reprieve.placement.constraints.pods import pod_affinity
from reprieve.placement.demand import Ask
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


def pod(name: str, on: str = "", **more: Any) -> Pod:
    """``near`` and ``apart`` are required terms, ``likes`` and ``dislikes`` are (weight, term)."""
    affinity = {
        "podAffinity": _terms("near", "likes", more),
        "podAntiAffinity": _terms("apart", "dislikes", more),
    }
    spec = {"nodeName": on, "affinity": affinity}
    metadata = {"name": name, "namespace": "default", "labels": more}
    return msgspec.convert({"metadata": metadata, "spec": spec}, Pod)


def _terms(required: str, preferred: str, more: Json) -> Json:
    wishes = [{"weight": weight, "podAffinityTerm": term} for weight, term in more.pop(preferred, ())]
    return {
        "requiredDuringSchedulingIgnoredDuringExecution": more.pop(required, []),
        "preferredDuringSchedulingIgnoredDuringExecution": wishes,
    }


def ask_for(newcomer: Pod, *others: Pod) -> Ask:
    """The question for the first pod, the others being there already."""
    nodes = [
        msgspec.convert({"metadata": {"name": name, "labels": labels}}, Node)
        for name, labels in TOPOLOGY.items()
    ]
    return Ask(build([*nodes, newcomer, *others]).snapshot, 0)


def refusals(ask: Ask) -> dict[str, Code]:
    found: dict[str, Code] = {}
    for rejection in pod_affinity(ask):
        code = rejection.reason.code
        assert rejection.curable == (code is not FAR)
        names = {ask.view.nodes.names[row] for row in np.flatnonzero(rejection.rows)}
        assert not names & found.keys(), "a node has one reason"
        found.update(dict.fromkeys(names, code))
    return found


def scores(ask: Ask) -> dict[str, int] | None:
    found = score(ask, np.ones(len(TOPOLOGY), np.bool_))
    return None if found is None else dict(zip(ask.view.nodes.names, found.tolist(), strict=True))


def test_the_first_of_its_kind_may_start_where_the_topology_exists() -> None:
    newcomer = pod("new", app="web", near=[term("zone"), term("host")])
    assert refusals(ask_for(newcomer)) == {"bare": FAR}


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


def test_liked_pods_attract_and_disliked_ones_repel() -> None:
    newcomer = pod("new", likes=[(30, term("zone")), (10, term("host"))], dislikes=[(10, term("host", "db"))])
    ask = ask_for(newcomer, pod("web", "a1", app="web"), pod("db", "b1", app="db"))
    # 30 + 10, 30, -10 and twice 0, stretched over 0 to 100.
    assert scores(ask) == {"a1": 100, "a2": 80, "b1": 0, "b2": 20, "bare": 20}
