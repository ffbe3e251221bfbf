"""The status of a pod as a kubelet writes it: running, finished, rejected. When to write it is not known
here."""

from reprieve.cluster.api.timestamps import stamp
from reprieve.model.conditions import IN_PROGRESS, PENDING, PREEMPTION_DISABLED
from reprieve.model.json import Json
from reprieve_minicluster.kinds import peek, section
from reprieve_minicluster.kubelet.allocation import Allocation, enforce, grant, granted
from reprieve_minicluster.kubelet.node_status import internal_ip
from reprieve_minicluster.store.conditions import StatusCondition, clear_condition, set_condition_of

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
