"""Pods are kept spread: what is required of nodes, and which are preferred."""

from typing import Any

import msgspec
import numpy as np

from reprieve.model.objects import (
    KubernetesObject,
    Node,
    Pod,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
)
from reprieve.model.snapshot import build
from reprieve.model.whatif import with_pod, without
from reprieve.placement.constraints.spread import spread
from reprieve.placement.demand import Ask
from reprieve.placement.profile import DEFAULT_PROFILE, DefaultSpread, Profile
from reprieve.placement.rejection_codes import Code
from reprieve.placement.scoring import spread_score as score

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
WEB = {"matchLabels": {"app": "web"}}
MISSING, SKEW = (Code.SPREAD_LABEL_MISSING, False), (Code.SPREAD_SKEW, True)


def node(name: str, zone: str | None, taint: str = "", **labels: str) -> Node:
    known = {HOST: name} | ({} if zone is None else {ZONE: zone}) | labels
    taints = [{"key": taint, "effect": "NoSchedule"}] if taint else []
    return msgspec.convert({"metadata": {"name": name, "labels": known}, "spec": {"taints": taints}}, Node)


def pod(
    name: str,
    on: str = "",
    labels: dict[str, str] | None = None,
    owner: str = "",
    metadata: dict[str, Any] | None = None,
    **spec: Any,
) -> Pod:
    meta: dict[str, Any] = {"name": name, "namespace": "default"}
    meta["labels"] = {"app": "web"} if labels is None else labels
    if owner:
        meta["ownerReferences"] = [{"kind": "Any", "name": owner, "uid": owner, "controller": True}]
    return msgspec.convert({"metadata": meta | (metadata or {}), "spec": {"nodeName": on} | spec}, Pod)


def webs(*homes: str) -> list[Pod]:
    """A running pod of the same kind for each node named."""
    return [pod(f"web{i}", on=home) for i, home in enumerate(homes)]


def rule(key: str = ZONE, skew: int = 1, when: str = "DoNotSchedule", **more: Any) -> dict[str, Any]:
    return {"topologyKey": key, "maxSkew": skew, "whenUnsatisfiable": when, "labelSelector": WEB} | more


def soft(key: str = ZONE, skew: int = 1, **more: Any) -> dict[str, Any]:
    return rule(key, skew, "ScheduleAnyway", **more)


def newcomer(*rules: dict[str, Any], **more: Any) -> Pod:
    return pod("newcomer", topologySpreadConstraints=list(rules), **more)


def asked(
    objects: list[Node],
    pods: list[Pod],
    who: Pod,
    *company: KubernetesObject,
    profile: Profile = DEFAULT_PROFILE,
) -> Ask:
    found = build([*objects, *company, *pods, who])
    assert not found.problems
    return Ask(found.snapshot, len(pods), profile)


def refused(ask: Ask) -> dict[str, tuple[Code, bool]]:
    names = ask.view.nodes.names
    return {names[i]: (r.reason.code, r.curable) for r in spread(ask) for i in np.flatnonzero(r.rows)}


def scores(ask: Ask, *infeasible: str) -> dict[str, int] | None:
    names = ask.view.nodes.names
    feasible = np.array([name not in infeasible for name in names])
    found = score(ask, feasible)
    return None if found is None else {names[i]: int(found[i]) for i in np.flatnonzero(feasible)}


TWO_ZONES = [node("a1", "a"), node("a2", "a"), node("b1", "b")]


# --- required: the skew --------------------------------------------------------------------------


def test_a_pod_without_rules_is_refused_nowhere() -> None:
    assert refused(asked(TWO_ZONES, webs("a1", "a1"), newcomer())) == {}


def test_the_fuller_zone_is_refused_and_eviction_could_help() -> None:
    assert refused(asked(TWO_ZONES, webs("a1"), newcomer(rule()))) == {"a1": SKEW, "a2": SKEW}


def test_a_larger_skew_is_allowed() -> None:
    assert refused(asked(TWO_ZONES, webs("a1"), newcomer(rule(skew=2)))) == {}
    assert refused(asked(TWO_ZONES, webs("a1", "a2"), newcomer(rule(skew=2)))) == {"a1": SKEW, "a2": SKEW}


def test_a_newcomer_that_is_not_selected_does_not_add_to_the_skew() -> None:
    stranger = newcomer(rule(), labels={"app": "other"})
    assert refused(asked(TWO_ZONES, webs("a1"), stranger)) == {}


