"""Fuzzed requests to a cluster with every component alive: whatever is asked, all tasks live and others run.

A world takes a thousand requests, one after the other and with pauses in which components react: real ones
with a part corrupted, noise, and objects of the poison-pill set. `make soak` tries five hundred worlds.
"""

import asyncio
import json
import sys
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from copy import deepcopy
from random import Random
from types import FrameType
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.minicluster.rest.api_client import config_map, deployment, node, pod

from reprieve.assembly.scheduler_settings import EVERYTHING, settings_of
from reprieve.cluster.admission.features import ALL_FEATURES
from reprieve.config import parse_configuration
from reprieve.model.json import Json
from reprieve.runtime.loop import Loop
from reprieve.scheduler.core import Scheduler
from reprieve_minicluster.assembly.mini_cluster import submit
from reprieve_minicluster.bootstrap import standard_objects
from reprieve_minicluster.cluster import MiniCluster
from reprieve_minicluster.errors import ApiError
from reprieve_minicluster.kinds import BY_NAME
from reprieve_minicluster.rest.http_messages import Answer, ApiRequest, Batched, Stream
from reprieve_minicluster.rest.http_server import ApiServer
from reprieve_minicluster.store import Key
from reprieve_minicluster.virtual_time import clock, run
from tests.properties.requests import request, spoilt
from tests.properties.test_requests import check
from tests.simulation.test_poison import (
    ADDED,
    CANARY_NODE,
    MULTIPLIERS,
    ORIGINALS,
    STATUSES,
    TEAM,
    canary_runs,
    collection,
    put,
)

WORLDS = 5 if settings().derandomize else 500
EACH = 1000  # requests to one world
BETWEEN_CANARIES = 250
BETWEEN_REPAIRS = 20
OPEN_WATCHES = 5
PAUSES = (0.0, 0.0, 0.0, 0.01, 0.1, 1.0, 5.0)  # seconds after a request
# Steps are calls of functions. A request may cost some for itself, for each byte of it, and for each object.
STEPS, STEPS_OF_A_BYTE, STEPS_OF_AN_OBJECT = 30_000, 30, 300


CONFIGURED = parse_configuration(
    {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": name} for name in ("reprieve", "default-scheduler")],
    }
)


def first_objects() -> list[Json]:
    """What the requests are about, most of the time."""
    group = {"kind": "PodGroup", "metadata": {"name": "train"}, "spec": {"gang": {"minCount": 2}}}
    budget = {"kind": "PodDisruptionBudget", "metadata": {"name": "web"}, "spec": {"minAvailable": 1}}
    bodies: list[Json] = [config_map("settings", a="b"), pod("a"), pod("b", nodeName="n1"), deployment("web")]
    kinds = ("ConfigMap", "Pod", "Pod", "Deployment")
    named = [{"kind": kind, **body} for kind, body in zip(kinds, bodies, strict=True)]
    inside = [*named, group, budget]
    return [
        {"kind": "Node", **node("n1")},
        *({**body, "metadata": {**body["metadata"], "namespace": "default"}} for body in inside),
    ]


def repair(cluster: MiniCluster, dice: Random) -> None:
    """Some of these were deleted: a request for what is not there finds little."""
    for body in (*first_objects(), *dice.sample(ORIGINALS, 5)):
        with suppress(ApiError):  # its namespace is being deleted, say
            kind, meta = BY_NAME[body["kind"]], {"namespace": TEAM, **body["metadata"]}
            space = meta["namespace"] if kind.namespaced else ""
            if cluster.store.find(Key(kind.resource, space, meta["name"])) is None:
                submit(cluster, [{**body, "metadata": {**meta, "namespace": space}}])


@asynccontextmanager
async def living() -> AsyncIterator[MiniCluster]:
    cluster = MiniCluster(clock, features=ALL_FEATURES)
    cluster.apply([*standard_objects(), CANARY_NODE])
    cluster.apply([{"kind": "Namespace", "metadata": {"name": TEAM, "finalizers": ["kubernetes"]}}])
    cluster.start()
    try:
        async with Loop(Scheduler(settings_of(CONFIGURED, EVERYTHING)), cluster, clock).running():
            yield cluster
    finally:
        await cluster.stop()


