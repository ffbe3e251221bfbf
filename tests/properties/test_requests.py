"""Whatever is asked of the mini cluster: an answer comes, it is never a mistake of ours, and no means no."""

import asyncio
import json
from random import Random

from hypothesis import given
from hypothesis import strategies as st
from tests.minicluster.rest.api_client import (
    DEPLOYMENTS,
    MAPS,
    NODES,
    PODS,
    ApiClient,
    config_map,
    deployment,
    node,
    pod,
)

from reprieve_minicluster.kinds import KINDS
from reprieve_minicluster.rest.http_messages import Answer, ApiRequest, ApiResponse, Stream
from reprieve_minicluster.virtual_time import run
from tests.properties.requests import request

_EACH = 120  # requests to one cluster, so that they meet what the earlier ones left behind
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


def furnished() -> ApiClient:
    client = ApiClient()
    client.post(NODES, node("n1"))
    client.post(MAPS, config_map("settings", a="b"))
    client.post(PODS, pod("a"))
    client.post(PODS, pod("b", nodeName="n1"))
    client.post(DEPLOYMENTS, deployment("web"))
    group = {"metadata": {"name": "train"}, "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}}}
    client.post("/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups", group)
    budget = {"metadata": {"name": "web"}, "spec": {"minAvailable": 1, "selector": {}}}
    client.post("/apis/policy/v1/namespaces/default/poddisruptionbudgets", budget)
    return client


async def drained(stream: Stream) -> None:
    """To its end, which comes: time is virtual."""
    async for chunk in stream.chunks:
        for line in chunk.splitlines():
            assert json.loads(line)["type"] in ("ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR")


def check(asked: ApiRequest, answer: Answer, changed: bool) -> None:
    if not isinstance(answer, ApiResponse):
        return
    assert answer.status < 500 or answer.status == 504, asked
    if answer.status < 400:
        return
    assert not changed, asked
    status = json.loads(answer.body)
    assert (status["kind"], status["status"], status["code"]) == ("Status", "Failure", answer.status), asked
    assert status["reason"], asked
    assert status["message"], asked
    if answer.status == 422:
        assert "Invalid" in status["reason"], asked


async def everything_can_be_read(client: ApiClient) -> None:
    for kind in (kind for kind in KINDS if not kind.asked):
        for version in kind.served:
            path = f"/{'apis' if '/' in version else 'api'}/{version}/{kind.plural}"
            client.get(path)
            client.get(path, accept=_TABLE)


async def bother(seed: int) -> None:
    dice, client = Random(seed), furnished()
    for _ in range(_EACH):
        asked, before = request(dice), client.store.version
        answer = client.front.answer(asked)
        check(asked, answer, changed=client.store.version != before)
        if isinstance(answer, Stream):
            async with asyncio.timeout(10_000):
                await drained(answer)
    await everything_can_be_read(client)


@given(st.integers(0, 2**32))
def test_every_request_has_an_answer(seed: int) -> None:
    run(bother(seed))
