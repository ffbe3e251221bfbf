"""What a decision says of victims, of spared units, and of what was missing."""

from dataclasses import replace

from tests.unit.scheduler.crowds import a_budget, a_group, a_member, only_decision, preempting
from tests.unit.scheduler.making import a_node, a_pod
from tests.unit.scheduler.serving import served

from reprieve.model.effects import SetCondition
from reprieve.model.objects import KubernetesObject
from reprieve.preemption.policy import Policy
from reprieve.preemption.searches import REPRIEVE
from reprieve.scheduler.demands.gang_strategy import POD_BY_POD
from reprieve.scheduler.reporting.decision import Decision, Miss, Outcome, Preemption

PORT = [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 80}]}]


def room(*things: KubernetesObject) -> Preemption:
    """How room is made in a world in which one demand asks."""
    decision = only_decision(*things)
    assert decision.outcome is Outcome.PREEMPTS
    assert decision.preemption is not None
    return decision.preemption


def codes(made: Preemption) -> dict[str, str]:
    return {victim.pod.name: victim.because.code for victim in made.victims}


def spared(made: Preemption) -> dict[str, str]:
    return {one.unit: one.because.code for one in made.spared}


# --- victims -------------------------------------------------------------------------------------


def test_a_victim_is_told_what_its_room_is_needed_for() -> None:
    made = room(a_node("n1"), a_pod("old", cpu="3", on="n1"), a_pod("new", cpu="2", priority=9))
    (victim,) = made.victims
    assert (victim.pod.name, victim.node, victim.unit) == ("old", "n1", "Pod/default/old")
    assert (victim.because.code, victim.because.text) == ("RoomNeeded", "n1 is short of cpu by 1")
    assert made.victim_nodes == {"n1": 1}


def test_a_pod_that_holds_a_port_is_told_that() -> None:
    made = room(
        a_node("n1"), a_pod("old", on="n1", containers=PORT), a_pod("new", priority=9, containers=PORT)
    )
    assert codes(made) == {"old": "HostPort"}


def test_members_elsewhere_go_with_their_group() -> None:
    made = room(
        a_node("n1"),
        a_node("n2", unschedulable=True),
        a_group("train", disruptedWhole=True),
        a_member("t-0", "train", cpu="3", on="n1"),
        a_member("t-1", "train", cpu="3", on="n2"),
        a_pod("new", cpu="2", priority=9),
    )
    assert codes(made) == {"t-0": "RoomNeeded", "t-1": "GoesWithItsGroup"}
    assert {victim.unit for victim in made.victims} == {"PodGroup/default/train"}


def test_budgets_that_are_exceeded_are_named_with_their_numbers() -> None:
    made = room(
        a_node("n1"),
        a_budget("few", allowed=1, app="web"),
        *(a_pod(f"w-{i}", cpu="2", on="n1", labels={"app": "web"}) for i in range(2)),
        a_pod("new", cpu="4", priority=9),
    )
    (exceeded,) = made.exceeded
    assert (exceeded.budget, exceeded.allowed, exceeded.going, made.broken) == ("default/few", 1, 2, 1)
    assert {victim.budgets for victim in made.victims} == {("default/few",)}


def test_only_so_many_victims_are_listed_and_the_others_counted() -> None:
    crowd = [a_pod(f"p{i:03}", cpu="10m", on="n1") for i in range(105)]
    made = room(a_node("n1", cpu="1050m"), *crowd, a_pod("new", cpu="1050m", priority=9))
    assert (len(made.victims), made.pods) == (100, 105)


# --- spared units --------------------------------------------------------------------------------


def test_a_pod_that_is_above_the_ceiling_and_what_has_room_beside() -> None:
    made = room(
        a_node("n1"),
        a_pod("dear", cpu="1", on="n1", priority=5),
        a_pod("large", cpu="2", on="n1"),
        a_pod("small", cpu="1", on="n1"),
        a_pod("new", cpu="2", priority=9),
    )
    assert made.ceiling == 0
    assert codes(made) == {"large": "RoomNeeded"}
    assert spared(made) == {"Pod/default/dear": "AboveCeiling", "Pod/default/small": "FitsBeside"}


def test_a_pod_that_is_spared_for_a_budget() -> None:
    made = room(
        a_node("n1"),
        a_budget("all", app="web"),
        a_pod("web", cpu="2", on="n1", labels={"app": "web"}),
        a_pod("batch", cpu="2", on="n1"),
        a_pod("new", cpu="2", priority=9),
    )
    assert spared(made) == {"Pod/default/web": "SparedForBudget"}
    assert "default/all" in made.spared[0].because.text


