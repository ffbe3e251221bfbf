"""`/debug/decisions` of a replica: which clients read it, and which names they see."""

import asyncio
import json

import yaml
from tests.unit.report.test_hidden_names import DEMAND, VICTIMS, preempting

from reprieve.model.json import Json
from reprieve_minicluster.auth.authentication import TokenIssuer, UserInfo
from tests.architecture.source import ROOT
from tests.contract.http import TOKEN
from tests.contract.visiting import Visitor, visited

PATH = "/debug/decisions"
RBAC = "rbac.authorization.k8s.io"
ROLE = yaml.safe_load((ROOT / "deploy/base/decisions-reader.yaml").read_text())
ALICE = TokenIssuer(TOKEN).token_of(UserInfo("alice"))


async def read(one: Visitor, token: str, query: str = "") -> Json:
    status, text = await one.get(f"{PATH}{query}", token)
    assert status == 200, text
    document: Json = json.loads(text)
    assert document["kind"] == "DecisionList"
    return document


def binding(role: str, namespace: str = "") -> Json:
    """For alice: everywhere, or in one namespace."""
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding" if namespace else "ClusterRoleBinding",
        "metadata": {"name": f"alice-{role}", **({"namespace": namespace} if namespace else {})},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": RBAC, "kind": "User", "name": "alice"}],
    }


async def given(one: Visitor, *bodies: Json) -> None:
    one.recent.keep(preempting())
    for namespace in (DEMAND, VICTIMS):
        name = {"name": namespace}
        await one.operator.create({"apiVersion": "v1", "kind": "Namespace", "metadata": name})
    for body in (ROLE, binding("reprieve-decisions-reader"), *bodies):
        await one.operator.create(body)
    await asyncio.sleep(1)  # until the rules of view are aggregated


def test_the_path_has_a_right_of_its_own() -> None:
    async def visit(one: Visitor) -> None:
        assert (await one.get(PATH))[0] == 403
        assert (await one.get(PATH, ALICE))[0] == 403
        await given(one)
        assert (await one.get("/metrics", ALICE))[0] == 403
        bob = TokenIssuer(TOKEN).token_of(UserInfo("bob"))
        assert (await one.get(PATH, bob))[0] == 403

    visited(visit)


def victims(item: Json) -> list[Json]:
    return [victim["pod"] for victim in item["preemption"]["victims"]]


def test_the_form_of_the_release_before_can_be_asked_for() -> None:
    async def visit(one: Visitor) -> None:
        one.recent.keep(preempting())
        older = await read(one, TOKEN, "?version=v1alpha1")
        assert older["apiVersion"] == older["items"][0]["apiVersion"] == "reprieve.dev/v1alpha1"
        assert older["items"][0]["victims"]

    visited(visit)


def test_an_administrator_reads_all_names_without_a_review() -> None:
    async def visit(one: Visitor) -> None:
        one.recent.keep(preempting())
        (item,) = (await read(one, TOKEN))["items"]
        assert item["demand"]["name"] == "urgent"
        asked = [path.rpartition("/")[2] for _, path, _ in one.operator.front.writes]
        assert "subjectaccessreviews" not in asked

    visited(visit)


def test_a_reader_without_further_rights_reads_no_names() -> None:
    async def visit(one: Visitor) -> None:
        await given(one)
        document = await read(one, ALICE)
        (item,) = document["items"]
        assert item["demand"]["name"] == ""
        assert item["priority"] == 9
        assert {pod["name"] for pod in victims(item)} == {""}
        assert all(pod["uid"] for pod in victims(item))
        text = json.dumps(document)
        assert DEMAND not in text
        assert VICTIMS not in text

    visited(visit)


def test_a_reader_sees_the_names_of_its_namespace_alone() -> None:
    async def visit(one: Visitor) -> None:
        await given(one, binding("view", VICTIMS))
        (item,) = (await read(one, ALICE))["items"]
        assert item["demand"]["name"] == ""
        assert {pod["namespace"] for pod in victims(item)} == {VICTIMS}

    visited(visit)


def test_rights_are_reviewed_once_for_each_request() -> None:
    async def visit(one: Visitor) -> None:
        await given(one)
        for _ in range(50):
            one.recent.keep(preempting())
        one.operator.front.writes.clear()
        await read(one, ALICE)
        asked = [path.rpartition("/")[2] for _, path, _ in one.operator.front.writes]
        # The path; each of four resources everywhere; two, two and one of them in their namespaces.
        assert asked.count("subjectaccessreviews") <= 1 + 4 + 7
        one.operator.front.writes.clear()
        await read(one, ALICE)
        assert one.operator.front.writes == [], "answers are cached for a while"
        await asyncio.sleep(11)
        await read(one, ALICE)
        assert [path.rpartition("/")[2] for _, path, _ in one.operator.front.writes].count(
            "tokenreviews"
        ) == 1

    visited(visit)


def test_while_reviews_fail_names_are_hidden() -> None:
    async def visit(one: Visitor) -> None:
        await given(one, binding("view", VICTIMS))
        await read(one, ALICE, "?limit=0")  # from now on the path itself is allowed for a while
        await one.operator.server.stop()
        (item,) = (await read(one, ALICE))["items"]
        assert {pod["name"] for pod in victims(item)} == {""}

    visited(visit)


def test_a_query_asks_for_less_and_a_malformed_one_is_refused() -> None:
    async def visit(one: Visitor) -> None:
        one.recent.keep(preempting())
        document = await read(one, TOKEN)
        version = document["metadata"]["resourceVersion"]
        assert (await read(one, TOKEN, f"?after={version}"))["items"] == []
        assert (await read(one, TOKEN, "?limit=0"))["items"] == []
        assert await one.get(f"{PATH}?after=now", TOKEN) == (400, 'after: expected a number, got "now"\n')

    visited(visit)
