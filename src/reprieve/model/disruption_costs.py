"""What do annotations of a pod say of its loss, compared with that of other pods of its group?

Whether that counts, and for what, is not known here.
"""

from reprieve.model.annotation_numbers import parse_int
from reprieve.model.objects import ObjectMeta

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
    """As controllers read it: neither a plus sign nor zeros in front."""
    text = annotations.get(DELETION_COST, "")
    if text.startswith("+") or (text.startswith("0") and text != "0"):
        return 0
    return parse_int(text, 32) or 0
