"""Rules in CEL: what they mean, and what is not understood."""

import pytest

from reprieve.cluster.apiserver.cel import Scope, SenselessError, UnreadError, read

OBJECT = {
    "n": 3,
    "f": 0.5,
    "name": "web-1",
    "list": [1, 2, 3],
    "map": {"a": 1},
    "pods": [{"name": "x", "cpu": 1}, {"name": "y", "cpu": 2}],
}


def asked(rule: str, **names: object) -> object:
    names = {"self": OBJECT, "oldSelf": OBJECT, **names}
    return read(rule, tuple(names))(Scope(names))


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
        "quantity(self.n).isGreaterThan(1)",
        "other == 1",
        "self.n # 1",
        "(" * 99,
        "a b",
    ],
)
def test_what_is_not_understood(rule: str) -> None:
    with pytest.raises(UnreadError):
        asked(rule)


def test_a_rule_takes_only_so_long() -> None:
    many = {"list": list(range(400))}
    with pytest.raises(SenselessError, match="too long"):
        asked("self.list.all(x, self.list.all(y, x + y >= 0))", self=many)
