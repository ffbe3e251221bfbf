"""Groups as demands: which pods ask together, for how many room is made, and what holds a group back."""

from dataclasses import replace

import msgspec
import pytest
from tests.unit.scheduler.crowds import a_group, a_member
from tests.unit.scheduler.making import a_node, a_pod, bound, later, leaving, respecified
from tests.unit.scheduler.serving import STEPS, Served, served
from tests.unit.scheduler.stage import notes

from reprieve.model.conditions import MARK
from reprieve.model.effects import Announce, Bind, Evict, Nominate, SetCondition
from reprieve.model.events import Done, Seen
from reprieve.model.json import Json
from reprieve.model.objects import KubernetesObject, Named, Node, Pod, PodGroup, PriorityClass
from reprieve.preemption.searches import REPRIEVE
from reprieve.preemption.units import pods_alone
from reprieve.scheduler.demand_key import by_itself
from reprieve.scheduler.demands.gang_strategy import ALL_MEMBERS
from reprieve.scheduler.demands.group_rules import CONSISTENT, GroupRules, no_policy
from reprieve.scheduler.plans.handover import Stage
from reprieve.scheduler.settings import SCHEDULER_NAME, Settings

SCHEDULED = "PodGroupInitiallyScheduled"


def nodes(count: int) -> list[Node]:
    """Each has room for one large pod."""
    return [a_node(f"n{i}", cpu="4") for i in range(count)]


def members(count: int, group: str = "g", priority: int = 9, cpu: str = "3") -> list[Pod]:
    return [a_member(f"{group}-{i}", group, cpu=cpu, priority=priority) for i in range(count)]


def old(count: int, priority: int = 0) -> list[Pod]:
    """A large pod on each of as many nodes."""
    return [a_pod(f"old-{i}", cpu="3", priority=priority, on=f"n{i}") for i in range(count)]


def victims(cluster: Served) -> list[str]:
    return [victim.name for victim in cluster.plan().victims]


GANG = a_group("g", 9, 2)


# --- one demand ----------------------------------------------------------------------------------


def test_a_gang_is_decided_as_one() -> None:
    cluster = served(*nodes(2), GANG, *members(2))
    (decision,) = cluster.stage.decisions
    assert (decision.demand.kind, decision.priority, decision.pods) == ("PodGroup", 9, 2)


def test_a_gang_waits_until_enough_of_its_pods_exist_and_says_so() -> None:
    first, second = members(2)
    cluster = served(*nodes(2), GANG, first)
    assert cluster.outcomes() == []
    assert notes(cluster.take()) == [], "the other may be on its way"
    cluster.stage.after(5)
    assert "PodGroup default/g waits until 2 of its pods exist" in notes(cluster.take())
    assert cluster.show(second).outcomes() == ["Placed"]


def test_each_member_sees_the_ones_before() -> None:
    places = served(*nodes(2), GANG, *members(2)).comes_true().places()
    assert places == {"g-0": "n0", "g-1": "n1"}


def test_a_gang_binds_as_many_as_fit_if_they_are_enough() -> None:
    cluster = served(*nodes(2), GANG, *members(3)).comes_true()
    assert len(cluster.places()) == 2
    assert cluster.outcomes() == ["Placed", "Unschedulable"]


def test_a_gang_binds_none_if_too_few_fit() -> None:
    cluster = served(*nodes(2), a_group("g", 9, 3), *members(3)).comes_true()
    assert (cluster.places(), cluster.outcomes()) == ({}, ["Unschedulable"])


def test_a_gang_larger_than_the_cluster_evicts_nothing() -> None:
    """Room could be made for two of three, and that helps none."""
    cluster = served(*nodes(2), *old(2), a_group("g", 9, 3), *members(3)).comes_true()
    assert cluster.outcomes() == ["Unschedulable"]
    assert len(cluster.places()) == 2


