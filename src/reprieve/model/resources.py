"""How much: quantities, what a pod requests, and the axis of resource columns.

Text becomes exact integers here and nowhere else. Sums are made in thousandths, as the API server rounds
quantities, and only the result is rounded up: cpu to milli-cores, everything else to whole units.
"""

import re
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache

from reprieve.model.objects import Container, ContainerStatus, Node, Pod, Problem, Quantity, Ref

CPU, MEMORY, EPHEMERAL_STORAGE, PODS = "cpu", "memory", "ephemeral-storage", "pods"
STANDARD = (CPU, MEMORY, EPHEMERAL_STORAGE, PODS)

# No amount reaches this, so that sums over thousands of pods and products with 100 stay inside 64 bits.
# A request is capped at it and a node's capacity just below it: what is asked beyond the bound fits nowhere.
BOUND = 1 << 50

_INFEASIBLE = "Infeasible"  # the reason of a resize the node can never grant

# What a container without a request counts as when nodes are compared (never when they are filtered).
NONZERO_MILLI = {CPU: 100, MEMORY: 200 * 1024 * 1024 * 1000}

_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_QUANTITY = re.compile(
    r"([+-]?)(\d+(?:\.\d*)?|\.\d+)(?:([eE][+-]?\d+)|(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?)",
    re.ASCII,
)
_EXPONENT_LIMIT = 60  # beyond any suffix; larger exponents are as good as infinite, or as zero
_LONGEST = 1000  # no quantity anyone means is longer, and Python refuses to read much longer numbers

Amounts = dict[str, int]


@lru_cache(maxsize=65536)
def milli(quantity: Quantity) -> int | None:
    """The quantity in thousandths, rounded up; None when it is not a quantity."""
    text = str(quantity)
    match = _QUANTITY.fullmatch(text)
    if match is None or len(text) > _LONGEST:
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
    """Whether nodes are filled up by this resource; other names are ignored, as Kubernetes does."""
    return (
        name in STANDARD
        or ("/" in name and not name.startswith("requests."))
        or name.startswith(("hugepages-", "attachable-volumes-"))
    )


@dataclass(frozen=True, slots=True)
class ResourceAxis:
    """Which row of a resource-major matrix holds which resource."""

    names: tuple[str, ...] = STANDARD

    def row(self, name: str) -> int | None:
        return self.names.index(name) if name in self.names else None

    def extended(self, names: Iterable[str]) -> "ResourceAxis":
        new = sorted({n for n in names if n not in self.names})
        return ResourceAxis(self.names + tuple(new)) if new else self


# --- reading resource lists ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Problems:
    """What was found wrong with one object, by field path; nothing is reported twice."""

    ref: Ref
    found: dict[str, Problem] = field(default_factory=dict)

    def add(self, path: str, expected: str) -> None:
        self.found[path] = Problem(ref=self.ref, path=path, expected=expected)

    def all(self) -> tuple[Problem, ...]:
        return tuple(self.found.values())


def read_amounts(resources: Mapping[str, Quantity] | None, path: str, problems: Problems) -> Amounts:
    """A resource list in thousandths; what cannot be read is reported and counts as absent."""
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
    """What a node can give to pods, in column units."""
    amounts = column_units(read_amounts(node.status.allocatable, "status.allocatable", problems))
    return {name: min(amount, BOUND - 1) for name, amount in amounts.items()}


