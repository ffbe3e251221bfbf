"""The fold that the page shows: rows of objects, decisions, and the changes since they were last taken."""

import asyncio
import re
from contextlib import closing
from pathlib import Path

import msgspec
from msgspec.structs import replace
from tests.unit.report.test_decisions import choosing, preempting, refused
from tests.unit.scheduler.crowds import a_group, a_member
from tests.unit.scheduler.making import a_node, a_pod, bound, finished, later, leaving, target

from reprieve.model.effects import Effect, Target
from reprieve.model.events import Done, Gone, Seen, Synced, Unread
from reprieve.model.moment import on_one_clock
from reprieve.model.objects import Condition, KubernetesObject, Pod, Problem, Ref
from reprieve.page.documents import (
    PageHead,
    change_json,
    decision_json,
    decision_summary,
    outcome_word,
    picture_json,
)
from reprieve.page.history import fold_entry
from reprieve.page.live import FedSteps, LivePicture, PictureFeed
from reprieve.page.picture import GroupGone, NodeGone, Picture, PictureChange, PodGone
from reprieve.page.rows import GroupRow, NodeRow, PodRow, PodState, pod_row
from reprieve.runtime.journal import Journal, Journaled, read_entries
from reprieve.runtime.observers import ObservedScheduler
from reprieve.runtime.recent_decisions import KeptDecision
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.plans.handover import Stage
from reprieve.scheduler.plans.plan_records import EndReason, PlanEnded, PlanOpened, Preemptor, StageReached
from reprieve.scheduler.reporting.decision import Outcome
from reprieve.scheduler.reporting.decision_document import document_of

HEAD = PageHead("demo", "up")


def shown(*objects: KubernetesObject) -> Picture:
    picture = Picture()
    picture.begin()
    picture.observe([*map(Seen, objects), Synced()], 1.0)
    return picture


def gone(thing: KubernetesObject, version: str = "") -> Gone:
    return Gone(target(thing), version)


def marked(pod: Pod) -> Pod:
    mark = Condition(type="DisruptionTarget", status="True", reason="PreemptionByScheduler")
    return msgspec.structs.replace(later(pod), status=msgspec.structs.replace(pod.status, conditions=(mark,)))


def kinds(changes: tuple[PictureChange, ...]) -> list[type]:
    return [type(change) for change in changes]


# --- objects -------------------------------------------------------------------------------------


def test_a_pod_has_the_state_that_its_object_shows() -> None:
    pod = a_pod("p", on="n1")
    assert pod_row(a_pod("p")).state is PodState.PENDING
    assert pod_row(pod).state is PodState.RUNNING
    assert pod_row(marked(pod)).state is PodState.MARKED
    assert pod_row(leaving(marked(pod))).state is PodState.TERMINATING
    assert pod_row(finished(pod)).state is PodState.DONE


def test_a_node_is_sent_with_its_taints() -> None:
    taints = [{"key": "team", "value": "a", "effect": "NoSchedule"}, {"key": "gpu", "effect": "NoExecute"}]
    (node,) = picture_json(HEAD, shown(a_node("n1", taints=taints)), 3)["nodes"]
    assert node[6] == ["team=a:NoSchedule", "gpu:NoExecute"]


def test_rows_are_written_with_indices_and_changes_with_names() -> None:
    group = a_group("train", 7, 2, disruptedWhole=True)
    member = a_member("t-0", "train", cpu="3", priority=7, on="n1")
    picture = shown(a_node("n1", cpu="4"), group, member, a_pod("waits", cpu="250m"))
    document = picture_json(HEAD, picture, 3)
    assert (document["revision"], document["mode"], document["resources"][:2]) == (3, "up", ("cpu", "memory"))
    (node,) = document["nodes"]
    assert (node[0], node[3], node[4], node[5][0]) == ("n1", 1, 0, 4000)
    assert document["groups"] == [["default/train", 7, 2, "all", None]]
    first, second = document["pods"]
    assert (first[0], first[2], first[3], first[4], first[5][0], first[6]) == (
        "default/t-0",
        0,
        7,
        0,
        3000,
        1,
    )
    assert (second[0], second[2], second[4], second[5][0], second[6]) == ("default/waits", -1, -1, 250, 0)
    written = [one for change in picture.take_changes() for one in change_json(change, ("cpu",))]
    pods = [one["pod"] for one in written if "pod" in one]
    assert [(row[0], row[2], row[4]) for row in pods] == [
        ("default/t-0", "n1", "default/train"),
        ("default/waits", None, None),
    ]


