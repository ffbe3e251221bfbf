"""No object that the API server accepts is a poison pill: the cluster lives with it, also after a restart."""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from reprieve.assembly.scheduler_settings import EVERYTHING, settings_of
from reprieve.cluster.admission.features import ALL_FEATURES
from reprieve.config import default_configuration
from reprieve.model.json import Json
from reprieve.runtime.loop import Loop
from reprieve.scheduler.core import Scheduler
from reprieve_minicluster.auth.authentication import ADMIN
from reprieve_minicluster.bootstrap import standard_objects
from reprieve_minicluster.cluster import MiniCluster
from reprieve_minicluster.kinds import BY_NAME
from reprieve_minicluster.rest.http_messages import ApiRequest, ApiResponse
from reprieve_minicluster.rest.http_server import serve
from reprieve_minicluster.store import SqliteBackend
from reprieve_minicluster.virtual_time import clock, run

EXAMPLES = 25 if settings().derandomize else 500
PATIENCE = 30.0  # seconds until a pod that fits runs
TEAM = "team"
# These multiply what there is to do: what is too much of that is refused or slowed down elsewhere.
MULTIPLIERS = ("replicas", "parallelism", "completions", "minCount", "backoffLimit")

# Without these nothing would be accepted.
KEPT = (("kind",), ("metadata", "name"), ("metadata", "namespace"))

NUMBERS = [0, 1, -1, 7, 2**31 - 1, 2**31, 10**12, 2**63 - 1, 2**63]
TEXTS = [
    *(
        "",
        "x",
        "x" * 300,
        "ünï\u202ecode",
        "\x1b[2J",
        "0",
        "-1",
        "1e30",
        "1e-30",
        "1e308",
        "nan",
        "inf",
        "1.5",
    ),
    *("9223372036854775807", "999999999999999999999Ei", "0.1m", "100%", "101%", "-1%", "None", "Always"),
    *(
        "9999-12-31T23:59:59Z",
        "0001-01-01T00:00:00Z",
        "2026-02-30T00:00:00Z",
        "* * * * *",
        "0 0 30 2 *",
        "@yearly",
    ),
]
OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u-1"}
TOLERATION = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 2**63 - 1}
# Fields that well-formed objects leave out, and a value for each.
ADDED: list[tuple[tuple[str, ...], object]] = [
    (("metadata", "ownerReferences"), [OWNER, OWNER]),
    (("metadata", "ownerReferences"), [{**OWNER, "controller": True}, {**OWNER, "uid": "u-2"}]),
    (("metadata", "finalizers"), ["example.com/hold"]),
    (
        ("metadata", "annotations"),
        {"reprieve.dev/run-seconds": "1e308", "reprieve.dev/stop-seconds": "1e308"},
    ),
    (("metadata", "annotations"), {"reprieve.dev/run-seconds": "-1", "reprieve.dev/fail": "x"}),
    (("metadata", "annotations"), {"reprieve.dev/resize-deadline-seconds": "1e308"}),
    (("metadata", "labels"), {"app": "web", "scheduling.x-k8s.io/pod-group": "x"}),
    (("spec", "terminationGracePeriodSeconds"), 10**12),
    (("spec", "activeDeadlineSeconds"), 2**63 - 1),
    (("spec", "ttlSecondsAfterFinished"), 2**31 - 1),
    (("spec", "startingDeadlineSeconds"), 2**63 - 1),
    (("spec", "progressDeadlineSeconds"), 2**31 - 1),
    (("spec", "minReadySeconds"), 2**31 - 2),
    (("spec", "revisionHistoryLimit"), 0),
    (("spec", "timeZone"), "Pacific/Apia"),
    (("spec", "tolerations"), [TOLERATION]),
    (("spec", "taints"), [{"key": "a", "effect": "NoExecute", "timeAdded": "9999-12-31T23:59:59Z"}]),
    (("spec", "template", "spec", "terminationGracePeriodSeconds"), 10**12),
    (("spec", "template", "spec", "activeDeadlineSeconds"), 2**63 - 1),
    (("spec", "template", "spec", "tolerations"), [TOLERATION]),
    (("spec", "template", "spec", "nodeName"), "nowhere"),
    (("spec", "template", "spec", "priority"), 2**31 - 1),
    (("spec", "template", "spec", "overhead"), {"cpu": "9223372036854775807"}),
    (("spec", "template", "metadata", "annotations"), {"reprieve.dev/run-seconds": "1e308"}),
    (("spec", "template", "metadata", "ownerReferences"), [OWNER, OWNER]),
]
STATUSES: list[Json] = [
    {"phase": "Running", "startTime": "9999-12-31T23:59:59Z"},
    {"phase": "Succeeded", "conditions": [{"type": "Ready", "status": "True"}] * 2},
    {"conditions": [{"type": "x", "status": "True", "lastTransitionTime": "0001-01-01T00:00:00Z"}]},
    {"disruptedPods": {"x": "9999-12-31T23:59:59Z"}, "observedGeneration": 2**63 - 1},
    {"completionTime": "9999-12-31T23:59:59Z", "startTime": "9999-12-31T23:59:59Z", "succeeded": 2**31 - 1},
    {"lastScheduleTime": "0001-01-01T00:00:00Z"},
    {"lastScheduleTime": "9999-12-31T23:59:59Z"},
    {"capacity": {"cpu": "1e30"}, "allocatable": {"cpu": "-5", "memory": "999999999999999999999Ei"}},
]


def originals() -> list[Json]:
    """Well-formed objects of every kind that a component reads."""
    files = [Path(__file__).with_name(name).read_text() for name in ("team.yaml", "more.yaml")]
    return [body for text in files for body in yaml.safe_load_all(text.replace("TEAM", TEAM))]