def test_a_gang_that_never_gets_its_pods_evicts_nothing() -> None:
    cluster = served(*nodes(2), *old(2), a_group("g", 9, 3), *members(2)).comes_true()
    cluster.stage.after(1000.0)
    assert (cluster.outcomes(), len(cluster.places())) == ([], 2)


def test_the_pods_of_a_basic_group_do_not_wait_for_each_other() -> None:
    cluster = served(*nodes(1), a_group("g", 9), *members(2)).comes_true()
    assert cluster.places() == {"g-0": "n0"}


# --- members come and go -------------------------------------------------------------------------


@pytest.mark.parametrize("when", ["before the binds", "before they are seen", "after"])
def test_members_that_come_later_join(when: str) -> None:
    cluster = served(*nodes(3), GANG, *members(2))
    late = a_member("g-9", cpu="3", priority=9)
    if when == "before the binds":
        cluster.show(late).does(Bind)
    elif when == "before they are seen":
        binds = cluster.take(Bind)
        cluster.stage.happens(*map(Done, binds))
        cluster.show(late).stage.happens(*(event for bind in binds for event in cluster.applied(bind)))
    else:
        cluster.does(Bind).show(late)
    assert len(cluster.comes_true().places()) == 3
    assert cluster.unfinished() == {}


def test_running_members_count() -> None:
    first, second = members(2)
    assert served(*nodes(2), GANG, bound(first, "n0"), second).places_wanted() == {"g-1": "n1"}


def test_a_member_that_another_client_started_counts_as_soon_as_it_is_seen() -> None:
    first, second = members(2)
    cluster = served(*nodes(2), GANG, second)
    assert cluster.outcomes() == []
    assert cluster.show(bound(first, "n0")).places_wanted() == {"g-1": "n1"}


@pytest.mark.parametrize("known", [True, False])
def test_a_gang_needs_less_when_another_client_starts_one_of_it(known: bool) -> None:
    """One node is too few for two, and enough for the other one."""
    first, second = members(2)
    cluster = served(*nodes(1), a_node("theirs", cpu="1"), GANG, first, second)
    assert cluster.outcomes() == ["Unschedulable"]
    cluster.show(bound(first if known else a_member("g-9", priority=9), "theirs"))
    assert cluster.does(Bind).places().get("g-1" if known else "g-0") == "n0"


def test_members_that_are_being_deleted_do_not_count() -> None:
    """Their room goes to the newcomers, which must all fit again."""
    going = [leaving(bound(pod, f"n{i}")) for i, pod in enumerate(members(2))]
    fresh = [a_member(f"g-{i}", cpu="3", priority=9) for i in (7, 8)]
    cluster = served(*nodes(3), GANG, *going, *fresh)
    assert cluster.wanted(Bind) == [], "one would fit on n2 at once"
    assert len(cluster.comes_true().places()) == 2


def test_a_gang_that_lost_a_waiting_member_waits_for_another() -> None:
    cluster = served(*nodes(1), GANG, *members(2))
    assert cluster.outcomes() == ["Unschedulable"]
    cluster.gone("g-0").show(a_node("n9"))
    cluster.stage.after(10.0)
    assert cluster.outcomes() == ["Unschedulable"]
    assert len(cluster.show(a_member("g-2", cpu="3", priority=9)).comes_true().places()) == 2


def test_a_gang_whose_pods_are_all_gone_is_forgotten() -> None:
    cluster = served(*nodes(1), GANG, *members(2)).gone("g-0", "g-1")
    assert cluster.unfinished() == {}


def test_a_pod_may_change_its_group_by_its_label() -> None:
    label = "scheduling.x-k8s.io/pod-group"
    pod = a_pod("p", labels={label: "g"})
    cluster = served(*nodes(1), a_group("h", 0, 1), pod)
    assert cluster.outcomes() == []
    cluster.show(later(pod, labels={label: "h"}))
    assert cluster.comes_true().places() == {"p": "n0"}
    assert cluster.unfinished() == {}


