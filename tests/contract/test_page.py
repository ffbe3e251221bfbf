"""`/page/` of a replica: which clients read it, and which names they see."""

import asyncio
import json
from typing import Any

import msgspec
import yaml
from tests.unit.report.test_hidden_names import DEMAND, VICTIMS, preempting
from tests.unit.scheduler.making import a_node, a_pod

from reprieve.model.events import Seen, Synced
from reprieve.model.json import Json
from reprieve.model.moment import on_one_clock
from reprieve.model.objects import Pod
from reprieve.scheduler.reporting.decision import Decided
from reprieve_minicluster.auth.authentication import TokenIssuer, UserInfo
from tests.architecture.source import ROOT
from tests.contract.http import TOKEN
from tests.contract.test_decisions_page import RBAC, binding
from tests.contract.test_trust import AUTHORITY, SCRAPER, STRANGER, tell
from tests.contract.visiting import Visitor, blind, visited

PICTURE = "/page/api/picture"
ROLE = yaml.safe_load((ROOT / "deploy/base/page-reader.yaml").read_text())
ALICE = TokenIssuer(TOKEN).token_of(UserInfo("alice"))


def pod_in(namespace: str, name: str) -> Pod:
    pod = a_pod(name, on="n1")
    return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, namespace=namespace))


async def given(one: Visitor, *bodies: Json) -> None:
    one.feed.begin()
    pods = [pod_in(DEMAND, "mine"), pod_in(VICTIMS, "theirs")]
    one.feed.on_observed([Seen(a_node("n1")), *map(Seen, pods), Synced()], (), on_one_clock(1.0))
    one.feed.on_decided(Decided(preempting(), ()), on_one_clock(1.0), 0.0)
    for namespace in (DEMAND, VICTIMS):
        await one.operator.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    for body in (ROLE, binding("reprieve-page-reader"), *bodies):
        await one.operator.create(body)
    await asyncio.sleep(1)  # until the rules of view are aggregated


async def picture(one: Visitor, token: str) -> Any:
    status, text = await one.get(PICTURE, token)
    assert status == 200, text
    return json.loads(text)


def test_the_path_has_a_right_of_its_own_and_files_need_none() -> None:
    async def visit(one: Visitor) -> None:
        status, text = await one.get(PICTURE, TOKEN)
        assert (status, "does not schedule" in text) == (503, True)
        assert (await one.get(PICTURE))[0] == 403
        status, text = await one.get(PICTURE, ALICE)
        assert (status, json.loads(text)["message"]) == (
            403,
            'forbidden: User "alice" cannot get path "/page/"',
        )
        await given(one)
        await asyncio.sleep(10)  # for so long a denial is remembered
        await picture(one, ALICE)
        assert (await one.get("/debug/decisions", ALICE))[0] == 403
        status, text = await one.get(PICTURE, "expired")
        assert (status, "has expired" in text) == (401, True)
        assert (await one.get("/page/static/absent.js"))[0] == 404

    visited(visit)


def test_names_are_those_that_the_reader_may_get() -> None:
    async def visit(one: Visitor) -> None:
        await given(one)
        shown = await picture(one, ALICE)
        assert [row[0] for row in shown["pods"]] == ["", ""]
        assert [row[1] for row in shown["pods"]] == ["uid-mine", "uid-theirs"]
        (decision,) = shown["decisions"]
        assert (decision["demand"]["key"], decision["demand"]["priority"]) == ("", 9)
        await one.operator.create(binding("view", DEMAND))
        await asyncio.sleep(10)  # for so long a denial is remembered
        shown = await picture(one, ALICE)
        assert [row[0] for row in shown["pods"]] == [f"{DEMAND}/mine", ""]
        assert shown["can"] == dict.fromkeys(("whatif", "apply", "history", "why", "exposure"), False)
        shown = await picture(one, TOKEN)
        assert [row[0] for row in shown["pods"]] == [f"{DEMAND}/mine", f"{VICTIMS}/theirs"]
        status, text = await one.get(f"/page/api/decisions/{decision['id']}", ALICE)
        assert status == 200
        victims = json.loads(text)["preemption"]["victims"]
        assert {victim["pod"]["name"] for victim in victims} == {""}

    visited(visit)


def test_changes_show_the_same_names_and_end_when_rights_do() -> None:
    async def visit(one: Visitor) -> None:
        await given(one, binding("view", DEMAND))
        revision = (await picture(one, ALICE))["revision"]
        url = f"https://127.0.0.1:{one.port}/page/api/changes?after={revision}"
        headers = {"Authorization": f"Bearer {ALICE}"}
        async with one.session.get(url, headers=headers, ssl=blind(None), timeout=None) as response:
            pods = [pod_in(DEMAND, "my-next"), pod_in(VICTIMS, "their-next")]
            one.feed.on_observed([*map(Seen, pods)], (), on_one_clock(2.0))
            event = await _data(response)
            assert [row["pod"][0] for row in event["changes"]] == [f"{DEMAND}/my-next", ""]
            await one.operator.delete("ClusterRoleBinding", "", "alice-reprieve-page-reader")
            event = await _data(response)
            assert event == {"message": "the rights of this reader have changed"}
            assert await response.content.read() == b"\n", "and the stream ends"

    visited(visit)


def test_a_stream_does_not_outlive_the_trust_in_its_certificate() -> None:
    scraper = {**binding("reprieve-page-reader"), "metadata": {"name": "scrapers"}}
    scraper["subjects"] = [{"apiGroup": RBAC, "kind": "Group", "name": "scrapers"}]

    async def visit(one: Visitor) -> None:
        await given(one, scraper)
        await tell(one, AUTHORITY)
        status, text = await one.get(PICTURE, own=SCRAPER)
        assert status == 200, text
        url = f"https://127.0.0.1:{one.port}/page/api/changes?after={json.loads(text)['revision']}"
        async with one.session.get(url, ssl=blind(SCRAPER), timeout=None) as response:
            await tell(one, STRANGER)
            assert await _data(response) == {"message": "the rights of this reader have changed"}

    visited(visit)


async def _data(response: Any) -> Any:
    while True:
        line = (await response.content.readline()).decode()
        assert line, "the stream ended"
        if line.startswith("data: "):
            return json.loads(line.removeprefix("data: "))


def test_pages_of_other_sites_are_rejected() -> None:
    async def visit(one: Visitor) -> None:
        await given(one)
        url = f"https://127.0.0.1:{one.port}{PICTURE}"
        for origin, expected in (("https://evil.example", 403), (f"https://127.0.0.1:{one.port}", 200)):
            headers = {"Authorization": f"Bearer {TOKEN}", "Origin": origin}
            async with one.session.get(url, headers=headers, ssl=blind(None)) as response:
                assert response.status == expected

    visited(visit)
