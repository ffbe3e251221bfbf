"""Webhooks that are called over TLS, in virtual time: one that hangs, floods, or is somebody else."""

import asyncio
import json
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
from aiohttp import web
from tests.minicluster.rest.api_client import MAPS, config_map, deployment
from tests.minicluster.rest.custom_resource import DEFINITIONS
from tests.minicluster.webhooks.configurations import ADMISSION, RULE, setting, webhook
from tests.minicluster.webhooks.test_conversion_webhooks import NEWER, OLDER, convert, converting

from reprieve.cluster.certificates import Certificate, new_certificate
from reprieve.model.json import Json
from reprieve_minicluster.cluster import MiniCluster
from reprieve_minicluster.rest.http_server import serve
from reprieve_minicluster.store import Part, parsed
from reprieve_minicluster.virtual_time import clock, run

OURS, ANOTHER = new_certificate(("127.0.0.1", "hooks.default.svc")), new_certificate(("127.0.0.1",))
TOKEN = "secret"


def _counted(body: Json) -> Json:
    return {**body, "data": {"n": str(int(body.get("data", {}).get("n", 0)) + 1)}}


class FakeWebhook:
    """It hangs, floods, fails, or answers, by its path."""

    def __init__(self, tls: ssl.SSLContext) -> None:
        self._tls = tls
        self.waiting = 0
        self.port = 0
        self.cluster = MiniCluster(clock)

    async def answer(self, request: web.BaseRequest) -> web.Response:
        assert request.headers["Host"] in ("127.0.0.1", "hooks.default.svc")
        review = await request.json()
        match request.path:
            case "/hang":
                self.waiting += 1
                await asyncio.sleep(3600)
            case "/flood":
                return web.Response(body=b" " * (33 * 1024 * 1024))
            case "/fail":
                return web.Response(status=503)
            case "/label":
                response = {"uid": review["request"]["uid"], **setting("/metadata/labels/seen", "yes")}
                return web.json_response({**review, "response": response})
            case "/disturb":
                (stored,) = self.cluster.store.list(("configmaps",)).items
                self.cluster.store.patch(stored.key, _counted, Part.MAIN)
            case "/convert":
                response = {"uid": review["request"]["uid"], **convert(review["request"])}
                return web.json_response({**review, "response": response})
        response = {"uid": review["request"]["uid"], "allowed": True}
        return web.json_response({**review, "response": response})

    @asynccontextmanager
    async def served(self) -> AsyncIterator["FakeWebhook"]:
        runner = web.ServerRunner(web.Server(self.answer), shutdown_timeout=0)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=self._tls).start()
        self.port = runner.addresses[0][1]
        try:
            yield self
        finally:
            await runner.cleanup()


class Calling:
    """A client of a server that has a webhook at its side."""

    def __init__(self, session: aiohttp.ClientSession, hooks: FakeWebhook, trusted: Certificate) -> None:
        self.session = session
        self.hooks = hooks
        self.bundle = b64encode(trusted.certificate).decode()

    async def post(self, path: str, body: Json) -> tuple[int, str]:
        async with self.session.post(path, json=body) as response:
            return response.status, (await response.json()).get("message", "")

    def config(self, path: str) -> Json:
        return {"url": f"https://127.0.0.1:{self.hooks.port}{path}", "caBundle": self.bundle}

    async def configure(
        self, path: str, resource: str = "configmaps", kind: str = "validating", **more: object
    ) -> None:
        hook = webhook(
            path, clientConfig=self.config(path), rules=[{**RULE, "resources": [resource]}], **more
        )
        body = {"metadata": {"name": path.strip("/")}, "webhooks": [hook]}
        status, message = await self.post(f"/apis/{ADMISSION}/{kind}webhookconfigurations", body)
        assert status == 201, message


@asynccontextmanager
async def calling(trusted: Certificate = OURS) -> AsyncIterator[Calling]:
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    async with (
        FakeWebhook(OURS.context()).served() as hooks,
        serve(hooks.cluster, TOKEN) as server,
        aiohttp.ClientSession(server.url, headers=bearer) as session,
    ):
        yield Calling(session, hooks, trusted)


