"""Requests that no client should send: real ones with one part corrupted, and noise."""

from collections.abc import Iterable
from random import Random
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

from reprieve.model.json import Json
from reprieve_minicluster.kinds import BY_NAME, KINDS, ResourceKind
from reprieve_minicluster.rest.http_messages import ApiRequest


class Verb(NamedTuple):
    method: str
    on_collection: bool = False
    has_body: bool = True


PATCH = Verb("PATCH")
VERBS = (
    *(Verb("GET", on_collection=True, has_body=False), Verb("GET", has_body=False)),
    *(Verb("POST", on_collection=True), Verb("POST"), Verb("PUT"), Verb("PUT"), PATCH, PATCH, PATCH),
    *(Verb("POST", on_collection=True), Verb("PUT"), PATCH, PATCH, PATCH, PATCH),
    *(Verb("DELETE"), Verb("DELETE", has_body=False), Verb("DELETE", on_collection=True, has_body=False)),
)
# Kinds of which there is an object, and its name.
FURNISHED = {
    "Pod": "b",
    "Node": "n1",
    "Deployment": "web",
    "PodGroup": "train",
    "PodDisruptionBudget": "web",
    "ConfigMap": "settings",
}
PATCH_TYPES = (
    "application/merge-patch+json",
    "application/json-patch+json",
    "application/strategic-merge-patch+json",
)
METHODS = (
    "GET",
    "GET",
    "POST",
    "POST",
    "PUT",
    "PATCH",
    "PATCH",
    "PATCH",
    "DELETE",
    "HEAD",
    "OPTIONS",
    "BREW",
)
NAMES = ("a", "b", "web", "train", "n1", "default", "", "A", "x" * 300, "..", "a/b", "ü", "%", "\0", "-")
SPECS: dict[str, Json] = {
    "Pod": {
        "containers": [{"name": "main", "image": "x", "resources": {"requests": {"cpu": "1"}}}],
        "tolerations": [{"key": "a", "operator": "Exists"}],
        "affinity": {"podAntiAffinity": {}},
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
        ],
        "schedulingGroup": {"podGroupName": "train"},
        "nodeName": "n1",
    },
    "Deployment": {
        "replicas": 1,
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {}, "spec": {}},
    },
    "Job": {
        "parallelism": 1,
        "template": {"spec": {"containers": [{"name": "main", "image": "x"}], "restartPolicy": "Never"}},
    },
    "PodGroup": {"schedulingPolicy": {"gang": {"minCount": 2}}, "disruptionMode": {"all": {}}},
    "Workload": {"podGroupTemplates": [{"name": "t", "schedulingPolicy": {"basic": {}}}]},
    "PodDisruptionBudget": {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}},
    "Node": {"taints": [{"key": "a", "effect": "NoSchedule"}], "unschedulable": True},
}
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**63, -(2**70), 1.5, 1e300),
    *(
        "",
        " ",
        "a",
        "A b",
        "1",
        "10%",
        "x" * 5000,
        "\0",
        "\ud7ff",
        "2026-01-01T00:00:00Z",
        "-1",
        "1e9Gi",
        "None",
    ),
    *([], [None], [[]], [1, "a", {}], {}, {"": None}, {"a": {"b": {"c": []}}}, {"$patch": "delete"}),
)
DIRECTIVES = ("$patch", "$retainKeys", "$setElementOrder/containers", "$deleteFromPrimitiveList/finalizers")
CONTENT_TYPES = (
    *(
        "application/json",
        "application/json",
        "",
        "application/yaml",
        "text/plain",
        "application/json; charset=x",
    ),
    *(
        "application/merge-patch+json",
        "application/json-patch+json",
        "application/strategic-merge-patch+json",
    ),
    *("application/apply-patch+yaml", "application/vnd.kubernetes.protobuf", "\0", ";;;"),
)
ACCEPTS = (
    *("", "", "application/json", "*/*", "application/json;as=Table;v=v1;g=meta.k8s.io"),
    *(
        "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
        "text/html",
        ";q=x",
        "application/json;as",
    ),
)
PARAMETERS: dict[str, tuple[str, ...]] = {
    "watch": ("true", "1", "x"),
    "timeoutSeconds": ("1", "-1", "0", "x", "9" * 40),
    "limit": ("1", "0", "-5", "x"),
    "continue": ("x", "e30=", "eyJ2ZXJzaW9uIjogMSwgIm5hbWVzcGFjZSI6ICJhIiwgIm5hbWUiOiAiYiJ9"),
    "resourceVersion": ("0", "1", "3", "999999", "-1", "x", "9" * 30, "１"),
    "resourceVersionMatch": ("Exact", "NotOlderThan", "x"),
    "sendInitialEvents": ("true", "false", "x"),
    "allowWatchBookmarks": ("true", "x"),
    "labelSelector": ("a=b", "a in (b,c)", "!a", "a>1", ",", "=", "a in (", "(" * 50, "a=b," * 100, "\0"),
    "fieldSelector": (
        "metadata.name=a",
        "spec.nodeName!=n1",
        "status.phase=Running",
        "x=y",
        "=",
        "a=b=c",
        ",,,",
    ),
    "dryRun": ("All", "x"),
    "fieldValidation": ("Strict", "Warn", "Ignore", "x"),
    "gracePeriodSeconds": ("0", "5", "-1", "x"),
    "propagationPolicy": ("Foreground", "Orphan", "Background", "x"),
    "orphanDependents": ("true", "x"),
    "includeObject": ("None", "Object", "x"),
}
NOISE = (
    *(
        b"",
        b"{",
        b"}",
        b"null",
        b"[]",
        b'""',
        b"\xff",
        b"[" * 3000,
        b'{"a":' * 300,
        b"k8s\0",
        b"k8s\0\x0a\xff\xff",
    ),
    *(
        b"a: &a [*a]",
        b"? {}\n: 1",
        b"--- \n---\n",
        b"!!python/object:x {}",
        b'{"a":1}{"b":2}',
        b'{"metadata":1e999}',
    ),
    *(
        b'{"metadata": {"name": "\\ud800"}}',
        b'{"metadata": {"name": "a"}, "metadata": 7}',
        b"k8s\0\x12\x02\x08",
    ),
)