def test_a_pod_that_is_not_in_the_way_of_a_gang() -> None:
    made = room(
        a_node("n1"),
        a_node("n2"),
        a_node("n3", unschedulable=True),
        *(a_pod(f"on-{n}", cpu="3", on=n) for n in ("n1", "n2", "n3")),
        a_group("g", 9, 2),
        *(a_member(f"g-{i}", cpu="3", priority=9) for i in range(2)),
    )
    assert codes(made) == {"on-n1": "RoomNeeded", "on-n2": "RoomNeeded"}
    assert spared(made) == {"Pod/default/on-n3": "NotInTheWay"}


def test_those_in_the_way_are_named_first_and_the_rest_counted() -> None:
    crowd = [a_pod(f"p{i:03}", cpu="10m", on="n1") for i in range(30)]
    made = room(a_node("n1", cpu="400m"), *crowd, a_pod("new", cpu="110m", priority=9))
    assert (made.pods, len(made.spared), made.units_spared) == (1, 20, 29)


# --- which plans lost ----------------------------------------------------------------------------


def test_a_plan_loses_by_the_first_criterion_in_which_it_is_worse() -> None:
    made = room(
        a_node("n1"),
        a_node("n2"),
        a_node("n3"),
        a_pod("a", cpu="3", on="n1", priority=1),
        *(a_pod(f"b-{i}", cpu="2", on="n2") for i in range(2)),
        a_pod("c", cpu="3", on="n3"),
        a_pod("new", cpu="4", priority=9),
    )
    assert made.domain == "n3"
    assert [(loser.domain, loser.pods, loser.lost_by.code) for loser in made.losers] == [
        ("n2", 2, "FewestPodsStopped"),
        ("n1", 1, "LowestHighestPriority"),
    ]
    assert made.decided_by is not None
    assert made.decided_by.code == "FewestPodsStopped"


def test_at_most_twenty_losers_are_kept() -> None:
    nodes = [thing for i in range(25) for thing in (a_node(f"n{i}"), a_pod(f"p{i}", cpu="3", on=f"n{i}"))]
    assert len(room(*nodes, a_pod("new", cpu="2", priority=9)).losers) <= 20


def test_a_plan_that_lost_names_what_it_would_have_evicted() -> None:
    crowd = [a_pod(f"b-{i:02}", cpu="100m", on="n2") for i in range(30)]
    made = room(
        a_node("n1"), a_node("n2"), a_pod("a", cpu="3", on="n1"), *crowd, a_pod("new", cpu="4", priority=9)
    )
    (loser,) = made.losers
    assert (loser.domain, loser.unit_count, len(loser.units)) == ("n2", 30, 20)
    assert set(loser.units) <= {f"Pod/default/{pod.metadata.name}" for pod in crowd}


# --- no victims ----------------------------------------------------------------------------------


def refused(*things: KubernetesObject, policy: Policy | None = None) -> Decision:
    decision = only_decision(*things, policy=policy)
    assert decision.outcome is Outcome.UNSCHEDULABLE
    return decision


def missed(decision: Decision) -> Miss:
    assert decision.miss is not None
    return decision.miss


def why(decision: Decision) -> tuple[str, str]:
    assert decision.eviction is not None
    return decision.eviction.because.code, decision.eviction.because.text


def test_the_nearest_miss_is_where_least_is_lacking() -> None:
    decision = refused(
        a_node("n1"),
        a_node("n2"),
        a_node("n3", unschedulable=True),
        a_pod("a", cpu="3", on="n1", priority=9),
        a_pod("b", cpu="2500m", on="n2", priority=9),
        a_pod("new", cpu="2"),
    )
    miss = missed(decision)
    assert (miss.pod.name, miss.node, miss.resource, miss.short, miss.nodes) == ("new", "n2", "cpu", 500, 2)
    assert "nearest miss: n2 is short of cpu by 500m" in decision.text
    assert why(decision) == ("NobodyEligible", "no running pod has a priority below 0")


def test_of_a_gang_the_member_that_limits_it() -> None:
    decision = refused(
        a_node("n1"), a_group("g", 9, 2), *(a_member(f"g-{i}", cpu="3", priority=9) for i in range(2))
    )
    miss = missed(decision)
    assert (miss.pod.name, miss.placed, miss.needed) == ("g-1", 1, 2)
    assert (miss.node, miss.resource, miss.short) == ("n1", "cpu", 2000)
    assert decision.text.startswith("1 of the 2 pods it needs found a node, g-1 did not; ")


def test_a_miss_that_is_not_for_room_is_the_most_frequent_reason() -> None:
    decision = refused(a_node("n1", unschedulable=True), a_pod("new"))
    miss = missed(decision)
    assert (miss.because.code, miss.because.text) == ("NodeUnschedulable", "1 node is marked unschedulable")
    assert why(decision)[0] == "NobodyEligible"


