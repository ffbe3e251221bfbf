"""Label selectors, node queries, taints and tolerations, compiled once and hashable.

Compiling finds malformed selectors; matching cannot fail. This module matches the labels of one object;
columns of many objects are for ``nodes`` and ``pods``.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from reprieve.model.objects import (
    LabelSelector,
    LabelSelectorRequirement,
    NodeSelector,
    NodeSelectorTerm,
    Taint,
    Toleration,
)
from reprieve.model.resources import Problems

Labels = Mapping[str, str]


class Operator(StrEnum):
    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GT = "Gt"
    LT = "Lt"


_ON_LABELS = (Operator.IN, Operator.NOT_IN, Operator.EXISTS, Operator.DOES_NOT_EXIST)
_WITH_VALUES = (Operator.IN, Operator.NOT_IN)
_LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
_LONGEST_VALUE = 63
_INTEGER = re.compile(r"([+-]?)0*(\d{1,19})", re.ASCII)  # 64 bits have at most 19 digits


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on the value of one key."""

    key: str
    operator: Operator
    values: frozenset[str] = frozenset()

    def accepts(self, value: str | None) -> bool:
        """Whether a label with this value, or its absence (None), meets the requirement."""
        match self.operator:
            case Operator.IN:
                return value is not None and value in self.values
            case Operator.NOT_IN:
                return value is None or value not in self.values
            case Operator.EXISTS:
                return value is not None
            case Operator.DOES_NOT_EXIST:
                return value is None
            case Operator.GT | Operator.LT:
                return value is not None and self._compares(value)

    def _compares(self, value: str) -> bool:
        (text,) = self.values
        number, bound = integer(value), integer(text)
        if number is None or bound is None:
            return False
        return number > bound if self.operator is Operator.GT else number < bound


def integer(text: str) -> int | None:
    """An integer as Go's ParseInt accepts it with base 10 and 64 bits; Python's int() accepts more."""
    match = _INTEGER.fullmatch(text)
    if match is None:
        return None
    number = int("".join(match.groups()))
    return number if -(1 << 63) <= number < 1 << 63 else None


@dataclass(frozen=True, slots=True)
class Selector:
    """A label selector: all requirements must hold. Without any it matches everything."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Labels) -> bool:
        for requirement in self.requirements:  # noqa: SIM110  half the time of all(...)
            if not requirement.accepts(labels.get(requirement.key)):
                return False
        return True

    def narrowed(self, more: Iterable[Requirement]) -> "Selector":
        return Selector(tuple(sorted({*self.requirements, *more}, key=_requirement_order)))


def _requirement_order(requirement: Requirement) -> tuple[str, str, list[str]]:
    return requirement.key, requirement.operator, sorted(requirement.values)


EVERYTHING = Selector()
# `In` without values accepts nothing: the meaning of an absent selector in Kubernetes.
NOTHING = Selector((Requirement("", Operator.IN),))


def compile_selector(selector: LabelSelector | None, path: str, problems: Problems) -> Selector:
    """An absent selector matches nothing, an empty one everything; a malformed one nothing."""
    if selector is None:
        return NOTHING
    exact = [Requirement(k, Operator.IN, frozenset({v})) for k, v in selector.match_labels.items()]
    parsed = [
        compile_requirement(e, f"{path}.matchExpressions[{i}]", _ON_LABELS, problems)
        for i, e in enumerate(selector.match_expressions)
    ]
    if None in parsed:
        return NOTHING
    return EVERYTHING.narrowed([*exact, *(r for r in parsed if r is not None)])


def compile_requirement(
    expression: LabelSelectorRequirement,
    path: str,
    allowed: tuple[Operator, ...],
    problems: Problems,
) -> Requirement | None:
    if expression.operator not in allowed:
        names = ", ".join(allowed)
        problems.add(f"{path}.operator", f"expected one of {names}, got {expression.operator!r}")
        return None
    operator = Operator(expression.operator)
    wrong = _wrong_values(operator, expression.values)
    if wrong:
        problems.add(f"{path}.values", wrong)
        return None
    return Requirement(expression.key, operator, frozenset(expression.values))


def _wrong_values(operator: Operator, values: tuple[str, ...]) -> str:
    if not all(map(_is_label_value, values)):
        return f"expected label values, got {list(values)!r}"
    if operator in _WITH_VALUES:
        return "" if values else f"expected at least one value for operator {operator}"
    if operator in (Operator.GT, Operator.LT):
        if len(values) == 1 and integer(values[0]) is not None:
            return ""
        return f"expected exactly one integer for operator {operator}, got {list(values)!r}"
    return "" if not values else f"expected no values for operator {operator}, got {list(values)!r}"


def _is_label_value(text: str) -> bool:
    """Whether it is a valid label value; Kubernetes rejects selectors with other values."""
    return len(text) <= _LONGEST_VALUE and _LABEL_VALUE.fullmatch(text) is not None


# --- nodes ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NodeTerm:
    """One term of a node query: requirements on labels and on the node's name."""

    labels: tuple[Requirement, ...] = ()
    names: tuple[Requirement, ...] = ()

    def matches(self, labels: Labels, name: str) -> bool:
        return all(r.accepts(labels.get(r.key)) for r in self.labels) and all(
            r.accepts(name) for r in self.names
        )