def test_only_what_changed_is_taken_and_each_thing_once() -> None:
    pod = a_pod("p")
    picture = shown(a_node("n1"), pod)
    assert kinds(picture.take_changes()) == [NodeRow, PodRow]
    picture.observe([Seen(later(pod)), Seen(later(a_node("n1")))], 2.0)
    assert picture.take_changes() == (), "nothing that is shown has changed"
    picture.observe([Seen(bound(pod, "n1")), gone(bound(pod, "n1"))], 3.0)
    assert picture.take_changes() == (PodGone("uid-p", "default/p"),)
    picture.observe([gone(a_node("n1"))], 4.0)
    assert picture.take_changes() == (NodeGone("n1"),)


def test_outdated_sights_change_nothing() -> None:
    pod = a_pod("p")
    picture = shown(bound(pod, "n1"))
    picture.observe([Seen(pod)], 2.0)
    assert [row.node for row in picture.pods()] == ["n1"]
    picture.observe([gone(pod, "150"), Seen(bound(pod, "n1"))], 3.0)
    assert picture.pods() == [], "a watch that repeats itself does not bring it back"


def test_a_cluster_that_was_restored_from_a_backup_is_shown_as_it_is() -> None:
    """Versions went back: what a new run sees counts, also of what was gone."""
    pod, other = a_pod("p"), a_pod("q")
    picture = shown(later(bound(pod, "n1")), later(other))
    picture.observe([gone(other, "900")], 2.0)
    picture.begin()
    picture.observe([Seen(pod), Seen(other), Synced()], 3.0)
    assert [(row.key, row.node) for row in picture.pods()] == [("default/p", ""), ("default/q", "")]


def test_a_namesake_takes_the_place_of_the_one_before() -> None:
    old = a_pod("p", uid="old")
    picture = shown(old)
    picture.take_changes()
    picture.observe([Seen(later(a_pod("p", uid="new")))], 2.0)
    assert kinds(picture.take_changes()) == [PodGone, PodRow]
    picture.observe([gone(old)], 3.0)
    assert [row.uid for row in picture.pods()] == ["new"]


def test_what_cannot_be_decoded_any_more_is_not_shown() -> None:
    pod = a_pod("p")
    picture = shown(pod)
    problem = Problem(ref=Ref(kind="Pod", namespace="default", name="p"), path="spec", expected="a spec")
    picture.observe([Unread(target(pod), problem)], 2.0)
    assert picture.pods() == []


def test_a_new_scheduler_shows_which_objects_went_meanwhile() -> None:
    group = a_group("g")
    picture = shown(a_node("n1"), a_node("n2"), a_pod("p"), group)
    picture.take_changes()
    picture.begin()
    picture.observe([Seen(a_node("n1")), Seen(a_pod("q"))], 5.0)
    assert len(picture.nodes()) == 2, "until the new one knows all, nothing vanishes"
    picture.observe([Synced()], 5.0)
    assert [row.name for row in picture.nodes()] == ["n1"]
    assert [row.key for row in picture.pods()] == ["default/q"]
    assert {type(change) for change in picture.take_changes()} == {PodRow, NodeGone, PodGone, GroupGone}


def test_a_copy_goes_on_by_itself() -> None:
    picture = shown(a_pod("p"))
    other = picture.copy()
    picture.observe([gone(a_pod("p"), "200")], 2.0)
    picture.decide(choosing(), 2.0)
    assert (len(picture.pods()), len(other.pods())) == (0, 1)
    assert other.decisions.all() == []
    other.observe([Seen(later(a_pod("p")))], 3.0)
    assert len(other.pods()) == 1


