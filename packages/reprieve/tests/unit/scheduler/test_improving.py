"""A first plan is improved beside the loop: nothing is written before, and the world may change meanwhile."""

from dataclasses import replace

import msgspec
import pytest
from tests.unit.scheduler.crowds import a_budget, a_group, a_member
from tests.unit.scheduler.making import a_node, a_pod, later, target
from tests.unit.scheduler.serving import Served, served
from tests.unit.scheduler.stage import remains
from tests.unit.scheduler.validation import BrokenRuleError, validate

from reprieve.model.annotations import CHECKPOINT
from reprieve.model.effects import Bind, Effect, Evict, Nominate, SetCondition, Target
from reprieve.model.events import Gone, Improvement, PlanImproved, Seen
from reprieve.model.moment import on_one_clock
from reprieve.model.objects import KubernetesObject, Pod, PodGroup
from reprieve.placement.effort import NO_EFFORT
from reprieve.placement.place import Placement
from reprieve.placement.profile import DEFAULT_PROFILE
from reprieve.preemption.criteria import PODS_STOPPED
from reprieve.preemption.domain_plan import Planning
from reprieve.preemption.least_disturbance.solver_task import answer_of, message_of, solved
from reprieve.preemption.plan import Plan
from reprieve.preemption.policy import Policy
from reprieve.preemption.searches import LEAST_DISTURBANCE, REPRIEVE
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.reporting.decision import Outcome, PlanQuality
from reprieve.scheduler.settings import SCHEDULER_NAME, Settings

PATIENCE = 2.0
POLICY = replace(REPRIEVE, search=LEAST_DISTURBANCE, patience=PATIENCE)

# Groups that go whole: nodes, and cpu of their pods there. Two nodes have to be emptied.
GROUPS = {
    "w0": ((0, 1),),
    "w1": ((2, 3), (3, 1), (0, 3)),
    "w2": ((2, 1),),
    "w3": ((1, 3), (3, 1)),
    "w4": ((1, 1), (3, 1)),
    "w5": ((3, 1),),
}
# The first plan, and the one that stops fewer pods.
FIRST, BEST = {"w0", "w1", "w3", "w4"}, {"w0", "w1", "w2"}


def world() -> list[KubernetesObject]:
    things: list[KubernetesObject] = [a_node(f"n{i}") for i in range(4)]
    for name, pods in GROUPS.items():
        things.append(a_group(name, 1, 1, disruptedWhole=True))
        things += [
            a_member(f"{name}-{i}", name, cpu=str(cpu), on=f"n{node}", priority=1)
            for i, (node, cpu) in enumerate(pods)
        ]
    return things


def gang(name: str = "g", priority: int = 9, cpu: str = "4") -> list[KubernetesObject]:
    members = [a_member(f"{name}-{i}", name, cpu=cpu, priority=priority) for i in range(2)]
    return [a_group(name, priority, 2), *members]


def begun(policy: Policy = POLICY) -> Served:
    return served(*world(), *gang(), settings=Settings(policies={SCHEDULER_NAME: policy}))


def outcomes(cluster: Served) -> list[Outcome]:
    return [decision.outcome for decision in cluster.stage.decisions]


def quality(cluster: Served) -> PlanQuality:
    room = cluster.stage.decisions[-1].preemption
    assert room is not None and room.quality is not None
    return room.quality


def victims(cluster: Served) -> set[str]:
    """The groups of the last decision."""
    return {unit.rpartition("/")[2] for unit in cluster.stage.decisions[-1].victims}


def writes(cluster: Served) -> list[Effect]:
    """What is wanted for a plan: not what is said of groups that run."""
    is_said = ("reprieve.dev/RunStarted", "PodGroupInitiallyScheduled")
    wanted = (e for e in cluster.stage.wanted if not isinstance(e, Bind))
    return [e for e in wanted if not (isinstance(e, SetCondition) and e.type in is_said)]


def reserved(cluster: Served) -> dict[str, str]:
    return {one.pod.name: one.node for one in cluster.stage.scheduler._state.ledger.nominations}


