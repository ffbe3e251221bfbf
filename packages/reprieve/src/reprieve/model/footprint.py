"""The resources of a pod: desired by its spec, allocated by its node, and actually enforced there.

The three differ only during an in-place resize.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from msgspec.msgpack import Encoder

from reprieve.model.conditions import INFEASIBLE, resize_reason
from reprieve.model.objects import ClaimedResources, Container, ContainerStatus, Pod, Quantity
from reprieve.model.resources import CPU, MEMORY, Amounts, Problems, column_units, read_amounts, rounded
from reprieve.model.sized_cache import Templates

# Kubernetes' default requests of containers without one, for scoring only; filtering counts them as 0.
NONZERO_MILLI = {CPU: 100, MEMORY: 200 * 1024 * 1024 * 1000}


class Reading(Enum):
    """Which of the three amounts: the spec's, what the node has allocated, or what it enforces."""

    DESIRED = "desired"
    ALLOCATED = "allocated"
    ACTUAL = "actual"


_ALL = tuple(Reading)
_ONE = (Reading.DESIRED,)
_HELD = (Reading.ALLOCATED, Reading.ACTUAL)


@dataclass(frozen=True, slots=True)
class Footprint:
    """The resources of a pod, in column units.

    ``held``: what the kubelet counts for the other pods of its node: for each resource the larger of
    allocated and actual. ``charged``: what a scheduler counts: the largest of all three, without ``desired``
    if the resize is infeasible. ``nonzero_cpu`` and ``nonzero_memory`` replace it for scoring.
    """

    desired: Amounts
    allocated: Amounts
    actual: Amounts
    held: Amounts
    charged: Amounts
    nonzero_cpu: int
    nonzero_memory: int


# Pods of one template have equal footprints, and a cluster has few templates for its many pods.
_remembered: Templates[Footprint] = Templates()
_encode = Encoder().encode


def footprint(pod: Pod, problems: Problems) -> Footprint:
    readings = _readings_that_differ(pod)
    if len(readings) > 1:
        return _footprint(pod, readings, problems)
    key = _encode(_written(pod))
    known = _remembered.get(key)
    if known is None:
        found = len(problems.found)
        known = _footprint(pod, readings, problems)
        if len(problems.found) == found:  # a malformed pod is not cached: its problems are reported each time
            _remembered.put(key, known)
    return known


def _written(pod: Pod) -> Hashable:
    """The parts of the spec that a footprint depends on, as written."""
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
        held=column_units(_largest(by_reading.get(r, charged) for r in _HELD)),
        charged=column_units(charged),
        nonzero_cpu=rounded(CPU, nonzero.get(CPU, 0)),
        nonzero_memory=rounded(MEMORY, nonzero.get(MEMORY, 0)),
    )


def weighs_as_written(pod: Pod) -> bool:
    """Whether the footprint follows from the spec alone."""
    return len(_readings_that_differ(pod)) == 1


def _readings_that_differ(pod: Pod) -> tuple[Reading, ...]:
    """One reading is enough for a pod whose status reports the same as its spec."""
    if pod.status.resources is not None or pod.status.allocated_resources is not None:
        return _ALL
    if pod.status.node_allocatable_resource_claim_statuses or resize_reason(pod) == INFEASIBLE:
        return _ALL
    reports = (*pod.status.container_statuses, *pod.status.init_container_statuses)
    if not reports:
        return _ONE
    desired = {c.name: c.resources.requests for c in (*pod.spec.containers, *pod.spec.init_containers)}
    for status in reports:
        reported = status.resources.requests if status.resources is not None else None
        for requests in (status.allocated_resources, reported):
            if requests is not None and requests != desired.get(status.name):
                return _ALL
    return _ONE


def _charged_readings(pod: Pod, readings: tuple[Reading, ...]) -> tuple[Reading, ...]:
    if len(readings) > 1 and resize_reason(pod) == INFEASIBLE:
        return _HELD
    return readings


