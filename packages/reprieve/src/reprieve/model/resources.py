"""Quantities, and the axis of resource columns.

Quantities are parsed into exact integers here and nowhere else. Sums are in thousandths, as the API server
rounds quantities; only the result is rounded up: cpu to millicores, everything else to whole units.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from reprieve.model.objects import Node, Problem, Quantity, Ref
from reprieve.model.sized_cache import cached_by_text

CPU, MEMORY, EPHEMERAL_STORAGE, PODS = "cpu", "memory", "ephemeral-storage", "pods"
STANDARD = (CPU, MEMORY, EPHEMERAL_STORAGE, PODS)

# No amount exceeds this, so that sums over thousands of pods and products with 100 stay within 64 bits.
# A request is capped at it and a node's capacity just below it: a request beyond the bound fits on no node.
BOUND = 1 << 50

_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_QUANTITY = re.compile(
    r"([+-]?)(\d+(?:\.\d*)?|\.\d+)(?:([eE][+-]?\d+)|(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?)",
    re.ASCII,
)
_EXPONENT_LIMIT = 60  # beyond any suffix; a larger exponent exceeds BOUND, or is 0
_LONGEST = 1000  # characters; Python refuses to parse much longer numbers

Amounts = dict[str, int]


def milli(quantity: Quantity) -> int | None:
    """The quantity in thousandths, rounded up; None if it is malformed."""
    text = str(quantity)
    return _milli(text) if len(text) <= _LONGEST else None


@cached_by_text(entries=1 << 16, size=1 << 20)
def _milli(text: str) -> int | None:
    match = _QUANTITY.fullmatch(text)
    if match is None:
        return None
    sign, digits, exponent, suffix = match.groups()
    whole, _, fraction = digits.partition(".")
    power = 3 - len(fraction)
    binary = 0
    if exponent is not None:
        power += max(-_EXPONENT_LIMIT, min(_EXPONENT_LIMIT, int(exponent[1:])))
    elif suffix in _BINARY:
        binary = _BINARY[suffix]
    else:
        power += _DECIMAL[suffix or ""]
    mantissa = int(whole + fraction or "0") << binary
    amount: int = mantissa * 10**power if power >= 0 else -(-mantissa // 10**-power)
    return -amount if sign == "-" else amount


def rounded(name: str, thousandths: int) -> int:
    """Thousandths in the unit of the resource's column, rounded up and bounded."""
    amount = thousandths if name == CPU else -(-thousandths // 1000)
    return min(amount, BOUND)


def is_counted(name: str) -> bool:
    """Whether requests of this resource count; other names are ignored, as in Kubernetes."""
    return (
        name in STANDARD
        or ("/" in name and not name.startswith("requests."))
        or name.startswith(("hugepages-", "attachable-volumes-"))
    )


@dataclass(frozen=True, slots=True)
class ResourceAxis:
    """Which row of a resource-major matrix holds which resource."""

    names: tuple[str, ...] = STANDARD
    _known: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_known", frozenset(self.names))

    def row(self, name: str) -> int | None:
        return self.names.index(name) if name in self.names else None

    def has(self, names: Iterable[str]) -> bool:
        return self._known.issuperset(names)

    def extended(self, names: Iterable[str]) -> "ResourceAxis":
        new = sorted({n for n in names if n not in self.names})
        return ResourceAxis(self.names + tuple(new)) if new else self


# --- reading resource lists ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Problems:
    """The problems of one object, one per field path."""

    ref: Ref
    found: dict[str, Problem] = field(default_factory=dict)

    def add(self, path: str, expected: str) -> None:
        self.found[path] = Problem(ref=self.ref, path=path, expected=expected)

    def all(self) -> tuple[Problem, ...]:
        return tuple(self.found.values())


def read_amounts(resources: Mapping[str, Quantity] | None, path: str, problems: Problems) -> Amounts:
    """A resource list in thousandths; a malformed quantity is reported and counts as absent."""
    amounts: Amounts = {}
    for name, quantity in (resources or {}).items():
        amount = milli(quantity)
        if amount is None or amount < 0:
            problems.add(f"{path}.{name}", f"expected a quantity of zero or more, got {quantity!r}")
        else:
            amounts[name] = amount
    return amounts


def column_units(thousandths: Mapping[str, int]) -> Amounts:
    return {n: rounded(n, amount) for n, amount in thousandths.items() if is_counted(n)}


def node_capacity(node: Node, problems: Problems) -> Amounts:
    """A node's allocatable resources, in column units."""
    amounts = column_units(read_amounts(node.status.allocatable, "status.allocatable", problems))
    return {name: min(amount, BOUND - 1) for name, amount in amounts.items()}