def test_nothing_is_written_while_a_plan_is_improved() -> None:
    cluster = begun()
    assert outcomes(cluster) == [Outcome.IMPROVING]
    assert (victims(cluster), writes(cluster)) == (FIRST, [])
    assert sorted(reserved(cluster)) == ["g-0", "g-1"]
    assert "before any pod is evicted" in cluster.stage.decisions[0].text
    (request,) = cluster.stage.asked
    assert (request.patience, request.demand.name) == (PATIENCE, "g")


def test_the_improved_plan_is_carried_out_with_its_proof() -> None:
    cluster = begun()
    cluster.stage.now += 0.5
    cluster.stage.improve()
    assert outcomes(cluster) == [Outcome.IMPROVING, Outcome.PREEMPTS]
    assert victims(cluster) == BEST
    assert (quality(cluster).proved, quality(cluster).cost) == (True, quality(cluster).bound)
    cluster.comes_true()
    assert {"g-0", "g-1"} <= cluster.places().keys()
    assert remains(cluster.stage.scheduler) == remains(begun_and_done().stage.scheduler)


def begun_and_done() -> Served:
    """The same without any wait."""
    return begun(replace(POLICY, patience=None)).comes_true()


def test_the_same_plan_is_found_beside_the_loop_and_in_the_decision() -> None:
    beside, within = begun(), begun(replace(POLICY, patience=None))
    beside.stage.improve()
    assert victims(beside) == victims(within) == BEST
    assert quality(beside) == quality(within)


def test_without_patience_the_first_plan_is_carried_out_at_once() -> None:
    cluster = begun(replace(POLICY, patience=0.0))
    assert (outcomes(cluster), victims(cluster)) == ([Outcome.PREEMPTS], FIRST)
    assert cluster.stage.asked == []
    assert not quality(cluster).proved


def test_for_a_single_pod_no_solver_is_asked() -> None:
    """So no pod has to say that its plan is improved."""
    profile = Settings(policies={SCHEDULER_NAME: POLICY})
    cluster = served(*world(), a_pod("one", cpu="4", priority=9), settings=profile)
    assert (outcomes(cluster), cluster.stage.asked) == ([Outcome.PREEMPTS], [])


def test_without_effort_no_solver_is_asked() -> None:
    profiles = {SCHEDULER_NAME: replace(DEFAULT_PROFILE, planning_effort=0)}
    cluster = served(*world(), *gang(), settings=Settings(profiles, policies={SCHEDULER_NAME: POLICY}))
    assert (outcomes(cluster), cluster.stage.asked) == ([Outcome.PREEMPTS], [])
    assert cluster.stage.decisions[0].unproved is None


def test_the_first_plan_is_carried_out_when_patience_ends() -> None:
    cluster = begun()
    assert cluster.stage.next_time() == 1.0, "then it is reported"
    cluster.stage.after(1.0)
    assert cluster.stage.next_time() == PATIENCE
    cluster.stage.after(PATIENCE - 1.0)
    assert (outcomes(cluster)[-1], victims(cluster)) == (Outcome.PREEMPTS, FIRST)
    unproved = cluster.stage.decisions[-1].unproved
    assert unproved is not None and unproved.code == "NoAnswer", "and not that an effort was spent"


def test_a_plan_that_is_searched_anew_says_that_no_solver_has_answered() -> None:
    """To ask spends no effort, and is no proof."""
    cluster = begun()
    cluster.gone(reserved(cluster)["g-0"], kind="Node")
    cluster.stage.after(PATIENCE)
    assert (outcomes(cluster)[-1], {*outcomes(cluster)[:-1]}) == (Outcome.PREEMPTS, {Outcome.IMPROVING})
    assert not quality(cluster).proved
    said = [decision.unproved.code for decision in cluster.stage.decisions if decision.unproved is not None]
    assert said == ["NoAnswer"] * len(outcomes(cluster))
    assert (NO_EFFORT.spent, NO_EFFORT.fell_short, NO_EFFORT.unanswered) == (0, False, False)


def test_a_plan_that_its_bound_proves_is_not_said_to_be_unproved() -> None:
    cluster = begun(replace(POLICY, disturbance=(PODS_STOPPED,)))
    cluster.gone("w1-0", "w1-1", "w1-2").stage.after(PATIENCE)
    decision = cluster.stage.decisions[-1]
    assert (outcomes(cluster)[-1], victims(cluster)) == (Outcome.PREEMPTS, {"w0", "w2"})
    assert quality(cluster).proved and decision.unproved is None