def _floors(pod: Pod, charged: Amounts) -> Amounts:
    """With pod-level requests, the floor applies only to resources that the pod does not request."""
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
    """The requests of one pod by one reading, in thousandths."""

    pod: Pod
    reading: Reading
    problems: Problems
    floors: Mapping[str, int]

    def requests(self) -> Amounts:
        reported = self._reported_for_the_pod()
        total = self._sum_of_containers_and_claims() if reported is None else dict(reported)
        total.update(self._pod_level())
        _add(total, read_amounts(self.pod.spec.overhead, "spec.overhead", self.problems))
        return total

    def _reported_for_the_pod(self) -> Amounts | None:
        """Pod-level amounts in the status replace the sum of the containers."""
        status = self.pod.status
        actual = status.resources.requests if status.resources is not None else None
        if self.reading is Reading.DESIRED or actual is None or status.allocated_resources is None:
            return None
        if self.reading is Reading.ALLOCATED:
            return read_amounts(status.allocated_resources, "status.allocatedResources", self.problems)
        return read_amounts(actual, "status.resources.requests", self.problems)

    def _pod_level(self) -> Amounts:
        """Pod-level requests override the sum of the containers."""
        amounts: Amounts = {}
        if _has_pod_level_requests(self.pod):
            for path, requests in reversed(self._pod_level_sources()):
                amounts.update(read_amounts(requests, path, self.problems))
        return {name: amount for name, amount in amounts.items() if _is_pod_level(name)}

    def _pod_level_sources(self) -> list[tuple[str, Mapping[str, Quantity] | None]]:
        """The sources of this reading, the preferred one first."""
        desired = self.pod.spec.resources.requests if self.pod.spec.resources is not None else None
        spec = ("spec.resources.requests", desired)
        status = self.pod.status
        if self.reading is Reading.DESIRED or status.resources is None:
            return [spec]
        allocated = ("status.allocatedResources", status.allocated_resources)
        actual = ("status.resources.requests", status.resources.requests)
        reported = (allocated, actual) if self.reading is Reading.ALLOCATED else (actual, allocated)
        return [*reported] if resize_reason(self.pod) == INFEASIBLE else [*reported, spec]

    def _sum_of_containers_and_claims(self) -> Amounts:
        """Claims add to what is desired and allocated; the actual amounts of containers do not show them."""
        total = self._sum_of_containers()
        if self.reading is not Reading.ACTUAL:
            for i, claim in enumerate(self.pod.status.node_allocatable_resource_claim_statuses):
                path = f"status.nodeAllocatableResourceClaimStatuses[{i}]"
                for amounts in _claimed(claim, path, self.problems):
                    _add(total, amounts)
        return total

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
        """The resource list of this reading, and its path if it is not in the spec."""
        if self.reading is Reading.DESIRED:
            return "", container.resources.requests
        status = self._status(container.name)
        path = f"status.containerStatuses[{container.name}]"
        enforced = status.resources.requests if status and status.resources else None
        if self.reading is Reading.ACTUAL and enforced is not None:
            return f"{path}.resources.requests", enforced
        if status is not None and status.allocated_resources is not None:
            return f"{path}.allocatedResources", status.allocated_resources
        # The spec of an infeasible resize is not what the node holds.
        infeasible = resize_reason(self.pod) == INFEASIBLE
        return "", None if infeasible else container.resources.requests

    def _status(self, name: str) -> ContainerStatus | None:
        status = self.pod.status
        statuses = (*status.container_statuses, *status.init_container_statuses)
        return next((s for s in statuses if s.name == name), None)


def _claimed(claim: ClaimedResources, path: str, problems: Problems) -> Iterator[Amounts]:
    """A claim's mapping counts once; its overhead once per pod, and once per container that uses it."""
    for i, mapped in enumerate(claim.mapping):
        yield read_amounts({mapped.name: mapped.quantity}, f"{path}.mapping[{i}]", problems)
    for i, overhead in enumerate(claim.overhead):
        where = f"{path}.overhead[{i}]"
        yield read_amounts({overhead.name: overhead.per_pod}, where, problems)
        each = read_amounts({overhead.name: overhead.per_container}, where, problems)
        yield {name: amount * len(claim.containers) for name, amount in each.items()}


def _add(total: Amounts, more: Mapping[str, int]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _largest(amounts: Iterable[Mapping[str, int]]) -> Amounts:
    largest: Amounts = {}
    for one in amounts:
        for name, amount in one.items():
            largest[name] = max(largest.get(name, 0), amount)
    return largest
