"""Label selectors, node terms, taints and tolerations."""

import pytest
from tests.unit.model.things import a_selector, a_taint, a_term, a_toleration, no_problems, paths

from reprieve.model.objects import NodeSelectorTerm
from reprieve.model.selectors import (
    EVERYTHING,
    NOTHING,
    NodeQuery,
    NodeTerm,
    Operator,
    Requirement,
    check_tolerations,
    compile_node_term,
    compile_selector,
    integer,
    tolerates,
)

LABELS = {"app": "web", "tier": "3"}


# --- requirements --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "number"),
    [("7", 7), ("-7", -7), ("+7", 7), ("007", 7), ("9223372036854775807", 2**63 - 1)],
)
def test_integers_are_read_as_kubernetes_does(text: str, number: int) -> None:
    assert integer(text) == number


@pytest.mark.parametrize(
    "text", ["", "x", " 7", "7 ", "1_0", "1.0", "0x1", "٣", "9223372036854775808", "9" * 9999]
)
def test_what_kubernetes_does_not_read_as_an_integer(text: str) -> None:
    assert integer(text) is None


# --- label selectors -----------------------------------------------------------------------------


def test_an_absent_selector_matches_nothing_and_an_empty_one_everything() -> None:
    assert compile_selector(None, "here", no_problems()) == NOTHING
    assert compile_selector(a_selector(), "here", no_problems()) == EVERYTHING
    assert not NOTHING.matches(LABELS)
    assert not NOTHING.matches({})
    assert EVERYTHING.matches(LABELS)


def test_equal_selectors_compile_to_equal_ones_however_they_are_written() -> None:
    one = a_selector(matchLabels={"a": "1", "b": "2"})
    two = a_selector(
        matchLabels={"b": "2"}, matchExpressions=[{"key": "a", "operator": "In", "values": ["1", "1"]}]
    )
    assert compile_selector(one, "here", no_problems()) == compile_selector(two, "here", no_problems())


@pytest.mark.parametrize(
    ("expression", "path"),
    [
        ({"key": "a", "operator": "Near"}, "here.matchExpressions[0].operator"),
        ({"key": "a", "operator": "Gt", "values": ["1"]}, "here.matchExpressions[0].operator"),
        ({"key": "a", "operator": "In"}, "here.matchExpressions[0].values"),
        ({"key": "a", "operator": "NotIn", "values": ["b", "no label"]}, "here.matchExpressions[0].values"),
        ({"key": "a", "operator": "NotIn", "values": ["x" * 64]}, "here.matchExpressions[0].values"),
        ({"key": "a", "operator": "Exists", "values": ["1"]}, "here.matchExpressions[0].values"),
    ],
)
def test_a_malformed_selector_is_reported_and_matches_nothing(
    expression: dict[str, object], path: str
) -> None:
    problems = no_problems()
    selector = a_selector(matchLabels={"app": "web"}, matchExpressions=[expression])
    assert compile_selector(selector, "here", problems) == NOTHING
    assert paths(problems) == [path]


# --- nodes ---------------------------------------------------------------------------------------


def test_a_nodes_name_may_be_longer_than_a_label() -> None:
    name = "node." * 40 + "x"
    term = compile_node_term(a_term(names=[("In", [name])]), "here", no_problems())
    assert term is not None
    assert term.matches({}, name)


def test_an_empty_term_selects_no_node_and_needs_no_report() -> None:
    problems = no_problems()
    assert compile_node_term(NodeSelectorTerm(), "here", problems) is None
    assert NodeQuery(terms=()).matches({}, "n") is False
    assert paths(problems) == []


@pytest.mark.parametrize(
    ("term", "path"),
    [
        (a_term(("a", "Gt", ["x"])), "here.matchExpressions[0].values"),
        (a_term(("a", "Gt", ["1", "2"])), "here.matchExpressions[0].values"),
        (a_term(("a", "Gt", ["-1"])), "here.matchExpressions[0].values"),
        (a_term(names=[("In", [])]), "here.matchFields[0].values"),
        (a_term(names=[("In", ["a", "b"])]), "here.matchFields[0].values"),
        (a_term(names=[("Exists", [])]), "here.matchFields[0].operator"),
    ],
)
def test_a_malformed_term_is_reported_and_selects_no_node(term: NodeSelectorTerm, path: str) -> None:
    problems = no_problems()
    assert compile_node_term(term, "here", problems) is None
    assert paths(problems) == [path]


def test_a_node_selector_and_its_terms_must_both_hold() -> None:
    exact = Requirement("disk", Operator.IN, frozenset({"ssd"}))
    query = NodeQuery(
        (exact,), (NodeTerm(names=(Requirement("metadata.name", Operator.IN, frozenset({"n"})),)),)
    )
    assert query.matches({"disk": "ssd"}, "n")
    assert not query.matches({"disk": "hdd"}, "n")
    assert not query.matches({"disk": "ssd"}, "m")


# --- taints --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("toleration", "does"),
    [
        ({"key": "k", "value": "3"}, True),
        ({"key": "k", "value": "3", "operator": "Equal"}, True),
        ({"key": "k", "value": "4"}, False),
        ({"key": "other", "value": "3"}, False),
        ({"key": "k", "operator": "Exists"}, True),
        ({"operator": "Exists"}, True),
        ({"key": "k", "operator": "Exists", "effect": "NoSchedule"}, True),
        ({"key": "k", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "k", "operator": "Lt", "value": "4"}, True),
        ({"key": "k", "operator": "Lt", "value": "3"}, False),
        ({"key": "k", "operator": "Gt", "value": "2"}, True),
        ({"key": "k", "operator": "Gt", "value": "many"}, False),
    ],
)
def test_whether_a_toleration_tolerates(toleration: dict[str, str], does: bool) -> None:
    assert tolerates(a_toleration(**toleration), a_taint("k", "3")) is does


def test_a_number_does_not_compare_with_a_word() -> None:
    assert not tolerates(a_toleration(key="k", operator="Lt", value="9"), a_taint("k", "few"))


@pytest.mark.parametrize("wrong", [{"key": "k", "operator": "Near"}, {"value": "v"}, {"operator": "Equal"}])
def test_a_malformed_toleration_is_reported_and_dropped(wrong: dict[str, str]) -> None:
    problems = no_problems()
    good = a_toleration(key="k", operator="Exists")
    assert check_tolerations([a_toleration(**wrong), good], "here", problems) == (good,)
    assert paths(problems) == ["here[0].operator"]