def test_devices_are_shown_beside_cpu_and_memory() -> None:
    offered = {"cpu": "4", "memory": "1Gi", "pods": "9", "ephemeral-storage": "1Gi"}
    node = a_node("n1")
    gpus = {**offered, "nvidia.com/gpu": "8", "example.com/nic": "2", "hugepages-2Mi": "4Mi"}
    status = msgspec.structs.replace(node.status, allocatable=gpus)
    picture = shown(msgspec.structs.replace(node, status=status))
    assert picture.resources() == ("cpu", "memory", "example.com/nic", "nvidia.com/gpu")
    assert Picture().resources() == ("cpu", "memory")


# --- decisions -----------------------------------------------------------------------------------


def test_a_refusal_is_shown_again_only_if_its_reason_is_new() -> None:
    picture, decision = Picture(), refused()
    picture.decide(decision, 1.0)
    assert kinds(picture.take_changes()) == [KeptDecision]
    picture.decide(replace(decision, id="d-2", at=2.0), 2.0)
    assert picture.take_changes() == ()
    (kept,) = picture.decisions.all()
    assert (kept.decision.id, kept.attempts) == (decision.id, 2)
    picture.decide(replace(decision, id="d-3", at=3.0, findings=()), 3.0)
    assert [one.decision.id for one in picture.decisions.all()] == [decision.id, "d-3"]


def test_a_plan_is_followed_through_its_stages() -> None:
    picture, decision = Picture(), choosing()
    picture.decide(decision, 1.0)
    about = (decision.id, decision.demand, Preemptor.POD, 1, 1.0, 0.0)
    picture.record([PlanOpened(*about)], 1.0)
    assert decision_summary(picture.decisions.all()[0])["stage"] == "nominated"
    for stage in (Stage.MARKING, Stage.COMMITTING, Stage.EVICTING):
        picture.record([StageReached(*about, stage=stage)], 2.0)
    (kept,) = picture.decisions.all()
    assert decision_summary(kept)["stage"] == "evicting"
    picture.record([PlanEnded(*about, reason=EndReason.ROOM_USED, stage=Stage.READY)], 3.0)
    (kept,) = picture.decisions.all()
    summary = decision_summary(kept)
    assert (summary["stage"], summary["ended"], summary["victims"]) == ("ended", "RoomUsed", 1)
    document = decision_json(kept)
    stages = [one["stage"] for one in document["stages"]]
    assert stages == ["nominated", "marking", "evicting", "ended"]
    assert {**document_of(kept.decision), **document} == document, "the page adds to the document"
    room = document["preemption"]
    assert [(one["pod"]["name"], one["node"]) for one in room["victims"]] == [("cheap", "n1")]
    assert [(one["domain"], one["units"]) for one in room["losers"]] == [("n2", ["Pod/default/dear"])]
    by = "lowest highest victim priority"
    assert summary["why"] == room["choice"]
    assert room["choice"] == f"the best of 2 placements by: {by}; proved: no plan disturbs less"
    cost = {"BudgetsBroken": 0, "HighestPriority": 0, "PodsStopped": 1, "WorkloadsEnded": 1, "Cascade": 2}
    assert summary["cost"] == summary["bound"] == cost, "people have no use for a sum of shifted priorities"
    assert document["cli"] == f"reprieve why {decision.id}"


def test_decisions_are_bounded_and_the_newest_stay() -> None:
    picture, decision = Picture(), choosing()
    for number in range(1000):
        picture.decide(replace(decision, id=f"d-{number}", at=float(number)), float(number))
    assert [kept.decision.id for kept in picture.decisions.all()][0::399] == ["d-600", "d-999"]


def test_decisions_that_are_adopted_again_change_nothing() -> None:
    picture, decision = Picture(), choosing()
    kept = [KeptDecision(replace(decision, id=f"d-{number}", at=float(number))) for number in range(1000)]
    picture.adopt(kept)
    assert len(picture.take_changes()) == 400
    picture.adopt(kept)
    assert picture.take_changes() == ()
    picture.adopt([*kept, KeptDecision(replace(decision, id="d-1000", at=1000.0))])
    assert len(picture.take_changes()) == 1
    assert [one.decision.id for one in picture.decisions.all()][0::399] == ["d-601", "d-1000"]


