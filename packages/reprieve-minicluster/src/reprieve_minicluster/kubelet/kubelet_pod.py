"""The few fields of a pod that kubelets decode at every change: decoding whole pods would be slow."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from reprieve.model.annotations import parse_decimal
from reprieve.model.objects import Record
from reprieve_minicluster.store import DEFAULT_GRACE_SECONDS

RUN_SECONDS = "reprieve.dev/run-seconds"
STOP_SECONDS = "reprieve.dev/stop-seconds"
_TERMINAL = ("Succeeded", "Failed")
_SHOWN = 40  # characters of an invalid value


class _Owner(Record, frozen=True):
    kind: str = ""
    controller: bool | None = None


class _Meta(Record, frozen=True):
    uid: str = ""
    generation: int = 0
    annotations: dict[str, Any] | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    finalizers: tuple[str, ...] | None = None
    owner_references: tuple[_Owner, ...] | None = None


class _Spec(Record, frozen=True):
    node_name: str = ""
    termination_grace_period_seconds: int | None = None


class _Status(Record, frozen=True):
    phase: str = ""
    start_time: datetime | None = None


class KubeletPod(Record, frozen=True):
    metadata: _Meta
    spec: _Spec = _Spec()
    status: _Status = _Status()

    @property
    def is_over(self) -> bool:
        return self.status.phase in _TERMINAL

    @property
    def is_running(self) -> bool:
        return self.status.phase == "Running"

    @property
    def is_leaving(self) -> bool:
        return self.metadata.deletion_timestamp is not None

    @property
    def is_of_job(self) -> bool:
        return any(owner.kind == "Job" and owner.controller for owner in self.metadata.owner_references or ())

    def seconds(self, annotation: str) -> float | None:
        """The seconds in an annotation; None if it is missing or invalid."""
        declared = (self.metadata.annotations or {}).get(annotation)
        return parse_decimal(declared) if isinstance(declared, str) else None

    def drain_seconds(self) -> float:
        """How long it takes to stop, at most its grace period; 0 for a pod that does not run."""
        if not self.is_running:
            return 0.0
        grace = self.metadata.deletion_grace_period_seconds
        if grace is None:
            grace = self.spec.termination_grace_period_seconds
        allowed = DEFAULT_GRACE_SECONDS if grace is None else max(0, grace)
        stop = self.seconds(STOP_SECONDS)
        return allowed if stop is None else min(allowed, stop)


def duration_fault(annotation: str, declared: str) -> str:
    """What is wrong with the value of such an annotation, as a sentence; empty if it is valid."""
    if parse_decimal(declared) is not None:
        return ""
    shown = declared if len(declared) <= _SHOWN else f"{declared[:_SHOWN]}…"
    return (
        f'annotation {annotation} is ignored: expected a number of seconds such as 30 or 2.5, got "{shown}"'
    )


_DECODER = msgspec.json.Decoder(KubeletPod)


def decoded_pod(raw: bytes) -> KubeletPod | None:
    """None for a pod that cannot be decoded: no kubelet runs it."""
    try:
        return _DECODER.decode(raw)
    except msgspec.ValidationError:
        return None


# --- timing ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class KubeletTiming:
    """``speed`` divides all of these but heartbeats, and the durations in annotations of pods."""

    start_seconds: float = 1.0
    resize_seconds: float = 1.0  # from the allocation of a resize until it is actual
    orphan_seconds: float = 5.0  # from the deletion of a node to that of its pods
    job_seconds: float | None = None  # how long a pod of a Job runs that does not say; None: for ever
    heartbeat_seconds: float | None = None  # between renewals of the leases of nodes; None: no leases
    speed: float = 1.0


DEFAULT_TIMING = KubeletTiming()
