"""The status of a pod as a kubelet writes it: allocated and actual resources, running, finished, rejected."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass

from reprieve.cluster.api.codec import Decoded, decode_value
from reprieve.cluster.api.timestamps import stamp
from reprieve.cluster.api.values import items, means_the_same, part, text_in, written
from reprieve.model.conditions import IN_PROGRESS, PENDING, PREEMPTION_DISABLED
from reprieve.model.json import Json
from reprieve.model.objects import Pod
from reprieve.model.resources import CPU, Amounts
from reprieve_minicluster.kinds import peek, section
from reprieve_minicluster.kubelet.node_resources import footprint_of
from reprieve_minicluster.kubelet.node_status import internal_ip
from reprieve_minicluster.store.conditions import StatusCondition, clear_condition, set_condition_of

_LISTS = (("containers", "containerStatuses"), ("initContainers", "initContainerStatuses"))
_AMOUNTS = ("requests", "limits")
_RESIZABLE = ("cpu", "memory")


@dataclass(frozen=True, slots=True)
class Allocation:
    """Requests and limits: of each container, and of the pod as a whole where its spec has pod-level ones."""

    containers: dict[str, Json]
    whole: Json

    def agrees_with(self, other: "Allocation") -> bool:
        """Compares amounts, not how they are written."""
        names = {*self.containers, *other.containers}
        return means_the_same(self.whole, other.whole) and all(
            means_the_same(self.containers.get(name), other.containers.get(name)) for name in names
        )


def desired(body: Json) -> Allocation:
    containers = {text_in(c, "name"): _amounts(part(c, "resources")) for c, _ in _pairs(body)}
    return Allocation(containers, _amounts(part(body, "spec", "resources")))


def granted(body: Json) -> Allocation:
    """What the status reports; the spec for containers that no kubelet has reported on yet."""
    containers = {text_in(c, "name"): _granted_to(c, status) for c, status in _pairs(body)}
    return Allocation(containers, _granted_to_whole(body) if is_reported(body) else desired(body).whole)


def _granted_to_whole(body: Json) -> Json:
    reported = part(body, "status", "allocatedResources")
    asked = part(body, "spec", "resources", "requests")
    requests = {name: reported[name] for name in asked if name in reported}
    return _amounts({"requests": requests, "limits": part(body, "status", "resources", "limits")})


def is_reported(body: Json) -> bool:
    """Whether a kubelet has reported resources of the pod."""
    return any("resources" in status for _, status in _pairs(body))


def _granted_to(container: Json, status: Json) -> Json:
    if "resources" not in status and "allocatedResources" not in status:
        return _amounts(part(container, "resources"))
    limits = part(status, "resources", "limits")
    return _amounts({"requests": part(status, "allocatedResources"), "limits": limits})


def _amounts(resources: Json) -> Json:
    return {name: {**amounts} for name in _AMOUNTS if (amounts := part(resources, name))}


def _pairs(body: Json) -> Iterator[tuple[Json, Json]]:
    """Each container with its status, which may be empty."""
    for containers, statuses in _LISTS:
        known = {text_in(s, "name"): s for s in items(part(body, "status"), statuses)}
        for container in items(part(body, "spec"), containers):
            yield container, known.get(text_in(container, "name"), {})


# --- writing -------------------------------------------------------------------------------------


def grant(body: Json, allocation: Allocation) -> None:
    for container, status in _reported(body):
        requests = part(allocation.containers.get(text_in(container, "name")), "requests")
        if requests:
            status["allocatedResources"] = requests
        else:
            status.pop("allocatedResources", None)
    if allocation.whole:
        section(body, "status")["allocatedResources"] = _together(body, allocation)


def enforce(body: Json, allocation: Allocation, now: float) -> None:
    """Make an allocation the actual resources; restart containers if their resizePolicy demands it."""
    for container, status in _reported(body):
        resources = _amounts(allocation.containers.get(text_in(container, "name"), {}))
        if _must_restart(container, status, resources):
            count = status.get("restartCount")
            status["restartCount"] = count + 1 if isinstance(count, int) else 1
            status["state"] = {"running": {"startedAt": stamp(now)}}
        status["resources"] = resources
    if allocation.whole:
        enforced = {**allocation.whole, "requests": _together(body, allocation)}
        section(body, "status")["resources"] = enforced


def needs_restart(body: Json, allocation: Allocation) -> bool:
    return any(
        _must_restart(container, status, allocation.containers[text_in(container, "name")])
        for container, status in _pairs(body)
    )


def _must_restart(container: Json, status: Json, after: Json) -> bool:
    """Whether a running container's resizePolicy demands a restart for this change."""
    if "running" not in part(status, "state") or "resources" not in status:
        return False
    before = part(status, "resources")
    policies = {text_in(p, "resourceName"): p.get("restartPolicy") for p in items(container, "resizePolicy")}
    return any(
        policies.get(name) == "RestartContainer" and not means_the_same(_of(name, before), _of(name, after))
        for name in _RESIZABLE
    )


def _of(name: str, resources: Json) -> Json:
    return {field: {name: part(resources, field).get(name)} for field in _AMOUNTS}


def _reported(body: Json) -> Iterator[tuple[Json, Json]]:
    """Each container with its status for writing; created where there is none."""
    status = section(body, "status")
    for containers, statuses in _LISTS:
        known = {text_in(s, "name"): s for s in items(status, statuses)}
        specified = list(items(part(body, "spec"), containers))
        if not specified:
            continue
        status[statuses] = [known.get(text_in(c, "name")) or _first_status(c, status) for c in specified]
        yield from zip(specified, status[statuses], strict=True)


