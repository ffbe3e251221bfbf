"""What a rule allows, and when rules cover others."""

import pytest

from reprieve.cluster.mini.rights.rules import Act, Rule, allows, covered

READ_PODS = Rule(("get", "list"), ("",), ("pods",))
ONE_POD = Rule(("get",), ("",), ("pods",), ("a",))
SCALES = Rule(("get",), ("apps",), ("*/scale",))
PATHS = Rule(("get",), non_resource_urls=("/api/*", "/metrics"))
ALL = Rule(("*",), ("*",), ("*",))


@pytest.mark.parametrize(
    ("rule", "act", "expected"),
    [
        (READ_PODS, Act("get", "", "pods", "a"), True),
        (READ_PODS, Act("delete", "", "pods", "a"), False),
        (READ_PODS, Act("get", "apps", "pods", "a"), False),
        (READ_PODS, Act("get", "", "pods/log", "a"), False),
        (ONE_POD, Act("get", "", "pods", "a"), True),
        (ONE_POD, Act("get", "", "pods", "b"), False),
        (ONE_POD, Act("get", "", "pods"), False),
        (SCALES, Act("get", "apps", "deployments/scale"), True),
        (SCALES, Act("get", "apps", "deployments"), False),
        (ALL, Act("anything", "any.group", "things/part", "x"), True),
        (ALL, Act("get", path="/metrics"), False),
        (PATHS, Act("get", path="/metrics"), True),
        (PATHS, Act("get", path="/api/v1"), True),
        (PATHS, Act("get", path="/apis"), False),
        (PATHS, Act("post", path="/metrics"), False),
    ],
)
def test_what_a_rule_allows(rule: Rule, act: Act, expected: bool) -> None:
    assert allows(rule, act) is expected


@pytest.mark.parametrize(
    ("wanted", "owned", "missing"),
    [
        ([READ_PODS], [ALL], 0),
        ([ALL], [READ_PODS], 1),
        ([READ_PODS], [Rule(("get",), ("",), ("pods",)), Rule(("list",), ("*",), ("pods", "nodes"))], 0),
        ([READ_PODS], [Rule(("get",), ("",), ("pods",))], 1),
        ([ONE_POD], [READ_PODS], 0),
        ([READ_PODS], [ONE_POD], 2),
        ([PATHS], [Rule(("get",), non_resource_urls=("*",))], 0),
        ([PATHS], [ALL], 2),
    ],
)
def test_what_is_missing(wanted: list[Rule], owned: list[Rule], missing: int) -> None:
    assert len(covered(wanted, owned)) == missing