ORIGINALS = originals()


def paths(value: object, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in inner:
        if name in MULTIPLIERS or (*path, name) in KEPT:
            continue
        if name != "metadata":
            yield (*path, name)
        yield from paths(part, (*path, name))


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


def put(value: Any, path: tuple[Any, ...], new: object) -> None:
    for step in path[:-1]:
        value = value.setdefault(step, {}) if isinstance(value, dict) else value[step]
    if isinstance(value, dict | list):
        value[path[-1]] = new


def odd(value: object) -> st.SearchStrategy[object]:
    match value:
        case bool():
            return st.just(not value)
        case int():
            return st.sampled_from(NUMBERS)
        case str():
            return st.sampled_from(TEXTS)
        case list():
            return st.sampled_from([[], [*value, *deepcopy(value)]])
        case _:
            return st.just({})


@st.composite
def odd_objects(draw: st.DrawFn) -> Json:
    """An object with a few odd places; some of them the API server accepts."""
    body = deepcopy(draw(st.sampled_from(ORIGINALS)))
    for _ in range(draw(st.integers(0, 2))):
        places = list(paths(body))
        if places:
            path = draw(st.sampled_from(places))
            put(body, path, draw(odd(at(body, path))))
    for path, value in draw(st.lists(st.sampled_from(ADDED), max_size=3)):
        if body.get("kind") in ("Pod", "Node", "CronJob", "Job", "Deployment") or path[0] == "metadata":
            put(body, path, deepcopy(value))
    return body


@st.composite
def acts(draw: st.DrawFn) -> tuple[Json, object]:
    """An object, and what becomes of it: nothing, an odd status, no replicas, or its deletion."""
    then = st.sampled_from([None, "scale", "delete", *STATUSES])
    return draw(odd_objects()), draw(then)


class Client:
    def __init__(self, cluster: MiniCluster) -> None:
        self._server = serve(cluster, "secret")._api_server

    def call(self, method: str, path: str, body: object = None, kind: str = "application/json") -> int:
        raw = json.dumps(body).encode() if body is not None else b""
        answer = self._server.answer(ApiRequest(method, path, {}, "", kind, raw, ADMIN))
        assert isinstance(answer, ApiResponse)
        assert answer.status != 500, answer.body
        return answer.status


def collection(body: Json) -> str:
    kind = BY_NAME[body["kind"]]
    root = f"/apis/{kind.api_version}" if "/" in kind.api_version else f"/api/{kind.api_version}"
    return f"{root}/namespaces/{TEAM}/{kind.plural}" if kind.namespaced else f"{root}/{kind.plural}"


def happen(client: Client, act: tuple[Json, object]) -> bool:
    """Whether the object was accepted."""
    body, then = act
    if client.call("POST", collection(body), body) != 201:
        return False
    one = f"{collection(body)}/{body['metadata']['name']}"
    match then:
        case "scale":
            client.call("PATCH", one, {"spec": {"replicas": 0}}, "application/merge-patch+json")
        case "delete":
            client.call("DELETE", one, {"gracePeriodSeconds": 10**12})
        case dict():
            client.call("PATCH", f"{one}/status", {"status": then}, "application/merge-patch+json")
    return True


@asynccontextmanager
async def living(directory: Path, offset: float) -> AsyncIterator[MiniCluster]:
    def now() -> float:
        return clock() + offset

    backend = SqliteBackend(directory)
    cluster = MiniCluster(now, features=ALL_FEATURES, backend=backend)
    cluster.start()
    scheduler = Scheduler(settings_of(default_configuration(), EVERYTHING))
    try:
        async with Loop(scheduler, cluster, now).running():
            yield cluster
    finally:
        await cluster.stop()
        backend.close()


CANARY = {
    "kind": "Pod",
    "metadata": {"namespace": "kube-system"},
    "spec": {
        "schedulerName": "reprieve",
        "nodeSelector": {"for": "canary"},
        "tolerations": [{"key": "canary", "operator": "Exists"}],
        "containers": [{"name": "main", "image": "example/app:1"}],
    },
}
CANARY_NODE = {
    "kind": "Node",
    "metadata": {"name": "canary", "labels": {"for": "canary"}},
    "spec": {"taints": [{"key": "canary", "effect": "NoSchedule"}]},
    "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}},
}


async def canary_runs(cluster: MiniCluster, name: str) -> None:
    cluster.apply([{**CANARY, "metadata": {**CANARY["metadata"], "name": name}}])  # type: ignore[dict-item]
    await asyncio.sleep(PATIENCE)
    found = cluster.read("Pod", "kube-system", name)
    assert found is not None
    assert found["status"]["phase"] == "Running", found["status"]
    assert [wrong for _, wrong in cluster.ready() if wrong] == []
    cluster.delete("Pod", "kube-system", name, grace=0)


async def session(directory: Path, number: int, act: tuple[Json, object] | None) -> bool:
    """A life of the cluster, from its start to its end; whether what was to be created was accepted."""
    async with living(directory, 1000.0 * number) as cluster:
        if number == 0:
            cluster.apply([*standard_objects(), CANARY_NODE])
            cluster.apply([{"kind": "Namespace", "metadata": {"name": TEAM, "finalizers": ["kubernetes"]}}])
        await canary_runs(cluster, f"before-{number}")
        accepted = act is not None and happen(Client(cluster), act)
        if accepted:
            await canary_runs(cluster, f"after-{number}")
    return accepted


@settings(max_examples=EXAMPLES)
@given(st.lists(acts(), min_size=1, max_size=4))
def test_the_cluster_lives_with_whatever_it_accepted(story: list[tuple[Json, object]]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        for number, act in enumerate((*story, None)):
            run(session(Path(directory), number, act))
