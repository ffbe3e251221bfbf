"""Any text is a rule or refused as one; any rule has a value, fails as one, or exceeds its budget."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from reprieve.cluster.admission.cel import Scope, UnreadError, read
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
    "size",
    "all",
    "exists",
    "exists_one",
    "filter",
    "map",
    "matches",
    "startsWith",
    "endsWith",
    "contains",
    "split",
    "lowerAscii",
    "trim",
    "name",
    "list",
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


def _deeper(below: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    operators = st.sampled_from(["+", "-", "*", "/", "%", "==", "<", "in", "&&", "||"])
    macros = st.sampled_from(["all", "exists", "exists_one", "filter", "map"])
    functions = st.sampled_from(["split", "matches", "contains", "startsWith"])
    return st.one_of(
        st.builds("({} {} {})".format, below, operators, below),
        st.builds("{}.{}(x, {})".format, below, macros, below),
        st.builds("{}.{}({})".format, below, functions, below),
        st.builds("({} ? {} : {})".format, below, below, below),
        st.builds("[{}, {}]".format, below, below),
        st.builds("{}[{}]".format, below, below),
        st.builds("has({}.name)".format, below),
        st.builds("size({})".format, below),
        st.builds("!{}".format, below),
    )


_RULES = st.recursive(
    st.sampled_from(["self", "oldSelf", "self.name", "self.list", "1", "2.5", "'a+'", "true", "null", "[]"]),
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
        found(Scope({"self": value, "oldSelf": old}, budget, Patterns()))
    except (UnreadError, SenselessError, CostError):
        pass
    assert budget.spent <= LIMIT + SLACK
