"""What-if for objects that run: what differs, how their pods are replaced, and when that stops."""

from pathlib import Path
from typing import Any

import pytest
from tests.unit.inquiry.asking import ask, placed, refusal, report, victims_in
from tests.unit.inquiry.objects import budget, deployment, node, pod

NODES = [node("n1", cpu="8"), node("n2", cpu="8")]


def owned(kind: str, name: str, **pods: str) -> list[Any]:
    """Pods of an object, each on a node: what its controller made of it."""
    found = []
    for number, (pod_name, where) in enumerate(pods.items()):
        body = pod(pod_name.replace("_", "-"), cpu="3", on=where, owner=name)
        body["metadata"]["ownerReferences"][0]["kind"] = kind
        body["metadata"]["creationTimestamp"] = f"2026-03-02T09:0{number}:00Z"
        found.append(body)
    return found


def running(replicas: int = 2, *, surge: int = 1, unavailable: int = 0) -> list[Any]:
    """A Deployment with its ReplicaSet and pods, 3 cpu each, half of them on each node."""
    web = deployment("web", replicas, cpu="3")
    rolling = {"maxSurge": surge, "maxUnavailable": unavailable}
    web["spec"]["strategy"] = {"type": "RollingUpdate", "rollingUpdate": rolling}
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "w", "controller": True}
    meta = {"name": "web-1", "namespace": "default", "ownerReferences": [owner]}
    replica_set = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta, "spec": {}}
    pods = {f"web_{i}": f"n{i % 2 + 1}" for i in range(replicas)}
    return [web, replica_set, *owned("ReplicaSet", "web-1", **pods)]


def with_cpu(body: Any, cpu: str) -> Any:
    spec = body["spec"]
    (container,) = spec["template"]["spec"]["containers"]
    resources = {**container["resources"], "requests": {"cpu": cpu}}
    template = {
        **spec["template"],
        "spec": {**spec["template"]["spec"], "containers": [{**container, "resources": resources}]},
    }
    return {**body, "spec": {**spec, "template": template}}


def test_a_template_that_fits_nowhere_is_not_said_to_need_no_pod(tmp_path: Path) -> None:
    before = running()
    result = ask(tmp_path, [*NODES, *before], [with_cpu(before[0], "200")])
    assert result.exit_code == 20
    assert "the pod template (spec.containers[0].resources.requests.cpu)" in result.stdout
    assert "1 of 2 pods at a time (1 more, 0 unavailable)" in result.stdout
    assert "It does not end: 2 pods that should go would stay." in result.stdout


def test_new_pods_take_the_room_of_old_ones_in_turn(tmp_path: Path) -> None:
    before = running(4)  # of each node, 2 cpu are free
    found = report(tmp_path, [*NODES, *before], [with_cpu(before[0], "2")])
    assert (found["outcome"], len(placed(found)), found["rollout"]["left"]) == ("Fits", 4, 0)
    assert {one["name"] for one in found["rollout"]["stopped"]} == {f"web-{i}" for i in range(4)}
    stuck = report(tmp_path, [*NODES, *before], [with_cpu(before[0], "4")])
    assert (stuck["outcome"], stuck["rollout"]["left"], stuck["demand"]["pods"]) == ("Unschedulable", 4, 4)


def test_a_rollout_preempts_only_as_far_as_its_own_pods_leave_no_room(tmp_path: Path) -> None:
    other = pod("other", cpu="5", on="n1", level="low")
    before = [*running(1, surge=0, unavailable=1), other]
    assert report(tmp_path, [NODES[0], *before], [with_cpu(before[0], "3500m")])["outcome"] == "Preempts"
    fits = report(tmp_path, [NODES[0], *before], [with_cpu(before[0], "2500m")])
    assert (fits["outcome"], victims_in(fits)) == ("Fits", [])


def test_an_object_that_does_not_differ(tmp_path: Path) -> None:
    before = running()
    result = ask(tmp_path, [*NODES, *before], [before[0]])
    assert (result.exit_code, "needs no new pod" in result.stdout) == (0, True)
    assert "It does not differ from what runs." in result.stdout


def test_fewer_replicas_make_room_for_other_manifests(tmp_path: Path) -> None:
    before = running(4)
    fewer = {**before[0], "spec": {**before[0]["spec"], "replicas": 2}}
    large = pod("large", cpu="5")
    assert ask(tmp_path, [*NODES, *before], [large]).exit_code == 20
    assert ask(tmp_path, [*NODES, *before], [fewer, large]).exit_code == 0


def test_the_pods_that_cost_least_go_first(tmp_path: Path) -> None:
    before = running(4)
    fewer = {**before[0], "spec": {**before[0]["spec"], "replicas": 2}}
    for body, cost in zip(before[2:], ("-5", "0", "-5", "0"), strict=True):  # n1 is emptied
        body["metadata"]["annotations"] = {"controller.kubernetes.io/pod-deletion-cost": cost}
    assert ask(tmp_path, [*NODES, *before], [fewer, pod("whole", cpu="8")]).exit_code == 0


def a_set(kind: str, strategy: str, **rolling: Any) -> Any:
    labels = {"app": "db"}
    template = {"metadata": {"labels": labels}, "spec": pod("x", cpu="3")["spec"]}
    spec: Any = {"selector": {"matchLabels": labels}, "template": template}
    spec["updateStrategy"] = {"type": strategy, **({"rollingUpdate": rolling} if rolling else {})}
    if kind == "StatefulSet":
        spec |= {"replicas": 2, "serviceName": "db"}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "db"}, "spec": spec}


