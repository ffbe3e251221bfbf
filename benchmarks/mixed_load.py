"""How does `reprieve up` bear eight clients that read, write, watch and err at once, for half an hour?

By hand: `python -m benchmarks.mixed_load --minutes 30`. Prints throughput, latencies, errors, and the memory
of the process at the start and at the end. An error is an answer that its request does not deserve, or none.
"""

import argparse
import asyncio
import json
import os
import ssl
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import aiohttp
import yaml

from benchmarks.process import ROOT
from benchmarks.revisions import import_path
from benchmarks.statistics import percentile

CLIENTS = 8
MOST_PODS = 40  # of one client; then it deletes
SAMPLE_SECONDS = 10.0
PATIENCE = 60.0
MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"

Json = dict[str, Any]


@dataclass(slots=True)
class Measured:
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    errors: Counter[str] = field(default_factory=Counter)
    memory: list[int] = field(default_factory=list)  # MB, one sample after the other

    def lines(self, minutes: float) -> list[str]:
        everything = [s for seconds in self.seconds.values() for s in seconds]
        rate = len(everything) / (minutes * 60)
        lines = [
            f"{len(everything)} requests in {minutes:.1f} min: {rate:.0f} per second",
            f"memory: {self.memory[0]} MB at the start, {self.memory[-1]} MB at the end, "
            f"{max(self.memory)} MB at most",
            f"errors: {sum(self.errors.values())} {dict(self.errors) or ''}",
        ]
        rows = {"all": everything, **dict(sorted(self.seconds.items()))}
        return [*lines, *(_row(name, seconds) for name, seconds in rows.items())]


def _row(name: str, seconds: list[float]) -> str:
    times = (percentile(seconds, share) * 1000 for share in (0.5, 0.99, 1.0))
    p50, p99, most = (f"{time:.1f}" for time in times)
    return f"{name:<14} {len(seconds):>8}  p50 {p50:>7} ms  p99 {p99:>7} ms  max {most:>7} ms"


# --- the cluster ---------------------------------------------------------------------------------


@asynccontextmanager
async def up(nodes: int) -> AsyncIterator[tuple[int, Path]]:
    """The process id of `reprieve up`, and its kubeconfig."""
    command = [str(Path(sys.executable).with_name("reprieve")), "up", "--shape", "cpu16", "--speed", "30"]
    environment = {**os.environ, "PYTHONPATH": import_path(ROOT)}
    process = await asyncio.create_subprocess_exec(
        *command, "--nodes", str(nodes), cwd=ROOT, env=environment, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        async for line in process.stdout:
            if line.strip().startswith(b"export KUBECONFIG="):
                yield process.pid, Path(line.strip().decode().partition("=")[2])
                break
    finally:
        process.terminate()
        async with asyncio.timeout(PATIENCE):
            await process.wait()


def memory_of(pid: int) -> int:
    """Resident, in MB."""
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in status if line.startswith("VmRSS:")).split()[1]) // 1024


# --- a client ------------------------------------------------------------------------------------


@dataclass(slots=True)
class Client:
    session: aiohttp.ClientSession
    number: int
    measured: Measured
    dice: Random
    made: int = 0
    pods: list[str] = field(default_factory=list)

    @property
    def space(self) -> str:
        return f"load-{self.number}"

    def path(self, plural: str, root: str = "/api/v1") -> str:
        return f"{root}/namespaces/{self.space}/{plural}"

    async def ask(
        self, what: str, method: str, path: str, body: Json | None = None, **more: Any
    ) -> tuple[int, bytes]:
        """``fails``: it may be refused, and must not succeed."""
        fails, headers = more.pop("fails", False), {"Content-Type": more.pop("kind", "application/json")}
        began = time.perf_counter()
        try:
            data = json.dumps(body) if body is not None else None
            async with self.session.request(
                method, path, data=data, headers=headers, params=more
            ) as response:
                content = await response.read()
        except (aiohttp.ClientError, TimeoutError) as error:
            self.measured.errors[f"{what}: {type(error).__name__}"] += 1
            return 0, b""
        self.measured.seconds[what].append(time.perf_counter() - began)
        if response.status >= 500 or (response.status < 400) == fails:
            self.measured.errors[f"{what}: {response.status}"] += 1
        return response.status, content

    async def begin(self) -> None:
        await self.ask("create", "POST", "/api/v1/namespaces", {"metadata": {"name": self.space}})
        await self.ask("create", "POST", self.path("deployments", "/apis/apps/v1"), _deployment())

    async def work(self, until: float) -> None:
        acts, weights = zip(*ACTS.items(), strict=True)
        while time.monotonic() < until:
            (act,) = self.dice.choices(acts, weights)
            await act(self)