def request(dice: Random) -> ApiRequest:
    """A request that could be meant, of which a little, or a lot, is spoilt."""
    kind = BY_NAME[dice.choice(list(FURNISHED))] if dice.random() < 0.8 else dice.choice(KINDS)
    version = dice.choice(kind.served)
    verb = dice.choice(VERBS)
    steps = _steps(dice, kind, version, verb)
    content_type = dice.choice(PATCH_TYPES) if verb is PATCH else "application/json"
    return ApiRequest(
        method=_mostly(dice, verb.method, METHODS),
        path="/" + "/".join(quote(step, safe="%") for step in steps),
        query={name: dice.choice(PARAMETERS[name]) for name in _some(dice, PARAMETERS)},
        accept=_mostly(dice, "", ACCEPTS),
        content_type=_mostly(dice, content_type, CONTENT_TYPES),
        body=_body(dice, kind, version, content_type) if verb.has_body else b"",
    )


def _mostly(dice: Random, right: str, all_there_are: tuple[str, ...]) -> str:
    return right if dice.random() < 0.95 else dice.choice(all_there_are)


def _some(dice: Random, names: Iterable[str]) -> list[str]:
    return dice.sample(list(names), dice.choice((0, 0, 0, 1, 1, 2, 4)))


def _steps(dice: Random, kind: ResourceKind, version: str, verb: Verb) -> list[str]:
    steps = ["apis", *version.split("/")] if "/" in version else ["api", version]
    if kind.namespaced:
        steps += ["namespaces", _mostly(dice, "default", NAMES)]
    steps.append(kind.plural)
    if not verb.on_collection:
        steps.append(_mostly(dice, FURNISHED.get(kind.kind, "a"), NAMES))
        if kind.subresources and dice.random() < 0.3:
            steps.append(dice.choice(kind.subresources))
    if dice.random() < 0.05:
        steps[dice.randrange(len(steps))] = dice.choice(NAMES)
    return steps


def _body(dice: Random, kind: ResourceKind, version: str, content_type: str) -> bytes:
    if dice.random() < 0.05:
        return dice.choice(NOISE)
    if "json-patch" in content_type:
        return msgspec.json.encode([_operation(dice) for _ in range(dice.randrange(4))])
    times = dice.choice((0, 1, 1, 2, 3, 5))
    return msgspec.json.encode(spoilt(dice, thing(dice, kind.kind, version), times))


def thing(dice: Random, kind: str, version: str) -> Json:
    """Something that may be sent, most of the time."""
    name = FURNISHED.get(kind, "a") if dice.random() < 0.8 else dice.choice(NAMES)
    meta = {"name": name, "labels": {"a": "b"}, "finalizers": []}
    body: Json = {"apiVersion": version, "kind": kind, "metadata": meta, "spec": SPECS.get(kind, {})}
    match dice.randrange(10):
        case 0:
            body["target"] = {"kind": "Node", "name": "n1"}
        case 1:
            body = {"kind": "DeleteOptions", "preconditions": {"uid": "x"}, "gracePeriodSeconds": 0}
        case 2:
            body["status"] = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        case 3:
            body = {key: body[key] for key in ("metadata", "spec")}
        case 4:
            body = {"metadata": {"generateName": "x-"}, "spec": body["spec"]}
    decoded: Json = msgspec.json.decode(msgspec.json.encode(body))
    return decoded


def _operation(dice: Random) -> Any:
    paths = (
        "",
        "/",
        "/spec",
        "/metadata/name",
        "/metadata/labels/x",
        "/spec/containers/0",
        "/spec/containers/-",
        "x",
    )
    operation = {
        "op": dice.choice(("add", "remove", "replace", "move", "copy", "test", "x", None)),
        "path": dice.choice(paths),
        "from": dice.choice(paths),
        "value": dice.choice(VALUES),
    }
    return spoilt(dice, operation, dice.randrange(2))


def spoilt(dice: Random, value: Any, times: int) -> Any:
    for _ in range(times):
        value = _spoilt(dice, value)
    return value


def _spoilt(dice: Random, value: Any) -> Any:
    """Somewhere in it, something is replaced, added or taken away."""
    if not value or not isinstance(value, dict | list) or dice.random() < 0.15:
        return dice.choice(VALUES)
    if isinstance(value, list):
        i = dice.randrange(len(value))
        return [
            *value[:i],
            _spoilt(dice, value[i]),
            *value[i + 1 :],
            *dice.choice(([], [dice.choice(VALUES)])),
        ]
    name = dice.choice(sorted(value))
    match dice.randrange(6):
        case 0:
            return {k: v for k, v in value.items() if k != name}
        case 1:
            return {**value, dice.choice((*DIRECTIVES, "x", "")): dice.choice(VALUES)}
    return {**value, name: _spoilt(dice, value[name])}
