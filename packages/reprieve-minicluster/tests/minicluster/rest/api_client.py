"""A client of the API server without a socket."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.minicluster.scene import HandClock

from reprieve.cluster.admission.features import ALL_FEATURES
from reprieve.model.json import Json
from reprieve_minicluster.auth.authentication import ADMIN
from reprieve_minicluster.rest.http_messages import Answer, ApiRequest, ApiResponse, Batched, Stream
from reprieve_minicluster.rest.http_server import ApiServer
from reprieve_minicluster.store import Store
from reprieve_minicluster.webhooks.calls import Reply, UnansweredError, WebhookCall

MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
PODS, NODES = "/api/v1/namespaces/default/pods", "/api/v1/nodes"
MAPS = "/api/v1/namespaces/default/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"


SECRET = "let me in"
Webhook = Callable[[Json], Json]  # from the request in a review to the response


class ApiClient:
    def __init__(self, kept_changes: int = 1000) -> None:
        self.clock = HandClock()
        self.store = Store(self.clock, kept_changes=kept_changes)
        self.front = ApiServer(self.store, self.clock, ALL_FEATURES, SECRET)
        self.user = ADMIN
        self.webhooks: dict[str, Webhook] = {}
        self.reviews: list[Json] = []

    def ask(self, method: str, path: str, body: object = None, **more: str) -> ApiResponse:
        """``more``: accept, content_type; everything else is a parameter of the URL."""
        accept, content_type = more.pop("accept", ""), more.pop("content_type", "")
        raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        answer = self._answer(ApiRequest(method, path, more, accept, content_type, raw, self.user))
        answer = answer.finished() if isinstance(answer, Batched) else answer
        assert isinstance(answer, ApiResponse)
        return answer

    def _answer(self, request: ApiRequest) -> Answer:
        """As the HTTP server asks webhooks, without one."""
        try:
            return self.front.answer(request)
        except UnansweredError as asked:
            known = request.identity or self.store.identity()
            replies = request.replies
            if request.identity is not None:
                replies = {**replies, **{call: self._reply(call) for call in asked.calls}}
            return self._answer(replace(request, replies=replies, identity=known))

    def _reply(self, call: WebhookCall) -> Reply:
        """That of the webhook at the path, or that nobody answered."""
        webhook = self.webhooks.get(call.target.path)
        if webhook is None:
            return Reply(failure=f'Post "{call.shown}": connection refused')
        review = json.loads(call.body)
        self.reviews.append(review["request"])
        response = {"uid": review["request"]["uid"], **webhook(review["request"])}
        return Reply(json.dumps({**review, "response": response}).encode())

    def stream(self, path: str, accept: str = "", **query: str) -> Stream | ApiResponse:
        answer = self.front.answer(ApiRequest("GET", path, {"watch": "true", **query}, accept=accept))
        assert isinstance(answer, Stream | ApiResponse)
        return answer

    # --- what is expected to work ----------------------------------------------------------------

    def get(self, path: str, **more: str) -> Json:
        return said(self.ask("GET", path, **more), 200)

    def post(self, path: str, body: object, **more: str) -> Json:
        return said(self.ask("POST", path, body, **more), 201)

    def put(self, path: str, body: object, **more: str) -> Json:
        return said(self.ask("PUT", path, body, **more), 200)

    def patch(self, path: str, body: object, content_type: str = MERGE, **more: str) -> Json:
        return said(self.ask("PATCH", path, body, content_type=content_type, **more), 200)

    def delete(self, path: str, body: object = None, **more: str) -> Json:
        return said(self.ask("DELETE", path, body, **more), 200)

    def names(self, path: str, **query: str) -> list[str]:
        return [item["metadata"]["name"] for item in self.get(path, **query)["items"]]

    # --- what is expected not to -----------------------------------------------------------------

    def refused(self, method: str, path: str, body: object = None, **more: str) -> tuple[int, str, str]:
        """The status, the reason and the sentence. Nothing may have changed."""
        before = self.store.version
        answer = self.ask(method, path, body, **more)
        assert self.store.version == before
        status = json.loads(answer.body)
        assert (status["kind"], status["status"], status["code"]) == ("Status", "Failure", answer.status)
        return answer.status, status["reason"], status["message"]


def said(answer: ApiResponse, status: int) -> Json:
    body = json.loads(answer.body)
    assert answer.status == status, body
    assert isinstance(body, dict)
    return body


def pod(name: str, **spec: Any) -> Json:
    main = {"name": "main", "image": "example/app:1"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {"containers": [main], **spec},
    }


def config_map(name: str, **data: str) -> Json:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def node(name: str) -> Json:
    offered = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    return {"kind": "Node", "metadata": {"name": name}, "status": {"allocatable": offered}}


def deployment(name: str, replicas: int = 2) -> Json:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": pod(name)["spec"]}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}
