"""Which requests a rule, a selector and a match policy concern."""

from typing import Any

import pytest
from tests.minicluster.scene import HandClock

from reprieve.model.json import Json
from reprieve_minicluster.kinds import BY_NAME
from reprieve_minicluster.store import Store
from reprieve_minicluster.webhooks.matching import ReviewedRequest, match_of

USUAL = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}


def of(kind: str, api_version: str = "v1", **more: Any) -> ReviewedRequest:
    usual: Json = {
        "operation": "CREATE",
        "subresource": "",
        "namespace": "default" if BY_NAME[kind].namespaced else "",
        "name": "it",
        "new": {"kind": kind, "metadata": {"labels": {"app": "web"}}},
        "old": None,
    }
    return ReviewedRequest(kind=BY_NAME[kind], api_version=api_version, **{**usual, **more})


POD, NODE = of("Pod"), of("Node")
DEPLOYMENT, AUTOSCALER = of("Deployment", "apps/v1"), of("HorizontalPodAutoscaler", "autoscaling/v1")


@pytest.mark.parametrize(
    ("rule", "request_", "version"),
    [
        ({}, POD, "v1"),
        ({"operations": ["CREATE"]}, POD, "v1"),
        ({"operations": ["DELETE", "UPDATE"]}, POD, None),
        ({"apiGroups": [""]}, POD, "v1"),
        ({"apiGroups": [""]}, DEPLOYMENT, None),
        ({"apiGroups": ["apps"], "apiVersions": ["v1"]}, DEPLOYMENT, "apps/v1"),
        ({"apiVersions": ["v1beta1"]}, DEPLOYMENT, None),
        ({"apiVersions": ["v2"]}, AUTOSCALER, "autoscaling/v2"),
        ({"resources": ["pods"]}, POD, "v1"),
        ({"resources": ["pods"]}, of("Pod", subresource="status"), None),
        ({"resources": ["pods/status"]}, of("Pod", subresource="status"), "v1"),
        ({"resources": ["pods/*"]}, of("Pod", subresource="status"), "v1"),
        ({"resources": ["pods/*"]}, POD, "v1"),
        ({"resources": ["*/*"]}, of("Pod", subresource="eviction"), "v1"),
        ({"resources": ["*"]}, of("Pod", subresource="eviction"), None),
        ({"scope": "Namespaced"}, POD, "v1"),
        ({"scope": "Namespaced"}, NODE, None),
        ({"scope": "Cluster"}, NODE, "v1"),
        ({"scope": "Cluster"}, of("Namespace"), "v1"),
        ({"resourceNames": ["it"]}, POD, "v1"),
        ({"resourceNames": ["other"]}, POD, None),
    ],
)
def test_rules(rule: Json, request_: ReviewedRequest, version: str | None) -> None:
    match = match_of({"rules": [{**USUAL, **rule}]}, "rules")
    assert match.version_for(request_, Store(HandClock())) == version


def test_another_version_counts_unless_it_must_be_exact() -> None:
    rules = {"rules": [{**USUAL, "apiVersions": ["v2"]}], "matchPolicy": "Exact"}
    assert match_of(rules, "rules").version_for(AUTOSCALER, Store(HandClock())) is None


def test_what_is_excluded() -> None:
    body = {"rules": [USUAL], "excluded": [{**USUAL, "resources": ["pods"]}]}
    match, store = match_of(body, "rules", "excluded"), Store(HandClock())
    assert (match.version_for(POD, store), match.version_for(NODE, store)) == (None, "v1")


WEB, OTHER = {"matchLabels": {"app": "web"}}, {"matchLabels": {"app": "other"}}


@pytest.mark.parametrize(
    ("selectors", "request_", "matches"),
    [
        ({"objectSelector": WEB}, POD, True),
        ({"objectSelector": OTHER}, POD, False),
        ({"objectSelector": OTHER}, of("Pod", old={"metadata": {"labels": {"app": "other"}}}), True),
        ({"objectSelector": {}, "namespaceSelector": {}}, POD, True),
        ({"namespaceSelector": {"matchLabels": {"tier": "a"}}}, POD, True),
        ({"namespaceSelector": {"matchLabels": {"tier": "b"}}}, POD, False),
        ({"namespaceSelector": {"matchLabels": {"tier": "b"}}}, NODE, True),
        ({"namespaceSelector": WEB}, of("Namespace"), True),
        ({"namespaceSelector": {"matchExpressions": [{"key": "tier", "operator": "Odd"}]}}, POD, False),
    ],
)
def test_selectors(selectors: Json, request_: ReviewedRequest, matches: bool) -> None:
    store = Store(HandClock())
    store.create(
        "namespaces", {"kind": "Namespace", "metadata": {"name": "default", "labels": {"tier": "a"}}}
    )
    match = match_of({"rules": [USUAL], **selectors}, "rules")
    assert (match.version_for(request_, store) is not None) == matches
