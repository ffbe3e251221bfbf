"""What a pod requests: containers, sidecars, init containers, overhead, pod-level requests, resizes.

All amounts are in thousandths until the end.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from reprieve.model.objects import Container, ContainerStatus, Pod, Quantity
from tests.reference.plain.quantities import milli

Amounts = dict[str, int]
ContainerReading = Callable[[Pod, Container], Mapping[str, Quantity]]

FLOORS = {"cpu": milli("100m"), "memory": milli("200Mi")}


def read(resources: Mapping[str, Quantity] | None) -> Amounts:
    return {name: milli(str(quantity)) for name, quantity in (resources or {}).items()}


def plus(*amounts: Mapping[str, int]) -> Amounts:
    total: Counter[str] = Counter()
    for one in amounts:
        for name, amount in one.items():
            total[name] += amount
    return dict(total)


def largest(amounts: Iterable[Mapping[str, int]]) -> Amounts:
    result: Amounts = {}
    for one in amounts:
        for name, amount in one.items():
            result[name] = max(amount, result.get(name, amount))
    return result


def is_sidecar(container: Container) -> bool:
    return container.restart_policy == "Always"


def aggregate(pod: Pod, requests_of: Callable[[Container], Amounts]) -> Amounts:
    """The most the pod needs at any one time: while it starts, or while it runs."""
    starting = pod.spec.init_containers
    moments = [
        plus(*(requests_of(s) for s in starting[:i] if is_sidecar(s)), requests_of(container))
        for i, container in enumerate(starting)
    ]
    always = [c for c in starting if is_sidecar(c)]
    running = plus(*(requests_of(c) for c in (*pod.spec.containers, *always)))
    return largest([running, *moments])


# --- three answers to "what does a container request" --------------------------------------------


def status_of(pod: Pod, container: Container) -> ContainerStatus:
    statuses = (*pod.status.container_statuses, *pod.status.init_container_statuses)
    return next((s for s in statuses if s.name == container.name), ContainerStatus())


def is_infeasible(pod: Pod) -> bool:
    pending = [c for c in pod.status.conditions if c.type == "PodResizePending"]
    return bool(pending) and pending[0].reason == "Infeasible"


def desired(pod: Pod, container: Container) -> Mapping[str, Quantity]:
    return container.resources.requests or {}


def allocated(pod: Pod, container: Container) -> Mapping[str, Quantity]:
    status = status_of(pod, container)
    if status.allocated_resources is not None:
        return status.allocated_resources
    return {} if is_infeasible(pod) else desired(pod, container)


def actual(pod: Pod, container: Container) -> Mapping[str, Quantity]:
    status = status_of(pod, container)
    if status.resources is not None and status.resources.requests is not None:
        return status.resources.requests
    return allocated(pod, container)


# --- the pod -------------------------------------------------------------------------------------


def thousandths(pod: Pod, floors: Mapping[str, int]) -> Amounts:
    """What the node is charged, with a floor for what containers leave out."""

    def by(reading: ContainerReading) -> Amounts:
        return aggregate(pod, lambda container: {**floors, **read(reading(pod, container))})

    status = pod.status
    if status.resources is None or status.resources.requests is None or status.allocated_resources is None:
        held = [plus(by(allocated), claimed(pod)), by(actual)]
    else:
        held = [read(status.allocated_resources), read(status.resources.requests)]
    total = largest(held if is_infeasible(pod) else [plus(by(desired), claimed(pod)), *held])
    return plus({**total, **pod_level(pod)}, read(pod.spec.overhead))


def claimed(pod: Pod) -> Amounts:
    """What claims take of the node's own resources, for the pod and for each container that uses them."""
    claims = pod.status.node_allocatable_resource_claim_statuses
    mapped = [read({m.name: m.quantity}) for claim in claims for m in claim.mapping]
    once = [read({o.name: o.per_pod}) for claim in claims for o in claim.overhead]
    each = [read({o.name: o.per_container}) for c in claims for o in c.overhead for _ in c.containers]
    return plus(*mapped, *once, *each)


def pod_level(pod: Pod) -> Amounts:
    """What is requested for the pod as a whole, which replaces the sum of its containers."""
    asked = read(pod.spec.resources.requests) if pod.spec.resources is not None else {}
    if not any(is_pod_level(name) for name in asked):
        return {}
    if pod.status.resources is not None:
        reported = [read(pod.status.resources.requests), read(pod.status.allocated_resources)]
        asked = largest(reported if is_infeasible(pod) else [asked, *reported])
    return {name: amount for name, amount in asked.items() if is_pod_level(name)}


def is_pod_level(name: str) -> bool:
    return name in ("cpu", "memory") or name.startswith("hugepages-")


def whole_units(amounts: Mapping[str, int]) -> Amounts:
    """Cpu is counted in thousandths, everything else in whole units, rounded up."""
    return {name: amount if name == "cpu" else -(-amount // 1000) for name, amount in amounts.items()}


def requests(pod: Pod) -> Amounts:
    return whole_units(thousandths(pod, {}))


def nonzero_requests(pod: Pod) -> Amounts:
    """The same with something for containers that name no amount; only scores look at it."""
    floors = FLOORS
    if pod_level(pod):
        floors = {name: floor for name, floor in FLOORS.items() if name not in requests(pod)}
    amounts = whole_units(thousandths(pod, floors))
    return {name: amounts.get(name, 0) for name in FLOORS}