Act = Callable[[Client], Awaitable[object]]


async def create_pod(client: Client) -> None:
    if len(client.pods) >= MOST_PODS:
        await delete_pod(client)
    client.made += 1
    name, urgent = f"p{client.made}", client.dice.random() < 0.05
    status, _ = await client.ask("create", "POST", client.path("pods"), _pod(name, urgent=urgent))
    if status == 201:
        client.pods.append(name)


async def delete_pod(client: Client) -> None:
    """It may be gone: the scheduler evicts pods for urgent ones."""
    if client.pods:
        name = client.pods.pop(client.dice.randrange(len(client.pods)))
        await _if_there(client, "delete", "DELETE", name)


async def get_pod(client: Client) -> None:
    if client.pods:
        await _if_there(client, "get", "GET", client.dice.choice(client.pods))


async def patch_pod(client: Client) -> None:
    if client.pods:
        labels = {"metadata": {"labels": {"seen": str(client.dice.randrange(100))}}}
        await _if_there(client, "patch", "PATCH", client.dice.choice(client.pods), labels, kind=MERGE)


async def _if_there(
    client: Client, what: str, method: str, name: str, body: Json | None = None, **more: Any
) -> None:
    status, _ = await client.ask(what, method, f"{client.path('pods')}/{name}", body, **more)
    if status == 404:
        client.measured.errors[f"{what}: 404"] -= 1
        client.pods = [other for other in client.pods if other != name]


async def list_own(client: Client) -> None:
    await client.ask("list", "GET", client.path("pods"), labelSelector="app=web")


async def list_all(client: Client) -> None:
    await client.ask("list all", "GET", "/api/v1/pods", limit="500")


async def apply_map(client: Client) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}}
    data = {f"k{client.dice.randrange(20)}": "x" * client.dice.randrange(200)}
    path = f"{client.path('configmaps')}/settings"
    await client.ask("apply", "PATCH", path, {**body, "data": data}, kind=APPLY, fieldManager="load")


async def scale(client: Client) -> None:
    patch = {"spec": {"replicas": client.dice.randrange(6)}}
    path = f"{client.path('deployments', '/apis/apps/v1')}/web/scale"
    await client.ask("scale", "PATCH", path, patch, kind=MERGE)


async def gang(client: Client) -> None:
    client.made += 1
    name, root = f"gang-{client.made}", "/apis/scheduling.k8s.io/v1beta1"
    spec = {"schedulingPolicy": {"gang": {"minCount": 4}}}
    body = {"metadata": {"name": name}, "spec": spec}
    await client.ask("create", "POST", client.path("podgroups", root), body)
    for member in range(4):
        body = _pod(f"{name}-{member}", group=name)
        await client.ask("create", "POST", client.path("pods"), body)
    await asyncio.sleep(1.0)
    await client.ask("delete many", "DELETE", client.path("pods"), labelSelector=f"gang={name}")
    await client.ask("delete", "DELETE", f"{client.path('podgroups', root)}/{name}")


async def err(client: Client) -> None:
    bodies: list[Json] = [{"metadata": {}}, {"metadata": {"name": "A b"}}, {"spec": 7}]
    body = client.dice.choice(bodies)
    await client.ask("err", "POST", client.path("pods"), body, fails=True)


