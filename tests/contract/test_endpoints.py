"""What a replica serves over HTTPS: the API server authenticates and authorizes the clients."""

import asyncio

import pytest
from prometheus_client.parser import text_string_to_metric_families

from reprieve.model.events import Synced
from reprieve.model.moment import on_one_clock
from reprieve_minicluster.auth.authentication import TokenIssuer, UserInfo
from reprieve_minicluster.virtual_time import clock
from tests.contract.http import TOKEN
from tests.contract.visiting import Visitor, visited


def test_probes_need_no_authentication() -> None:
    async def visit(one: Visitor) -> None:
        for path in ("/livez", "/healthz", "/readyz"):
            assert await one.get(path) == (200, "ok")

    visited(visit)


def test_a_replica_is_ready_when_its_informers_have_synced() -> None:
    async def visit(one: Visitor) -> None:
        one.readiness.on_watching()
        status, text = await one.get("/readyz")
        assert status == 500
        assert "[-]sched-handler-sync failed" in text
        assert (await one.get("/livez"))[0] == 200
        one.readiness.on_observed([Synced()], [], on_one_clock(clock()))
        assert (await one.get("/readyz?verbose"))[1].endswith("readyz check passed\n")
        one.readiness.on_stopping()
        assert (await one.get("/readyz"))[0] == 500

    visited(visit)


@pytest.mark.parametrize("path", ["/metrics", "/configz"])
def test_protected_pages_need_authorization(path: str) -> None:
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
        token = TokenIssuer(TOKEN).token_of(UserInfo("prometheus"))
        for _ in range(20):
            await one.get("/metrics", token)
        asked = [path.rpartition("/")[2] for _, path, _ in one.operator.front.writes]
        assert asked == ["tokenreviews", "subjectaccessreviews"]

    visited(visit)


def test_access_is_denied_while_the_server_is_away() -> None:
    async def visit(one: Visitor) -> None:
        await asyncio.sleep(1)
        await one.operator.server.stop()
        status, text = await one.get("/metrics", TOKEN)
        assert status == 503
        assert "could not be reviewed" in text
        assert (await one.get("/livez"))[0] == 200

    visited(visit)


def test_metrics_are_as_prometheus_reads_them() -> None:
    async def visit(one: Visitor) -> None:
        _, text = await one.get("/metrics", TOKEN)
        names = {family.name for family in text_string_to_metric_families(text)}
        assert {"scheduler_pending_pods", "reprieve_handovers_begun"} <= names

    visited(visit)


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
