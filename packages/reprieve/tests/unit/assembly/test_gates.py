"""What each gate and each argument changes for a tiny cluster."""

from dataclasses import replace

import pytest
from tests.unit.config import configuration, with_args
from tests.unit.scheduler.crowds import a_budget, a_group, a_member
from tests.unit.scheduler.making import a_node, a_pod
from tests.unit.scheduler.stage import Stage

from reprieve.assembly.scheduler_settings import policy_of_profile, settings_of
from reprieve.config import Configuration, parse_feature_gates
from reprieve.model.effects import Evict, SetCondition
from reprieve.model.events import Seen, Synced
from reprieve.model.objects import (
    KubernetesObject,
    ObjectMeta,
    PriorityClass,
)
from reprieve.preemption import searches
from reprieve.preemption.budgets import accounts, accounts_as_upstream
from reprieve.preemption.policy import BudgetCounting
from reprieve.preemption.searches import PRIORITY_CEILING
from reprieve.preemption.toleration import MINIMUM_PRIORITY, SECONDS
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.demand_key import by_itself, with_its_group
from reprieve.scheduler.demands.gang_strategy import ALL_MEMBERS
from reprieve.scheduler.demands.group_rules import one_priority
from reprieve.scheduler.reporting.decision import Decision, Outcome
from reprieve.scheduler.settings import Settings

World = tuple[KubernetesObject, ...]

GANG: World = (a_group("g", 9, 2), *(a_member(f"g-{i}", cpu="3", priority=9) for i in range(2)))


def configured(**args: object) -> Configuration:
    """A configuration with arguments of Reprieve."""
    return configuration(profiles=[{"pluginConfig": [{"name": "Reprieve", "args": args}]}])


def played(*things: KubernetesObject, gates: str = "", **args: object) -> Stage:
    settings = settings_of(configured(**args), parse_feature_gates(gates))
    return Stage(Scheduler(settings)).happens(*map(Seen, things), Synced())


def decided(*things: KubernetesObject, gates: str = "", **args: object) -> list[Decision]:
    return played(*things, gates=gates, **args).decisions


def taken(*things: KubernetesObject, gates: str = "", **args: object) -> list[str]:
    """The victims of the first decision that has any."""
    found = [d.preemption for d in decided(*things, gates=gates, **args) if d.preemption is not None]
    return sorted(victim.pod.name for victim in found[0].victims) if found else []


# --- gangs ---------------------------------------------------------------------------------------


def test_without_gangs_none_looks_at_groups() -> None:
    """Neither for the priority of pods, nor for what goes together, nor to tell them anything."""
    group = a_group("train", 50, disruptedWhole=True)
    members = [a_member(f"t-{i}", "train", cpu="4", on=f"n{i}") for i in range(2)]
    stage = played(
        a_node("n0"), a_node("n1"), group, *members, a_pod("new", priority=9), gates="GenericWorkload=false"
    )
    (decision,) = stage.decisions
    assert decision.victims == ("Pod/default/t-0",)
    assert {effect.target.kind for effect in stage.take()} == {"Pod"}


def test_a_profile_without_gangs_is_like_the_gate() -> None:
    off = {"multiPoint": {"disabled": [{"name": "GangScheduling"}]}}
    settings = settings_of(configuration(profiles=[{"plugins": off}]))
    assert (settings.demand_of_pod, len(settings.unseen)) == (by_itself, 2)


# --- workload-aware preemption -------------------------------------------------------------------


def two_full_nodes(*, whole: bool) -> World:
    members = [a_member(f"t-{i}", "train", cpu="3", on=f"n{i}") for i in range(2)]
    return a_node("n0"), a_node("n1"), a_group("train", disruptedWhole=whole), *members