def test_an_answer_that_comes_late_is_ignored() -> None:
    cluster = begun()
    cluster.stage.after(PATIENCE)
    before = (outcomes(cluster), cluster.plan())
    cluster.stage.improve()
    assert (outcomes(cluster), cluster.plan()) == before


def test_the_first_plan_is_carried_out_at_once_if_no_solver_answers() -> None:
    cluster = begun()
    (request,) = cluster.stage.asked
    cluster.stage.happens(PlanImproved(request.demand, request.id))
    assert (outcomes(cluster)[-1], victims(cluster)) == (Outcome.PREEMPTS, FIRST)


@pytest.mark.parametrize("seconds", [-3600.0, 3600.0])
def test_a_change_of_the_clock_does_not_change_the_wait(seconds: float) -> None:
    cluster = begun()
    cluster.stage.set_clock(seconds).after(PATIENCE)
    assert outcomes(cluster)[-1] is Outcome.PREEMPTS


# --- the world changes meanwhile -----------------------------------------------------------------


def test_the_wait_ends_when_there_is_room() -> None:
    cluster = begun()
    cluster.show(a_node("n8"), a_node("n9")).stage.after(1.0)
    assert outcomes(cluster)[-1] is Outcome.PLACED
    assert reserved(cluster) == {}
    assert [effect for effect in writes(cluster) if isinstance(effect, Nominate | Evict)] == []
    cluster.stage.improve()
    assert outcomes(cluster)[-1] is Outcome.PLACED


def test_other_changes_do_not_end_it() -> None:
    cluster = begun()
    cluster.show(a_node("n9", cpu="1")).stage.after(1.5)
    assert set(outcomes(cluster)) == {Outcome.IMPROVING}
    cluster.stage.improve()
    assert victims(cluster) == BEST


@pytest.mark.parametrize("kind", ["Pod", "PodGroup"])
def test_the_wait_ends_with_its_demand(kind: str) -> None:
    cluster = begun()
    for name in ("g-0", "g-1") if kind == "Pod" else ("g",):
        cluster.gone(name, kind=kind)
    assert reserved(cluster) == {}
    cluster.stage.improve().after(PATIENCE)
    assert Outcome.PREEMPTS not in outcomes(cluster)
    assert [effect for effect in writes(cluster) if isinstance(effect, Nominate | Evict)] == []


def test_an_answer_counts_without_its_proof_if_the_room_changed() -> None:
    """Node n3 has less room now, which the better plan does not use."""
    cluster = begun()
    cluster.show(a_pod("extra", cpu="100m", on="n3", priority=1))
    cluster.stage.improve()
    assert (victims(cluster), quality(cluster).proved) == (BEST, False)


def test_an_answer_that_holds_no_more_is_dropped() -> None:
    """A pod of higher priority has come to n2, which the better plan empties."""
    cluster = begun()
    cluster.gone("w2-0").show(a_pod("important", cpu="1", on="n2", priority=20))
    cluster.stage.improve()
    assert (outcomes(cluster)[-1], victims(cluster)) == (Outcome.PREEMPTS, FIRST)


def test_a_victim_of_the_plan_vanishes() -> None:
    cluster = begun()
    cluster.gone("w2-0").stage.improve()
    assert (outcomes(cluster)[-1], victims(cluster)) == (Outcome.PREEMPTS, BEST - {"w2"})


def test_a_node_of_the_first_plan_vanishes() -> None:
    cluster = begun()
    lost = reserved(cluster)["g-0"]
    cluster.gone(lost, kind="Node")
    assert lost not in reserved(cluster).values()
    assert writes(cluster) == []
    cluster.stage.after(PATIENCE)
    assert outcomes(cluster)[-1] is Outcome.PREEMPTS
    assert lost not in {node for _, node in cluster.plan().places}


def test_a_demand_of_higher_priority_takes_what_it_needs() -> None:
    cluster = begun()
    cluster.show(*gang("vip", 30))
    assert outcomes(cluster) == [Outcome.IMPROVING, Outcome.PREEMPTS], "the solver is busy"
    cluster.stage.improve()
    plans = dict(cluster.stage.scheduler._state.plans)
    assert {key.name for key in plans} == {"vip", "g"}
    places = [node for plan in plans.values() for _, node in plan.places]
    assert len(set(places)) == 4