@dataclass(frozen=True, slots=True)
class NodeQuery:
    """Which nodes a pod accepts: its node selector and, if it has one, one of the required terms."""

    selector: tuple[Requirement, ...] = ()
    terms: tuple[NodeTerm, ...] | None = None

    def matches(self, labels: Labels, name: str) -> bool:
        if not all(r.accepts(labels.get(r.key)) for r in self.selector):
            return False
        return self.terms is None or any(t.matches(labels, name) for t in self.terms)


ANYWHERE = NodeQuery()


def compile_node_selector(
    selector: NodeSelector | None, path: str, problems: Problems
) -> tuple[NodeTerm, ...] | None:
    if selector is None:
        return None
    terms = (
        compile_node_term(term, f"{path}.nodeSelectorTerms[{i}]", problems)
        for i, term in enumerate(selector.node_selector_terms)
    )
    return tuple(term for term in terms if term is not None)


def compile_node_term(term: NodeSelectorTerm, path: str, problems: Problems) -> NodeTerm | None:
    """None for a term that selects nothing: an empty one, as in Kubernetes, or a malformed one."""
    labels = [
        compile_requirement(e, f"{path}.matchExpressions[{i}]", tuple(Operator), problems)
        for i, e in enumerate(term.match_expressions)
    ]
    names = [compile_field(e, f"{path}.matchFields[{i}]", problems) for i, e in enumerate(term.match_fields)]
    if (not labels and not names) or None in labels or None in names:
        return None
    return NodeTerm(tuple(r for r in labels if r is not None), tuple(r for r in names if r is not None))


def compile_field(expression: LabelSelectorRequirement, path: str, problems: Problems) -> Requirement | None:
    if expression.key != "metadata.name":
        problems.add(f"{path}.key", f"expected metadata.name, got {expression.key!r}")
        return None
    if expression.operator not in _WITH_VALUES:
        problems.add(f"{path}.operator", f"expected In or NotIn, got {expression.operator!r}")
        return None
    if len(expression.values) != 1:
        problems.add(f"{path}.values", "expected exactly one node name")
        return None
    return Requirement(expression.key, Operator(expression.operator), frozenset(expression.values))


# --- taints --------------------------------------------------------------------------------------

UNSCHEDULABLE_TAINT = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
_KEEPS_OUT = ("NoSchedule", "NoExecute")
_TOLERATION_OPERATORS = ("", "Equal", "Exists", "Gt", "Lt")


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator:
        case "" | "Equal":
            return toleration.value == taint.value
        case "Exists":
            return True
        case operator:
            return _tolerates_by_number(operator, toleration.value, taint.value)


def _tolerates_by_number(operator: str, bound: str, value: str) -> bool:
    left, right = integer(value), integer(bound)
    if left is None or right is None:
        return False
    return left < right if operator == "Lt" else left > right


def tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    return any(tolerates(t, taint) for t in tolerations)


def first_untolerated(taints: Iterable[Taint], tolerations: Iterable[Toleration]) -> Taint | None:
    """The first of a node's taints that rejects a pod with these tolerations."""
    keeping_out = (t for t in taints if t.effect in _KEEPS_OUT)
    return next((t for t in keeping_out if not tolerated(t, tolerations)), None)


def check_tolerations(
    tolerations: Iterable[Toleration], path: str, problems: Problems
) -> tuple[Toleration, ...]:
    """The tolerations that are well-formed."""
    kept = []
    for i, toleration in enumerate(tolerations):
        wrong = _wrong_toleration(toleration)
        if wrong:
            problems.add(f"{path}[{i}].operator", wrong)
        else:
            kept.append(toleration)
    return tuple(kept)


def _wrong_toleration(toleration: Toleration) -> str:
    operator = toleration.operator
    if operator not in _TOLERATION_OPERATORS:
        return f"expected Equal, Exists, Lt or Gt, got {operator!r}"
    if not toleration.key and operator != "Exists":
        return "expected Exists, because the key is empty"
    return ""
