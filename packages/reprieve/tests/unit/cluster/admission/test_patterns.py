"""Regular expressions in Go's syntax: what they match, what is refused, and what a search costs."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reprieve.cluster.admission.cel_values import CostBudget, CostError, PatternError, Patterns


def unlimited() -> CostBudget:
    return CostBudget(10**9, "the pattern")


def found(pattern: str, text: str) -> bool:
    return Patterns().search(pattern, text, unlimited())


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
        (r"^\p{Greek}$", ["α"], ["a"]),
        ("^.$", ["é", "𝄞", "\ud800"], [""]),
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
        "a{1001}",
        "a{2,1}",
        "((a{100}){100}){100}",
        "((((){1000}){1000}){1000}){1000}",
        r"\pL{1000}",
    ],
    ids=lambda pattern: pattern[:20],
)
def test_what_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError):
        found(pattern, "a")


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
    assert not Patterns().search(pattern, text, budget)
    assert budget.spent < 10 * len(text)


def test_a_search_that_costs_too_much_is_not_begun() -> None:
    budget = CostBudget(100_000, "the pattern")
    with pytest.raises(CostError, match="the pattern exceeds"):
        Patterns().search("a.{1000}b", "a" * 5000, budget)


def test_a_request_pays_for_a_pattern_once() -> None:
    patterns, budget = Patterns(), unlimited()
    for expected in (600, 604):
        assert patterns.search("a{300}", "a", budget) is False
        assert budget.spent < expected * 2
    with pytest.raises(PatternError):
        patterns.get("(", budget)


@given(
    st.text(alphabet=r"ab()[]{}|*+?^$.\-:P<>12,ixQEpLdw", max_size=30), st.text(alphabet="ab12-", max_size=10)
)
def test_any_text_is_a_pattern_or_refused(pattern: str, text: str) -> None:
    with suppress(PatternError):
        found(pattern, text)