def test_demands_of_no_higher_priority_plan_around_it() -> None:
    cluster = begun()
    ahead = set(reserved(cluster).values())
    cluster.show(a_pod("other", cpu="4", priority=9))
    assert cluster.stage.decisions[-1].outcome is Outcome.PREEMPTS
    assert not ahead & set(cluster.stage.decisions[-1].nodes)


def test_a_member_that_leaves_its_group_keeps_no_room_and_has_nothing_to_clear() -> None:
    cluster = begun()
    moved = later(cluster.pod("g-1"))
    spec = msgspec.structs.replace(moved.spec, scheduling_group=None, preemption_policy="Never")
    cluster.show(msgspec.structs.replace(moved, spec=spec))
    assert "g-1" not in reserved(cluster)
    assert [effect for effect in writes(cluster) if isinstance(effect, Nominate)] == []


def test_a_scheduler_that_takes_over_knows_nothing_of_it_and_finds_nothing_to_clear() -> None:
    cluster = begun()
    again = served(*cluster.objects.values(), settings=Settings(policies={SCHEDULER_NAME: POLICY}))
    assert (outcomes(again), writes(again)) == ([Outcome.IMPROVING], [])
    again.stage.improve()
    assert victims(again) == BEST


def test_others_are_decided_meanwhile() -> None:
    cluster = begun()
    cluster.show(a_node("n9"))
    for i in range(4):
        cluster.show(a_pod(f"small-{i}", cpu="1", priority=0))
    assert outcomes(cluster).count(Outcome.PLACED) == 4


# --- what must hold ------------------------------------------------------------------------------


def test_room_that_is_reserved_for_no_plan_is_noticed() -> None:
    scheduler = begun().stage.scheduler
    scheduler._state.improvements.end(next(key for key, _ in scheduler._state.improvements))
    with pytest.raises(BrokenRuleError, match="no first plan is being improved"):
        validate(scheduler)


def test_a_wait_without_a_demand_is_noticed() -> None:
    cluster = begun()
    state = cluster.stage.scheduler._state
    ((key, improving),) = state.improvements
    state.improvements.begin(key._replace(name="other"), improving)
    with pytest.raises(BrokenRuleError, match="not in the queue"):
        validate(cluster.stage.scheduler)


def test_an_answer_is_a_function_of_its_message() -> None:
    (request,) = begun().stage.asked
    first, second = (solved(message_of(request)) for _ in range(2))
    assert first == second
    assert answer_of(request, first).found[0].proved


def test_an_unknown_answer_changes_nothing() -> None:
    stranger = Target("PodGroup", "default", "none", "uid-none")
    scheduler = Scheduler(Settings())
    assert (
        scheduler.observe([PlanImproved(stranger, "d-none", (Improvement("none"),))], on_one_clock(0.0)) == []
    )


# --- the second decision -------------------------------------------------------------------------


def searched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Grows by a domain whenever a plan is searched there from the start."""
    found: list[str] = []
    search = Planning.by_ceiling

    def noted(self: Planning, placement: Placement) -> Plan:
        found.append(self.domain.name)
        return search(self, placement)

    monkeypatch.setattr(Planning, "by_ceiling", noted)
    return found


@pytest.mark.parametrize("change", [None, a_pod("extra", cpu="100m", on="n3", priority=1)])
@pytest.mark.parametrize("answered", [False, True])
def test_what_is_known_is_checked_and_nothing_is_searched_again(
    monkeypatch: pytest.MonkeyPatch, change: Pod | None, answered: bool
) -> None:
    searches = searched(monkeypatch)
    cluster = begun()
    if change is not None:
        cluster.show(change)
    if answered:
        cluster.stage.improve()
    else:
        cluster.stage.after(PATIENCE)
    assert (outcomes(cluster)[-1], victims(cluster)) == (Outcome.PREEMPTS, BEST if answered else FIRST)
    assert quality(cluster).proved is (answered and change is None)
    assert len(searches) == 1


def test_if_nothing_holds_that_is_known_it_is_searched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    searches = searched(monkeypatch)
    cluster = begun()
    cluster.gone(reserved(cluster)["g-0"], kind="Node").stage.after(PATIENCE)
    assert len(searches) == 2


def test_if_what_is_known_costs_more_now_it_is_searched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A budget protects a pod of both plans."""
    searches = searched(monkeypatch)
    cluster = begun()
    labelled = later(cluster.pod("w0-0"))
    metadata = msgspec.structs.replace(labelled.metadata, labels={"app": "kept"})
    cluster.show(msgspec.structs.replace(labelled, metadata=metadata), a_budget("kept", 0, app="kept"))
    cluster.stage.improve()
    assert outcomes(cluster)[-1] is Outcome.PREEMPTS
    assert len(searches) == 2


