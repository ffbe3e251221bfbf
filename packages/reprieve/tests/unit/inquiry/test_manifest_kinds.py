"""What-if for manifests of any kind: told apart by group; templates are found; nothing may need a node."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.inquiry.asking import ask, placed, report
from tests.unit.inquiry.objects import deployment, group, node, pod

NODES = (node("n1"), node("n2"))


def custom(api_version: str, kind: str, **spec: Any) -> Any:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, "spec": spec}


def template(cpu: str = "1") -> Any:
    return {"spec": pod("any", cpu=cpu)["spec"]}


@pytest.mark.parametrize(
    ("manifest", "pods", "places"),
    [
        (
            custom("batch.volcano.sh/v1alpha1", "Job", tasks=[{"replicas": 3, "template": template()}]),
            3,
            "3 pods of spec.tasks[0].template",
        ),
        (
            custom("serving.knative.dev/v1", "Service", template=template()),
            1,
            "1 pod of spec.template",
        ),
        (
            custom(
                "jobset.x-k8s.io/v1alpha2",
                "JobSet",
                replicatedJobs=[
                    {"replicas": 2, "template": {"spec": {"parallelism": 2, "template": template()}}}
                ],
            ),
            4,
            "4 pods of spec.replicatedJobs[0].template.spec.template",
        ),
    ],
)
def test_templates_of_unknown_kinds_are_asked_about(
    manifest: Any, pods: int, places: str, tmp_path: Path
) -> None:
    found = report(tmp_path, NODES, [manifest])
    assert (found["outcome"], found["demand"]["kind"]) == ("Fits", manifest["kind"])
    assert len(placed(found)) == found["demand"]["pods"] == pods
    (note,) = (one for one in found["notes"] if "not known" in one)
    assert f"its pod templates are asked about ({places})" in note


def test_the_pods_of_an_unknown_kind_may_not_fit(tmp_path: Path) -> None:
    ray = custom("ray.io/v1", "RayCluster", workerGroupSpecs=[{"replicas": 2, "template": template("33")}])
    assert ask(tmp_path, NODES, [ray]).exit_code == 20


@pytest.mark.parametrize(
    "manifest",
    [
        custom("scheduling.x-k8s.io/v1alpha1", "PodGroup", minMember=3),
        custom("scheduling.volcano.sh/v1beta1", "PodGroup", minMember=3),
        custom("node.example/v1", "Node"),
    ],
)
def test_kinds_of_the_same_name_are_not_taken_for_ours(manifest: Any, tmp_path: Path) -> None:
    result = ask(tmp_path, NODES, [manifest, deployment("web", 1)])
    assert result.exit_code == 0, result.output
    assert f"is of {manifest['apiVersion']}, a kind that is not known here" in result.stderr


def cron_job(**spec: Any) -> Any:
    once = {"metadata": {}, "spec": {**pod("any")["spec"], "restartPolicy": "Never"}}
    template = {"spec": {"template": once}}
    return custom("batch/v1", "CronJob", schedule="0 * * * *", jobTemplate=template, **spec)


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        ({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}, ""),
        (custom("networking.k8s.io/v1", "Ingress"), ""),
        (group("g", 2), "PodGroup default/g has no pods: it needs no node."),
        (custom("farm/v1", "Cow"), "Cow default/x is of farm/v1, a kind that is not known here"),
    ],
)
def test_a_file_in_which_nothing_needs_a_node(manifest: Any, said: str, tmp_path: Path) -> None:
    result = ask(tmp_path, NODES, [manifest])
    assert (result.exit_code, result.stdout) == (0, "Nothing that was asked about needs a node.\n")
    assert said in result.stderr
    found = json.loads(ask(tmp_path, NODES, [manifest], "-o", "json").stdout)
    assert (found["kind"], found["items"]) == ("WhatIfReportList", [])
    assert said in " ".join(found["notes"])


def test_a_suspended_cron_job_needs_nothing_now(tmp_path: Path) -> None:
    result = ask(tmp_path, NODES, [cron_job(suspend=True)])
    assert result.exit_code == 0
    assert "CronJob default/x is suspended: it needs nothing now." in result.stderr
    assert placed(report(tmp_path, NODES, [cron_job()])).keys() == {"default/x-0"}


def test_another_scheduler_is_noted(tmp_path: Path) -> None:
    def served_by(name: str) -> Any:
        web = deployment("web", 1)
        web["spec"]["template"]["spec"]["schedulerName"] = name
        return web

    assert "has the schedulerName volcano" in ask(tmp_path, NODES, [served_by("volcano")]).stderr
    for ours in ("reprieve", "default-scheduler"):
        assert "schedulerName" not in ask(tmp_path, NODES, [served_by(ours)]).stderr
