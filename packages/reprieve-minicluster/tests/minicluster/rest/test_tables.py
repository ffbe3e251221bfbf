"""Tables: the columns of every kind."""

import pytest
from tests.minicluster.rest.api_client import NODES, PODS, TABLE, ApiClient, node, pod

from reprieve.cluster.api.schema import fields_of, root
from reprieve.model.json import Json
from reprieve_minicluster.kinds import KINDS, ResourceKind
from reprieve_minicluster.kinds.cells import duration
from reprieve_minicluster.store import Key, Part


def shown(table: Json, *, wide: bool = False) -> dict[str, list[object]]:
    """Cells by the first one of their row."""
    keep = [i for i, c in enumerate(table["columnDefinitions"]) if wide or c["priority"] == 0]
    return {row["cells"][0]: [row["cells"][i] for i in keep] for row in table["rows"]}


def headings(table: Json) -> list[str]:
    return [c["name"].upper() for c in table["columnDefinitions"] if c["priority"] == 0]


def test_pods_have_the_columns_of_kubectl_and_with_wide_priority_and_group(client: ApiClient) -> None:
    group = {"podGroupName": "train"}
    client.post(PODS, pod("a", nodeName="n1", schedulingGroup=group))
    client.clock.now += 90
    table = client.get(PODS, accept=TABLE)
    assert headings(table) == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert shown(table) == {"a": ["a", "0/1", "Pending", "0", "90s"]}
    wide = ["IP", "Node", "Nominated Node", "Readiness Gates", "Priority", "Group"]
    assert [c["name"] for c in table["columnDefinitions"]][5:] == wide
    assert table["rows"][0]["cells"][5:] == ["<none>", "n1", "<none>", "<none>", 0, "train"]


@pytest.mark.parametrize(
    ("status", "word"),
    [
        ({"phase": "Running"}, "Running"),
        ({"phase": "Failed", "reason": "OutOfcpu"}, "OutOfcpu"),
        (
            {"phase": "Succeeded", "containerStatuses": [{"state": {"terminated": {"reason": "Completed"}}}]},
            "Completed",
        ),
        (
            {"phase": "Pending", "conditions": [{"type": "PodScheduled", "reason": "SchedulingGated"}]},
            "SchedulingGated",
        ),
        (
            {"phase": "Pending", "containerStatuses": [{"state": {"waiting": {"reason": "ErrImagePull"}}}]},
            "ErrImagePull",
        ),
        ({"conditions": "none", "containerStatuses": 7}, "Unknown"),
    ],
)
def test_the_word_for_what_a_pod_does(client: ApiClient, status: Json, word: str) -> None:
    client.post(PODS, pod("a"))
    client.store.patch(Key("pods", "default", "a"), lambda body: {**body, "status": status}, Part.STATUS)
    assert shown(client.get(PODS, accept=TABLE))["a"][2] == word


def test_a_pod_that_leaves(client: ApiClient) -> None:
    client.post(PODS, pod("a", nodeName="n1"))
    client.delete(f"{PODS}/a", gracePeriodSeconds="30")
    assert shown(client.get(f"{PODS}/a", accept=TABLE))["a"][2] == "Terminating"


def test_nodes_show_what_they_offer(client: ApiClient) -> None:
    client.post(NODES, {**node("a"), "spec": {"unschedulable": True}})
    row = shown(client.get(NODES, accept=TABLE))["a"]
    assert row[:5] == ["a", "Unknown,SchedulingDisabled", "<none>", "4", "8Gi"]


SHORT = ("CSINode", "LimitRange", "DeviceClass", "DeviceTaintRule", "ResourceClaimTemplate")


@pytest.mark.parametrize("kind", [k for k in KINDS if not k.asked], ids=lambda kind: kind.kind)
def test_every_kind_has_its_columns_whatever_is_stored(kind: ResourceKind) -> None:
    """Nothing checks what stands in a store: a table shows even nonsense."""
    nonsense = ["x", 7, None, [1], {"a": "b"}]
    columns = kind.columns
    assert "Name" in [column.name for column in columns]
    assert len(columns) > 2 or kind.kind in SHORT
    for value in nonsense:
        body = dict.fromkeys(fields_of(root(kind.api_version, kind.kind)), value)
        assert all(isinstance(column.read(body, 0.0), str | int) for column in columns)
        inner = {"spec": dict.fromkeys(("containers", "taints", "ports", "selector"), value)}
        assert all(isinstance(column.read(inner, 0.0), str | int) for column in columns)


def test_rows_carry_as_much_of_the_object_as_is_asked(client: ApiClient) -> None:
    client.post(PODS, pod("a"))
    rows = {
        how: client.get(PODS, accept=TABLE, includeObject=how)["rows"][0]
        for how in ("None", "Metadata", "Object")
    }
    assert "object" not in rows["None"]
    assert rows["Metadata"]["object"]["kind"] == "PartialObjectMetadata"
    assert rows["Metadata"]["object"]["metadata"]["name"] == "a"
    assert rows["Object"]["object"]["spec"]["containers"]
    assert client.refused("GET", PODS, accept=TABLE, includeObject="Some")[0] == 422


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "0s"),
        (119, "119s"),
        (120, "2m"),
        (125, "2m5s"),
        (3600, "60m"),
        (3 * 3600, "3h"),
        (4 * 3600 + 120, "4h2m"),
        (30 * 3600, "30h"),
        (3 * 86400, "3d"),
        (3 * 86400 + 7200, "3d2h"),
        (100 * 86400, "100d"),
        (3 * 365 * 86400 + 86400, "3y1d"),
        (9 * 365 * 86400, "9y"),
    ],
)
def test_ages(seconds: float, text: str) -> None:
    assert duration(seconds) == text