@pytest.mark.parametrize("steps", range(len(STEPS) + 1))
def test_a_pod_that_changes_its_group_keeps_its_room_until_the_other_group_is_decided(steps: int) -> None:
    label = "scheduling.x-k8s.io/pod-group"
    pod = a_pod("p", cpu="3", priority=9, labels={label: "g"})
    cluster = served(*nodes(1), *old(1), a_group("g", 9, 1), a_group("h", 9, 1), pod)
    for step in STEPS[:steps]:
        cluster.does(step)
    cluster.show(later(cluster.pod("p"), labels={label: "h"}))
    assert cluster.comes_true().places() == {"p": "n0"}
    assert cluster.unfinished() == {}


# --- what holds a group back ---------------------------------------------------------------------


@pytest.mark.parametrize("end", ["gone", "bound"])
def test_pods_of_a_group_that_another_scheduler_serves_are_no_demand_by_themselves(end: str) -> None:
    ours, theirs = a_member("ours", priority=9), a_member("theirs", priority=9, schedulerName="other")
    cluster = served(*nodes(1), a_group("g", 9, 1), ours, theirs)
    assert set(notes(cluster.take())) == {
        "PodGroup default/g cannot be scheduled: its pods name different schedulers"
    }
    cluster.gone("ours") if end == "gone" else cluster.show(bound(ours, "n0"))
    assert (cluster.unfinished(), cluster.outcomes()) == ({}, [])


def test_a_gate_on_one_member_holds_the_group() -> None:
    first, second = members(2)
    gated = respecified(second, scheduling_gates=(Named(name="quota"),))
    cluster = served(*nodes(2), GANG, first, gated)
    assert (cluster.outcomes(), cluster.take()) == ([], [])
    cluster.show(respecified(gated, scheduling_gates=()))
    assert len(cluster.comes_true().places()) == 2


def test_a_pod_beside_a_gated_one_says_so_if_the_gate_stays() -> None:
    first, second = members(2)
    gated = respecified(second, scheduling_gates=(Named(name="quota"),))
    cluster = served(*nodes(2), GANG, first, gated)
    cluster.stage.after(5.0)
    told = [e for e in cluster.take() if isinstance(e, SetCondition | Announce)]
    assert [(e.target.name, type(e)) for e in told] == [
        ("g-0", SetCondition),
        ("g-0", Announce),
        ("g", SetCondition),
    ]
    text = "PodGroup default/g waits for pod g-1, which has the scheduling gate quota"
    assert {e.note if isinstance(e, Announce) else e.message for e in told} == {text}


def test_of_pods_that_all_have_gates_nothing_is_reported() -> None:
    gated = [respecified(pod, scheduling_gates=(Named(name="quota"),)) for pod in members(2)]
    cluster = served(*nodes(2), GANG, *gated)
    cluster.stage.after(5.0)
    assert cluster.take() == []


def test_a_group_without_a_class_says_which_class_its_pods_have() -> None:
    pods = [a_member(f"g-{i}", cpu="3", priority=9, priorityClassName="high") for i in range(2)]
    cluster = served(*nodes(2), a_group("g", 0, 2), *pods)
    text = (
        "pod g-0 has priority 9, the group 0{}; "
        "PodGroup g has no class: create it again with priorityClassName: high"
    )
    wanted = cluster.take()
    assert f"PodGroup default/g cannot be scheduled: {text.format('')}" in notes(wanted)
    shown = {e.type: e.message for e in wanted if isinstance(e, SetCondition) and e.target.name == "g"}
    assert shown[SCHEDULED] == f"PodGroup default/g cannot be scheduled: {text.format('')}"
    assert shown["PodsNotMatchingPriority"] == text.format("; 1 more pod differs")


