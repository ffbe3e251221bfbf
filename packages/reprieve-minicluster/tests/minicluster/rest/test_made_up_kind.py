"""Adding a kind is adding an entry: a kind that exists nowhere else is served with what clients expect."""

import asyncio
import json

import pytest
from tests.minicluster.rest.api_client import STRATEGIC, TABLE, ApiClient
from tests.minicluster.scene import HandClock

from reprieve.cluster.admission.features import ALL_FEATURES
from reprieve.cluster.admission.validation import Rules
from reprieve.cluster.api.names import dns_label
from reprieve.model.json import Json
from reprieve_minicluster.kinds import BY_RESOURCE, ResourceKind, RoleAccess, SelectableField
from reprieve_minicluster.kinds.cells import AGE, NAME, number, text
from reprieve_minicluster.kinds.kind import APART, SPEC, Conversion
from reprieve_minicluster.rest.http_messages import Stream
from reprieve_minicluster.rest.http_server import ApiServer
from reprieve_minicluster.store import Store

PATH = "/apis/office.example.com/v1/namespaces/default/printers"


def as_older(body: Json) -> Json:
    return {"where" if name == "spec" else name: value for name, value in body.items()}


def as_newer(body: Json, before: Json | None) -> Json:
    return {"spec" if name == "where" else name: value for name, value in body.items()}


PRINTER = ResourceKind(
    "Printer",
    "printers",
    "office.example.com",
    ("v1", "v1alpha1"),
    conversions={
        "office.example.com/v1alpha1": Conversion(as_older, as_newer, fields={"where": "spec"}),
    },
    description="Prints pages.",
    columns=(NAME, text("Room", "spec.room"), number("Pages", "status.pages"), AGE),
    short=("prt",),
    shown_in_all=True,
    access=RoleAccess.EDIT,
    status=APART,
    generation=SPEC,
    first_phase="Idle",
    counts=("pages",),
    selectable=(SelectableField("spec.room", absent="none"),),
    merge_keys={"spec.trays": "name"},
    rules=Rules("Printer", dns_label, namespaced=True),
)


@pytest.fixture(name="client")
def office() -> ApiClient:
    client = ApiClient()
    client.store = Store(HandClock(), {**BY_RESOURCE, PRINTER.resource: PRINTER})
    client.store.create("namespaces", {"metadata": {"name": "default"}})
    client.front = ApiServer(client.store, client.clock, ALL_FEATURES)
    return client


def printer(name: str, **spec: object) -> Json:
    return {
        "apiVersion": "office.example.com/v1",
        "kind": "Printer",
        "metadata": {"name": name},
        "spec": spec,
    }


def test_it_is_discovered_and_explained(client: ApiClient) -> None:
    assert "office.example.com" in [group["name"] for group in client.get("/apis")["groups"]]
    found = client.get("/apis/office.example.com/v1")["resources"]
    assert [(one["name"], one["kind"]) for one in found] == [
        ("printers", "Printer"),
        ("printers/status", "Printer"),
    ]
    assert (found[0]["shortNames"], found[0]["categories"]) == (["prt"], ["all"])
    schemas = client.get("/openapi/v3/apis/office.example.com/v1")["components"]["schemas"]
    assert schemas["office.example.com.v1.Printer"]["description"] == "Prints pages."


def test_it_is_created_validated_listed_and_deleted(client: ApiClient) -> None:
    made = client.post(PATH, {**printer("a", room="12"), "status": {"pages": 9}})
    assert made["status"] == {"phase": "Idle", "pages": 0}
    assert made["metadata"]["generation"] == 1
    client.post(PATH, printer("b"))
    assert client.names(PATH) == ["a", "b"]
    assert client.names(PATH, fieldSelector="spec.room=none") == ["b"]
    status, _, sentence = client.refused("POST", PATH, printer("c.d"))
    assert status == 422
    assert "metadata.name" in sentence
    client.delete(f"{PATH}/a")
    assert client.names(PATH) == ["b"]


def test_its_table_has_its_columns(client: ApiClient) -> None:
    client.post(PATH, printer("a", room="12"))
    client.patch(f"{PATH}/a/status", {"status": {"pages": 3}})
    table = client.get(PATH, accept=TABLE)
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Room", "Pages", "Age"]
    assert [row["cells"][:3] for row in table["rows"]] == [["a", "12", 3]]


def test_lists_are_merged_by_its_keys(client: ApiClient) -> None:
    client.post(PATH, printer("a", trays=[{"name": "top", "size": "A4"}]))
    change = {"spec": {"trays": [{"name": "low", "size": "A3"}]}}
    trays = client.patch(f"{PATH}/a", change, content_type=STRATEGIC)["spec"]["trays"]
    assert sorted(tray["name"] for tray in trays) == ["low", "top"]


def test_its_other_versions_are_converted(client: ApiClient) -> None:
    older = PATH.replace("/v1/", "/v1alpha1/")
    client.post(PATH, printer("a", room="12"))
    assert client.get(f"{older}/a")["where"] == {"room": "12"}
    assert client.names(older, fieldSelector="where.room=12") == ["a"]
    meta = {"apiVersion": "office.example.com/v1alpha1", "kind": "Printer", "metadata": {"name": "b"}}
    client.post(older, {**meta, "where": {"room": "3"}})
    assert client.get(f"{PATH}/b")["spec"] == {"room": "3"}


def test_it_is_watched(client: ApiClient) -> None:
    async def first_event() -> Json:
        stream = client.stream(PATH)
        assert isinstance(stream, Stream)
        async for chunk in stream.chunks:
            event: Json = json.loads(chunk)
            return event
        raise AssertionError("the stream has ended")

    client.post(PATH, printer("a"))
    event = asyncio.run(first_event())
    assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "a")