@pytest.mark.parametrize("answered", [False, True])
def test_work_that_is_lost_meanwhile_is_no_reason_to_search_again(
    monkeypatch: pytest.MonkeyPatch, answered: bool
) -> None:
    """A group of both plans has published a checkpoint, and works on while its eviction is considered."""
    searches = searched(monkeypatch)
    group = a_group("w0", 1, 1, disruptedWhole=True)
    saved = {CHECKPOINT: "1970-01-01T00:00:00Z"}
    published = msgspec.structs.replace(
        group, metadata=msgspec.structs.replace(group.metadata, annotations=saved)
    )
    cluster = served(*world(), published, *gang(), settings=Settings(policies={SCHEDULER_NAME: POLICY}))
    before = quality(cluster).cost["LostWork"] or 0
    if answered:
        cluster.stage.now += PATIENCE / 2
        cluster.stage.improve()
    else:
        cluster.stage.after(PATIENCE)
    assert (outcomes(cluster)[-1], victims(cluster)) == (Outcome.PREEMPTS, BEST if answered else FIRST)
    assert (quality(cluster).cost["LostWork"] or 0) > before
    assert len(searches) == 1


# --- while the solver is busy --------------------------------------------------------------------


def wide_nodes() -> list[KubernetesObject]:
    """Two more nodes, which no member of the first gang needs, and their pods."""
    nodes: list[KubernetesObject] = [a_node(f"m{i}", cpu="8") for i in range(2)]
    pods = (a_pod(f"kept-{i}", cpu="8", on=f"m{i}", priority=20, labels={"app": "kept"}) for i in range(2))
    return [*nodes, *pods]


def busy(policy: Policy = POLICY, *things: KubernetesObject) -> Served:
    """The first gang waits for the solver, and a more important one comes that needs the wide nodes."""
    everything = *world(), *wide_nodes(), *things, *gang()
    cluster = served(*everything, settings=Settings(policies={SCHEDULER_NAME: policy}))
    assert outcomes(cluster) == [Outcome.IMPROVING]
    return cluster.show(*gang("wide", 30, cpu="8"))


def test_another_gang_goes_ahead_with_its_first_plan() -> None:
    """It sees the same room, so that a gap is left for it, too."""
    cluster = begun()
    cluster.show(*gang("vip", 30))
    decision = cluster.stage.decisions[-1]
    assert (decision.demand.name, decision.outcome, victims(cluster)) == ("vip", Outcome.PREEMPTS, FIRST)
    assert decision.unproved is not None and decision.unproved.code == "NoAnswer"
    assert [request.demand.name for request in cluster.stage.asked] == ["g"]


def delayed(
    seconds: float, newcomers: list[KubernetesObject], policy: Policy, *things: KubernetesObject
) -> Served:
    """The newcomers' turn comes so many seconds after them: others are decided before."""
    everything = *world(), *wide_nodes(), *things
    cluster = served(*everything, settings=Settings(policies={SCHEDULER_NAME: policy}))
    cluster.stage.scheduler.observe([*map(Seen, newcomers)], cluster.stage.moment())
    cluster.stage.now += seconds
    cluster.stage.happens()
    return cluster


def test_the_wait_for_its_turn_counts_as_patience() -> None:
    cluster = delayed(1.5, gang(), POLICY)
    (request,) = cluster.stage.asked
    assert (outcomes(cluster), request.patience) == ([Outcome.IMPROVING], PATIENCE - 1.5)
    cluster.stage.after(PATIENCE - 1.5)
    assert (outcomes(cluster)[-1], victims(cluster)) == (Outcome.PREEMPTS, FIRST)