def _add(total: Amounts, more: Mapping[str, int]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _largest(amounts: Iterable[Mapping[str, int]]) -> Amounts:
    largest: Amounts = {}
    for one in amounts:
        for name, amount in one.items():
            largest[name] = max(largest.get(name, 0), amount)
    return largest


# --- what a pod requests -------------------------------------------------------------------------


class Reading(Enum):
    """Whose word counts: the spec's, what the node has granted, or what it enforces now."""

    DESIRED = "desired"
    ALLOCATED = "allocated"
    ACTUAL = "actual"


@dataclass(frozen=True, slots=True)
class Footprint:
    """What a pod weighs, in column units.

    The three readings differ only while the pod is being resized. ``charged`` is what its node is
    charged: the largest of them for each resource, without ``desired`` if the node can never grant
    that. ``nonzero_cpu`` and ``nonzero_memory`` stand for it when nodes are compared.
    """

    desired: Amounts
    allocated: Amounts
    actual: Amounts
    charged: Amounts
    nonzero_cpu: int
    nonzero_memory: int


# Pods of one template weigh the same; a cluster has few templates for its many pods.
_MOST_REMEMBERED = 4096
_remembered: dict[Hashable, Footprint] = {}


def footprint(pod: Pod, problems: Problems) -> Footprint:
    readings = _readings_that_differ(pod)
    if len(readings) > 1:
        return _footprint(pod, readings, problems)
    key = _written(pod)
    known = _remembered.get(key)
    if known is None:
        found = len(problems.found)
        known = _footprint(pod, readings, problems)
        if len(problems.found) == found:  # what is malformed has to be reported each time
            if len(_remembered) >= _MOST_REMEMBERED:
                _remembered.clear()
            _remembered[key] = known
    return known


def _written(pod: Pod) -> Hashable:
    """Everything in the spec that a footprint is made of, as it is written."""
    spec = pod.spec
    whole = spec.resources.requests if spec.resources is not None else None
    return (
        tuple([_items(c.resources.requests) for c in spec.containers]),
        tuple([(c.restart_policy, _items(c.resources.requests)) for c in spec.init_containers]),
        _items(spec.overhead),
        _items(whole),
    )


def _items(resources: Mapping[str, Quantity] | None) -> Hashable:
    return tuple(resources.items()) if resources else ()


def _footprint(pod: Pod, readings: tuple[Reading, ...], problems: Problems) -> Footprint:
    charging = _charged_readings(pod, readings)
    by_reading = {r: _Reader(pod, r, problems, {}).requests() for r in readings}
    charged = _largest(by_reading[r] for r in charging)
    floors = _floors(pod, charged)
    nonzero = _largest(_Reader(pod, r, problems, floors).requests() for r in charging)
    return Footprint(
        desired=column_units(by_reading[Reading.DESIRED]),
        allocated=column_units(by_reading.get(Reading.ALLOCATED, charged)),
        actual=column_units(by_reading.get(Reading.ACTUAL, charged)),
        charged=column_units(charged),
        nonzero_cpu=rounded(CPU, nonzero.get(CPU, 0)),
        nonzero_memory=rounded(MEMORY, nonzero.get(MEMORY, 0)),
    )


def resize_reason(pod: Pod) -> str:
    """Why a resize is pending: Deferred, Infeasible, or nothing."""
    conditions = (c for c in pod.status.conditions if c.type == "PodResizePending")
    condition = next(conditions, None)
    return condition.reason if condition is not None else ""


def _readings_that_differ(pod: Pod) -> tuple[Reading, ...]:
    """One reading serves for a pod whose node reports nothing but what the spec asks."""
    if pod.status.resources is not None or pod.status.allocated_resources is not None:
        return tuple(Reading)
    if resize_reason(pod) == _INFEASIBLE:
        return tuple(Reading)
    asked = {c.name: c.resources.requests for c in (*pod.spec.containers, *pod.spec.init_containers)}
    for status in (*pod.status.container_statuses, *pod.status.init_container_statuses):
        reported = status.resources.requests if status.resources is not None else None
        for requests in (status.allocated_resources, reported):
            if requests is not None and requests != asked.get(status.name):
                return tuple(Reading)
    return (Reading.DESIRED,)


def _charged_readings(pod: Pod, readings: tuple[Reading, ...]) -> tuple[Reading, ...]:
    if len(readings) > 1 and resize_reason(pod) == _INFEASIBLE:
        return (Reading.ALLOCATED, Reading.ACTUAL)
    return readings


def _floors(pod: Pod, charged: Amounts) -> Amounts:
    """A pod with requests of its own for all containers together needs a floor only where it asks nothing."""
    if not _has_pod_level_requests(pod):
        return NONZERO_MILLI
    return {n: floor for n, floor in NONZERO_MILLI.items() if n not in charged}


def _has_pod_level_requests(pod: Pod) -> bool:
    resources = pod.spec.resources
    return any(map(_is_pod_level, (resources.requests or {}) if resources is not None else ()))


def _is_pod_level(name: str) -> bool:
    return name in (CPU, MEMORY) or name.startswith("hugepages-")


@dataclass(frozen=True, slots=True)
class _Reader:
    """Adds up one pod by one reading, in thousandths."""

    pod: Pod
    reading: Reading
    problems: Problems
    floors: Mapping[str, int]

    def requests(self) -> Amounts:
        reported = self._reported_for_the_pod()
        total = self._sum_of_containers() if reported is None else dict(reported)
        total.update(self._pod_level())
        _add(total, read_amounts(self.pod.spec.overhead, "spec.overhead", self.problems))
        return total

    def _reported_for_the_pod(self) -> Amounts | None:
        """What the status reports for the pod as a whole stands for the sum of its containers."""
        status = self.pod.status
        actual = status.resources.requests if status.resources is not None else None
        if self.reading is Reading.DESIRED or actual is None or status.allocated_resources is None:
            return None
        if self.reading is Reading.ALLOCATED:
            return read_amounts(status.allocated_resources, "status.allocatedResources", self.problems)
        return read_amounts(actual, "status.resources.requests", self.problems)

    def _pod_level(self) -> Amounts:
        """What is requested for the pod as a whole overrides the sum of its containers."""
        if not _has_pod_level_requests(self.pod):
            return {}
        path, requests = self._pod_level_source()
        amounts = read_amounts(requests, path, self.problems)
        return {name: amount for name, amount in amounts.items() if _is_pod_level(name)}

    def _pod_level_source(self) -> tuple[str, Mapping[str, Quantity] | None]:
        desired = self.pod.spec.resources.requests if self.pod.spec.resources is not None else None
        spec = ("spec.resources.requests", desired)
        status = self.pod.status
        if self.reading is Reading.DESIRED or status.resources is None:
            return spec
        allocated = ("status.allocatedResources", status.allocated_resources)
        actual = ("status.resources.requests", status.resources.requests)
        reported = (allocated, actual) if self.reading is Reading.ALLOCATED else (actual, allocated)
        unreported = ("", None) if resize_reason(self.pod) == _INFEASIBLE else spec
        return next((source for source in reported if source[1] is not None), unreported)

    def _sum_of_containers(self) -> Amounts:
        """Regular containers and sidecars run together; an init container beside the sidecars before it."""
        running: Amounts = {}
        for i, container in enumerate(self.pod.spec.containers):
            _add(running, self._container(container, f"spec.containers[{i}]"))
        sidecars: Amounts = {}
        peaks: list[Amounts] = []
        for i, container in enumerate(self.pod.spec.init_containers):
            requests = self._container(container, f"spec.initContainers[{i}]")
            if container.restart_policy == "Always":
                _add(running, requests)
                _add(sidecars, requests)
            else:
                _add(requests, sidecars)
                peaks.append(requests)
        return _largest([running, *peaks]) if peaks else running

    def _container(self, container: Container, path: str) -> Amounts:
        source, resources = self._source(container)
        amounts = read_amounts(resources, source or f"{path}.resources.requests", self.problems)
        for name, floor in self.floors.items():
            amounts.setdefault(name, floor)
        return amounts

    def _source(self, container: Container) -> tuple[str, Mapping[str, Quantity] | None]:
        """The list this reading believes, and the path of it where that is not the spec."""
        if self.reading is Reading.DESIRED:
            return "", container.resources.requests
        status = self._status(container.name)
        path = f"status.containerStatuses[{container.name}]"
        enforced = status.resources.requests if status and status.resources else None
        if self.reading is Reading.ACTUAL and enforced is not None:
            return f"{path}.resources.requests", enforced
        if status is not None and status.allocated_resources is not None:
            return f"{path}.allocatedResources", status.allocated_resources
        # A resize that can never be granted must not be taken for what the node holds.
        infeasible = resize_reason(self.pod) == _INFEASIBLE
        return "", None if infeasible else container.resources.requests

    def _status(self, name: str) -> ContainerStatus | None:
        status = self.pod.status
        statuses = (*status.container_statuses, *status.init_container_statuses)
        return next((s for s in statuses if s.name == name), None)
