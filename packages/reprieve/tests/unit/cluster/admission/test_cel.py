"""Rules in CEL: what they mean, and what is not understood."""

from contextlib import suppress

import pytest

from reprieve.cluster.admission.cel import RuleLimitError, UnreadError, read
from reprieve.cluster.admission.cel_values import CostBudget, CostError, Patterns, SenselessError
from reprieve.model.json import Json

OBJECT = {
    "n": 3,
    "f": 0.5,
    "name": "web-1",
    "list": [1, 2, 3],
    "map": {"a": 1},
    "pods": [{"name": "x", "cpu": 1}, {"name": "y", "cpu": 2}],
}


def asked(rule: str, **names: object) -> object:
    return evaluated(rule, CostBudget(100_000, "the rule"), **names)


def evaluated(rule: str, budget: CostBudget, **names: object) -> object:
    names = {"self": OBJECT, "oldSelf": OBJECT, **names}
    return read(rule, names)(names, budget, Patterns())


@pytest.mark.parametrize(
    "rule",
    [
        "true && !false || false",
        "self.n == 3 && self.n != 4 && self.n >= 3 && self.n < 4",
        "self.n + 2 * 3 - 1 == 8 && -self.n == 0 - 3 && 7 / 2 == 3 && -7 / 2 == -3 && 7 % 4 == 3",
        "self.f < 1.0 && self.f * 2.0 == 1.0",
        "has(self.n) && !has(self.nothing) && has(self.map.a) && !has(self.map.b)",
        "self.map['a'] == 1 && self.list[2] == 3",
        "'a' in self.map && 2 in self.list && !(9 in self.list) && self.n in [1, 3]",
        "size(self.list) == 3 && self.name.size() == 5",
        """self.name.startsWith("web") && self.name.endsWith('1') && self.name.contains("b-")""",
        r"self.name.matches('^[a-z]+-\\d$')",
        "self.list.all(x, x > 0) && self.list.exists(x, x == 2) && self.pods.exists_one(p, p.cpu == 2)",
        "self.pods.filter(p, p.cpu > 1).map(p, p.name) == ['y'] && self.map.all(k, k == 'a')",
        "self.n > 2 ? self.name == 'web-1' : false",
        "'a' + 'b' == 'ab' && [1] + [2] == [1, 2]",
        "self == oldSelf",
        "self.nothing == 1 || true",
        "!(self.nothing == 1 && false)",
        "self.n != 'three' && null == null",
    ],
)
def test_what_holds(rule: str) -> None:
    assert asked(rule) is True


@pytest.mark.parametrize(
    "rule", ["self.nothing == 1", "self.n < 'a'", "self.n && true", "size(self.n) == 1", "1 / 0 == 1"]
)
def test_what_makes_no_sense(rule: str) -> None:
    with pytest.raises(SenselessError):
        asked(rule)


@pytest.mark.parametrize(
    "rule",
    [
        "",
        "self.",
        "self.n ==",
        "quota(self.n)",
        "self.n.quota()",
        "quantity(self.name, 1, 2)",
        r"'\q' == ''",
        "other == 1",
        "self.n # 1",
        "(" * 99,
        "a b",
    ],
)
def test_what_is_not_understood(rule: str) -> None:
    with pytest.raises(UnreadError):
        asked(rule)


def test_a_rule_takes_only_so_many_steps() -> None:
    budget = CostBudget(100_000, "the rule")
    with pytest.raises(CostError, match="the rule exceeds the cost budget of 100000 steps"):
        evaluated("self.all(x, self.all(y, x + y >= 0))", budget, self=list(range(400)))
    assert budget.spent < 2 * budget.limit


@pytest.mark.parametrize(
    "rule",
    [
        "9" * 4900 + " == 1",
        "!" * 4900 + "true",
        "1" + "+1" * 2000 + " == 2001",
        "self" + ".a" * 2000 + " == 1",
        "has(" * 1200,
        "has(" * 1200 + "self.a" + ")" * 1200,
        "size(self, self) == 1",
        "'abc'.split('') == ['a', 'b', 'c']",
        "self.all(x, " * 400 + "true" + ")" * 400,
        "self[" * 800 + "0" + "]" * 800,
        "true ? " * 600 + "true" + " : true" * 600,
        "[1] in self && self[[1]] == 1",
        "self + 0.5 > 1 && self * 10 > 1",
        "self.size",
        "true" + " || true" * 600,
        "-" * 4000 + "1 == 1",
        "'" + "a" * 4900,
        "self.matches('(')",
    ],
    ids=lambda rule: rule[:20],
)
def test_a_rule_is_refused_cleanly_or_has_a_value(rule: str) -> None:
    for value in (None, 10**400, -(2**63), OBJECT, [1], "text", True):
        budget = CostBudget(100_000, "the rule")
        with suppress(UnreadError, SenselessError, CostError):
            evaluated(rule, budget, self=value)
        assert budget.spent < 2 * budget.limit


@pytest.mark.parametrize(
    "rule",
    ["1" + "0" * 19 + " == 1", "has(" * 1200, "(" * 99, "true || " * 1300 + "true"],
    ids=lambda r: r[:20],
)
def test_what_is_beyond_the_limits_of_the_parser(rule: str) -> None:
    with pytest.raises(RuleLimitError):
        asked(rule)


def test_chains_are_no_nesting() -> None:
    assert asked("1" + "+1" * 2000 + " == 2001") is True
    assert asked("!" * 4900 + "true") is True
    assert asked("self" + ".a" * 2000 + " == 1", self=nested(2000)) is True
    assert asked("true" + " && true" * 500) is True


def nested(levels: int) -> object:
    value: object = 1
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    "rule",
    [
        "self.text.contains('y')",
        "self.text + self.text == ''",
        "self.text == self.other",
        "self.text.split('') == []",
        "self.list == self.list",
        "self.list + self.list == []",
        "0 in self.list",
        "self.map == self.map",
        "self.text.matches('(x+)+y')",
    ],
)
def test_large_values_cost_more(rule: str) -> None:
    """Each is repeated for many items: if the work were not counted, it would take hours."""
    text = "x" * 100_000
    values: Json = {
        "text": text,
        "other": text[:-1] + "y",
        "list": list(range(1, 50_000)),
        "many": list(range(1000)),
    }
    values["map"] = {str(i): i for i in range(50_000)}
    with pytest.raises(CostError):
        asked(f"self.many.all(i, {rule} || true)", self=values)
    budget = CostBudget(300_000, "the rule")
    evaluated(f"{rule} || true", budget, self=values)
    assert budget.spent > 5000


def test_equal_values_that_share_their_parts_cost_what_they_show() -> None:
    """Forty doublings make a value of a billion parts that takes no room."""
    doubled = "self" + "".join(f".map(x{i}, [x{i}, x{i}])" for i in range(40))
    with pytest.raises(CostError):
        asked(f"{doubled} == {doubled}", self=[1])
