"""A first plan is improved beside the loop: nothing is written before, and the world may change meanwhile."""

from dataclasses import replace

import msgspec
import pytest

from reprieve.model.disruption_costs import CHECKPOINT
from reprieve.model.effects import Bind, Effect, Evict, Nominate, SetCondition, Target
from reprieve.model.events import Improvement, PlanImproved
from reprieve.model.objects import KubernetesObject, Pod
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
from reprieve.scheduler.decision import Outcome, PlanQuality
from reprieve.scheduler.settings import SCHEDULER_NAME, Settings
from reprieve.scheduler.validation import BrokenRuleError
from tests.unit.scheduler.crowds import a_budget, a_group, a_member
from tests.unit.scheduler.making import a_node, a_pod, later
from tests.unit.scheduler.serving import Served, served
from tests.unit.scheduler.stage import remains

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


def test_without_effort_no_solver_is_asked() -> None:
    profiles = {SCHEDULER_NAME: replace(DEFAULT_PROFILE, planning_effort=0)}
    cluster = served(*world(), *gang(), settings=Settings(profiles, policies={SCHEDULER_NAME: POLICY}))
    assert (outcomes(cluster), cluster.stage.asked) == ([Outcome.PREEMPTS], [])
    assert cluster.stage.decisions[0].unproved is None


def test_the_first_plan_is_carried_out_when_patience_ends() -> None:
    cluster = begun()
    assert cluster.stage.scheduler.next_time() == 1.0, "then it is reported"
    cluster.stage.after(1.0)
    assert cluster.stage.scheduler.next_time() == PATIENCE
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


def test_a_change_of_the_clock_does_not_prolong_the_wait() -> None:
    cluster = begun()
    cluster.stage.now = -3600.0
    cluster.stage.happens().after(PATIENCE)
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
        scheduler.validate()


def test_a_wait_without_a_demand_is_noticed() -> None:
    cluster = begun()
    state = cluster.stage.scheduler._state
    ((key, improving),) = state.improvements
    state.improvements.begin(key._replace(name="other"), improving)
    with pytest.raises(BrokenRuleError, match="not in the queue"):
        cluster.stage.scheduler.validate()


def test_an_answer_is_a_function_of_its_message() -> None:
    (request,) = begun().stage.asked
    first, second = (solved(message_of(request)) for _ in range(2))
    assert first == second
    assert answer_of(request, first).found[0].proved


def test_an_unknown_answer_changes_nothing() -> None:
    stranger = Target("PodGroup", "default", "none", "uid-none")
    scheduler = Scheduler(Settings())
    assert scheduler.observe([PlanImproved(stranger, "d-none", (Improvement("none"),))], 0.0) == []


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
