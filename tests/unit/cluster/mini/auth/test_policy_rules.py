"""What a rule allows, and which rules cover another."""

import pytest

from reprieve.cluster.mini.auth.policy_rules import PolicyRule, RequestAttributes, allows, uncovered

READ_PODS = PolicyRule(("get", "list"), ("",), ("pods",))
ONE_POD = PolicyRule(("get",), ("",), ("pods",), ("a",))
SCALES = PolicyRule(("get",), ("apps",), ("*/scale",))
PATHS = PolicyRule(("get",), non_resource_urls=("/api/*", "/metrics"))
ALL = PolicyRule(("*",), ("*",), ("*",))


@pytest.mark.parametrize(
    ("rule", "act", "expected"),
    [
        (READ_PODS, RequestAttributes("get", "", "pods", "a"), True),
        (READ_PODS, RequestAttributes("delete", "", "pods", "a"), False),
        (READ_PODS, RequestAttributes("get", "apps", "pods", "a"), False),
        (READ_PODS, RequestAttributes("get", "", "pods/log", "a"), False),
        (ONE_POD, RequestAttributes("get", "", "pods", "a"), True),
        (ONE_POD, RequestAttributes("get", "", "pods", "b"), False),
        (ONE_POD, RequestAttributes("get", "", "pods"), False),
        (SCALES, RequestAttributes("get", "apps", "deployments/scale"), True),
        (SCALES, RequestAttributes("get", "apps", "deployments"), False),
        (ALL, RequestAttributes("anything", "any.group", "things/part", "x"), True),
        (ALL, RequestAttributes("get", path="/metrics"), False),
        (PATHS, RequestAttributes("get", path="/metrics"), True),
        (PATHS, RequestAttributes("get", path="/api/v1"), True),
        (PATHS, RequestAttributes("get", path="/apis"), False),
        (PATHS, RequestAttributes("post", path="/metrics"), False),
    ],
)
def test_what_a_rule_allows(rule: PolicyRule, act: RequestAttributes, expected: bool) -> None:
    assert allows(rule, act) is expected


@pytest.mark.parametrize(
    ("wanted", "owned", "missing"),
    [
        ([READ_PODS], [ALL], 0),
        ([ALL], [READ_PODS], 1),
        (
            [READ_PODS],
            [PolicyRule(("get",), ("",), ("pods",)), PolicyRule(("list",), ("*",), ("pods", "nodes"))],
            0,
        ),
        ([READ_PODS], [PolicyRule(("get",), ("",), ("pods",))], 1),
        ([ONE_POD], [READ_PODS], 0),
        ([READ_PODS], [ONE_POD], 2),
        ([PATHS], [PolicyRule(("get",), non_resource_urls=("*",))], 0),
        ([PATHS], [ALL], 2),
    ],
)
def test_what_is_missing(wanted: list[PolicyRule], owned: list[PolicyRule], missing: int) -> None:
    assert len(uncovered(wanted, owned)) == missing