def odd_object(dice: Random) -> ApiRequest:
    """Of the poison-pill set: a well-formed object with odd places, or an odd change of one."""
    body = deepcopy(dice.choice(ORIGINALS))
    path = collection(body)
    one = f"{path}/{body['metadata']['name']}"
    match dice.randrange(10):
        case 0:
            return ApiRequest("DELETE", one, body=json.dumps({"gracePeriodSeconds": 10**12}).encode())
        case 1 | 2:
            return merge_patch(f"{one}/status", {"status": dice.choice(STATUSES)})
    for place, value in dice.sample(ADDED, dice.randrange(3)):
        put(body, place, deepcopy(value))
    if "spec" in body:
        body["spec"] = multiplied_by_little(spoilt(dice, body["spec"], dice.randrange(3)))
    if dice.random() < 0.3:
        return merge_patch(one, body)
    body["metadata"]["name"] += dice.choice(("", "-0", "-1", "-2", "-3"))
    return ApiRequest("POST", path, body=json.dumps(body).encode())


def merge_patch(path: str, body: Json) -> ApiRequest:
    kind = "application/merge-patch+json"
    return ApiRequest("PATCH", path, content_type=kind, body=json.dumps(body).encode())


def multiplied_by_little(value: Any) -> Any:
    """What multiplies the work stays small: a large number is met elsewhere."""
    if isinstance(value, list):
        return [multiplied_by_little(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {k: 2 if k in MULTIPLIERS else multiplied_by_little(v) for k, v in value.items()}


def stored(cluster: MiniCluster) -> dict[Key, int]:
    """The version of every object. Not of quotas: as in Kubernetes, a create is charged before it fails."""
    tables = (t for name, t in cluster.store._objects.items() if name != "resourcequotas")
    return {key: item.version for table in tables for key, item in table.items()}


def counted(server: ApiServer, asked: ApiRequest) -> tuple[Answer, int]:
    """The answer, and how many calls of functions it took."""
    count = 0

    def called(_: FrameType, event: str, __: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        answer = server.answer(asked)
        if isinstance(answer, Batched):
            answer = answer.finished()
    finally:
        sys.setprofile(before)
    return answer, count


async def read(stream: Stream) -> None:
    async for chunk in stream.chunks:
        for line in chunk.splitlines():
            assert json.loads(line)["type"] in ("ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR")


async def besiege(seed: int) -> None:
    dice = Random(seed)
    async with living() as cluster:
        server = ApiServer(cluster.store, clock, ALL_FEATURES)
        watches: deque[asyncio.Task[None]] = deque()
        healthy = dict(cluster.ready())
        for number in range(EACH):
            if number % BETWEEN_CANARIES == 0:
                await another_canary_runs(cluster, number)
            if number % BETWEEN_REPAIRS == 0:
                repair(cluster, dice)
            asked = odd_object(dice) if dice.random() < 0.3 else request(dice)
            before, version = stored(cluster), cluster.store.version
            answer, steps = counted(server, asked)
            check(asked, answer, changed=cluster.store.version != version and stored(cluster) != before)
            allowed = STEPS + STEPS_OF_A_BYTE * len(asked.body) + STEPS_OF_AN_OBJECT * len(before)
            assert steps <= allowed, (steps, asked)
            if isinstance(answer, Stream):
                watches.append(asyncio.create_task(read(answer)))
            if len(watches) > OPEN_WATCHES:
                await ended(watches.popleft())
            await asyncio.sleep(dice.choice(PAUSES))
            assert dict(cluster.ready()) == healthy  # a task that has ended would be missing
        for watch in watches:
            await ended(watch)
        await another_canary_runs(cluster, EACH)


async def another_canary_runs(cluster: MiniCluster, number: int) -> None:
    cluster.apply([CANARY_NODE])  # a request may have deleted it, and with right
    await canary_runs(cluster, f"canary-{number}")


async def ended(watch: "asyncio.Task[None]") -> None:
    watch.cancel()
    await asyncio.gather(watch, return_exceptions=True)
    if not watch.cancelled():
        watch.result()


@settings(max_examples=WORLDS)
@given(st.integers(0, 2**32))
def test_whatever_is_asked_all_tasks_live_and_others_run(seed: int) -> None:
    run(besiege(seed))
