"""Webhook configurations and policies for tests."""

import base64
import json
from typing import Any

from tests.minicluster.rest.api_client import ApiClient

from reprieve.model.json import Json

ADMISSION = "admissionregistration.k8s.io/v1"
RULE: Json = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}


def webhook(path: str, **more: Any) -> Json:
    """It answers under this path."""
    return {
        "name": f"{path.strip('/')}.hooks.example.com",
        "clientConfig": {"url": f"https://127.0.0.1:9443{path}"},
        "rules": [RULE],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        **more,
    }


def configured(client: ApiClient, kind: str, *hooks: Json, name: str = "ours") -> None:
    resource = f"{kind}WebhookConfiguration"
    body = {"kind": resource, "metadata": {"name": name}, "webhooks": list(hooks)}
    client.post(f"/apis/{ADMISSION}/{resource.lower()}s", body)


def patch(*operations: Json) -> Json:
    raw = base64.b64encode(json.dumps(operations).encode()).decode()
    return {"allowed": True, "patchType": "JSONPatch", "patch": raw}


def setting(path: str, value: object) -> Json:
    return patch({"op": "add", "path": path, "value": value})


ALLOWED: Json = {"allowed": True}
