"""What a rule allows, and which rules cover another."""

import pytest

from reprieve_minicluster.auth.policy_rules import PolicyRule, RequestAttributes, allows, uncovered

READ_PODS = PolicyRule(("get", "list"), ("",), ("pods",))
GET_PODS, LIST_PODS = PolicyRule(("get",), ("",), ("pods",)), PolicyRule(("list",), ("",), ("pods",))
UNNAMED = PolicyRule(("get",), ("",), ("pods",), ("",))
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
        (PolicyRule(("get",), non_resource_urls=("/a**",)), RequestAttributes("get", path="/a/b"), True),
        (UNNAMED, RequestAttributes("get", "", "pods"), True),
        (UNNAMED, RequestAttributes("get", "", "pods", "a"), False),
        (PATHS, RequestAttributes("post", path="/metrics"), False),
    ],
)
def test_what_a_rule_allows(rule: PolicyRule, act: RequestAttributes, expected: bool) -> None:
    assert allows([rule], act) is expected
    assert allows([], act) is False


@pytest.mark.parametrize(
    ("wanted", "owned", "missing"),
    [
        ([READ_PODS], [ALL], None),
        ([READ_PODS], [], GET_PODS),
        ([ALL], [READ_PODS], ALL),
        (
            [READ_PODS],
            [GET_PODS, PolicyRule(("list",), ("*",), ("pods", "nodes"))],
            None,
        ),
        ([READ_PODS], [GET_PODS], LIST_PODS),
        ([ONE_POD], [READ_PODS], None),
        ([GET_PODS], [ONE_POD], GET_PODS),
        ([LIST_PODS, ONE_POD], [READ_PODS], None),
        ([PolicyRule(("get",), ("apps",), ("x/scale",))], [SCALES], None),
        ([SCALES], [PolicyRule(("get",), ("apps",), ("x/scale",))], SCALES),
        ([PolicyRule(("get",), ("",), ("pods",), ("a", ""))], [UNNAMED, ONE_POD], None),
        ([GET_PODS], [UNNAMED], GET_PODS),
        ([PATHS], [PolicyRule(("get",), non_resource_urls=("*",))], None),
        ([PATHS], [PolicyRule(("get",), non_resource_urls=("/a*", "/metrics"))], None),
        ([PATHS], [ALL], PolicyRule(("get",), non_resource_urls=("/api/*",))),
        ([PolicyRule(("get",))], [], None),
    ],
)
def test_what_is_missing(
    wanted: list[PolicyRule], owned: list[PolicyRule], missing: PolicyRule | None
) -> None:
    assert uncovered(wanted, owned) == missing


def test_only_one_rule_can_cover_a_permission() -> None:
    """Half of a permission in each of two rules is none."""
    wanted = PolicyRule(("get", "list"), ("", "apps"), ("pods", "nodes"))
    halves = [PolicyRule(("get",), ("*",), ("*",)), PolicyRule(("*",), ("apps",), ("*",))]
    assert uncovered([wanted], halves) == PolicyRule(("list",), ("",), ("pods",))
    assert uncovered([wanted], [*halves, PolicyRule(("list",), ("",), ("nodes", "pods"))]) is None
