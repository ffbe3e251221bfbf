"""Which requirements does the text of a label selector or a field selector state, in a URL or behind a flag?

A requirement is a name, an operator, values.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


class SelectorSyntaxError(ValueError):
    """The text is no selector: one sentence."""


class SelectorOperator(Enum):
    IN = "in"
    NOT_IN = "notin"
    EXISTS = "exists"
    ABSENT = "!"
    GREATER = ">"
    LESS = "<"


@dataclass(frozen=True, slots=True)
class SelectorRequirement:
    name: str
    operator: SelectorOperator
    values: tuple[str, ...] = ()

    def holds(self, found: str | None) -> bool:
        """``found``: the value of an object, or None."""
        match self.operator:
            case SelectorOperator.IN:
                return found is not None and found in self.values
            case SelectorOperator.NOT_IN:
                return found is None or found not in self.values
            case SelectorOperator.EXISTS:
                return found is not None
            case SelectorOperator.ABSENT:
                return found is None
            case SelectorOperator.GREATER | SelectorOperator.LESS:
                return self._compares(found)

    def _compares(self, found: str | None) -> bool:
        if found is None or _INTEGER.fullmatch(found) is None:
            return False
        limit = int(self.values[0])
        return int(found) > limit if self.operator is SelectorOperator.GREATER else int(found) < limit


SelectorRequirements = tuple[SelectorRequirement, ...]

_INTEGER = re.compile(r"-?[0-9]{1,18}")
_WORD = r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_KEY = re.compile(rf"([a-z0-9]([-a-z0-9.]{{0,251}}[a-z0-9])?/)?{_WORD}")
_VALUE = re.compile(rf"({_WORD})?")
_TERM = re.compile(
    r"""\s*(?:
        (?P<absent>!)\s*(?P<missing>[^\s,=!<>()]+)
      | (?P<name>[^\s,=!<>()]+)(?:
            \s+(?P<set>in|notin)\s*\((?P<members>[^()]*)\)
          | \s*(?P<sign>==|=|!=|<|>)\s*(?P<value>[^\s,=!<>()]*)
          | (?P<exists>)
        )
    )\s*(?:,|$)""",
    re.VERBOSE,
)
_SET = {"in": SelectorOperator.IN, "notin": SelectorOperator.NOT_IN}
_SIGN = {
    "=": SelectorOperator.IN,
    "==": SelectorOperator.IN,
    "!=": SelectorOperator.NOT_IN,
    ">": SelectorOperator.GREATER,
    "<": SelectorOperator.LESS,
}


def label_requirements(text: str) -> SelectorRequirements:
    found = []
    position = 0
    while position < len(text):
        term = _TERM.match(text, position)
        if term is None or (term.end() == len(text) and text.rstrip().endswith(",")):
            raise _unparsed(text, f"cannot parse {text[position:]!r}")
        found.append(_checked(text, _requirement(term)))
        position = term.end()
    return tuple(found)


def _requirement(term: re.Match[str]) -> SelectorRequirement:
    if term["absent"]:
        return SelectorRequirement(term["missing"], SelectorOperator.ABSENT)
    if term["set"]:
        return SelectorRequirement(
            term["name"], _SET[term["set"]], tuple(m.strip() for m in term["members"].split(","))
        )
    if term["sign"]:
        return SelectorRequirement(term["name"], _SIGN[term["sign"]], (term["value"],))
    return SelectorRequirement(term["name"], SelectorOperator.EXISTS)


def _checked(text: str, requirement: SelectorRequirement) -> SelectorRequirement:
    if _KEY.fullmatch(requirement.name) is None:
        raise _unparsed(text, f"{requirement.name!r} is not a valid label key")
    ordered = requirement.operator in (SelectorOperator.GREATER, SelectorOperator.LESS)
    for value in requirement.values:
        if ordered and _INTEGER.fullmatch(value) is None:
            raise _unparsed(text, f"{value!r} is not an integer, as < and > need")
        if not ordered and _VALUE.fullmatch(value) is None:
            raise _unparsed(text, f"{value!r} is not a valid label value")
    return requirement


def _unparsed(text: str, why: str) -> SelectorSyntaxError:
    return SelectorSyntaxError(f"unable to parse the label selector {text!r}: {why}")


# --- fields --------------------------------------------------------------------------------------

_FIELD = re.compile(r"(?P<name>[^=!,]+?)(?P<sign>==|!=|=)(?P<value>(?:[^,=\\]|\\.)*)")
_ESCAPED = re.compile(r"\\(.)")


def field_requirements(text: str) -> SelectorRequirements:
    return tuple(_field(text, part) for part in re.split(r"(?<!\\),", text) if part) if text else ()


def _field(text: str, part: str) -> SelectorRequirement:
    term = _FIELD.fullmatch(part)
    if term is None:
        why = f"{part!r} is not of the form field=value or field!=value"
        raise SelectorSyntaxError(f"unable to parse the field selector {text!r}: {why}")
    value = _ESCAPED.sub(r"\1", term["value"])
    return SelectorRequirement(term["name"].strip(), _SIGN[term["sign"]], (value,))


def all_hold(requirements: SelectorRequirements, found: Mapping[str, str]) -> bool:
    return all(requirement.holds(found.get(requirement.name)) for requirement in requirements)