def test_without_it_a_gang_makes_room_pod_by_pod() -> None:
    """Each pod with its own priority, and yet all at once."""
    world: World = (*two_full_nodes(whole=False), *GANG)
    stage = played(*world, gates="WorkloadAwarePreemption=false")
    assert [d.outcome for d in stage.decisions] == [Outcome.PREEMPTS]
    assert evicted(stage) == ["t-0", "t-1"]
    stage.lose(*(thing for thing in world if thing.metadata.name in ("t-0", "t-1")))
    assert stage.binds().keys() == {"g-0", "g-1"}


def test_without_it_pods_count_with_their_own_priority() -> None:
    """And are not compared with a group's that does not count."""
    gang: World = (a_group("g", 9, 2), *(a_member(f"g-{i}", cpu="3", priority=5) for i in range(2)))
    full: World = tuple(a_pod(f"p{i}", cpu="3", priority=5, on=f"n{i}") for i in range(2))
    off = "WorkloadAwarePreemption=false"
    assert taken(a_node("n0"), a_node("n1"), *full, *gang, divergence="Report") == ["p0", "p1"]
    assert taken(a_node("n0"), a_node("n1"), *full, *gang, gates=off) == []
    stage = played(a_node("n0"), a_node("n1"), *gang, gates=off)
    assert [(d.outcome, d.priority) for d in stage.decisions] == [(Outcome.PLACED, 5)]
    assert not [e for e in stage.take() if isinstance(e, SetCondition) and e.status == "True"]


@pytest.mark.parametrize("min_count", [0, 1])
def test_without_it_pods_that_do_not_need_each_other_preempt_with_their_own(min_count: int) -> None:
    """Of a basic group, and of a gang that runs: the pod of priority 9 lends its priority to no other."""
    running: World = (a_node("n9", cpu="1"), a_member("g-9", cpu="1", on="n9"))
    waiting: World = tuple(a_member(f"g-{i}", cpu="3", priority=p) for i, p in enumerate((9, 5)))
    full: World = tuple(a_pod(f"p{i}", cpu="3", priority=5, on=f"n{i}") for i in range(2))
    world: World = (a_node("n0"), a_node("n1"), *full, a_group("g", 9, min_count), *running, *waiting)
    stage = played(*world, gates="WorkloadAwarePreemption=false")
    assert len(evicted(stage)) == 1
    assert {pod.name for pod, _ in stage.decisions[0].places} == {"g-0"}


def test_without_it_reserved_room_has_the_priority_of_the_pods() -> None:
    gang: World = (a_group("g", 99, 1), a_member("g-0", cpu="3", priority=5))
    stage = played(a_node("n0"), a_pod("old", cpu="3", on="n0"), *gang, gates="WorkloadAwarePreemption=false")
    assert [d.outcome for d in stage.decisions] == [Outcome.PREEMPTS]
    stage.see(a_pod("urgent", cpu="3", priority=9))
    assert stage.decisions[1].outcome is Outcome.PREEMPTS, "nothing keeps it from room that a 5 waits for"


def test_without_it_room_that_a_pod_of_the_gang_has_found_is_kept() -> None:
    world: World = (
        a_node("n0"),
        *two_full_nodes(whole=False)[1:3],
        a_member("t-1", "train", cpu="3", on="n1"),
        *GANG,
    )
    (decision,) = decided(*world, gates="WorkloadAwarePreemption=false")
    assert {pod.name: node for pod, node in decision.places} == {"g-0": "n0", "g-1": "n1"}


def evicted(stage: Stage) -> list[str]:
    """Carries out effects until a pod is evicted."""
    for _ in range(5):
        done = stage.succeed()
        if names := sorted(effect.target.name for effect in done if isinstance(effect, Evict)):
            return names
    return []


# --- topology and trees --------------------------------------------------------------------------


TOPOLOGY = "TopologyAwareWorkloadScheduling"


# --- preemption policies -------------------------------------------------------------------------


def test_a_profile_without_preemption_evicts_nothing() -> None:
    off = {"multiPoint": {"disabled": [{"name": "DefaultPreemption"}]}}
    settings = settings_of(configuration(profiles=[{"plugins": off}]))
    assert settings.policies == {}