def _first_status(container: Json, pod_status: Json) -> Json:
    runs = pod_status.get("phase") == "Running"
    running = {"running": {"startedAt": pod_status.get("startTime")}}
    return {
        "name": text_in(container, "name"),
        "image": text_in(container, "image"),
        "imageID": "",
        "ready": runs,
        "started": runs,
        "restartCount": 0,
        "state": running if runs else {"waiting": {"reason": "ContainerCreating"}},
    }


def _together(body: Json, allocation: Allocation) -> Json:
    """The allocation of the whole pod: its pod-level requests, or else those of its containers and claims."""
    amounts: Amounts = {}
    read = decode_value(_as_granted(body, allocation))
    if isinstance(read, Decoded) and isinstance(read.object, Pod):
        amounts = footprint_of(read.object).desired
    return {name: written(amount if name == CPU else amount * 1000) for name, amount in amounts.items()}


def _as_granted(body: Json, allocation: Allocation) -> Json:
    """The pod with its allocation as requests. Reported resources do not include the overhead."""
    claims = part(body, "status").get("nodeAllocatableResourceClaimStatuses")
    spec = deepcopy(part(body, "spec")) | {"resources": allocation.whole}
    spec.pop("overhead", None)
    for field, _ in _LISTS:
        for container in items(spec, field):
            container["resources"] = allocation.containers.get(text_in(container, "name"), {})
    status = {"nodeAllocatableResourceClaimStatuses": claims} if claims else {}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": body["metadata"], "spec": spec, "status": status}


_RUNNING = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady")
_NO_LONGER_READY = ("Ready", "ContainersReady")
_OF_RESIZES = (PENDING, IN_PROGRESS, PREEMPTION_DISABLED)


def running(body: Json, allocation: Allocation | None, now: float) -> Json:
    """Running with its allocation, even if the spec has changed since."""
    allocation = allocation or granted(body)
    status = _status(body, "Running")
    clear_condition(status, IN_PROGRESS)
    status.setdefault("startTime", stamp(now))
    host = internal_ip(str(peek(body, "spec").get("nodeName") or ""))
    status.setdefault("hostIP", host)
    status.setdefault("hostIPs", [{"ip": host}])
    own = not peek(body, "spec").get("hostNetwork")
    status.setdefault("podIP", address_at(int(body["metadata"]["resourceVersion"])) if own else host)
    status.setdefault("podIPs", [{"ip": status["podIP"]}])
    for name in _RUNNING:
        set_condition_of(body, StatusCondition(name, "True"), now)
    state = {"running": {"startedAt": stamp(now)}}
    status["containerStatuses"] = [_container(c, state) for c in _containers(body, "containers")]
    if first := _containers(body, "initContainers"):
        ended = _ended(now, "Completed")
        sidecar = [c.get("restartPolicy") == "Always" for c in first]
        states = [state if stays else ended for stays in sidecar]
        status["initContainerStatuses"] = [_container(c, s) for c, s in zip(first, states, strict=True)]
    grant(body, allocation)
    enforce(body, allocation, now)
    return body


def address_at(version: int) -> str:
    """A unique address, since versions are unique. Nothing listens on it."""
    return ".".join(str(part) for part in (10, *(version % 2**24).to_bytes(3, "big")))


def succeeded(body: Json, now: float) -> Json:
    return _finished(body, "Succeeded", "PodCompleted", now)


def stopped(body: Json, now: float) -> Json:
    """Stopped by its deletion before it finished."""
    return _finished(body, "Failed", "PodFailed", now)


def preempted(body: Json, now: float) -> Json:
    """Stopped by its kubelet for a critical pod, unless it finished before."""
    if peek(body, "status").get("phase") in ("Succeeded", "Failed"):
        return body
    _finished(body, "Failed", "PodFailed", now)
    status = section(body, "status")
    status["reason"] = "Preempting"
    status["message"] = "Preempted in order to admit critical pod"
    return body


def _finished(body: Json, phase: str, why: str, now: float) -> Json:
    status = _status(body, phase)
    for name in _NO_LONGER_READY:
        set_condition_of(body, StatusCondition(name, "False", why), now)
    for name in _OF_RESIZES:
        clear_condition(status, name)
    ended = _ended(now, "Completed" if phase == "Succeeded" else "Error")
    for field in ("containerStatuses", "initContainerStatuses"):
        if field in status:
            status[field] = [{**c, "ready": False, "state": ended} for c in _dicts(status[field])]
    return body


def rejected(body: Json, reason: str, message: str, now: float) -> Json:
    status = _status(body, "Failed")
    status.setdefault("startTime", stamp(now))
    status["reason"] = reason
    status["message"] = message
    return body


def _status(body: Json, phase: str) -> Json:
    status = section(body, "status")
    status["phase"] = phase
    status["observedGeneration"] = body["metadata"].get("generation", 0)
    return status


def _containers(body: Json, field: str) -> list[Json]:
    return _dicts(peek(body, "spec").get(field))


def _dicts(found: object) -> list[Json]:
    return [c for c in found if isinstance(c, dict)] if isinstance(found, list) else []


def _container(container: Json, state: Json) -> Json:
    return {
        "name": container.get("name", ""),
        "image": container.get("image", ""),
        "imageID": "",
        "ready": True,
        "started": True,
        "restartCount": 0,
        "state": state,
    }


def _ended(now: float, reason: str) -> Json:
    code = 0 if reason == "Completed" else 143
    return {"terminated": {"exitCode": code, "reason": reason, "finishedAt": stamp(now)}}
