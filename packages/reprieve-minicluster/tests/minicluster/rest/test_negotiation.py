"""Content negotiation by the Accept header."""

import pytest
from tests.minicluster.rest.api_client import MAPS, TABLE, ApiClient, config_map

PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("", "ConfigMapList"),
        ("*/*", "ConfigMapList"),
        ("application/json", "ConfigMapList"),
        ("application/vnd.kubernetes.protobuf, application/json", "ConfigMapList"),
        ("text/html;q=0.9, application/json;q=0.1", "ConfigMapList"),
        (TABLE, "Table"),
        ("application/json;as=Table;v=v1beta1;g=meta.k8s.io", "Table"),
        ("application/json;as=Table;v=v9;g=meta.k8s.io,application/json", "ConfigMapList"),
        (PARTIAL_LIST, "PartialObjectMetadataList"),
        (f"{PARTIAL},application/json", "ConfigMapList"),
    ],
)
def test_a_list(client: ApiClient, accept: str, kind: str) -> None:
    client.post(MAPS, config_map("a"))
    assert client.get(MAPS, accept=accept)["kind"] == kind


@pytest.mark.parametrize(
    ("accept", "kind"), [("", "ConfigMap"), (TABLE, "Table"), (PARTIAL, "PartialObjectMetadata")]
)
def test_an_object(client: ApiClient, accept: str, kind: str) -> None:
    client.post(MAPS, config_map("a"))
    assert client.get(f"{MAPS}/a", accept=accept)["kind"] == kind


@pytest.mark.parametrize(
    "accept", ["text/html", "application/vnd.kubernetes.protobuf", "application/yaml", PARTIAL]
)
def test_a_form_that_is_not_served(client: ApiClient, accept: str) -> None:
    assert client.refused("GET", MAPS, accept=accept)[:2] == (406, "NotAcceptable")


def test_nothing_is_written_if_no_form_is_acceptable(client: ApiClient) -> None:
    assert client.refused("POST", MAPS, config_map("a"), accept="text/html")[0] == 406
    assert client.refused("DELETE", MAPS, accept="text/html")[0] == 406


def test_metadata_alone(client: ApiClient) -> None:
    client.post(MAPS, config_map("a", big="x" * 1000))
    (item,) = client.get(MAPS, accept=PARTIAL_LIST)["items"]
    assert set(item) == {"kind", "apiVersion", "metadata"}
    assert item["metadata"]["name"] == "a"
