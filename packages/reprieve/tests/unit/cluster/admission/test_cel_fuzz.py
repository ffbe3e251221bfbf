"""Any text is a rule or refused as one; any rule has a value, fails as one, or exceeds its budget."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from reprieve.cluster.admission.cel import MACROS, UnreadError, read
from reprieve.cluster.admission.cel_functions import STANDARD
from reprieve.cluster.admission.cel_values import CostBudget, CostError, Patterns, SenselessError

LIMIT = 3000
# The most that a single operation may go beyond the limit: it pays before it works.
SLACK = 3000

_WORDS = [
    "self",
    "oldSelf",
    "x",
    "y",
    "true",
    "false",
    "null",
    "has",
    "(",
    ")",
    "[",
    "]",
    ".",
    ",",
    "?",
    ":",
    "&&",
    "||",
    "!",
    "-",
    "+",
    "*",
    "/",
    "%",
    "==",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "in",
    "0",
    "1",
    "2",
    "3.5",
    "9223372036854775807",
    "99999999999999999999",
    "'a'",
    "''",
    "'x+'",
    '"("',
    "r'",
    "{",
    "}",
    "`a-b`",
    "name",
    "list",
    *(name for name, *_ in MACROS),
    *(name for name, *_ in STANDARD),
]
_SOUP = st.lists(st.sampled_from(_WORDS), max_size=30).map(" ".join)
_REPEATED = st.builds(
    lambda before, times, after: before * times + after + ")" * times,
    st.sampled_from(
        ["has(", "!", "-", "1+", "self.", "(", "[", "self[", "self.map(x, ", "self.all(x, ", "true ? "]
    ),
    st.integers(0, 600),
    _SOUP,
)


def _macro(macro: tuple[str, int, int], parts: list[str]) -> str:
    name, variables, bodies = macro
    return f"{parts[0]}.{name}({', '.join(['x', 'y'][:variables] + parts[1 : 1 + bodies])})"


def _call(function: tuple[str, bool, int], parts: list[str]) -> str:
    name, has_receiver, count = function
    start = f"{parts.pop()}." if has_receiver else ""
    return f"{start}{name}({', '.join(parts[: count - has_receiver])})"


def _deeper(below: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    operators = st.sampled_from(["+", "-", "*", "/", "%", "==", "<", "in", "&&", "||"])
    macros, functions = st.sampled_from(sorted(MACROS)), st.sampled_from(sorted(STANDARD))
    arguments = st.lists(below, min_size=5, max_size=5)
    return st.one_of(
        st.builds("({} {} {})".format, below, operators, below),
        st.builds(_macro, macros, arguments),
        st.builds(_call, functions, arguments),
        st.builds("({} ? {} : {})".format, below, below, below),
        st.builds("[{}, {}]".format, below, below),
        st.builds("{}[{}]".format, below, below),
        st.builds("{}[?{}]".format, below, below),
        st.builds("{{{}: {}}}".format, below, below),
        st.builds("has({}.name)".format, below),
        st.builds("size({})".format, below),
        st.builds("!{}".format, below),
    )


_ATOMS = """
self oldSelf self.name self.list 1 2u 2.5 'a+' true null [] b'a' x y int self.?name '%s%.3f%d' optional.none()
'10.0.0.0/8' '::1' '1h' '2026-01-02T03:04:05Z' '1.2.3' '5Gi' 'http://a/b?c=d'
"""
_RULES = st.recursive(
    st.sampled_from(_ATOMS.split()),
    _deeper,
    max_leaves=20,
)
_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.just(10**400), st.floats(), st.text(max_size=5)),
    lambda below: st.one_of(
        st.lists(below, max_size=4),
        st.dictionaries(st.sampled_from(["name", "list", "a"]), below, max_size=3),
    ),
    max_leaves=8,
)


@settings(deadline=None)
@given(st.one_of(_SOUP, _REPEATED, _RULES, st.text(max_size=40)), _VALUES, _VALUES)
def test_nothing_else_is_raised_and_no_budget_exceeded(rule: str, value: object, old: object) -> None:
    budget = CostBudget(LIMIT, "the rule")
    try:
        found = read(rule, ("self", "oldSelf"))
        found({"self": value, "oldSelf": old}, budget, Patterns())
    except (UnreadError, SenselessError, CostError):
        pass
    assert budget.spent <= LIMIT + SLACK