def test_pods_without_a_class_are_told_that_of_their_group() -> None:
    group = msgspec.structs.replace(GANG, spec=msgspec.structs.replace(GANG.spec, priority_class_name="high"))
    cluster = served(*nodes(2), group, *(a_member(f"g-{i}", cpu="3") for i in range(2)))
    text = (
        "PodGroup default/g cannot be scheduled: pod g-0 has priority 0, the group 9; "
        "its pods have no class: create them again with priorityClassName: high"
    )
    assert text in notes(cluster.take())


def test_each_member_reads_its_own_node() -> None:
    cluster = served(*nodes(2), *old(2, priority=5), GANG, *members(2))
    told = {
        e.target.name: e.message for e in cluster.stage.wanted if isinstance(e, SetCondition) and e.message
    }
    planned = dict(cluster.nominations())
    assert sorted(planned.values()) == ["n0", "n1"]
    for name, node in planned.items():
        assert told[name].startswith(f"waits for room on {node}: preempting 1 pod on n0, 1 pod on n1")
    assert told["g"].startswith("waits for room on n0, n1: ")


def test_a_pod_whose_group_does_not_exist_waits_and_says_so() -> None:
    cluster = served(*nodes(2), *members(2))
    assert cluster.outcomes() == []
    assert set(notes(cluster.take())) == {"PodGroup default/g does not exist yet"}
    assert len(cluster.show(GANG).comes_true().places()) == 2


def test_a_group_that_is_deleted_lets_its_pods_wait() -> None:
    cluster = served(*nodes(1), GANG, *members(2))
    cluster.take()
    cluster.gone("g", kind="PodGroup")
    assert set(notes(cluster.take())) == {"PodGroup default/g does not exist yet"}
    cluster.show(a_node("n9")).stage.after(1000.0)
    assert cluster.outcomes() == ["Unschedulable"]


def test_a_smaller_gang_may_start() -> None:
    group = a_group("g", 9, 3)
    cluster = served(*nodes(2), group, *members(2))
    smaller = msgspec.structs.replace(later(group), spec=GANG.spec)
    assert len(cluster.show(smaller).comes_true().places()) == 2


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"schedulerName": "another"}, "its pods name different schedulers"),
        ({"preemptionPolicy": "Never"}, "its pods have different preemption policies"),
        ({"priority": 3}, "pod g-1 has priority 3, the group 9"),
    ],
)
def test_pods_that_disagree_are_not_scheduled(wrong: Json, text: str) -> None:
    spec: Json = {"cpu": "3", "priority": 9, **wrong}
    cluster = served(*nodes(2), GANG, members(2)[0], a_member("g-1", **spec))
    assert cluster.outcomes() == []
    waiting = [e for e in cluster.stage.wanted if isinstance(e, SetCondition) and e.type == "PodScheduled"]
    assert {effect.message for effect in waiting} == {f"PodGroup default/g cannot be scheduled: {text}"}
    assert ("g-1" in {effect.target.name for effect in waiting}) != ("schedulerName" in wrong), "not our pod"


def test_those_that_run_are_compared_too() -> None:
    """As soon as the odd one is going, the others may start."""
    odd = a_member("odd", priority=3, on="n0")
    cluster = served(*nodes(3), GANG, odd, *members(2))
    assert any("pod odd has priority 3, the group 9" in note for note in notes(cluster.take()))
    assert cluster.outcomes() == []
    assert cluster.deleted("odd").comes_true().places().keys() == {"g-0", "g-1"}


def test_other_priorities_may_be_allowed_and_the_groups_counts() -> None:
    pods = [members(2)[0], a_member("g-1", cpu="3", priority=3)]
    allowed = Settings(group_rules=GroupRules(checks=CONSISTENT))
    cluster = served(*nodes(2), *old(2, priority=5), GANG, *pods, settings=allowed)
    assert victims(cluster) == ["old-0", "old-1"]