def test_what_is_evicted_no_longer_counts() -> None:
    ask = asked(TWO_ZONES, webs("a1"), newcomer(rule()))
    assert refused(Ask(without(ask.view, [0]), ask.pod)) == {}


def test_a_pod_that_runs_already_does_not_count_itself() -> None:
    ask = asked(TWO_ZONES, webs("a1", "b1"), newcomer(rule()))
    assert refused(Ask(with_pod(ask.view, ask.pod, 0), ask.pod)) == {}


def test_with_too_few_domains_the_minimum_is_zero() -> None:
    even = webs("a1", "b1")
    assert refused(asked(TWO_ZONES, even, newcomer(rule(minDomains=2)))) == {}
    assert set(refused(asked(TWO_ZONES, even, newcomer(rule(minDomains=3)))).values()) == {SKEW}


# --- required: which pods count ------------------------------------------------------------------


def test_pods_that_wait_leave_or_live_elsewhere_do_not_count() -> None:
    others = [
        pod("waits"),
        pod("leaves", on="a1", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}),
        pod("foreign", on="a1", metadata={"namespace": "other"}),
        pod("different", on="a1", labels={"app": "db"}),
    ]
    assert refused(asked(TWO_ZONES, others, newcomer(rule()))) == {}


def test_match_label_keys_compare_with_the_newcomers_own_values() -> None:
    old = pod("old", on="a1", labels={"app": "web", "revision": "1"})
    new = pod("new", on="b1", labels={"app": "web", "revision": "2"})
    who = newcomer(rule(matchLabelKeys=["revision", "absent"]), labels={"app": "web", "revision": "2"})
    assert refused(asked(TWO_ZONES, [old, new], who)) == {"b1": SKEW}


def test_an_empty_selector_counts_no_pod_and_an_absent_one_selects_none() -> None:
    crowd = webs("a1", "a1")
    assert refused(asked(TWO_ZONES, crowd, newcomer(rule(labelSelector={})))) == {}
    assert refused(asked(TWO_ZONES, crowd, newcomer(rule(labelSelector=None)))) == {}


# --- required: which nodes count -----------------------------------------------------------------


def test_a_node_without_the_label_is_refused_for_good() -> None:
    assert refused(asked([node("a1", "a"), node("x", None)], [], newcomer(rule()))) == {"x": MISSING}


def test_nodes_without_all_labels_and_their_pods_do_not_count() -> None:
    nodes = [node("a1", "a", rack="1"), node("a2", "a"), node("b1", "b"), node("c1", "c", rack="1")]
    who = newcomer(rule(), rule("rack", skew=9))
    # b, which would be the emptiest, has no rack; the pod on a2 is not seen either.
    assert refused(asked(nodes, webs("a1", "a2", "c1"), who)) == {"a2": MISSING, "b1": MISSING}


def test_the_first_rule_that_refuses_says_whether_eviction_could_help() -> None:
    nodes = [node("a1", "a"), node("b1", "b", rack="1"), node("a2", "a", rack="1")]
    zone_then_rack = newcomer(rule(), rule("rack", skew=9))
    rack_then_zone = newcomer(rule("rack", skew=9), rule())
    assert refused(asked(nodes, webs("a2"), zone_then_rack)) == {"a1": SKEW, "a2": SKEW}
    assert refused(asked(nodes, webs("a2"), rack_then_zone)) == {"a1": MISSING, "a2": SKEW}


def test_nodes_the_newcomer_cannot_want_are_no_domain_unless_affinity_is_ignored() -> None:
    nodes = [node("a1", "a", disk="ssd"), node("b1", "b")]
    honoring = newcomer(rule(), nodeSelector={"disk": "ssd"})
    ignoring = newcomer(rule(nodeAffinityPolicy="Ignore"), nodeSelector={"disk": "ssd"})
    assert refused(asked(nodes, webs("a1"), honoring)) == {}
    assert refused(asked(nodes, webs("a1"), ignoring)) == {"a1": SKEW}


def test_tainted_nodes_are_domains_unless_taints_are_honored() -> None:
    nodes = [node("a1", "a"), node("b1", "b", taint="dedicated")]
    honoring = rule(nodeTaintsPolicy="Honor")
    tolerations = [{"key": "dedicated", "operator": "Exists"}]
    assert refused(asked(nodes, webs("a1"), newcomer(rule()))) == {"a1": SKEW}
    assert refused(asked(nodes, webs("a1"), newcomer(honoring))) == {}
    assert refused(asked(nodes, webs("a1"), newcomer(honoring, tolerations=tolerations))) == {"a1": SKEW}