# --- arguments -----------------------------------------------------------------------------------


def test_nothing_configured_is_the_default_policy() -> None:
    settings, plain = settings_of(configured()), Settings()
    usual = plain.policies["reprieve"]
    assert replace(settings.policies["reprieve"], units=usual.units, patience=usual.patience) == usual
    assert (settings.demand_of_pod, settings.gangs) == (with_its_group, plain.gangs)
    trees = parse_feature_gates(f"{TOPOLOGY}=true,CompositePodGroup=true")
    assert settings_of(configured(), trees).demand_of_pod is plain.demand_of_pod
    assert one_priority in settings.group_rules.checks


def test_the_preset_is_what_kube_scheduler_does() -> None:
    policy = policy_of_profile(with_args("Reprieve", policy="Upstream"))
    assert (policy.search, policy.budgets) == (searches.UPSTREAM, BudgetCounting.UPSTREAM)
    assert policy.accounts is accounts_as_upstream
    assert settings_of(configured(policy="Upstream")).gangs is ALL_MEMBERS


def test_what_is_written_wins_over_the_preset() -> None:
    policy = policy_of_profile(
        with_args("Reprieve", policy="Upstream", search="PriorityCeiling", budgets="Joint")
    )
    assert (policy.search, policy.budgets) == (PRIORITY_CEILING, BudgetCounting.JOINT)
    assert policy.accounts is accounts_as_upstream
    assert (
        policy_of_profile(with_args("Reprieve", search="PriorityCeiling", budgets="Upstream")).accounts
        is accounts
    )


def test_an_empty_selector_means_none_upstream() -> None:
    full = [a_pod(f"p{i}", cpu="3", on=f"n{i}", labels={"app": "x"}) for i in range(2)]
    world: World = (a_node("n0"), a_node("n1"), *full, a_budget("all"), a_pod("new", cpu="3", priority=9))
    (ours,), (theirs,) = decided(*world), decided(*world, policy="Upstream")
    assert ours.preemption is not None
    assert theirs.preemption is not None
    assert (ours.preemption.broken, theirs.preemption.broken) == (1, 0)


def test_members_rank_as_groups_upstream() -> None:
    """Of two pods with one priority, the one that names a group is spared first."""
    pods = (a_member("in", "train", cpu="2", on="n0"), a_pod("alone", cpu="2", on="n0"))
    world: World = (a_node("n0"), *pods, a_pod("new", cpu="2", priority=9))
    assert (taken(*world), taken(*world, policy="Upstream")) == (["in"], ["alone"])


def test_budgets_that_must_hold() -> None:
    web = a_pod("web", cpu="4", on="n0", labels={"app": "web"})
    world: World = (a_node("n0"), web, a_budget("few", app="web"), a_pod("new", priority=9))
    assert taken(*world) == ["web"]
    assert taken(*world, respectBudgets="Always") == []


def test_for_how_many_of_a_gang_room_is_made() -> None:
    nodes: World = tuple(
        thing for i in range(3) for thing in (a_node(f"n{i}"), a_pod(f"p{i}", cpu="3", on=f"n{i}"))
    )
    gang: World = (a_group("g", 9, 2), *(a_member(f"g-{i}", cpu="3", priority=9) for i in range(3)))
    assert len(taken(*nodes, *gang)) == 2
    assert len(taken(*nodes, *gang, gangPreemption="All")) == 3


@pytest.mark.parametrize(("divergence", "starts"), [("Reject", False), ("Report", True)])
def test_pods_that_differ_from_their_group(divergence: str, starts: bool) -> None:
    stage = played(a_node("n0"), a_group("g", 9), a_member("g-0", priority=3), divergence=divergence)
    assert bool(stage.decisions) is starts
    told = [e for e in stage.take() if isinstance(e, SetCondition) and e.type == "PodsNotMatchingPriority"]
    assert [condition.status for condition in told] == ["True"]