def test_a_gang_whose_patience_the_queue_has_taken_goes_ahead_with_its_first_plan() -> None:
    cluster = delayed(PATIENCE, gang(), POLICY)
    assert (outcomes(cluster), victims(cluster), cluster.stage.asked) == ([Outcome.PREEMPTS], FIRST, [])
    strict = replace(POLICY, breaks_no_budget=True)
    cluster = delayed(PATIENCE, gang("wide", 30, cpu="8"), strict, a_budget("kept", 1, app="kept"))
    assert outcomes(cluster) == [Outcome.IMPROVING], "without a solver it would have no plan"
    assert [request.patience for request in cluster.stage.asked] == [PATIENCE]


def test_once_the_search_is_moot_the_next_gang_asks() -> None:
    cluster = begun()
    cluster.gone("g-0", "g-1").show(*gang("h"))
    assert outcomes(cluster) == [Outcome.IMPROVING] * 2
    assert [request.demand.name for request in cluster.stage.asked] == ["g", "h"]


def test_where_budgets_are_always_respected_a_first_plan_within_them_goes_ahead() -> None:
    strict = replace(POLICY, breaks_no_budget=True)
    cluster = busy(strict, a_budget("kept", 2, app="kept"))
    assert (outcomes(cluster)[-1], cluster.stage.decisions[-1].pods) == (Outcome.PREEMPTS, 2)
    assert len(cluster.stage.asked) == 1


def test_where_the_first_plan_exceeds_a_budget_that_is_always_respected_the_solver_is_asked() -> None:
    strict, budget = replace(POLICY, breaks_no_budget=True), a_budget("kept", 1, app="kept")
    assert outcomes(busy(POLICY, budget))[-1] is Outcome.PREEMPTS
    cluster = busy(strict, budget)
    assert outcomes(cluster) == [Outcome.IMPROVING] * 2
    (_, (name, effort)) = ((request.demand.name, request.effort) for request in cluster.stage.asked)
    assert name == "wide"
    cluster.stage.improve()
    assert {decision.demand.name: decision.outcome for decision in cluster.stage.decisions} == {
        "g": Outcome.PREEMPTS,
        "wide": Outcome.UNSCHEDULABLE,
    }
    (alone,) = served_alone(strict, budget).stage.asked
    assert effort == alone.effort, "the search for a first plan is not paid twice"


def served_alone(policy: Policy, *things: KubernetesObject) -> Served:
    """The same without the first gang and its nodes."""
    everything = *wide_nodes(), *things, *gang("wide", 30, cpu="8")
    return served(*everything, settings=Settings(policies={SCHEDULER_NAME: policy}))


# --- what a group says of it ---------------------------------------------------------------------

LONG = replace(POLICY, patience=6.0)


def said(cluster: Served, name: str = "g") -> list[tuple[str, str]]:
    """What a group was told to say about its start: statuses and reasons."""
    return [
        (effect.status, effect.reason)
        for effect in cluster.stage.wanted
        if isinstance(effect, SetCondition)
        and (effect.type, effect.target.name) == ("PodGroupInitiallyScheduled", name)
    ]


def shown(cluster: Served) -> tuple[str, str]:
    """Status and reason of the group's condition, once all is done that is wanted now."""
    cluster.does()
    group = cluster.objects[cluster.named("g", "PodGroup")]
    assert isinstance(group, PodGroup)
    found = {c.type: (c.status, c.reason) for c in group.status.conditions}
    return found["PodGroupInitiallyScheduled"]


def test_what_takes_no_second_is_not_reported() -> None:
    cluster = begun(LONG)
    cluster.stage.after(0.9)
    assert said(cluster) == []
    cluster.stage.improve()
    assert said(cluster) == [("False", "Unschedulable")], "it waits for its victims"


def test_after_a_second_the_group_says_that_its_plan_is_improved() -> None:
    cluster = begun(LONG)
    cluster.stage.after(1.0)
    told = [effect for effect in cluster.stage.wanted if isinstance(effect, SetCondition)]
    (written,) = (effect for effect in told if effect.target.name == "g")
    assert (written.target.name, written.status, written.reason) == ("g", "False", "ImprovingPlan")
    first = cluster.stage.decisions[0]
    assert written.message == (
        "a better plan is searched for before any pod is evicted: the first plan evicts 8 pods "
        f"(decision {first.id})"
    )