def test_a_webhook_that_hangs_holds_up_nobody_else() -> None:
    async def main() -> None:
        async with calling() as client:
            time = asyncio.get_running_loop().time
            await client.configure("/hang", timeoutSeconds=7)
            await client.configure("/allow", "secrets")
            begun = time()
            held = [asyncio.create_task(client.post(MAPS, config_map(f"a{n}"))) for n in range(40)]
            while client.hooks.waiting < 32:  # as many as may wait for one webhook at once
                await asyncio.sleep(0.01)
            secret = {"metadata": {"name": "s"}}
            assert await client.post(MAPS.replace("configmaps", "secrets"), secret) == (201, "")
            assert time() - begun < 1
            answers = await asyncio.gather(*held)
            assert {status for status, _ in answers} == {500}
            assert '?timeout=7s": context deadline exceeded (Validating' in answers[-1][1]
            assert (7 <= time() - begun < 8, client.hooks.waiting) == (True, 32)

    run(main())


def test_what_else_is_no_answer() -> None:
    async def main() -> None:
        async with calling() as client:
            for path, why in (
                ("/flood", "the answers to the request are larger than 33554432 bytes"),
                ("/fail", "the webhook answered with status 503"),
            ):
                await client.configure(path)
                status, message = await client.post(MAPS, config_map("a"))
                assert (status, why in message) == (500, True), message
                await client.session.delete(f"/apis/{ADMISSION}/validatingwebhookconfigurations{path}")
            assert await client.post(MAPS, config_map("a")) == (201, "")

    run(main())


def test_a_request_that_never_settles_ends() -> None:
    """Each review changes the object, so the next one differs."""

    async def main() -> None:
        async with calling() as client:
            await client.post(MAPS, config_map("a"))
            await client.configure("/disturb")
            async with client.session.put(f"{MAPS}/a", json=config_map("a", x="1")) as response:
                assert (response.status, (await response.json())["message"]) == (
                    500,
                    "the request needs more than 32 rounds or 2000 calls of webhooks",
                )

    run(main())


def test_somebody_else_is_not_trusted() -> None:
    async def main() -> None:
        async with calling(ANOTHER) as client:
            await client.configure("/allow")
            status, message = await client.post(MAPS, config_map("a"))
            assert (status, "tls: failed to verify certificate" in message) == (500, True), message
            await client.session.delete(f"/apis/{ADMISSION}/validatingwebhookconfigurations/allow")
            client.bundle = b64encode(b"nonsense").decode()
            await client.configure("/other")
            assert "unable to load root certificates" in (await client.post(MAPS, config_map("a")))[1]

    run(main())


def test_what_controllers_create_is_reviewed() -> None:
    """Pods of a ReplicaSet wait for a webhook and get its label; one that hangs holds up no other object."""

    async def main() -> None:
        async with calling() as client:
            store, resource = client.hooks.cluster.store, "pods"
            namespace = {"kind": "Namespace", "metadata": {"name": "default"}}
            client.hooks.cluster.apply([namespace, deployment("web", replicas=3)])
            await client.configure("/label", resource, "mutating")
            client.hooks.cluster.start()
            try:
                while len(found := store.list((resource,)).items) < 3:
                    await asyncio.sleep(0.1)
                assert {parsed(pod)["metadata"]["labels"]["seen"] for pod in found} == {"yes"}
                await client.configure("/hang", resource, timeoutSeconds=3)
                client.hooks.cluster.apply([deployment("held", replicas=2)])
                await asyncio.sleep(2)
                assert (client.hooks.waiting, len(store.list(("replicasets.apps",)).items)) == (2, 2)
                await asyncio.sleep(2)
                events = map(parsed, store.list(("events",)).items)
                (failed,) = [event for event in events if event["reason"] == "FailedCreate"]
                assert "context deadline exceeded (ValidatingWebhookConfiguration hang)" in failed["message"]
                assert len(store.list((resource,)).items) == 3
            finally:
                await client.hooks.cluster.stop()

    run(main())


def test_a_watch_in_a_version_that_a_webhook_converts() -> None:
    async def main() -> None:
        async with calling() as client:
            body = converting(clientConfig=client.config("/convert"))
            assert (await client.post(DEFINITIONS, body))[0] == 201
            await client.post(NEWER, {"metadata": {"name": "a"}, "spec": {"size": 3}})
            async with client.session.get(OLDER, params={"watch": "true", "timeoutSeconds": "30"}) as watch:
                first = json.loads(await watch.content.readline())
                await client.post(OLDER, {"metadata": {"name": "b"}, "spec": {"count": 4}})
                second = json.loads(await watch.content.readline())
            seen = [(event["type"], event["object"]["spec"]) for event in (first, second)]
            assert seen == [("ADDED", {"count": 3}), ("ADDED", {"count": 4})]

    run(main())