def test_the_order_of_the_criteria_is_that_of_the_plans() -> None:
    """One dear pod is in the way on n0, two cheap ones on n1."""
    world: World = (
        a_node("n0"),
        a_node("n1"),
        a_pod("dear", cpu="4", on="n0", priority=5),
        *(a_pod(f"cheap-{i}", cpu="2", on="n1", priority=1) for i in range(2)),
        a_pod("new", cpu="4", priority=9),
    )
    assert taken(*world) == ["cheap-0", "cheap-1"]
    assert taken(*world, search="PriorityCeiling", disturbance=["Pods", "HighestPriority"]) == ["dear"]
    (decision,) = decided(*world, search="PriorityCeiling", disturbance=["Pods", "HighestPriority"])
    assert decision.preemption is not None
    assert [loser.lost_by.code for loser in decision.preemption.losers] == ["FewestPods"]
    assert decision.preemption.decided_by is not None
    assert decision.preemption.decided_by.code == "FewestPods"


def test_the_order_of_disturbance_is_that_of_the_plans_of_groups() -> None:
    """The group can evict one dear pod on n0, or two cheap ones on n1."""
    world: World = (
        a_node("n0"),
        a_node("n1"),
        a_pod("dear", cpu="4", on="n0", priority=5),
        *(a_pod(f"cheap-{i}", cpu="2", on="n1", priority=1) for i in range(2)),
        a_group("g", 9, 1),
        a_member("g-0", cpu="4", priority=9),
    )
    assert taken(*world) == ["cheap-0", "cheap-1"]
    order = ["Pods", "HighestPriority"]
    assert taken(*world, disturbance=order) == ["dear"]
    (decision,) = decided(*world, disturbance=order)
    assert decision.preemption is not None and decision.preemption.quality is not None
    assert dict(decision.preemption.quality.cost) == {"Pods": 1, "HighestPriority": 5}
    assert decision.preemption.quality.proved


def test_only_the_search_that_improves_plans_has_patience() -> None:
    configured = {"search": "LeastDisturbance", "planningPatience": "3s"}
    assert policy_of_profile(with_args("Reprieve", **configured)).patience == 3.0
    assert policy_of_profile(with_args("Reprieve", search="LeastDisturbance")).patience == 1.0
    assert policy_of_profile(with_args("Reprieve", search="PriorityCeiling")).patience is None


@pytest.mark.parametrize(("search", "proved"), [("LeastDisturbance", True), ("PriorityCeiling", False)])
def test_what_the_plan_of_a_single_pod_costs_is_known_and_may_be_proved(search: str, proved: bool) -> None:
    world: World = (a_node("n0"), a_pod("old", cpu="4", on="n0"), a_pod("new", cpu="4", priority=9))
    (decision,) = decided(*world, search=search)
    assert decision.preemption is not None and decision.preemption.quality is not None
    assert decision.preemption.quality.cost["PodsStopped"] == 1
    assert decision.preemption.quality.proved is proved


# --- tolerations ---------------------------------------------------------------------------------


def a_tolerant_world() -> World:
    annotations = {MINIMUM_PRIORITY: "100", SECONDS: "-1"}
    of_class = PriorityClass(metadata=ObjectMeta(name="low", uid="low", annotations=annotations), value=1)
    victim = a_pod("fragile", cpu="4", priority=1, on="n1", priorityClassName="low")
    return a_node("n1"), of_class, victim, a_pod("new", cpu="4", priority=9)


@pytest.mark.parametrize("policy", ["Reprieve", "Upstream"])
def test_a_pod_that_tolerates_is_not_taken(policy: str) -> None:
    assert taken(*a_tolerant_world(), policy=policy) == []
    assert taken(*a_tolerant_world(), gates="PreemptionToleration=false", policy=policy) == ["fragile"]
