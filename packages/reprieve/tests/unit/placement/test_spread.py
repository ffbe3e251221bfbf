"""Pods are kept spread: what is required of nodes, and which are preferred."""

from typing import Any

import msgspec
import numpy as np

from reprieve.model.objects import KubernetesObject, Node, Pod, ReplicaSet, Service
from reprieve.model.snapshot import build
from reprieve.placement.constraints.spread import spread
from reprieve.placement.demand import Ask
from reprieve.placement.rejection_codes import Code
from reprieve.placement.scoring import spread_score

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
WEB = {"matchLabels": {"app": "web"}}
MISSING, SKEW = (Code.SPREAD_LABEL_MISSING, False), (Code.SPREAD_SKEW, True)


def node(name: str, zone: str | None) -> Node:
    labels = {HOST: name} | ({} if zone is None else {ZONE: zone})
    return msgspec.convert({"metadata": {"name": name, "labels": labels}}, Node)


def pod(name: str, on: str = "", **spec: Any) -> Pod:
    meta = {"name": name, "namespace": "default", "labels": {"app": "web"}}
    return msgspec.convert({"metadata": meta, "spec": {"nodeName": on} | spec}, Pod)


def rule(when: str = "DoNotSchedule") -> dict[str, Any]:
    return {"topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": when, "labelSelector": WEB}


def asked(
    nodes: list[Node], on: list[str], *rules: dict[str, Any], company: KubernetesObject | None = None
) -> Ask:
    """For a newcomer with these rules, beside one like it on each of the nodes named."""
    running = [pod(f"web{i}", on=home) for i, home in enumerate(on)]
    newcomer = pod("newcomer", topologySpreadConstraints=list(rules))
    others = [company] if company is not None else []
    return Ask(build([*nodes, *running, newcomer, *others]).snapshot, len(running))


def refused(ask: Ask) -> dict[str, tuple[Code, bool]]:
    names = ask.view.nodes.names
    return {names[i]: (r.reason.code, r.curable) for r in spread(ask) for i in np.flatnonzero(r.rows)}


def scores(ask: Ask) -> dict[str, int] | None:
    found = spread_score(ask, np.ones(len(ask.view.nodes), np.bool_))
    return None if found is None else dict(zip(ask.view.nodes.names, found.tolist(), strict=True))


TWO_ZONES = [node("a1", "a"), node("a2", "a"), node("b1", "b")]
SERVICE = msgspec.convert(
    {"metadata": {"name": "web", "namespace": "default"}, "spec": {"selector": {"app": "web"}}}, Service
)


def test_the_fuller_zone_is_refused_and_eviction_could_help() -> None:
    assert refused(asked(TWO_ZONES, ["a1"], rule())) == {"a1": SKEW, "a2": SKEW}


def test_a_node_without_the_label_is_refused_for_good() -> None:
    assert refused(asked([node("a1", "a"), node("x", None)], [], rule())) == {"x": MISSING}


def test_the_emptier_zone_is_preferred() -> None:
    # One pod in a of two zones weighs ln(2 + 2) = 1.39, rounded to 1.
    assert scores(asked(TWO_ZONES, ["a1"], rule("ScheduleAnyway"))) == {"a1": 0, "a2": 0, "b1": 100}


def test_pods_of_one_service_are_spread_over_hosts_and_zones() -> None:
    # a1: 1 ln 5 + 2 by host, 1 ln 4 + 4 by zone, 9.0 in all; a2: 7.39; b1: 6.
    assert scores(asked(TWO_ZONES, ["a1"], company=SERVICE)) == {"a1": 66, "a2": 88, "b1": 100}


def test_by_default_a_missing_zone_and_an_empty_one_are_the_same() -> None:
    nodes = [node("h1", None), node("h2", ""), node("h3", "a")]
    # Two zones. h2 shares the pod of h1: 2 + (ln 4 + 4) is 7, against 6 of h3 and, by host alone, 4 of h1.
    assert scores(asked(nodes, ["h1"], company=SERVICE)) == {"h1": 100, "h2": 57, "h3": 71}


def test_a_controller_without_a_uid_owns_nothing() -> None:
    anonymous = msgspec.convert({"metadata": {"name": "rs"}, "spec": {"selector": WEB}}, ReplicaSet)
    assert scores(asked(TWO_ZONES, ["a1"], company=anonymous)) is None