def test_a_member_that_cannot_be_honoured_holds_the_group_and_the_others_know_why() -> None:
    first, second = members(2)
    cluster = served(*nodes(2), GANG, first)
    cluster.stage.happens(Seen(second, ("spec.resourceClaims",)))
    assert cluster.outcomes() == []
    told = {e.target.name: e.message for e in cluster.stage.wanted if isinstance(e, SetCondition)}
    assert told["g-1"] == "spec.resourceClaims: not supported by this scheduler"
    assert told["g-0"] == "PodGroup default/g waits for pod g-1, which is faulty"


# --- backoff -------------------------------------------------------------------------------------


def test_a_gang_backs_off_as_one() -> None:
    """However many pods it has, an attempt that fails is one failure."""
    cluster = served(*nodes(1), a_group("g", 9, 5), *members(5))
    for seconds in (1.0, 2.0, 4.0):
        before = len(cluster.outcomes())
        cluster.show(a_node(f"n{seconds:g}", cpu="1"))
        cluster.stage.after(seconds - 0.1)
        assert len(cluster.outcomes()) == before
        cluster.stage.after(0.1)
        assert len(cluster.outcomes()) == before + 1


def test_several_failed_binds_of_a_gang_are_one_failure() -> None:
    cluster = served(*nodes(3), a_group("g", 9, 3), *members(3)).fails(Bind)
    cluster.does().stage.after(0.9)
    assert cluster.outcomes() == ["Placed"]
    cluster.stage.after(0.1)
    assert cluster.outcomes() == ["Placed", "Placed"]


# --- making room ---------------------------------------------------------------------------------


def test_room_is_made_for_as_many_as_the_gang_needs() -> None:
    cluster = served(*nodes(3), *old(3), GANG, *members(3))
    assert len(victims(cluster)) == 2


def test_room_may_be_made_for_all_of_a_gang() -> None:
    cluster = served(*nodes(3), *old(3), GANG, *members(3), settings=Settings(gangs=ALL_MEMBERS))
    assert len(victims(cluster)) == 3
    assert len(cluster.comes_true().places()) == 3


def test_surplus_members_ask_when_the_gang_runs_and_each_for_itself() -> None:
    cluster = served(*nodes(4), *old(4), GANG, *members(4))
    evicted = []
    while cluster.stage.wanted:
        evicted += [cluster.wanted(Evict)] if cluster.wanted(Evict) else []
        cluster.does().drained()
    assert [len(step) for step in evicted] == [2, 2]
    assert len(cluster.places()) == 4
    assert cluster.unfinished() == {}


def basic_group_waits() -> Served:
    """Two pods of a basic group wait for a node each, whose pods are leaving."""
    cluster = served(*nodes(2), *old(2), a_group("g", 9), *members(2))
    for step in STEPS:
        cluster.does(step)
    return cluster


def test_members_of_a_basic_group_make_room_at_the_same_time() -> None:
    cluster = basic_group_waits()
    assert victims(cluster) == ["old-0", "old-1"]
    assert cluster.outcomes() == ["Preempts"]
    assert set(cluster.comes_true().places()) == {"g-0", "g-1"}
    assert cluster.unfinished() == {}


def test_a_member_of_a_basic_group_does_not_wait_for_the_room_of_another() -> None:
    cluster = basic_group_waits().gone("old-0")
    cluster.stage.after(2.0)
    assert cluster.does(Bind).places() == {"g-0": "n0", "old-1": "n1"}
    assert cluster.pod("g-1").status.nominated_node_name == "n1", "its plan goes on"
    assert set(cluster.comes_true().places()) == {"g-0", "g-1"}
    assert cluster.outcomes().count("Preempts") == 1
    assert cluster.unfinished() == {}


def test_one_member_may_find_another_place_while_room_is_made_for_all() -> None:
    cluster = basic_group_waits().show(a_node("n9", cpu="4"))
    cluster.stage.after(2.0)
    assert len(cluster.does(Bind).places()) == 3
    assert set(cluster.comes_true().places()) == {"g-0", "g-1"}
    assert cluster.unfinished() == {}