def test_what_is_missing_even_if_all_went() -> None:
    decision = refused(
        a_node("n1"),
        a_pod("cheap", cpu="1", on="n1"),
        a_pod("dear", cpu="2", on="n1", priority=50),
        a_pod("new", cpu="3", priority=9),
    )
    assert why(decision) == (
        "NoHelp",
        "even after evicting the only pod of lower priority, n1 would still lack 1 cpu",
    )
    assert decision.eviction is not None
    assert decision.eviction.at_best is not None
    assert (missed(decision).short, decision.eviction.at_best.short) == (2000, 1000)


def test_a_node_that_stays_too_small() -> None:
    decision = refused(a_node("n1"), a_pod("old", cpu="1", on="n1"), a_pod("new", cpu="5", priority=9))
    assert why(decision) == ("NoHelp", "no node was refused for a reason that evictions change")


def test_a_pod_that_never_preempts() -> None:
    decision = refused(
        a_node("n1"),
        a_pod("old", cpu="4", on="n1"),
        a_pod("new", cpu="1", priority=9, preemptionPolicy="Never"),
    )
    assert why(decision) == ("NeverPreempts", "preemptionPolicy is Never")


def test_budgets_that_must_hold() -> None:
    decision = refused(
        a_node("n1"),
        a_budget("all", app="web"),
        a_pod("web", cpu="4", on="n1", labels={"app": "web"}),
        a_pod("new", cpu="1", priority=9),
        policy=replace(REPRIEVE, breaks_no_budget=True),
    )
    assert why(decision) == (
        "Budgets",
        "the best plan evicts 1 pod on n1, 1 beyond PodDisruptionBudgets, and respectBudgets is Always",
    )


def test_no_nodes_at_all() -> None:
    decision = refused(a_pod("new"))
    assert decision.text == "no nodes available to schedule pods"
    assert missed(decision).because.code == "NoNodes"


def test_a_scheduler_that_evicts_nothing() -> None:
    decision = only_decision(
        a_node("n1"), a_pod("old", cpu="4", on="n1"), a_pod("new", priority=9), policies={}
    )
    assert why(decision) == ("PreemptionOff", "preemption is off for pods of this scheduler")


ZONE = "topology.kubernetes.io/zone"


def test_of_a_group_within_a_topology_the_domain_that_came_nearest_is_named() -> None:
    decision = refused(
        a_node("n1", cpu="2", labels={ZONE: "a"}),
        a_node("n2", cpu="1", labels={ZONE: "b"}),
        a_node("n3", cpu="9"),
        a_group("g", 9, 2, topologyKey=ZONE),
        *(a_member(f"g-{i}", cpu="2", priority=9) for i in range(2)),
    )
    assert f"1 node is outside {ZONE}=a" in decision.text
    assert f"1 node lacks the label {ZONE} of the group's topology constraint" in decision.text
    assert missed(decision).node == "n1"


def test_what_is_kept_for_others_is_told() -> None:
    first, second = a_pod("first", cpu="3", priority=9), a_pod("second", cpu="2", priority=5)
    cluster = served(a_node("n1"), a_pod("old", cpu="4", on="n1"), first, second)
    decision = cluster.stage.decisions[-1]
    assert (missed(decision).short, missed(decision).kept) == (5000, 3000)
    assert "n1 is short of cpu by 5, with 3 reserved for other pods" in decision.text


def test_pods_of_a_gang_for_which_no_room_is_made_are_not_told_that_they_wait_for_some() -> None:
    members = [a_member(f"g-{i}", cpu="4", priority=9) for i in range(2)]
    cluster = served(a_node("n1"), a_pod("old", cpu="4", on="n1"), a_group("g", 9, 1), *members)
    told = {e.target.name: e.message for e in cluster.take(SetCondition) if isinstance(e, SetCondition)}
    assert told["g-0"].startswith("waits for room on n1")
    assert told["g-1"].startswith("waits while room is made for 1 other pod of PodGroup default/g")


def test_if_pods_of_a_gang_make_room_each_for_itself_those_that_go_for_one_are_not_denied() -> None:
    stage = preempting(
        a_node("n1"),
        a_node("n2"),
        a_pod("low", cpu="4", on="n1"),
        a_pod("dear", cpu="4", priority=20, on="n2"),
        a_group("g", 9, 2),
        *(a_member(f"g-{i}", cpu="4", priority=9) for i in range(2)),
        gangs=POD_BY_POD,
    )
    code, text = why(stage.decisions[0])
    assert code == "NoHelp"
    assert text.startswith("even after evicting the only pod of lower priority, pod g-1 would not fit")
