"""A CustomResourceDefinition for tests."""

from typing import Any

from reprieve.model.json import Json

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
QUEUES = "/apis/batch.example.com/v1/namespaces/default/queues"

SPEC: Json = {
    "type": "object",
    "required": ["size"],
    "properties": {
        "size": {"type": "integer", "minimum": 1, "maximum": 100},
        "mode": {"type": "string", "enum": ["Fair", "Strict"], "default": "Fair"},
        "code": {"type": "string", "pattern": "^[a-z]+$", "minLength": 2, "maxLength": 5},
        "limit": {"x-kubernetes-int-or-string": True},
        "users": {
            "type": "array",
            "items": {"type": "string"},
            "maxItems": 2,
            "x-kubernetes-list-type": "set",
        },
        "rules": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "name": {"type": "string"},
                    "weight": {"type": "number", "default": 0.5},
                    "note": {"type": "string", "nullable": True},
                },
            },
        },
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}
STATUS: Json = {"type": "object", "required": ["phase"], "properties": {"phase": {"type": "string"}}}


def version(name: str = "v1", **more: Any) -> Json:
    schema = {"type": "object", "properties": {"spec": SPEC, "status": STATUS}}
    return {
        "name": name,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
        "additionalPrinterColumns": [
            {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
            {
                "name": "First",
                "type": "string",
                "jsonPath": '.spec.rules[?(@.name=="a")].weight',
                "priority": 1,
            },
            {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        ],
        **more,
    }


def definition(*versions: Json, scope: str = "Namespaced", **names: Any) -> Json:
    own = {"kind": "Queue", "plural": "queues", "singular": "queue", "shortNames": ["q"], **names}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{own['plural']}.batch.example.com"},
        "spec": {
            "group": "batch.example.com",
            "scope": scope,
            "names": own,
            "versions": list(versions) or [version()],
        },
    }


def queue(name: str, **spec: Any) -> Json:
    head = {"apiVersion": "batch.example.com/v1", "kind": "Queue", "metadata": {"name": name}}
    return {**head, "spec": {"size": 3, **spec}}
