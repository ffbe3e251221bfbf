"""Regular expressions in Go's syntax: what they match, what is refused, and what a search costs."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reprieve.cluster.apiserver.cost import CostBudget, CostError
from reprieve.cluster.apiserver.pattern_syntax import PatternError
from reprieve.cluster.apiserver.patterns import Patterns, compiled


def unlimited() -> CostBudget:
    return CostBudget(10**9, "the pattern")


def found(pattern: str, text: str) -> bool:
    return compiled(pattern).search(text, unlimited())


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("", ["", "a"], []),
        ("b", ["abc", "b"], ["", "ac"]),
        ("^a.c$", ["abc", "aéc"], ["a\nc", "abcd", "xabc", "abc\n"]),
        ("(?s)a.c", ["a\nc"], ["ac"]),
        ("(?i)straße|k", ["STRAßE", "K", "\u212a"], ["x"]),
        ("a(?i)b(?-i)c", ["abc", "aBc"], ["ABc", "abC"]),
        ("(?i:a)b", ["Ab", "ab"], ["aB"]),
        ("(?m)^a$", ["b\na\nc"], ["ba", "ab"]),
        (r"\Aa\z", ["a"], ["a\n", "ba"]),
        (r"\bfoo\b", ["a foo.", "foo"], ["food", "afoo"]),
        (r"a\Bb", ["ab"], ["a b"]),
        (r"^\d\D\w\W\s\S$", ["1a_- b"], ["1a_-ab", "\u06631_- b"]),
        (r"^[\d\s]+$", ["1 2"], ["1a"]),
        (r"^[^\d]$", ["a"], ["1", ""]),
        ("^[]a]+$", ["]a]"], ["b"]),
        ("^[^]a]+$", ["bc"], ["]", "a"]),
        ("^[a-c-]+$", ["a-c"], ["d"]),
        ("^[[:alpha:][:^digit:]_]$", ["a", "-", "_"], ["1"]),
        (r"^[\x41-\x{43}\n\]]+$", ["ABC\n]"], ["D"]),
        (r"^\x41\101\.\*\Qa.b+\E+$", ["AA.*a.b+", "AA.*a.b++"], ["AA.*axb+"]),
        (r"^\pL\p{Lu}\P{Lu}\p{^L}\PL$", ["éAa11"], ["éaa11"]),
        ("^(a|b|)c$", ["ac", "bc", "c"], ["dc"]),
        ("^(?:ab)+?$", ["ab", "abab"], ["", "aba"]),
        ("^(?P<n>a)(?<m>b)$", ["ab"], ["a"]),
        ("^a{2}b{1,3}c{2,}$", ["aabcc", "aabbbccc"], ["abcc", "aabbbbcc", "aabc"]),
        ("^a{,2}$", ["a{,2}"], ["a"]),
        ("^x{a}{$", ["x{a}{"], ["x"]),
        ("^(a*)*$", ["", "aaa"], ["b"]),
        ("^(|a)+$", ["", "aa"], ["b"]),
        ("^.{0,1000}$", ["", "x" * 1000], ["x" * 1001]),
    ],
)
def test_what_matches(pattern: str, matching: list[str], others: list[str]) -> None:
    assert [text for text in matching if not found(pattern, text)] == []
    assert [text for text in others if found(pattern, text)] == []


@pytest.mark.parametrize(
    "pattern",
    [
        "(",
        ")",
        "a)b",
        "[",
        "[a",
        "[b-a]",
        r"[a-\d]",
        "[[:none:]]",
        "*a",
        "a**",
        "a{2}{3}",
        "a|*",
        "(?=a)",
        "(?!a)",
        "(?<=a)",
        "(?P<1>a)",
        "(?Pa)",
        "(?x)a",
        "(?i",
        r"(a)\1",
        "a\\",
        r"\8",
        r"\y",
        r"\x{110000}",
        r"\x{}",
        r"\xg1",
        r"\pX",
        r"\p{Greek}",
        "a{1001}",
        "a{2,1}",
        "((a{100}){100}){100}",
        "((((){1000}){1000}){1000}){1000}",
        "(" * 1000 + ")" * 1000,
        "x" * 6000,
    ],
    ids=lambda pattern: pattern[:20],
)
def test_what_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError):
        compiled(pattern)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("^(a+)+$", "a" * 5000 + "b"),
        ("^(a|aa)+$", "a" * 5000 + "b"),
        ("(x+x+)+y", "x" * 5000),
        ("^(([a-z])+.)+[A-Z]([a-z])+$", "a" * 5000),
        ("(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)[^a-z]", "a" * 5000),
    ],
)
def test_no_pattern_backtracks(pattern: str, text: str) -> None:
    """With backtracking these take longer than the age of the universe; here, a few steps a character."""
    budget = unlimited()
    assert not compiled(pattern).search(text, budget)
    assert budget.spent < 10 * len(text)


def test_a_search_that_costs_too_much_ends() -> None:
    budget = CostBudget(100_000, "the pattern")
    with pytest.raises(CostError, match="the pattern exceeds"):
        compiled("a.{1000}b").search("a" * 5000, budget)
    assert budget.spent < 2 * budget.limit


def test_a_request_pays_for_a_pattern_once() -> None:
    patterns, budget = Patterns(), unlimited()
    for expected in (600, 604):
        assert patterns.search("a{300}", "a", budget) is False
        assert budget.spent < expected * 2
    with pytest.raises(PatternError):
        patterns.get("(", budget)


def test_the_cost_depends_on_nothing_but_pattern_and_text() -> None:
    costs = set()
    for _ in range(3):
        budget = unlimited()
        Patterns().search("^([a-z]+-)*[0-9]{1,5}$", "some-name-123", budget)
        costs.add(budget.spent)
    assert len(costs) == 1


# --- held against Python's engine --------------------------------------------------------------------

_ATOMS = st.sampled_from(
    ["a", "b", "-", ".", "[ab]", "[^a]", r"\w", r"\d", r"\s", r"\b", r"\B", "[a-b-]", "(?:)", r"\."]
)
_REPEATED = st.sampled_from(["", "", "", "*", "+", "?", "{2}", "{1,2}", "{0,1}", "{2,}", "*?", "+?"])


def _trees(below: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    parts = st.lists(st.tuples(below, _REPEATED).map(lambda pair: f"(?:{pair[0]}){pair[1]}"), max_size=3)
    return st.lists(parts.map("".join), min_size=1, max_size=3).map("|".join)


_PATTERNS: st.SearchStrategy[Any] = st.tuples(
    st.sampled_from(["", "^"]), st.recursive(_ATOMS, _trees, max_leaves=8), st.sampled_from(["", "$"])
)


@given(_PATTERNS, st.text(alphabet="ab-1. \n", min_size=1, max_size=8))
def test_it_finds_what_python_finds(parts: tuple[str, str, str], text: str) -> None:
    """But for the empty text, where Python finds no ``\\B``, and for the sign of its end."""
    begin, middle, end = parts
    theirs = re.compile(f"{begin}(?:{middle})" + (r"\Z" if end else ""), re.ASCII)
    assert found(f"{begin}(?:{middle}){end}", text) == (theirs.search(text) is not None)


@given(
    st.text(alphabet=r"ab()[]{}|*+?^$.\-:P<>12,ixQEpLdw", max_size=30), st.text(alphabet="ab12-", max_size=10)
)
def test_any_text_is_a_pattern_or_refused(pattern: str, text: str) -> None:
    try:
        automaton = compiled(pattern)
    except PatternError:
        return
    automaton.search(text, unlimited())