@pytest.mark.parametrize(
    ("kind", "strategy", "rolling", "stopped", "how"),
    [
        ("StatefulSet", "RollingUpdate", {}, {"db-0", "db-1"}, "1 of 2 pods at a time, the highest first"),
        ("StatefulSet", "RollingUpdate", {"partition": 1}, {"db-1"}, "down to ordinal 1, the partition"),
        ("StatefulSet", "OnDelete", {}, set(), "(OnDelete)"),
        ("DaemonSet", "RollingUpdate", {"maxUnavailable": 2}, {"db-0", "db-1"}, "2 of 2 nodes at a time"),
        ("DaemonSet", "OnDelete", {}, set(), "(OnDelete)"),
    ],
)
def test_sets_are_replaced_by_their_own_rules(  # noqa: PLR0913, PLR0917  one for each trait
    kind: str, strategy: str, rolling: Any, stopped: set[str], how: str, tmp_path: Path
) -> None:
    before = a_set(kind, strategy, **rolling)
    pods = owned(kind, "db", db_0="n1", db_1="n2")
    found = report(tmp_path, [*NODES, before, *pods], [with_cpu(before, "2")])
    assert {one["name"] for one in found["rollout"]["stopped"]} == stopped
    assert (found["outcome"], len(placed(found))) == ("Fits", len(stopped))
    assert how in found["rollout"]["how"]


def test_a_rollout_that_surges_already_keeps_the_old_pod_until_the_new_one_is_there(tmp_path: Path) -> None:
    before = a_set("DaemonSet", "RollingUpdate", maxSurge=1, maxUnavailable=0)
    before["status"] = {"currentNumberScheduled": 1, "updatedNumberScheduled": 1}
    pods = owned("DaemonSet", "db", db_old="n1", db_new="n1")
    for body, template in zip(pods, ("a", "b"), strict=True):
        body["metadata"]["labels"] = {"controller-revision-hash": template}
    del pods[1]["spec"]["nodeName"]
    found = report(tmp_path, [node("n1", cpu="3"), before, *pods], [with_cpu(before, "3")])
    assert (found["outcome"], found["rollout"]["stopped"]) == ("Unschedulable", [])


def test_a_job_cannot_change(tmp_path: Path) -> None:
    once = {"metadata": {}, "spec": {**pod("x")["spec"], "restartPolicy": "Never"}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once"}, "spec": {"template": once}}
    told = refusal(tmp_path, [*NODES, job], [with_cpu(job, "2")])
    assert "field is immutable" in told
    assert told.endswith("its pods cannot change: delete it first, or take another name")


def test_a_quota_holds_a_rollout_up_until_old_pods_are_gone(tmp_path: Path) -> None:
    def quota(pods: int) -> Any:
        head = {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": "q", "namespace": "default"},
        }
        hard = {"pods": str(pods)}
        return {**head, "spec": {"hard": hard}, "status": {"hard": hard, "used": {"pods": "2"}}}

    surging, in_place = running(), running(surge=0, unavailable=1)
    told = ask(tmp_path, [*NODES, *surging, quota(2)], [with_cpu(surging[0], "2")])
    assert (told.exit_code, "exceeded quota: q" in told.stdout) == (20, True)
    assert ask(tmp_path, [*NODES, *surging, quota(3)], [with_cpu(surging[0], "2")]).exit_code == 0
    assert ask(tmp_path, [*NODES, *in_place, quota(2)], [with_cpu(in_place[0], "2")]).exit_code == 0


def test_a_changed_budget_counts(tmp_path: Path) -> None:
    guarded = [pod(f"p{i}", cpu="8", on=f"n{i + 1}", level="low", labels={"app": "x"}) for i in range(2)]
    loose = budget("b", {"app": "x"}, 1)
    strict = {**loose, "spec": {"selector": loose["spec"]["selector"], "maxUnavailable": 0}}
    urgent = pod("new", cpu="4", level="urgent")
    assert ask(tmp_path, [*NODES, *guarded, loose], [urgent]).exit_code == 10
    assert ask(tmp_path, [*NODES, *guarded, loose], [urgent, strict]).exit_code == 11
    assert ask(tmp_path, [*NODES, *guarded], [urgent, strict]).exit_code == 11
    assert ask(tmp_path, [*NODES, *guarded], [urgent, {**loose, "status": {}}]).exit_code == 10


def test_pods_that_a_rollout_stops_use_up_budgets(tmp_path: Path) -> None:
    """The controller of a budget counts them before the new pods are created."""
    before, other = running(1), pod("other", cpu="5", on="n1", level="low", labels={"app": "x"})
    before[0]["spec"]["strategy"] = {"type": "Recreate"}
    before[2]["metadata"]["labels"] = {"app": "x"}
    cluster, larger = [NODES[0], *before, other], [with_cpu(before[0], "4")]
    assert ask(tmp_path, [*cluster, budget("b", {"app": "x"}, 2)], larger).exit_code == 10
    assert ask(tmp_path, [*cluster, budget("b", {"app": "x"}, 1)], larger).exit_code == 11