# --- required by default -------------------------------------------------------------------------

SERVICE = msgspec.convert(
    {"metadata": {"name": "web", "namespace": "default"}, "spec": {"selector": {"app": "web"}}}, Service
)
STRICT = Profile(default_spread=(DefaultSpread(ZONE, 1, required=True),), system_default_spread=False)


def test_a_profile_can_require_spreading_of_pods_that_belong_together() -> None:
    full = {"a1": SKEW, "a2": SKEW}
    assert refused(asked(TWO_ZONES, webs("a1"), newcomer(), SERVICE, profile=STRICT)) == full
    assert refused(asked(TWO_ZONES, webs("a1"), newcomer(), profile=STRICT)) == {}


def test_the_built_in_defaults_refuse_nothing() -> None:
    assert refused(asked(TWO_ZONES, webs(*["a1"] * 9), newcomer(), SERVICE)) == {}


def test_defaults_are_not_for_pods_with_rules_of_their_own() -> None:
    who = newcomer(soft())
    assert refused(asked(TWO_ZONES, webs("a1"), who, SERVICE, profile=STRICT)) == {}


# --- preferred -----------------------------------------------------------------------------------


def test_without_soft_rules_nothing_is_preferred() -> None:
    assert scores(asked(TWO_ZONES, webs("a1"), newcomer())) is None
    assert scores(asked(TWO_ZONES, webs("a1"), newcomer(rule()), SERVICE)) is None


def test_the_emptier_zone_is_preferred() -> None:
    # One pod in a of two zones weighs ln(2 + 2) = 1.39, rounded to 1.
    assert scores(asked(TWO_ZONES, webs("a1"), newcomer(soft()))) == {"a1": 0, "a2": 0, "b1": 100}


def test_max_skew_waters_differences_down() -> None:
    # 1.39 + 4 is 5 when rounded, against 4.
    found = scores(asked(TWO_ZONES, webs("a1"), newcomer(soft(skew=5))))
    assert found == {"a1": 80, "a2": 80, "b1": 100}


def test_without_matching_pods_all_nodes_score_best() -> None:
    assert scores(asked(TWO_ZONES, [], newcomer(soft()))) == {"a1": 100, "a2": 100, "b1": 100}


def test_only_domains_of_feasible_nodes_weigh_and_scale() -> None:
    nodes = [node("a1", "a"), node("b1", "b"), node("c1", "c"), node("d1", "d")]
    crowd = webs("a1", "a1", "a1", "b1", "c1", "c1", "c1", "c1", "c1", "c1")
    # Of two domains: 3 ln 4 = 4.16 and 1 ln 4 = 1.39. Of four: 3 ln 6 = 5.38, 1.79, 10.75 and 0.
    for key in (ZONE, HOST):
        ask = asked(nodes, crowd, newcomer(soft(key)))
        assert scores(ask, "c1", "d1") == {"a1": 25, "b1": 100}
        assert scores(ask) == {"a1": 54, "b1": 81, "c1": 0, "d1": 100}


def test_pods_on_nodes_that_are_not_feasible_count_in_their_domain() -> None:
    assert scores(asked(TWO_ZONES, webs("a2"), newcomer(soft())), "a2") == {"a1": 0, "b1": 100}


def test_pods_where_the_newcomer_cannot_be_count_only_if_affinity_is_ignored() -> None:
    nodes = [node("a1", "a", disk="ssd"), node("a2", "a"), node("b1", "b", disk="ssd")]
    honoring = newcomer(soft(), nodeSelector={"disk": "ssd"})
    ignoring = newcomer(soft(nodeAffinityPolicy="Ignore"), nodeSelector={"disk": "ssd"})
    assert scores(asked(nodes, webs("a2"), honoring), "a2") == {"a1": 100, "b1": 100}
    assert scores(asked(nodes, webs("a2"), ignoring), "a2") == {"a1": 0, "b1": 100}


def test_a_node_without_the_label_of_a_rule_gets_nothing() -> None:
    nodes = [node("a1", "a"), node("x", None)]
    assert scores(asked(nodes, webs("a1"), newcomer(soft()))) == {"a1": 100, "x": 0}