def test_members_of_a_basic_group_may_share_a_node() -> None:
    pods = [a_member(f"g-{i}", cpu="2", priority=9) for i in range(2)]
    cluster = served(*nodes(1), *old(1), a_group("g", 9), *pods).comes_true()
    assert cluster.places() == {"g-0": "n0", "g-1": "n0"}
    assert cluster.outcomes().count("Preempts") == 1


def test_a_member_for_which_no_room_can_be_made_does_not_stand_in_the_way_of_others() -> None:
    pods = [a_member("g-0", cpu="9", priority=9), a_member("g-1", cpu="3", priority=9)]
    cluster = served(*nodes(1), *old(1), a_group("g", 9), *pods)
    assert victims(cluster) == ["old-0"]
    assert cluster.comes_true().places() == {"g-1": "n0"}


def test_room_for_one_is_still_made_when_another_finds_a_place() -> None:
    cluster = served(*nodes(1), *old(1), a_group("g", 9), members(1)[0])
    for step in STEPS:
        cluster.does(step)
    cluster.show(a_node("n9", cpu="2"), a_member("g-1", cpu="2", priority=9))
    cluster.stage.after(5.0)
    assert (cluster.nominations(), victims(cluster)) == ([], ["old-0"])
    assert cluster.comes_true().places() == {"g-0": "n0", "g-1": "n9"}
    assert cluster.outcomes().count("Preempts") == 1


@pytest.mark.parametrize("name", ["a", "z"])
def test_no_pod_takes_the_room_that_is_being_made_for_another_of_the_group(name: str) -> None:
    halves = [a_pod(f"old-{i}", cpu="2", on="n0") for i in range(2)]
    cluster = served(*nodes(1), *halves, a_group("g", 9), a_member("g-0", cpu="4", priority=9))
    for step in STEPS:
        cluster.does(step)
    cluster.gone("old-0").show(a_member(name, cpu="2", priority=9))
    cluster.stage.after(5.0)
    assert cluster.comes_true().places() == {"g-0": "n0"}
    assert cluster.outcomes().count("Preempts") == 1


def test_two_gangs_do_not_each_get_half_of_the_room() -> None:
    cluster = served(*nodes(2), *old(2), GANG, a_group("h", 9, 2), *members(2), *members(2, "h")).comes_true()
    assert set(cluster.places()) == {"g-0", "g-1"}
    cluster.gone("g-0", "g-1").stage.after(10.0)
    assert set(cluster.comes_true().places()) == {"h-0", "h-1"}


def test_a_gang_takes_a_whole_gang() -> None:
    train = [bound(pod, f"n{i}") for i, pod in enumerate(members(2, "train", priority=5))]
    whole = a_group("train", 5, 2, disruptedWhole=True)
    cluster = served(*nodes(3), whole, *train, a_group("g", 9, 2), *members(2))
    assert sorted(victims(cluster)) == ["train-0", "train-1"]
    cluster.comes_true()
    assert len(cluster.places()) == 2
    assert cluster.conditions("train", "PodGroup")[MARK] == "True"


# --- while the plan runs -------------------------------------------------------------------------


def a_plan() -> Served:
    return served(*nodes(3), *old(3), GANG, *members(3))


@pytest.mark.parametrize("steps", [0, 1, 2, 3])
def test_a_group_may_be_deleted_while_its_plan_runs(steps: int) -> None:
    cluster = a_plan()
    for step in STEPS[:steps]:
        cluster.does(step)
    cluster.gone("g", kind="PodGroup")
    cluster.comes_true()
    assert len(cluster.places()) == (3 if steps < 2 else 1), "evictions that were not sent are not sent"
    assert {pod.status.nominated_node_name for pod in cluster.pods()} == {""}
    spared = [cluster.conditions(name).get(MARK, "False") for name in cluster.places()]
    assert set(spared) == {"False"}


