"""What a replica tells over HTTPS, and whom: the API server knows who asks, and what they may."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families

from reprieve.assembly.endpoints import Endpoint, EndpointError, served
from reprieve.cluster.certificates import new_certificate
from reprieve.config import default_configuration
from reprieve.model.events import Synced
from reprieve.runtime.readiness import Readiness
from reprieve.runtime.telemetry import Telemetry
from reprieve.runtime.virtual_time import clock, run
from tests.contract.http import TOKEN, MiniOperator, living_cluster

HERE = "127.0.0.1"


@dataclass(frozen=True)
class Visitor:
    session: aiohttp.ClientSession
    port: int
    readiness: Readiness
    operator: MiniOperator

    async def get(self, path: str, token: str = "") -> tuple[int, str]:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        url = f"https://{HERE}:{self.port}{path}"
        async with self.session.get(url, headers=headers, ssl=False) as response:
            return response.status, await response.text()


@asynccontextmanager
async def visitor() -> AsyncIterator[Visitor]:
    readiness = Readiness()
    async with (
        living_cluster(clock) as operator,
        served(Endpoint(HERE, 0), default_configuration(), operator.access, Telemetry(), readiness) as port,
        aiohttp.ClientSession() as session,
    ):
        yield Visitor(session, port, readiness, operator)


def visited(visit: Callable[[Visitor], Awaitable[None]]) -> None:
    async def main() -> None:
        async with visitor() as one:
            await visit(one)

    run(main())


def test_probes_are_for_everybody() -> None:
    async def visit(one: Visitor) -> None:
        for path in ("/livez", "/healthz", "/readyz"):
            assert await one.get(path) == (200, "ok")

    visited(visit)


def test_a_leader_is_ready_when_it_knows_its_cluster() -> None:
    async def visit(one: Visitor) -> None:
        one.readiness.leads()
        status, text = await one.get("/readyz")
        assert status == 500
        assert "[-]sched-handler-sync failed" in text
        assert (await one.get("/livez"))[0] == 200
        one.readiness.observed([Synced()], [], clock())
        assert (await one.get("/readyz?verbose"))[1].endswith("readyz check passed\n")
        one.readiness.leaves()
        assert (await one.get("/readyz"))[0] == 500

    visited(visit)


@pytest.mark.parametrize("path", ["/metrics", "/configz"])
def test_who_may_read_what_is_not_for_everybody(path: str) -> None:
    async def visit(one: Visitor) -> None:
        told = f'forbidden: User "system:anonymous" cannot get path "{path}"\n'
        assert await one.get(path) == (403, told)
        assert (await one.get(path, "forged"))[0] == 401
        assert (await one.get(path, TOKEN))[0] == 200

    visited(visit)


def test_a_role_opens_the_door_within_seconds() -> None:
    async def visit(one: Visitor) -> None:
        for body in (ROLE, BINDING):
            await one.operator.create(body)
        assert (await one.get("/metrics"))[0] == 200
        assert (await one.get("/configz"))[0] == 403
        await one.operator.delete("ClusterRoleBinding", "", "scrapers")
        await asyncio.sleep(11)
        assert (await one.get("/metrics"))[0] == 403

    visited(visit)


def test_the_server_is_not_asked_again_and_again() -> None:
    async def visit(one: Visitor) -> None:
        for _ in range(20):
            await one.get("/metrics", TOKEN)
        asked = [path.rpartition("/")[2] for _, path, _ in one.operator.front.writes]
        assert asked == ["tokenreviews", "subjectaccessreviews"]

    visited(visit)


def test_nobody_gets_in_while_the_server_is_away() -> None:
    async def visit(one: Visitor) -> None:
        await one.operator.server.stop()
        status, text = await one.get("/metrics", TOKEN)
        assert status == 503
        assert "could not be found out" in text
        assert (await one.get("/livez"))[0] == 200

    visited(visit)


def test_metrics_are_as_prometheus_reads_them() -> None:
    async def visit(one: Visitor) -> None:
        _, text = await one.get("/metrics", TOKEN)
        names = {family.name for family in text_string_to_metric_families(text)}
        assert {"scheduler_pending_pods", "reprieve_handovers_begun"} <= names

    visited(visit)


def test_a_certificate_that_was_given_is_shown(tmp_path: Path) -> None:
    made = new_certificate((HERE,))
    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    certificate.write_bytes(made.certificate)
    key.write_bytes(made.key)
    trusting = ssl.create_default_context(cadata=made.certificate.decode())
    trusting.verify_flags &= ~ssl.VERIFY_X509_STRICT

    async def main() -> None:
        endpoint = Endpoint(HERE, 0, certificate, key)
        async with (
            living_cluster(clock) as operator,
            served(endpoint, default_configuration(), operator.access, Telemetry(), Readiness()) as port,
            aiohttp.ClientSession() as session,
            session.get(f"https://{HERE}:{port}/livez", ssl=trusting) as response,
        ):
            assert response.status == 200

    run(main())


@pytest.mark.parametrize(
    ("content", "told"), [(None, "cannot be read"), ("x", "expected a certificate and its key")]
)
def test_a_certificate_that_is_none(tmp_path: Path, content: str | None, told: str) -> None:
    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    if content is not None:
        certificate.write_text(content)
        key.write_text(content)

    async def main() -> None:
        endpoint = Endpoint(HERE, 0, certificate, key)
        async with living_cluster(clock) as operator:
            with pytest.raises(EndpointError, match=told):
                async with served(
                    endpoint, default_configuration(), operator.access, Telemetry(), Readiness()
                ):
                    pass

    run(main())


RBAC = "rbac.authorization.k8s.io"
ROLE = {
    "apiVersion": f"{RBAC}/v1",
    "kind": "ClusterRole",
    "metadata": {"name": "scrapers"},
    "rules": [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}],
}
BINDING = {
    "apiVersion": f"{RBAC}/v1",
    "kind": "ClusterRoleBinding",
    "metadata": {"name": "scrapers"},
    "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "scrapers"},
    "subjects": [{"apiGroup": RBAC, "kind": "User", "name": "system:anonymous"}],
}
