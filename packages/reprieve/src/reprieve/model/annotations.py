"""What do annotations of a pod say in numbers: what its loss costs, compared with other pods of its group?

Numbers are read more strictly than Python reads them: digits, and no more than the form allows.
"""

import re

from reprieve.model.objects import ObjectMeta

_NUMBER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_DECIMAL = re.compile(r"([0-9]+)(\.[0-9]+)?", re.ASCII)
_MOST_DIGITS = 19  # of a number of 64 bits


def parse_int(text: str, bits: int) -> int | None:
    """A whole number as Go reads it: a sign or none, then digits and nothing else, within the range."""
    if _NUMBER.fullmatch(text) is None:
        return None
    digits = text.lstrip("+-").lstrip("0") or "0"
    if len(digits) > _MOST_DIGITS:
        return None  # Python would refuse to read numbers of thousands of digits
    number = -int(digits) if text.startswith("-") else int(digits)
    return number if -(1 << bits - 1) <= number < 1 << bits - 1 else None


def parse_decimal(text: str) -> float | None:
    """Digits, with a fraction or without; None otherwise: no sign, no exponent, no unit, no infinity."""
    found = _DECIMAL.fullmatch(text)
    if found is None or len(found[1].lstrip("0")) > _MOST_DIGITS:
        return None
    return float(text)


DISRUPTION_COST = "reprieve.dev/disruption-cost"
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
CHECKPOINT = "reprieve.dev/last-checkpoint"
_SHOWN = 40  # characters of a value that is ignored

MemberCost = tuple[int, int]  # the disruption cost, and the deletion cost that breaks ties
NO_COST: MemberCost = (0, 0)


def member_cost(meta: ObjectMeta) -> MemberCost:
    """A cost that is missing or malformed is 0."""
    annotations = meta.annotations
    if DISRUPTION_COST not in annotations and DELETION_COST not in annotations:
        return NO_COST
    return _disruption_cost(annotations.get(DISRUPTION_COST, "")) or 0, _deletion_cost(annotations)


def cost_fault(meta: ObjectMeta) -> str:
    """Why the disruption cost is ignored; empty if it is not, or if there is none."""
    text = meta.annotations.get(DISRUPTION_COST)
    if text is None or _disruption_cost(text) is not None:
        return ""
    shown = text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
    expected = "expected a whole number of 32 bits in digits"
    return f'annotation {DISRUPTION_COST} is ignored: {expected}, got "{shown}"'


def _disruption_cost(text: str) -> int | None:
    return parse_int(text, 32)


def _deletion_cost(annotations: dict[str, str]) -> int:
    """The deletion cost as controllers read it: neither a plus sign nor zeros in front."""
    text = annotations.get(DELETION_COST, "")
    if text.startswith("+") or (text.startswith("0") and text != "0"):
        return 0
    return parse_int(text, 32) or 0