@pytest.mark.parametrize("steps", [0, 1, 2, 3])
def test_another_member_takes_the_place_of_one_that_is_deleted_while_the_plan_runs(steps: int) -> None:
    cluster = a_plan()
    for step in STEPS[:steps]:
        cluster.does(step)
    cluster.gone("g-0")
    assert cluster.comes_true().places().keys() & {"g-1", "g-2"} == {"g-1", "g-2"}
    assert cluster.unfinished() == {}


@pytest.mark.parametrize("steps", [0, 1])
def test_no_pod_is_evicted_for_a_member_that_is_gone(steps: int) -> None:
    """The one that is left is too large for any node."""
    pods = [a_member("g-0", cpu="3", priority=9), a_member("g-1", cpu="9", priority=9)]
    cluster = served(*nodes(1), *old(1), a_group("g", 9), *pods)
    for step in STEPS[:steps]:
        cluster.does(step)
    assert cluster.gone("g-0").comes_true().places() == {"old-0": "n0"}


def test_when_too_few_are_left_none_is_evicted() -> None:
    cluster = served(*nodes(2), *old(2), GANG, *members(2)).does(Nominate)
    cluster.gone("g-0").comes_true()
    assert cluster.places() == {"old-0": "n0", "old-1": "n1"}


def test_binds_that_fail_are_tried_again_and_their_room_is_kept() -> None:
    cluster = served(*nodes(2), GANG, *members(2)).fails(Bind, "g-1").does()
    assert cluster.places() == {"g-0": "n0"}
    assert cluster.pod("g-1").status.nominated_node_name == "n1"
    cluster.show(a_pod("small", cpu="3", priority=9))
    assert cluster.wanted(Bind) == []
    cluster.stage.after(1.0)
    assert cluster.comes_true().places() == {"g-0": "n0", "g-1": "n1"}


def test_room_that_is_kept_is_given_up_for_a_more_important_demand() -> None:
    cluster = served(*nodes(2), GANG, *members(2)).fails(Bind, "g-1").does()
    cluster.show(a_pod("big", cpu="3", priority=10)).does().stage.after(10.0)
    assert cluster.comes_true().places() == {"g-0": "n0", "big": "n1"}
    assert cluster.pod("g-1").status.nominated_node_name == ""


# --- what a group shows --------------------------------------------------------------------------


def test_a_group_shows_whether_it_was_scheduled() -> None:
    cluster = served(*nodes(1), GANG, *members(2)).does()
    assert cluster.conditions("g", "PodGroup") == {SCHEDULED: "False"}
    cluster.show(a_node("n9")).stage.after(5.0)
    assert cluster.comes_true().conditions("g", "PodGroup") == {SCHEDULED: "True"}
    cluster.show(a_member("g-9", cpu="3", priority=9)).does()
    assert cluster.conditions("g", "PodGroup") == {SCHEDULED: "True"}, "it was"


def test_a_group_is_scheduled_also_if_its_pods_are_seen_before_the_answer() -> None:
    cluster = served(*nodes(2), GANG, *members(2))
    binds = cluster.take(Bind)
    cluster.stage.happens(*(event for bind in binds for event in cluster.applied(bind)))
    cluster.stage.happens(*map(Done, binds))
    assert cluster.comes_true().conditions("g", "PodGroup") == {SCHEDULED: "True"}


def test_a_group_that_waits_for_room_shows_it() -> None:
    cluster = a_plan().does()
    assert cluster.conditions("g", "PodGroup") == {SCHEDULED: "False"}


# --- demands that evict nothing ------------------------------------------------------------------


def never(value: str) -> tuple[PodGroup, list[Pod], list[PriorityClass]]:
    field = {"preemptionPolicy": "Never"}
    of_class = msgspec.convert(
        {"metadata": {"name": "quiet", "uid": "uid-quiet"}, "value": 9, **field}, PriorityClass
    )
    group = {"group": field, "class": {"priorityClassName": "quiet"}}.get(value, {})
    of_pods = {} if value == "class" else field
    pods = [a_member(f"g-{i}", cpu="3", priority=9, **of_pods) for i in range(2)]
    return a_group("g", 9, 2, **group), pods, [of_class]


