"""The pods and groups that would come of an object."""

import pytest
from tests.unit.cluster.admission.admitting import (
    DEPLOYMENT,
    GANG,
    JOB,
    OLDER_WORKLOAD,
    POD,
    STATEFUL_SET,
    TREE,
    WORKLOAD,
    create,
    created,
    named,
    with_value,
)

from reprieve.cluster.api.templates import groups_of, pods_of
from reprieve.model.json import Json


def names(body: Json) -> list[str]:
    return [pod["metadata"]["name"] for pod in pods_of(body)]


@pytest.mark.parametrize(
    ("body", "spec", "count"),
    [
        (DEPLOYMENT, {}, 1),
        (DEPLOYMENT, {"replicas": 3}, 3),
        (DEPLOYMENT, {"replicas": 0}, 0),
        (DEPLOYMENT, {"replicas": "many"}, 0),
        (STATEFUL_SET, {"replicas": 2}, 2),
        (JOB, {}, 1),
        (JOB, {"parallelism": 4}, 4),
        (JOB, {"parallelism": 4, "completions": 2}, 2),
        (JOB, {"completions": 5}, 1),
        (JOB, {"suspend": True}, 0),
    ],
)
def test_there_are_as_many_pods_as_would_run_at_once(body: Json, spec: Json, count: int) -> None:
    asked = {**body, "spec": {**body["spec"], **spec}}
    assert names(asked) == [f"it-{i}" for i in range(count)]


@pytest.mark.parametrize("body", [DEPLOYMENT, STATEFUL_SET, JOB], ids=named)
def test_a_pod_comes_from_the_template_and_knows_its_owner(body: Json) -> None:
    (pod,) = pods_of(with_value(body, "metadata.uid", "u1"))
    assert pod["spec"]["containers"] == body["spec"]["template"]["spec"]["containers"]
    assert pod["metadata"]["labels"]["app"] == "web"
    assert pod["metadata"]["namespace"] == "default"
    (owner,) = pod["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"], owner["controller"]) == (
        body["kind"],
        "it",
        "u1",
        True,
    )
    assert isinstance(create(pod), dict)


def test_a_pod_is_its_own() -> None:
    assert list(pods_of(POD)) == [POD]


def test_pods_of_an_indexed_job_know_their_index() -> None:
    job = {**JOB, "spec": {**JOB["spec"], "parallelism": 2, "completions": 2, "completionMode": "Indexed"}}
    index = "batch.kubernetes.io/job-completion-index"
    assert [pod["metadata"]["annotations"][index] for pod in pods_of(job)] == ["0", "1"]


def test_the_pods_of_a_set_have_their_own_claims() -> None:
    claims = [{"metadata": {"name": "data"}, "spec": {}}]
    (pod,) = pods_of(with_value(STATEFUL_SET, "spec.volumeClaimTemplates", claims))
    assert pod["spec"]["volumes"] == [{"name": "data", "persistentVolumeClaim": {"claimName": "data-it-0"}}]


def test_a_cron_job_makes_the_pods_of_its_job() -> None:
    cron = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "nightly", "namespace": "team"},
        "spec": {"schedule": "@daily", "jobTemplate": {"spec": {**JOB["spec"], "parallelism": 2}}},
    }
    assert names(cron) == ["nightly-0", "nightly-1"]


# --- groups --------------------------------------------------------------------------------------


def test_a_group_copies_its_template_and_refers_to_it() -> None:
    workload = with_value(WORKLOAD, "spec.podGroupTemplates.0.priorityClassName", "high")
    workload = with_value(workload, "spec.podGroupTemplates.0.disruptionMode", {"all": {}})
    (group,) = groups_of(workload)
    assert (group["kind"], group["metadata"]["name"]) == ("PodGroup", "it-workers")
    assert group["spec"] == {
        "schedulingPolicy": GANG,
        "priorityClassName": "high",
        "disruptionMode": {"all": {}},
        "workloadRef": {"workloadName": "it", "templateName": "workers"},
    }
    (owner,) = group["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"]) == ("Workload", "it")


def test_a_group_is_spelled_as_its_workload() -> None:
    (group,) = groups_of(OLDER_WORKLOAD)
    assert group["apiVersion"] == "scheduling.k8s.io/v1alpha2"
    names = {"workloadName": "it", "podGroupTemplateName": "workers"}
    assert group["spec"]["podGroupTemplateRef"] == {"workload": names}


@pytest.mark.parametrize("workload", [WORKLOAD, OLDER_WORKLOAD, TREE], ids=named)
def test_the_groups_of_a_workload_can_be_created(workload: Json) -> None:
    for group in groups_of(with_value(workload, "metadata.uid", "u1")):
        assert created(group)["spec"]["priority"] == 0


def test_a_tree_of_templates_becomes_a_tree_of_groups() -> None:
    whole, workers = groups_of(TREE)
    assert (whole["kind"], whole["metadata"]["name"]) == ("CompositePodGroup", "it-whole")
    assert "podGroupTemplates" not in whole["spec"]
    assert workers["spec"]["parentCompositePodGroupName"] == "it-whole"