def test_a_demand_that_needs_no_victim_waits() -> None:
    decision = replace(choosing(), preemption=None)
    assert (outcome_word(decision), outcome_word(choosing())) == ("waiting", "preempting")
    assert outcome_word(replace(refused(), outcome=Outcome.ERROR)) == "error"


def only_default(kind: str, namespace: str) -> bool:
    return namespace == "default"


def nothing(kind: str, namespace: str) -> bool:
    return False


def test_a_reader_learns_no_name_that_it_may_not_get() -> None:
    picture = shown(
        a_node("n1"), a_group("secret"), a_member("secret-0", "secret", on="n1"), a_pod("secret-1")
    )
    for decision in (replace(preempting(), id="d-secret"), refused(), choosing()):
        picture.decide(decision, 2.0)
    names = ("secret-", "default/", "urgent", "train", "cheap", "dear", "web", "g-0", "g-1")
    document = picture_json(HEAD, picture, may_get=nothing)
    assert len(document["pods"]) == 2, "that a pod is there shows"
    texts = [msgspec.json.encode(document).decode()]
    texts += [
        msgspec.json.encode([*change_json(change, ("cpu",), nothing)]).decode()
        for change in picture.take_changes()
    ]
    for kept in picture.decisions.all():
        texts.append(msgspec.json.encode(decision_json(kept, nothing)).decode())
    for text in texts:
        plain = re.sub(r"uid-[\w-]+", "", text.replace("d-secret", ""))
        assert not [name for name in names if f'"{name}' in plain or f"/{name}" in plain], text
    allowed = picture_json(HEAD, picture, may_get=only_default)
    assert allowed == picture_json(HEAD, picture)


# --- live and from disk --------------------------------------------------------------------------


def test_a_live_picture_and_one_from_the_journal_are_the_same(tmp_path: Path) -> None:
    feed, scheduler, live = PictureFeed(), Scheduler(), Picture()

    async def take() -> FedSteps:
        return feed.take()

    with closing(Journal(tmp_path, {}, print)) as journal:
        machine = ObservedScheduler(Journaled(scheduler, journal), lambda: 0.0, [feed])
        feed.begin()
        cheap, new = a_pod("cheap", cpu="3", on="n1"), a_pod("new", cpu="2", priority=9)
        things: list[KubernetesObject] = [a_node("n1"), a_node("n2"), cheap, new]
        things.append(a_pod("dear", cpu="3", on="n2", priority=5))
        machine.observe([*map(Seen, things), Synced()], on_one_clock(1.0))
        now, effects = 1.0, list[Effect]()
        for _ in range(20):
            while (decided := machine.decide(on_one_clock(now))) is not None:
                effects += decided.effects
            asyncio.run(LivePicture(take, live).refresh())
            now += 1.0
            effects = machine.observe([*map(Done, effects)], on_one_clock(now))
        machine.observe([Seen(leaving(marked(cheap))), gone(cheap, "300")], on_one_clock(now + 1))
        asyncio.run(LivePicture(take, live).refresh())
    offline = Picture()
    for entry in read_entries(tmp_path):
        fold_entry(offline, entry)
    assert picture_json(HEAD, offline) == picture_json(HEAD, live)
    (kept,) = live.decisions.all()
    assert kept.plan is not None
    assert [*kept.plan.reached][:3] == ["nominated", "marking", "committing"]


def test_a_group_row_names_its_parent_by_kind() -> None:
    picture = shown(a_group("child", parent="tree"))
    assert picture.groups() == [GroupRow("default/child", 0, 0, False, "CompositePodGroup default/tree")]


def test_a_group_that_is_gone_is_dropped() -> None:
    picture = shown(a_group("g"))
    picture.take_changes()
    picture.observe([Gone(Target("PodGroup", "default", "g", ""), "")], 2.0)
    assert picture.take_changes() == (GroupGone("default/g"),)
