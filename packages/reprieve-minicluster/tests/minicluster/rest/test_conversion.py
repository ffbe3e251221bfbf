"""Objects that are served in several API versions and stored in one."""

from typing import Any

import pytest
from tests.minicluster.rest.api_client import MERGE, ApiClient

from reprieve.model.json import Json

NEWEST, MIDDLE, OLDER = ("v1beta1", "v1alpha3", "v1alpha2")


def groups(version: str) -> str:
    return f"/apis/scheduling.k8s.io/{version}/namespaces/default/podgroups"


def workloads(version: str) -> str:
    return f"/apis/scheduling.k8s.io/{version}/namespaces/default/workloads"


def gang(**spec: Any) -> Json:
    return {"metadata": {"name": "train"}, "spec": {"schedulingPolicy": {"gang": {"minCount": 4}}, **spec}}


REFERENCE = {"workload": {"workloadName": "w", "podGroupTemplateName": "workers"}}


def test_the_older_spelling_of_a_group_is_understood(client: ApiClient) -> None:
    made = client.post(groups(OLDER), gang(disruptionMode="PodGroup", podGroupTemplateRef=REFERENCE))
    assert made["apiVersion"] == "scheduling.k8s.io/v1alpha2"
    assert made["spec"]["disruptionMode"] == "PodGroup"
    assert made["spec"]["podGroupTemplateRef"] == REFERENCE
    newer = client.get(f"{groups(NEWEST)}/train")
    assert newer["apiVersion"] == "scheduling.k8s.io/v1beta1"
    assert newer["spec"]["disruptionMode"] == {"all": {}}
    assert newer["spec"]["workloadRef"] == {"workloadName": "w", "templateName": "workers"}
    assert {**client.get(f"{groups(MIDDLE)}/train"), "apiVersion": newer["apiVersion"]} == newer


def test_the_disruption_mode_may_stand_in_the_policy(client: ApiClient) -> None:
    policy = {"gang": {"minCount": 4}, "disruptionMode": "PodGroup"}
    client.post(groups(OLDER), gang(schedulingPolicy=policy))
    spec = client.get(f"{groups(NEWEST)}/train")["spec"]
    assert (spec["disruptionMode"], spec["schedulingPolicy"]) == ({"all": {}}, {"gang": {"minCount": 4}})
    again = {"spec": {"schedulingPolicy": policy}}
    assert client.patch(f"{groups(OLDER)}/train", again)["spec"]["disruptionMode"] == "PodGroup"


def test_a_version_does_not_take_the_words_of_another(client: ApiClient) -> None:
    assert client.refused("POST", groups(OLDER), gang(disruptionMode={"all": {}}))[0] == 400
    assert client.refused("POST", groups(NEWEST), gang(disruptionMode="PodGroup"))[0] == 400


def test_what_the_older_version_cannot_say_survives_it(client: ApiClient) -> None:
    calm = {"metadata": {"name": "calm"}, "value": 7, "preemptionPolicy": "Never"}
    client.post("/apis/scheduling.k8s.io/v1/priorityclasses", calm)
    client.post(groups(NEWEST), gang(preemptionPolicy="Never", priorityClassName="calm"))
    older = client.get(f"{groups(OLDER)}/train")
    assert "preemptionPolicy" not in older["spec"]
    client.put(f"{groups(OLDER)}/train", {**older, "metadata": {**older["metadata"], "labels": {"a": "b"}}})
    client.patch(f"{groups(OLDER)}/train", {"spec": {"schedulingPolicy": {"gang": {"minCount": 5}}}})
    newer = client.get(f"{groups(NEWEST)}/train")
    assert newer["spec"]["preemptionPolicy"] == "Never"
    assert newer["spec"]["schedulingPolicy"]["gang"]["minCount"] == 5
    assert newer["metadata"]["labels"] == {"a": "b"}


def test_conditions_have_the_names_of_their_version(client: ApiClient) -> None:
    client.post(groups(NEWEST), gang())
    condition = {"type": "PodGroupInitiallyScheduled", "status": "True", "reason": "Scheduled", "message": ""}
    condition["lastTransitionTime"] = "2026-01-01T00:00:00Z"
    client.patch(f"{groups(NEWEST)}/train/status", {"status": {"conditions": [condition]}})
    (older,) = client.get(f"{groups(OLDER)}/train")["status"]["conditions"]
    assert older["type"] == "PodGroupScheduled"


def test_lists_and_tables_are_in_the_version_that_is_asked_for(client: ApiClient) -> None:
    client.post(groups(NEWEST), gang(disruptionMode={"all": {}}))
    listed = client.get(groups(OLDER))
    assert listed["apiVersion"] == "scheduling.k8s.io/v1alpha2"
    assert listed["items"][0]["spec"]["disruptionMode"] == "PodGroup"
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
    tables = [client.get(groups(version), accept=accept)["rows"][0]["cells"] for version in (OLDER, NEWEST)]
    assert tables[0] == tables[1]
    assert tables[0][:3] == ["train", "Gang of 4", "All"]


def test_workloads_are_spelled_by_template(client: ApiClient) -> None:
    template = {
        "name": "workers",
        "schedulingPolicy": {"gang": {"minCount": 2}},
        "disruptionMode": "PodGroup",
    }
    client.post(workloads(OLDER), {"metadata": {"name": "w"}, "spec": {"podGroupTemplates": [template]}})
    (newer,) = client.get(f"{workloads(NEWEST)}/w")["spec"]["podGroupTemplates"]
    assert newer["disruptionMode"] == {"all": {}}
    assert client.get(f"{workloads(OLDER)}/w")["spec"]["podGroupTemplates"] == [template]


@pytest.mark.parametrize("version", [NEWEST, MIDDLE, OLDER])
def test_a_patch_is_in_the_spelling_of_its_version(client: ApiClient, version: str) -> None:
    client.post(groups(NEWEST), gang())
    change = {"metadata": {"annotations": {"note": version}}}
    changed = client.patch(f"{groups(version)}/train", change, MERGE)
    assert changed["apiVersion"] == f"scheduling.k8s.io/{version}"
    assert changed["metadata"]["annotations"] == {"note": version}


def test_events_are_served_in_two_groups(client: ApiClient) -> None:
    about = {"kind": "Pod", "name": "a", "namespace": "default"}
    newer = "/apis/events.k8s.io/v1/namespaces/default/events"
    client.post(
        newer,
        {
            "metadata": {"name": "e"},
            "regarding": about,
            "note": "no room",
            "reason": "FailedScheduling",
            "type": "Warning",
            "action": "Scheduling",
            "eventTime": "2026-01-01T00:00:00.000000Z",
            "reportingController": "reprieve",
            "reportingInstance": "reprieve-0",
        },
        fieldValidation="Strict",
    )
    core = client.get("/api/v1/namespaces/default/events/e")
    assert (core["involvedObject"], core["message"], core["reportingComponent"]) == (
        about,
        "no room",
        "reprieve",
    )
    assert client.get(f"{newer}/e")["note"] == "no room"