@pytest.mark.parametrize("value", ["group", "class", "pods"])
def test_a_group_that_never_preempts_waits(value: str) -> None:
    group, pods, classes = never(value)
    cluster = served(*classes, *nodes(2), *old(2), group, *pods)
    assert (cluster.outcomes(), cluster.wanted(Nominate)) == (["Unschedulable"], [])


@pytest.mark.parametrize("policy", ["Never", "PreemptLowerPriority"])
def test_a_group_whose_pods_say_otherwise_is_not_scheduled_where_its_own_policy_counts(policy: str) -> None:
    other = "PreemptLowerPriority" if policy == "Never" else "Never"
    pods = [a_member(f"g-{i}", cpu="3", priority=9, preemptionPolicy=other) for i in range(2)]
    things: list[KubernetesObject] = [*nodes(2), a_group("g", 9, 2, preemptionPolicy=policy), *pods]
    cluster = served(*things)
    assert cluster.outcomes() == []
    text = f"its pods have the preemption policy {other}, the group {policy}"
    assert any(text in note for note in notes(cluster.stage.wanted))
    elsewhere = served(*things, settings=Settings(group_rules=GroupRules(preemption_policy=no_policy)))
    assert elsewhere.wanted(Bind) == ["g-0", "g-1"]


@pytest.mark.parametrize("when", ["before its pods come", "while it waits", "and comes back otherwise"])
def test_a_class_that_is_deleted_later_lets_none_preempt(when: str) -> None:
    group, pods, (quiet,) = never("class")
    cluster = served(group, quiet, *nodes(2), *old(2), *(pods if when == "while it waits" else ()))
    cluster.gone("quiet", kind="PriorityClass")
    if when == "and comes back otherwise":
        cluster.show(msgspec.structs.replace(quiet, preemption_policy="PreemptLowerPriority"))
    cluster.show(*pods).stage.after(600.0)
    assert {*cluster.outcomes()} == {"Unschedulable"}
    assert cluster.wanted(Nominate) == []


def test_a_group_that_comes_after_its_class_is_gone_may_preempt() -> None:
    """What the class said cannot be known; pods say it themselves if it is theirs, too."""
    group, pods, _ = never("class")
    assert served(group, *nodes(2), *old(2), *pods).outcomes() == ["Preempts"]


def test_a_class_that_is_deleted_later_takes_no_priority_away() -> None:
    high = msgspec.convert({"metadata": {"name": "high", "uid": "uid-high"}, "value": 9}, PriorityClass)
    cluster = served(high, *nodes(2), *old(2, priority=5)).gone("high", kind="PriorityClass")
    cluster.show(a_group("g", 9, 2, priorityClassName="high"), *members(2))
    assert victims(cluster) == ["old-0", "old-1"]


# --- without groups ------------------------------------------------------------------------------

ALONE = Settings(demand_of_pod=by_itself, policies={SCHEDULER_NAME: replace(REPRIEVE, units=pods_alone)})


def test_without_groups_pods_are_scheduled_alone() -> None:
    cluster = served(*nodes(1), a_group("g", 9, 5), *members(2), settings=ALONE).comes_true()
    assert cluster.places() == {"g-0": "n0"}


def test_without_groups_pods_are_evicted_alone_and_by_their_own_priority() -> None:
    train = [bound(pod, f"n{i}") for i, pod in enumerate(members(2, "train", priority=5))]
    whole = a_group("train", 50, 2, disruptedWhole=True)
    cluster = served(*nodes(2), whole, *train, a_pod("new", cpu="3", priority=9), settings=ALONE)
    assert len(victims(cluster)) == 1
    assert cluster.plan().stage is Stage.NOMINATED
