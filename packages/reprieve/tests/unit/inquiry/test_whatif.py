"""What a what-if answers: demands of every kind, changes of the world, exit codes, JSON."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.unit.inquiry.asking import ask, placed, report, reports, victims_in
from tests.unit.inquiry.objects import (
    TAKEN_AT,
    budget,
    classes,
    deployment,
    group,
    node,
    pod,
    priority_class,
    snapshot_file,
)

from reprieve.cli.main import reprieve

NODES = (node("n1"), node("n2"))


# --- the report ----------------------------------------------------------------------------------


def test_the_report_has_the_documented_fields(tmp_path: Path) -> None:
    full = [node("n1"), node("n2", unschedulable=True), pod("a", 8, on="n1", level="low")]
    found = report(tmp_path, full, [pod("new", 4, level="urgent")])
    assert found["outcome"] == "Preempts"
    assert found["demand"] == {
        "kind": "Pod",
        "namespace": "default",
        "name": "new",
        "priority": 900,
        "pods": 1,
    }
    assert placed(found) == {"default/new": "n1"}
    (victim,) = found["preemption"]["victims"]
    assert (victim["pod"]["name"], victim["node"], victim["priority"]) == ("a", "n1", 10)
    assert (victim["unit"], victim["budgets"], victim["controller"]) == ("Pod/default/a", [], "")
    assert victim["because"] == {"code": "RoomNeeded", "text": "n1 is short of nvidia.com/gpu by 4"}
    assert found["preemption"]["choice"] == "no other placement is possible; proved: no plan disturbs less"
    (excluded,) = found["excluded"]
    assert (excluded["name"], excluded["because"]["code"]) == ("n2", "NodeUnschedulable")
    assert found["snapshot"] == {"resourceVersion": "", "nodes": 2, "pods": 1, "takenAt": TAKEN_AT}


def test_a_victim_that_may_take_years_to_stop_is_named(tmp_path: Path) -> None:
    old = pod("old", 8, on="n1", level="low")
    old["spec"]["terminationGracePeriodSeconds"] = 315_360_000
    said = ask(tmp_path, [node("n1"), old], [pod("new", 4, level="urgent")])
    assert "default/old may take until 20" in said.output
    assert "The scheduler counts on its room for 300 s" in said.output


def test_a_plan_that_lost_says_by_which_rule(tmp_path: Path) -> None:
    full = [*NODES, pod("a", 8, on="n1", level="low"), pod("b", 8, on="n2")]
    found = report(tmp_path, full, [pod("new", 4, level="urgent")])
    room = found["preemption"]
    (lost,) = room["losers"]
    assert (lost["domain"], lost["pods"], lost["highest"], lost["units"]) == ("n2", 1, 100, ["Pod/default/b"])
    assert lost["lostBy"] == room["decidedBy"]
    by = "lowest highest victim priority"
    assert room["choice"] == f"the best of 2 placements by: {by}; proved: no plan disturbs less"
    assert found["excluded"] == []


def test_the_counts_of_several_decisions_are_those_of_all(tmp_path: Path) -> None:
    """Each of three pods of a Deployment is decided after the other."""
    full = [node(f"n{i}") for i in range(4)]
    full += [pod(f"p{i}-{j}", 4, on=f"n{i}", level="low") for i in range(4) for j in range(2)]
    found = report(tmp_path, full, [deployment("new", 3, gpus=4, level="urgent")])
    room = found["preemption"]
    assert (room["pods"], len(room["victims"]), sum(room["victimNodes"].values())) == (3, 3, 3)
    gone, spared = {one["unit"] for one in room["victims"]}, {one["unit"] for one in room["spared"]}
    assert not gone & spared, "what one decision spares, another may evict"
    assert room["unitsSpared"] == room["podsSpared"] == len(spared)
    assert room["choice"].startswith(f"the best of {room['plans']} placements by: ")
    assert room["quality"] is None


def test_all_that_is_spared_is_counted_in_units_and_pods(tmp_path: Path) -> None:
    full = [node("n1", cpu="44"), group("train", 4, level="low", whole=True)]
    full += [pod(f"p{i}", cpu="1", on="n1", level="low") for i in range(40)]
    full += [pod(f"t{i}", cpu="1", on="n1", level="low", group="train") for i in range(4)]
    new = [pod("new", cpu="1", level="urgent")]
    room = report(tmp_path, full, new)["preemption"]
    assert (room["pods"], len(room["spared"]), room["unitsSpared"], room["podsSpared"]) == (1, 20, 40, 43)
    said = ask(tmp_path, full, new).stdout
    assert "In all, 40 units (43 pods) could have been evicted and are not.\n" in said


def test_the_form_of_the_release_before(tmp_path: Path) -> None:
    full = [*NODES, pod("a", 8, on="n1", level="low"), pod("b", 8, on="n2")]
    new = [pod("new", 4, level="urgent")]
    found = json.loads(ask(tmp_path, full, new, "-o", "json=v1alpha1").stdout)
    assert (found["apiVersion"], found["kind"]) == ("reprieve.dev/v1alpha1", "WhatIfReport")
    assert found["placements"] == {"default/new": "n1"}
    (victim,) = found["victims"]
    assert (victim["name"], victim["unit"], victim["breaksBudget"]) == ("a", "Pod", None)
    (lost,) = found["nodes"]
    assert lost["plan"] == {
        "victims": 1,
        "highestPriority": 100,
        "beyondBudgets": 0,
        "units": ["Pod/default/b"],
    }
    assert lost["lostBy"] == found["decidedBy"]["text"] == "lowest highest victim priority"
    assert found["demand"]["resize"] is False
    assert "apiVersion: reprieve.dev/v1alpha1\n" in ask(tmp_path, full, new, "-o", "yaml=v1alpha1").stdout


def test_the_criteria_of_disturbance_can_be_named(tmp_path: Path) -> None:
    """Two cheap pods are in the way on n1, a dear one on n2."""
    cheap = [pod(f"cheap-{i}", 4, on="n1", level="low") for i in range(2)]
    full = [*NODES, *cheap, pod("dear", 8, on="n2")]
    new = [group("g", 1, level="urgent"), pod("g-0", 8, group="g", level="urgent")]
    found = report(tmp_path, full, new, "--disturbance", "Pods,HighestPriority")
    assert victims_in(found) == ["dear"]
    cost, quality = {"Pods": 1, "HighestPriority": 100}, found["preemption"]["quality"]
    assert (quality["cost"], quality["bound"], quality["proved"]) == (cost, cost, True)
    other = report(tmp_path, full, new, "--search", "LeastDisturbance")
    assert sorted(victims_in(other)) == ["cheap-0", "cheap-1"]
    text = ask(tmp_path, full, new, "--disturbance", "Pods,HighestPriority").stdout
    assert "Disturbance: Pods 1, HighestPriority 100.\nProved: no plan disturbs less.\n" in text
    usual = report(tmp_path, full, new, "--search", "PriorityCeiling")["preemption"]["quality"]
    assert (usual["bound"], usual["proved"]) == ({}, False)


def test_searches_are_compared_by_what_they_disturb(tmp_path: Path) -> None:
    """Two pods are in the way on n1, one on n2, of one priority; the oldest is spared first."""
    full = [*NODES, *(pod(f"small-{i}", 4, on="n1") for i in range(2)), pod("large", 8, on="n2")]
    new = [group("g", 1, level="urgent"), pod("g-0", 8, group="g", level="urgent")]
    args = ("--search", "PriorityCeiling", "--compare", "LeastDisturbance", "--compare", "Upstream")
    found = reports(ask(tmp_path, full, new, *args, "-o", "json"))
    assert [one["policy"] for one in found] == ["Reprieve", "LeastDisturbance", "Upstream"]
    qualities = [one["preemption"]["quality"] for one in found]
    assert [one["proved"] for one in qualities] == [False, True, False]
    assert qualities[1]["cost"]["PodsStopped"] == 1 <= qualities[2]["cost"]["PodsStopped"]
    assert found[1]["preemption"]["onward"] == {"fit": 0, "preempt": 0, "nowhere": 1}
    text = ask(tmp_path, full, new, *args).stdout
    assert "POLICY            DEMAND              COST" in text
    named = reports(ask(tmp_path, full, new, *args, "--disturbance", "Pods", "-o", "json"))
    assert [[*one["preemption"]["quality"]["cost"]] for one in named] == [["Pods"]] * 3


@pytest.mark.parametrize(
    ("cluster", "level", "code"),
    [
        ([node("n1")], "urgent", 0),
        ([node("n1"), pod("a", 8, on="n1")], "urgent", 10),
        ([node("n1"), pod("a", 8, on="n1", labels={"app": "a"}), budget("a", {"app": "a"}, 0)], "urgent", 11),
        ([node("n1"), pod("a", 8, on="n1")], "low", 20),
    ],
)
def test_exit_codes(cluster: list[Any], level: str, code: int, tmp_path: Path) -> None:
    assert ask(tmp_path, cluster, [pod("new", 4, level=level)]).exit_code == code


def test_the_worst_of_several_demands_counts(tmp_path: Path) -> None:
    result = ask(tmp_path, [node("n1")], [pod("small", 1), pod("huge", 16)], "-o", "json")
    assert result.exit_code == 20
    outcomes = {found["demand"]["name"]: found["outcome"] for found in reports(result)}
    assert outcomes == {"small": "Fits", "huge": "Unschedulable"}


def test_demands_are_decided_in_the_order_of_the_queue(tmp_path: Path) -> None:
    """The urgent one comes last in the file and gets the only room."""
    result = ask(tmp_path, [node("n1")], [pod("a", 8), pod("b", 8, level="urgent")], "-o", "json")
    assert [(r["demand"]["name"], r["outcome"]) for r in reports(result)] == [
        ("b", "Fits"),
        ("a", "Unschedulable"),
    ]


def test_yaml_is_an_output_format(tmp_path: Path) -> None:
    assert "kind: WhatIfReport\n" in ask(tmp_path, NODES, [pod("new")], "-o", "yaml").stdout


def test_plan_is_an_alias(tmp_path: Path) -> None:
    cluster = snapshot_file(tmp_path, [*classes(), *NODES, pod("w", 1)])
    result = CliRunner().invoke(reprieve, ["plan", "--from", cluster, "pod/w"])
    assert result.exit_code == 0, result.output


# --- kinds of demand -----------------------------------------------------------------------------


def template(labels: dict[str, str], **traits: Any) -> Any:
    return {"metadata": {"labels": labels}, "spec": pod("x", **traits)["spec"]}


def controller(kind: str, **spec: Any) -> Any:
    versions = {"Job": "batch/v1", "CronJob": "batch/v1"}
    return {
        "apiVersion": versions.get(kind, "apps/v1"),
        "kind": kind,
        "metadata": {"name": "new"},
        "spec": spec,
    }


_LABELS = {"app": "new"}
_SELECTED = {"selector": {"matchLabels": _LABELS}, "template": template(_LABELS)}
_ONCE = {"metadata": {}, "spec": {**pod("x")["spec"], "restartPolicy": "Never"}}


@pytest.mark.parametrize(
    ("manifest", "pods"),
    [
        (deployment("new", 3), {"new-0", "new-1", "new-2"}),
        (controller("ReplicaSet", replicas=2, **_SELECTED), {"new-0", "new-1"}),
        (controller("StatefulSet", replicas=2, serviceName="new", **_SELECTED), {"new-0", "new-1"}),
        (controller("DaemonSet", **_SELECTED), {"new-n1", "new-n2"}),
        (controller("Job", parallelism=2, completions=5, template=_ONCE), {"new-0", "new-1"}),
        (
            controller("CronJob", schedule="0 * * * *", jobTemplate={"spec": {"template": _ONCE}}),
            {"new-0"},
        ),
    ],
)
def test_templates_become_pods(manifest: Any, pods: set[str], tmp_path: Path) -> None:
    found = report(tmp_path, NODES, [manifest])
    assert (found["demand"]["kind"], found["demand"]["name"]) == (manifest["kind"], "new")
    assert placed(found).keys() == {f"default/{name}" for name in pods}


def claim_template(name: str, storage_class: str) -> Any:
    requests = {"requests": {"storage": "1Gi"}}
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": storage_class, "resources": requests}
    return {"metadata": {"name": name}, "spec": spec}


@pytest.mark.parametrize("mode", ["Immediate", "WaitForFirstConsumer"])
def test_claims_of_new_pods_are_created_with_them(mode: str, tmp_path: Path) -> None:
    head = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "fast"}}
    fast = {**head, "provisioner": "disks.example", "volumeBindingMode": mode}
    claimed = controller("StatefulSet", replicas=2, serviceName="new", **_SELECTED)
    claimed["spec"]["volumeClaimTemplates"] = [claim_template("data", "fast")]
    own = pod("alone")
    own["spec"]["volumes"] = [
        {
            "name": "scratch",
            "ephemeral": {"volumeClaimTemplate": {"spec": claim_template("x", "fast")["spec"]}},
        }
    ]
    result = ask(tmp_path, [*NODES, fast], [claimed, own], "-o", "json")
    assert [found["outcome"] for found in reports(result)] == ["Fits", "Fits"]
    assert ("are assumed to be provisioned" in result.stderr) == (mode == "Immediate")


def test_manifests_that_were_exported_from_a_cluster(tmp_path: Path) -> None:
    exported = pod("new")
    exported["metadata"] |= {"uid": "u", "resourceVersion": "5", "creationTimestamp": TAKEN_AT}
    assert report(tmp_path, NODES, [exported])["outcome"] == "Fits"


def test_a_daemon_set_leaves_out_nodes_that_it_does_not_tolerate(tmp_path: Path) -> None:
    tainted = node("n3", taints=[{"key": "a", "effect": "NoSchedule"}])
    found = report(tmp_path, [*NODES, tainted], [controller("DaemonSet", **_SELECTED)])
    assert set(placed(found).values()) == {"n1", "n2"}


def test_a_deployment_that_fits_in_part_cannot_fit(tmp_path: Path) -> None:
    found = report(tmp_path, NODES, [deployment("new", 3, gpus=8)])
    assert found["outcome"] == "Unschedulable"
    assert len(found["placements"]) == 2
    assert len(found["waiting"]) == 1
    assert found["miss"]["resource"] == "nvidia.com/gpu"


def test_only_new_replicas_of_a_deployment_are_asked_about(tmp_path: Path) -> None:
    web = deployment("web", 3)
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "w", "controller": True}
    meta = {"name": "web-1", "namespace": "default", "ownerReferences": [owner]}
    replicas = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta, "spec": {}}
    running = [pod(f"web-1-{i}", on="n1", owner="web-1") for i in range(2)]
    result = ask(tmp_path, [*NODES, {**web}, replicas, *running], [web])
    assert "It does not differ from what runs, which lacks 1 pod." in result.output
    assert result.exit_code == 0


def test_a_gang_is_one_demand_whatever_creates_its_pods(tmp_path: Path) -> None:
    job = controller(
        "Job",
        parallelism=2,
        completions=2,
        template={"spec": {**pod("x", 8, group="work-gang")["spec"], "restartPolicy": "Never"}},
    )
    templates = [{"name": "gang", "schedulingPolicy": {"gang": {"minCount": 2}}}]
    workload = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "Workload",
        "metadata": {"name": "work"},
        "spec": {"podGroupTemplates": templates},
    }
    found = report(tmp_path, NODES, [job, workload])
    assert (found["demand"]["kind"], found["demand"]["name"]) == ("PodGroup", "work-gang")
    assert placed(found) == {"default/new-0": "n1", "default/new-1": "n2"}


def test_a_gang_with_too_few_pods_is_not_decided(tmp_path: Path) -> None:
    found = report(tmp_path, NODES, [group("g", 3), pod("g-0", group="g"), pod("g-1", group="g")])
    assert found["outcome"] == "Unschedulable"
    assert found["refusal"] == {
        "code": "NotDecided",
        "text": "the gang needs 3 pods, and there are 2 pods",
    }


def test_a_gang_starts_with_as_many_pods_as_it_needs(tmp_path: Path) -> None:
    pods = [pod(f"g-{i}", 8, group="g") for i in range(3)]
    found = report(tmp_path, NODES, [group("g", 2), *pods])
    assert found["outcome"] == "Fits"
    assert len(found["waiting"]) == 1


def test_a_gated_pod_is_not_decided(tmp_path: Path) -> None:
    gated = pod("new")
    gated["spec"]["schedulingGates"] = [{"name": "wait"}]
    found = report(tmp_path, NODES, [gated])
    assert found["outcome"] == "Unschedulable"


# --- resizes -------------------------------------------------------------------------------------

_CROWDED = (
    node("n1", cpu="8"),
    pod("db", cpu="2", on="n1", level="urgent"),
    pod("a", cpu="4", on="n1", level="low"),
)


@pytest.mark.parametrize(
    ("wanted", "outcome", "victims"),
    [("db=cpu:4", "Fits", []), ("db=cpu:6", "Preempts", ["a"]), ("a=cpu:7", "Unschedulable", [])],
)
def test_resizes(wanted: str, outcome: str, victims: list[str], tmp_path: Path) -> None:
    found = report(tmp_path, _CROWDED, (), "--resize", wanted)
    assert found["outcome"] == outcome
    assert found["resize"]
    assert victims_in(found) == victims


def test_a_resize_that_no_eviction_can_grant(tmp_path: Path) -> None:
    found = report(tmp_path, _CROWDED, (), "--resize", "db=cpu:64")
    assert found["outcome"] == "Unschedulable"
    assert found["refusal"]["code"] == "NodeTooSmall"
    assert found["demand"]["priority"] == 900


def test_without_its_gate_nothing_is_evicted_for_a_resize(tmp_path: Path) -> None:
    off = "InPlacePodVerticalScalingSchedulerPreemption=false"
    found = report(tmp_path, _CROWDED, (), "--resize", "db=cpu:6", "--feature-gates", off)
    assert found["outcome"] == "Unschedulable"
    assert "feature gate" in found["refusal"]["text"]
    assert report(tmp_path, _CROWDED, (), "--resize", "db=cpu:4", "--feature-gates", off)["outcome"] == "Fits"


def test_a_resize_of_one_of_several_containers(tmp_path: Path) -> None:
    double = pod("db", cpu="2", on="n1", level="urgent")
    double["spec"]["containers"].append({**double["spec"]["containers"][0], "name": "side"})
    assert report(tmp_path, [node("n1"), double], (), "--resize", "db:side=cpu:4")["outcome"] == "Fits"


# --- pods that wait ------------------------------------------------------------------------------


def test_a_pod_that_waits_already(tmp_path: Path) -> None:
    assert placed(report(tmp_path, [*NODES, pod("w", 4)], (), "pod/w")) == {"default/w": "n1"}


def test_other_pods_that_wait_are_left_out_unless_they_are_wanted(tmp_path: Path) -> None:
    cluster = [node("n1"), pod("other", 8, level="urgent")]
    assert report(tmp_path, cluster, [pod("new", 8)])["outcome"] == "Fits"
    assert report(tmp_path, cluster, [pod("new", 8)], "--with-pending")["outcome"] == "Unschedulable"


def test_a_nominated_pod_keeps_its_room(tmp_path: Path) -> None:
    nominated = {**pod("other", 8, level="urgent"), "status": {"phase": "Pending", "nominatedNodeName": "n1"}}
    assert placed(report(tmp_path, [*NODES, nominated], [pod("new", 8)])) == {"default/new": "n2"}


def test_the_whole_gang_of_a_pod_that_waits_is_asked_about(tmp_path: Path) -> None:
    cluster = [*NODES, group("g", 2), pod("g-0", 8, group="g"), pod("g-1", 8, group="g")]
    found = report(tmp_path, cluster, (), "pod/g-0")
    assert (found["demand"]["kind"], found["demand"]["pods"]) == ("PodGroup", 2)
    assert report(tmp_path, cluster, (), "podgroup/g")["placements"] == found["placements"]


# --- changes of the world ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "outcome"),
    [
        ((), "Unschedulable"),
        (("--set-priority", "urgent"), "Preempts"),
        (("--add-node", "gpu8"), "Fits"),
        (("--add-node", "node/n1x2"), "Fits"),
        (("--remove", "a"), "Fits"),
        (("--remove", "pod/a", "--cordon", "n1"), "Unschedulable"),
    ],
)
def test_changes_of_the_world(args: tuple[str, ...], outcome: str, tmp_path: Path) -> None:
    cluster = [node("n1"), pod("a", 8, on="n1")]
    assert report(tmp_path, cluster, [pod("new", 8)], *args)["outcome"] == outcome


def test_a_group_can_be_removed(tmp_path: Path) -> None:
    cluster = [node("n1"), group("g", 1), pod("a", 8, on="n1", group="g")]
    assert report(tmp_path, cluster, [pod("new", 8)], "--remove", "podgroup/g")["outcome"] == "Fits"


def test_a_drain_moves_pods_of_controllers(tmp_path: Path) -> None:
    daemon = pod("d", on="n1")
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "d", "controller": True}
    daemon["metadata"]["ownerReferences"] = [owner]
    cluster = [*NODES, pod("a", 4, on="n1", owner="rs"), pod("alone", on="n1"), daemon]
    result = ask(tmp_path, cluster, (), "--drain", "n1", "-o", "json")
    (found,) = reports(result)
    assert found["demand"]["kind"], found["demand"]["name"] == ("Node", "n1")
    assert placed(found) == {"default/a": "n2"}
    assert "alone" in result.stderr


# --- how it is decided ---------------------------------------------------------------------------


def test_a_policy_from_a_file(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    args = "{name: Reprieve, args: {respectBudgets: Always}}"
    head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    policy.write_text(f"{head}profiles: [{{pluginConfig: [{args}]}}]")
    labels = {"app": "a"}
    cluster = [node("n1"), pod("a", 8, on="n1", labels=labels), budget("a", labels, 0)]
    new = [pod("new", 4, level="urgent")]
    assert report(tmp_path, cluster, new)["outcome"] == "Preempts"
    found = report(tmp_path, cluster, new, "--policy", str(policy))
    assert found["outcome"] == "Unschedulable"


def test_what_was_assumed_is_listed(tmp_path: Path) -> None:
    result = ask(tmp_path, _CROWDED, (), "--resize", "db=cpu:4", "-o", "json")
    (found,) = reports(result)
    assert found["notes"] == [
        "Assumed to be on, because the input uses it: feature gate "
        "InPlacePodVerticalScalingSchedulerPreemption."
    ]
    assert found["notes"][0] in result.stderr


def test_upstream_ignores_tolerations_and_samples_nodes(tmp_path: Path) -> None:
    notes = {"preemption-toleration.scheduling.x-k8s.io/minimum-preemptable-priority": "1000"}
    notes["preemption-toleration.scheduling.x-k8s.io/toleration-seconds"] = "-1"
    tolerant = priority_class("spot", notes, value=50)
    cluster = [*classes(), tolerant, *(node(f"n{i}", gpus=0) for i in range(101)), node("gpu")]
    cluster.append(pod("spot", 8, on="gpu", level="spot"))
    new = [pod("new", 8, level="urgent")]
    assert report(tmp_path, cluster, new)["outcome"] == "Unschedulable"
    found = report(tmp_path, cluster, new, "--policy", "Upstream")
    assert found["outcome"] == "Preempts"
    assert any("looks at a sample" in note for note in found["notes"])
    assert any("tolerations" in note for note in found["notes"])


def test_policies_are_compared(tmp_path: Path) -> None:
    result = ask(tmp_path, NODES, [pod("new")], "--compare", "Upstream", "-o", "json")
    assert [found["policy"] for found in reports(result)] == ["Reprieve", "Upstream"]


def test_a_name_of_a_scheduler_without_a_profile_is_served(tmp_path: Path) -> None:
    other = pod("new")
    other["spec"]["schedulerName"] = "volcano"
    assert report(tmp_path, NODES, [other])["outcome"] == "Fits"


def test_more_victims_than_a_decision_lists_are_all_told(tmp_path: Path) -> None:
    cluster = [node(f"n{i}", cpu="64") for i in range(2)]
    cluster += [pod(f"p{i}-{j}", cpu="1", on=f"n{i}", level="low") for i in range(2) for j in range(64)]
    gang = [
        group("g", 2, level="urgent"),
        *(pod(f"g-{i}", cpu="63", level="urgent", group="g") for i in range(2)),
    ]
    found = report(tmp_path, cluster, gang)
    assert (len(victims_in(found)), found["preemption"]["pods"]) == (126, 126)