def test_it_says_so_once_and_nothing_else_meanwhile() -> None:
    cluster = begun(LONG)
    for i in range(5):
        cluster.show(a_node(f"small-{i}", cpu="1")).stage.after(1.0)
    assert set(outcomes(cluster)) == {Outcome.IMPROVING}
    assert (said(cluster), writes(cluster)) == ([("False", "ImprovingPlan")], [])


def test_the_plan_that_opens_replaces_it() -> None:
    cluster = begun(LONG)
    cluster.stage.after(6.0)
    assert outcomes(cluster)[-1] is Outcome.PREEMPTS
    assert said(cluster) == [("False", "ImprovingPlan"), ("False", "Unschedulable")]
    cluster.comes_true()
    assert shown(cluster) == ("True", "Scheduled")


def test_room_that_is_found_replaces_it() -> None:
    cluster = begun(LONG)
    cluster.stage.after(2.0)
    assert shown(cluster) == ("False", "ImprovingPlan")
    cluster.show(a_node("n8"), a_node("n9"))
    cluster.stage.after(1.0)
    cluster.does()
    assert shown(cluster) == ("True", "Scheduled")


def test_a_refusal_replaces_it() -> None:
    cluster = begun(LONG)
    cluster.stage.after(2.0)
    cluster.gone("n0", "n1", "n2", "n3", kind="Node").stage.after(4.0)
    assert outcomes(cluster)[-1] is Outcome.UNSCHEDULABLE
    assert said(cluster) == [("False", "ImprovingPlan"), ("False", "Unschedulable")]


def test_a_scheduler_that_takes_over_replaces_what_another_said() -> None:
    cluster = begun(LONG)
    cluster.stage.after(2.0)
    assert shown(cluster) == ("False", "ImprovingPlan")
    again = cluster.restarted()
    assert said(again) == []
    again.stage.improve()
    assert shown(again) == ("False", "Unschedulable")
    again.comes_true()
    assert shown(again) == ("True", "Scheduled")


@pytest.mark.parametrize(
    ("withdrawn", "reason"), [(("g-1",), "Unschedulable"), (("g-0", "g-1"), "NoPodWaits")]
)
def test_a_scheduler_that_takes_over_clears_what_no_decision_replaces(
    withdrawn: tuple[str, ...], reason: str
) -> None:
    """Pods were withdrawn while no scheduler was there."""
    cluster = begun(LONG)
    cluster.stage.after(2.0)
    assert shown(cluster) == ("False", "ImprovingPlan")
    for name in withdrawn:
        del cluster.objects[cluster.named(name)]
    assert shown(cluster.restarted()) == ("False", reason)


def test_a_gang_that_lacks_a_member_says_so() -> None:
    cluster = begun(LONG)
    cluster.stage.after(2.0)
    cluster.gone("g-1")
    assert said(cluster) == [("False", "ImprovingPlan"), ("False", "Unschedulable")]
    assert reserved(cluster) == {}


def test_a_gang_that_is_withdrawn_does_not_go_on_saying_so() -> None:
    cluster = begun(LONG)
    cluster.stage.after(2.0)
    cluster.stage.happens(*(Gone(target(one)) for one in gang() if isinstance(one, Pod)))
    assert said(cluster) == [("False", "ImprovingPlan"), ("False", "NoPodWaits")]
    assert said(begun(LONG).gone("g-0", "g-1")) == [], "there was nothing to replace"


def test_a_gang_that_gets_another_member_is_improved_on() -> None:
    cluster = begun(LONG)
    cluster.show(a_member("g-2", "g", cpu="4", priority=9)).stage.after(0.5)
    assert set(outcomes(cluster)) == {Outcome.IMPROVING}
    cluster.stage.improve()
    assert (outcomes(cluster)[-1], victims(cluster)) == (Outcome.PREEMPTS, BEST)


def test_a_gang_that_may_not_preempt_any_more_keeps_no_room() -> None:
    cluster = begun(LONG)
    for name in ("g-0", "g-1"):
        pod = later(cluster.pod(name))
        cluster.show(
            msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, preemption_policy="Never"))
        )
    cluster.stage.improve()
    assert (outcomes(cluster)[-1], reserved(cluster)) == (Outcome.UNSCHEDULABLE, {})