def test_hosts_are_counted_one_by_one_even_if_they_claim_one_name() -> None:
    nodes = [node("h1", "a", **{HOST: "same"}), node("h2", "a", **{HOST: "same"})]
    assert scores(asked(nodes, webs("h1"), newcomer(soft(HOST)))) == {"h1": 0, "h2": 100}


def test_the_sum_over_all_rules_is_rounded_once() -> None:
    # Two zones and two hosts weigh 1.39 each: 2.39 + 2.39 is 5, not 4, against 2.
    nodes = [node("a1", "a"), node("b1", "b")]
    found = scores(asked(nodes, webs("a1"), newcomer(soft(skew=2), soft(HOST, skew=2))))
    assert found == {"a1": 40, "b1": 100}


# --- preferred by default ------------------------------------------------------------------------


def controller(kind: type[ReplicaSet | StatefulSet | ReplicationController], selector: dict[str, Any]) -> Any:
    meta = {"name": "mine", "namespace": "default", "uid": "mine"}
    return msgspec.convert({"metadata": meta, "spec": {"selector": selector}}, kind)


def test_pods_of_one_service_are_spread_over_hosts_and_zones() -> None:
    # a1: 1 ln 5 + 2 by host, 1 ln 4 + 4 by zone, 9.0 in all; a2: 7.39; b1: 6.
    found = scores(asked(TWO_ZONES, webs("a1"), newcomer(), SERVICE))
    assert found == {"a1": 66, "a2": 88, "b1": 100}


def test_pods_of_one_controller_are_spread() -> None:
    for company in (
        controller(ReplicaSet, WEB),
        controller(StatefulSet, WEB),
        controller(ReplicationController, {"app": "web"}),
    ):
        ask = asked(TWO_ZONES, webs("a1"), newcomer(owner="mine"), company)
        assert scores(ask) == {"a1": 66, "a2": 88, "b1": 100}
        assert scores(asked(TWO_ZONES, webs("a1"), newcomer(owner="other"), company)) is None


def test_service_and_controller_together_select_fewer() -> None:
    newer = controller(ReplicaSet, {"matchLabels": {"revision": "2"}})
    who = newcomer(owner="mine", labels={"app": "web", "revision": "2"})
    assert scores(asked(TWO_ZONES, webs("a1"), who, SERVICE, newer)) == {"a1": 100, "a2": 100, "b1": 100}


def test_services_of_other_namespaces_or_other_pods_do_not_matter() -> None:
    foreign = msgspec.structs.replace(
        SERVICE, metadata=msgspec.structs.replace(SERVICE.metadata, namespace="other")
    )
    assert scores(asked(TWO_ZONES, webs("a1"), newcomer(), foreign)) is None
    assert scores(asked(TWO_ZONES, webs("a1"), newcomer(labels={"app": "db"}), SERVICE)) is None


def test_a_controller_without_a_uid_owns_nothing() -> None:
    anonymous = msgspec.convert({"metadata": {"name": "rs"}, "spec": {"selector": WEB}}, ReplicaSet)
    assert scores(asked(TWO_ZONES, webs("a1"), newcomer(), anonymous)) is None


def test_the_built_in_defaults_spread_over_hosts_where_there_are_no_zones() -> None:
    nodes = [node("h1", None), node("h2", None)]
    # 1 ln 4 + 2 by host is 3, against 2.
    assert scores(asked(nodes, webs("h1"), newcomer(), SERVICE)) == {"h1": 66, "h2": 100}


def test_a_list_of_ones_own_ignores_nodes_without_all_its_labels() -> None:
    hosts_and_zones = (DefaultSpread(HOST, 3), DefaultSpread(ZONE, 5))
    own = Profile(default_spread=hosts_and_zones, system_default_spread=False)
    nodes = [node("h1", None), node("a1", "a")]
    assert scores(asked(nodes, webs("h1"), newcomer(), SERVICE, profile=own)) == {"h1": 0, "a1": 100}


def test_by_default_a_missing_zone_and_an_empty_one_are_the_same() -> None:
    nodes = [node("h1", None), node("h2", ""), node("h3", "a")]
    # Two zones. h2 shares the pod of h1: 2 + (ln 4 + 4) is 7, against 6 of h3 and, by host alone, 4 of h1.
    assert scores(asked(nodes, webs("h1"), newcomer(), SERVICE)) == {"h1": 100, "h2": 57, "h3": 71}
