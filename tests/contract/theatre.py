"""Where the scenes of the demo are played with the real `reprieve scheduler`, over HTTP.

The API server has neither kubelets nor controllers: the players stand in for them. It is the mini cluster's
front, or the server that KUBECONFIG_CONTRACT names, which must have no nodes of its own. Namespaces get names
of their own, and what was made is deleted at the end.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path

import msgspec
import yaml

from reprieve.cluster.admission.features import ALL_FEATURES
from reprieve.cluster.api.documents import documents
from reprieve.cluster.kube.auth import Access
from reprieve.cluster.kube.client import connected
from reprieve.cluster.kube.kubeconfig import find_login
from reprieve.cluster.kube.requests import MERGE, KubeRequest
from reprieve.cluster.kube.rest_mapping import RestMapping
from reprieve.model.json import Json
from reprieve_minicluster.bootstrap import standard_objects
from reprieve_minicluster.cluster import MiniCluster
from reprieve_minicluster.rest.http_server import HttpServer, ListenAddress
from tests.architecture.source import ROOT
from tests.contract.http import TOKEN, served
from tests.contract.operators import PLACES, HttpOperator
from tests.contract.players import BREATH_SECONDS, Players
from tests.contract.test_checking import CERTIFICATE, kubeconfig
from tests.e2e.daemon import UNSERVED, daemon

PATIENCE_SECONDS = 30.0
FORBIDDEN = 403
Pods = dict[str, Json]
OWN_GROUPS = replace(PLACES["PodGroup"], api_version="reprieve.dev/v1alpha1")
OWN_MEMBERSHIP = "scheduling.x-k8s.io/pod-group"


@dataclass(frozen=True)
class Theatre:
    operator: HttpOperator
    players: Players
    kubeconfig: Path
    groups: RestMapping  # where the server has PodGroups
    stamp: str
    made: list[tuple[RestMapping, str, str]] = field(default_factory=list)  # with namespace and name
    priorities: dict[str, int] = field(default_factory=dict)

    @asynccontextmanager
    async def scheduled(self, args: Json, gates: str = "") -> AsyncIterator[None]:
        """By a scheduler that has nothing to complain of, and ends well."""
        folder = self.kubeconfig.parent
        (folder / "config.yaml").write_text(yaml.safe_dump(_configured(args)))
        flags = ("--config", str(folder / "config.yaml"), "--feature-gates", gates)
        with daemon(folder / "log", self.kubeconfig, *UNSERVED, *flags) as running:
            await asyncio.to_thread(running.begins)
            yield
            assert await asyncio.to_thread(running.ends) == 0
        assert [line for line in running.lines if line["level"] != "info"] == []

    # --- what is done ----------------------------------------------------------------------------

    async def apply(self, file: str, *kinds: str, **values: str) -> None:
        """What stands in a file of the demo, or those kinds of it."""
        for body in things_in(file, **values):
            if body["kind"] in (kinds or PLACES):
                await self.create(body)

    async def create(self, body: Json) -> None:
        await self._create(await self._as_here(body))

    async def _create(self, body: Json) -> None:
        """A server learns of accounts and classes a moment after they were made."""
        place = self.groups if body["kind"] == "PodGroup" else PLACES[body["kind"]]
        namespace, name = body["metadata"].get("namespace", ""), body["metadata"]["name"]
        self.made.append((place, namespace, name))
        request = KubeRequest("POST", place.path(namespace), (), msgspec.json.encode(body))
        end = time.monotonic() + PATIENCE_SECONDS
        while not (answer := await self.operator.connection.send(request)).is_success:
            assert answer.status == FORBIDDEN and time.monotonic() < end, f"{name}: {answer.message}"
            await asyncio.sleep(BREATH_SECONDS)
        if body["kind"] == "Node":
            await self._make_ready(body)

    async def _make_ready(self, node: Json) -> None:
        """A server gives a taint to every node that is made."""
        path = PLACES["Node"].path("", node["metadata"]["name"])
        taints = msgspec.json.encode({"spec": {"taints": node.get("spec", {}).get("taints")}})
        await self.operator.connection.send(KubeRequest("PATCH", path, (), taints, MERGE))

    async def _as_here(self, body: Json) -> Json:
        """Where the server has no groups of its own, ours say their priority and pods bear a label."""
        meta, spec = dict(body["metadata"]), dict(body.get("spec", {}))
        if "namespace" in meta:
            meta["namespace"] = await self._namespace(meta["namespace"])
        if body["kind"] == "PriorityClass":
            self.priorities[meta["name"]] = body["value"]
        if self.groups is OWN_GROUPS and body["kind"] == "PodGroup":
            body = body | {"apiVersion": OWN_GROUPS.api_version}
            spec["priority"] = self.priorities[spec["priorityClassName"]]
        if self.groups is OWN_GROUPS and "schedulingGroup" in spec:
            meta["labels"] = {OWN_MEMBERSHIP: spec.pop("schedulingGroup")["podGroupName"]}
        return body | {"metadata": meta} | ({"spec": spec} if spec else {})

    async def _namespace(self, name: str) -> str:
        name = f"{name}-{self.stamp}"
        if name not in self.players.namespaces:
            await self._create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
            account = {"name": "default", "namespace": name}
            await self._create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account})
            self.players.namespaces.append(name)
        return name

    async def clear(self) -> None:
        options = msgspec.json.encode({"gracePeriodSeconds": 0})
        for namespace in self.players.namespaces:
            await self.operator.connection.send(
                KubeRequest("DELETE", PLACES["Pod"].path(namespace), (), options)
            )
        for place, namespace, name in reversed(self.made):
            path, unheld = (
                place.path(namespace, name),
                msgspec.json.encode({"metadata": {"finalizers": None}}),
            )
            if place.kind == "PodGroup":
                await self.operator.connection.send(KubeRequest("PATCH", path, (), unheld, MERGE))
            await self.operator.connection.send(KubeRequest("DELETE", path, (), options))

    # --- what is seen ----------------------------------------------------------------------------

    async def pods(self) -> Pods:
        found = [await self.operator.list("Pod", namespace) for namespace in self.players.namespaces]
        return {pod["metadata"]["name"]: pod for pods in found for pod in pods}

    async def until(self, holds: Callable[[Pods], object]) -> Pods:
        end = time.monotonic() + PATIENCE_SECONDS
        while not holds(pods := await self.pods()):
            assert time.monotonic() < end, {name: _in_short(pod) for name, pod in pods.items()}
            await asyncio.sleep(BREATH_SECONDS)
        return pods

    async def until_running(self, names: Iterable[str]) -> Pods:
        wanted = set(names)
        return await self.until(
            lambda pods: wanted <= {n for n, pod in pods.items() if pod["status"].get("phase") == "Running"}
        )

    async def events(self, thing: Json) -> list[Json]:
        """About an object, in the order in which they were made."""
        meta = thing["metadata"]
        found = await self.operator.list("Event", meta["namespace"])
        about = [event for event in found if event["involvedObject"].get("uid") == meta["uid"]]
        return sorted(about, key=lambda event: int(event["metadata"]["resourceVersion"]))

    async def group(self, name: str) -> Json:
        (namespace,) = self.players.namespaces
        found = await self.operator.connection.send(KubeRequest("GET", self.groups.path(namespace, name)))
        assert found.is_success, found.message
        return found.object


def things_in(file: str, **values: str) -> Iterator[Json]:
    """With other values for some words of the file; namespaces are made where they are needed."""
    text = (files("reprieve_minicluster") / "demo" / file).read_text(encoding="utf-8")
    for word, value in values.items():
        text = text.replace(word, value)
    for document in documents(text):
        assert isinstance(document, dict)
        if document["kind"] != "Namespace":
            yield document


def _in_short(pod: Json) -> Json:
    told = {key: pod["status"].get(key) for key in ("phase", "nominatedNodeName", "conditions")}
    return {"node": pod["spec"].get("nodeName"), **told}


def _configured(args: Json) -> Json:
    """It also schedules pods without a schedulerName: it is the only scheduler."""
    own = [{"name": "Reprieve", "args": args}]
    profiles = [{"schedulerName": name, "pluginConfig": own} for name in ("reprieve", "default-scheduler")]
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": profiles,
    }


# --- which server --------------------------------------------------------------------------------


@asynccontextmanager
async def on_the_mini_cluster(folder: Path) -> AsyncIterator[Theatre]:
    mini = MiniCluster(time.time, features=ALL_FEATURES)
    mini.apply(standard_objects())
    async with (
        served(mini) as operator,
        HttpServer(operator.front, ListenAddress(tls=CERTIFICATE.context())) as server,
    ):
        path = folder / "kubeconfig"
        path.write_text(kubeconfig(server.url, {"token": TOKEN}) + "current-context: here\n")
        yield Theatre(operator, Players(operator), path, PLACES["PodGroup"], "here")


@asynccontextmanager
async def on_a_real_server(folder: Path) -> AsyncIterator[Theatre]:
    named = Path(os.environ["KUBECONFIG_CONTRACT"])
    async with connected(Access(find_login(str(named), "", {}))) as connection:
        operator = HttpOperator(connection)
        assert await operator.list("Node", "") == [], "the scenes need a server without nodes of its own"
        path = folder / "kubeconfig"
        path.write_text(named.read_text())
        stage = Theatre(operator, Players(operator), path, await _groups(operator), f"{time.time_ns():x}")
        try:
            yield stage
        finally:
            await stage.clear()


async def _groups(operator: HttpOperator) -> RestMapping:
    """Where the server has none, ours are defined."""
    there = await operator.connection.send(KubeRequest("GET", "/apis/scheduling.k8s.io/v1beta1"))
    if there.is_success:
        return PLACES["PodGroup"]
    definition = yaml.safe_load((ROOT / "deploy/crds/podgroups.yaml").read_text())
    path = f"/apis/{definition['apiVersion']}/customresourcedefinitions"
    await operator.connection.send(KubeRequest("POST", path, (), msgspec.json.encode(definition)))
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not (await operator.connection.send(KubeRequest("GET", OWN_GROUPS.path()))).is_success:
            await asyncio.sleep(BREATH_SECONDS)
    return OWN_GROUPS