async def watch(client: Client) -> None:
    params = {"watch": "true", "timeoutSeconds": "2"}
    try:
        async with client.session.get(client.path("pods"), params=params) as response:
            async for line in response.content:
                json.loads(line)
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        client.measured.errors[f"watch: {type(error).__name__}"] += 1


ACTS: dict[Act, float] = {
    create_pod: 4,
    delete_pod: 2,
    get_pod: 6,
    patch_pod: 3,
    list_own: 2,
    list_all: 0.5,
    apply_map: 2,
    scale: 0.5,
    gang: 0.1,
    err: 0.5,
    watch: 0.05,
}


def _pod(name: str, *, urgent: bool = False, group: str = "") -> Json:
    requests = {"cpu": "8" if urgent else "250m", "memory": "64Mi"}
    container = {"name": "main", "image": "example/app:1", "resources": {"requests": requests}}
    labels = {"app": "web", **({"gang": group} if group else {})}
    spec: Json = {"containers": [container], "terminationGracePeriodSeconds": 5}
    if urgent:
        spec["priorityClassName"] = "urgent"
    if group:
        spec["schedulingGroup"] = {"podGroupName": group}
    return {"metadata": {"name": name, "labels": labels}, "spec": spec}


def _deployment() -> Json:
    labels = {"app": "replica"}
    spec = _pod("")["spec"]
    template = {"metadata": {"labels": labels}, "spec": spec}
    return {
        "metadata": {"name": "web"},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
    }


# --- the whole -----------------------------------------------------------------------------------


async def load(minutes: float, nodes: int, seed: int) -> Measured:
    measured = Measured()
    async with up(nodes) as (pid, kubeconfig):
        url, headers, tls = access(kubeconfig)
        measured.memory.append(memory_of(pid))
        async with asyncio.TaskGroup() as tasks:
            sampling = tasks.create_task(sample(pid, measured))
            clients = [
                Client(
                    aiohttp.ClientSession(url, headers=headers, connector=_own(tls)),
                    i,
                    measured,
                    Random(seed + i),
                )
                for i in range(CLIENTS)
            ]
            await clients[0].ask("create", "POST", CLASSES, {"metadata": {"name": "urgent"}, "value": 1000})
            await asyncio.gather(*(client.begin() for client in clients))
            until = time.monotonic() + minutes * 60
            await asyncio.gather(*(client.work(until) for client in clients))
            await canary_runs(clients[0])
            sampling.cancel()
            for client in clients:
                await client.session.close()
        measured.memory.append(memory_of(pid))
    measured.errors = +measured.errors
    return measured


CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


def access(kubeconfig: Path) -> tuple[str, dict[str, str], ssl.SSLContext]:
    login = yaml.safe_load(kubeconfig.read_text())
    tls = ssl.create_default_context()
    tls.check_hostname = False
    tls.verify_mode = ssl.CERT_NONE  # it is on this machine, and vouches for itself
    token = login["users"][0]["user"]["token"]
    return login["clusters"][0]["cluster"]["server"], {"Authorization": f"Bearer {token}"}, tls


def _own(tls: ssl.SSLContext) -> aiohttp.TCPConnector:
    return aiohttp.TCPConnector(ssl=tls)


async def sample(pid: int, measured: Measured) -> None:
    while True:
        await asyncio.sleep(SAMPLE_SECONDS)
        measured.memory.append(memory_of(pid))


async def canary_runs(client: Client) -> None:
    """A pod that is created last, and urgent, runs soon."""
    await client.ask("create", "POST", client.path("pods"), _pod("canary", urgent=True))
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        _, content = await client.ask("get", "GET", f"{client.path('pods')}/canary")
        if json.loads(content)["status"].get("phase") == "Running":
            return
        await asyncio.sleep(0.5)
    client.measured.errors["the canary does not run"] += 1


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 1 if there was an error."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mixed_load", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--nodes", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    measured = asyncio.run(load(asked.minutes, asked.nodes, asked.seed))
    print(*measured.lines(asked.minutes), sep="\n")
    return 1 if measured.errors else 0


if __name__ == "__main__":
    sys.exit(main())
